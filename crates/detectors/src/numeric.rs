//! Numbers, quantities and dates that conflict with the evidence.
//!
//! Needs no model: each claim is compared with the evidence sentences nearest to it by shared names, numbers and words. A wrong
//! "contradicted" costs more than a miss, because it overrules the model, so a value conflicts only where
//!
//! * no near evidence has the same value (spelled-out numbers, other notations, rounding, approximate marks and ranges
//!   considered), and
//! * some near evidence says the same thing with another value of the same kind: see [`conflict::says_otherwise`].
//!
//! The report's score is the share of claims without a conflict. A finding has no probabilities.

mod conflict;
mod passage;

use crate::features::features_with;
use crate::layout::Layout;
use crate::tally::{PICKS, response_score};
use crate::{Detector, Next};
use conflict::{agrees, says_otherwise};
use groundline_claims::values::{Value, find_values};
use groundline_evidence::{NearnessWeights, TextFeatures, nearness_score, rank};
use groundline_types::{
    ClaimFinding, EvidencePick, ModelFacts, NliProbabilities, Outcome, PreparedCheck, Probability, Report,
    Score,
};
use passage::Passage;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Nearest evidence sentences that a value may conflict with.
const CONFLICT_ROWS: usize = 5;
/// Nearest evidence sentences that may bear a value out.
const AGREEMENT_ROWS: usize = 12;
/// Most values of the evidence named in one conflict.
const SHOWN_VALUES: usize = 3;

/// Numeric and date consistency.
#[derive(Debug, Default)]
pub(crate) struct Numeric {
    report: Option<Report>,
}

impl Detector for Numeric {
    fn name(&self) -> &'static str {
        "numeric"
    }

    fn planned_items(&self, _check: &PreparedCheck, _facts: &ModelFacts) -> usize {
        0
    }

    fn start(&mut self, check: &Arc<PreparedCheck>, facts: &ModelFacts) -> Next {
        let layout = Layout::new(check, facts);
        let evidence = Evidence::new(check, &layout);
        let finding = |claim: &usize| Some(Outcome::Scored(evidence.finding(*claim)));
        let claims = layout.outcomes(layout.columns.iter().map(finding).collect());
        let scored = claims.iter().filter_map(Outcome::scored);
        let (sum, count) = scored.fold((0.0, 0.0), |(sum, count), finding| {
            (sum + f64::from(u8::from(finding.numeric_conflict.is_none())), count + 1.0)
        });
        let report = Report {
            method: "numeric",
            score: response_score(&claims, (count > 0.0).then(|| sum / count)),
            claims,
            facts: Vec::new(),
            extra: BTreeMap::new(),
            matrix: None,
            notes: Vec::new(),
            work_items: 0,
        };
        self.report = Some(report.clone());
        Next::Done(report)
    }

    fn resume(&mut self, _outcomes: &[Outcome<Score>]) -> Next {
        Next::Done(self.report.clone().unwrap_or_else(|| crate::tally::never_started("numeric")))
    }
}

/// All evidence of a check with its features.
struct Evidence<'a> {
    check: &'a PreparedCheck,
    layout: &'a Layout,
    features: Vec<TextFeatures>,
}

/// A value of the evidence that a claim's value conflicts with.
struct Conflict {
    row: usize,
    shown: String,
}

impl<'a> Evidence<'a> {
    fn new(check: &'a PreparedCheck, layout: &'a Layout) -> Self {
        let features = |row: usize| {
            let text = layout.row_text(check, row);
            features_with(text, &find_values(text))
        };
        Self { check, layout, features: (0..layout.rows.len()).map(features).collect() }
    }

    fn finding(&self, claim: usize) -> ClaimFinding {
        let text = &self.check.claims[claim].text;
        let before = claim.checked_sub(1).map(|before| &*self.check.claims[before].text);
        let passage = Passage::new(text, before);
        if passage.values.is_empty() {
            return ClaimFinding::default();
        }
        let near = self.near(text, &passage.values);
        let rows: Vec<(usize, Passage)> = near.into_iter().map(|row| (row, self.passage(row))).collect();
        let found: Vec<(&Value, Vec<Conflict>)> = passage
            .values
            .iter()
            .map(|value| (value, self.conflicts(&passage, value, &rows)))
            .filter(|(_, conflicts)| !conflicts.is_empty())
            .collect();
        let picks = found.iter().flat_map(|(_, conflicts)| conflicts).take(PICKS).map(|conflict| {
            let (source, sentence) = self.layout.rows[conflict.row];
            EvidencePick { source, sentence, probabilities: NO_PROBABILITIES }
        });
        let evidence = picks.collect();
        let told = found.iter().map(|(value, conflicts)| {
            let shown: Vec<&str> = conflicts.iter().map(|conflict| conflict.shown.as_str()).collect();
            format!("{} here, {} in the evidence", passage.show(value), shown.join(", "))
        });
        let told: Vec<String> = told.collect();
        ClaimFinding {
            evidence,
            numeric_conflict: (!told.is_empty()).then(|| told.join("; ")),
            ..ClaimFinding::default()
        }
    }

    /// The rows nearest to a claim, of those that share anything with it.
    fn near(&self, text: &str, values: &[Value]) -> Vec<usize> {
        let claim = features_with(text, values);
        let weights = NearnessWeights::default();
        let score = |features: &TextFeatures| nearness_score((&claim, None), (features, None), &weights);
        let ranked = rank(self.features.iter().map(score));
        ranked
            .into_iter()
            .filter(|near| near.score > 0.0)
            .take(AGREEMENT_ROWS)
            .map(|near| near.index)
            .collect()
    }

    fn passage(&self, row: usize) -> Passage {
        let before =
            row.checked_sub(1).filter(|before| self.layout.rows[*before].0 == self.layout.rows[row].0);
        let before = before.map(|before| &**self.layout.row_text(self.check, before));
        Passage::new(self.layout.row_text(self.check, row), before)
    }

    fn conflicts(&self, claim: &Passage, value: &Value, rows: &[(usize, Passage)]) -> Vec<Conflict> {
        if rows.iter().any(|(_, row)| row.values.iter().any(|other| agrees(claim, value, row, other))) {
            return Vec::new();
        }
        let mut conflicts: Vec<Conflict> = Vec::new();
        let mut undated = 0;
        for (index, row) in rows.iter().take(CONFLICT_ROWS) {
            for other in row.values.iter().filter(|other| says_otherwise(claim, value, row, other)) {
                undated += usize::from(conflict::only_evidence_is_dated(claim, value, row, other));
                let shown = row.show(other);
                if conflicts.iter().all(|known| known.shown != shown) {
                    conflicts.push(Conflict { row: *index, shown });
                }
            }
        }
        // Figures for several years are no conflict with one that names no year.
        if undated > 0 && conflicts.len() > 1 {
            conflicts.clear();
        }
        conflicts.truncate(SHOWN_VALUES);
        conflicts
    }
}

/// Stands in a pick of a method without a model. Verdicts take such a pick as a pointer to the sentence only.
const NO_PROBABILITIES: NliProbabilities = NliProbabilities {
    entailment: Probability::ZERO,
    contradiction: Probability::ZERO,
    neutral: Probability::ONE,
};

#[cfg(test)]
mod tests;

//! Numbers, quantities and dates that conflict with the evidence.
//!
//! Each claim with a value is compared with the evidence sentences nearest to it by shared names, numbers and words. A wrong
//! "contradicted" costs more than a miss, because it overrules the model, so a value conflicts only where
//!
//! * no near evidence has the same value (spelled-out numbers, other notations, rounding, approximate marks and ranges
//!   considered), and
//! * some near evidence says the same thing with another value of the same kind. That it says the same thing is known where
//!   the model takes the evidence to entail the claim ([`conflict::replaces`]): small models overlook a changed number. Else
//!   the words must show it ([`conflict::says_otherwise`]).
//!
//! It asks for the pairs of a claim and its nearest evidence, which `entailment` asks for too, so they are scored once. A pair
//! without a score counts as not entailing. A fact has the conflicts of its sentence whose value stands in the fact. The report's score is the share of claims without a conflict. A finding has no
//! probabilities.

mod conflict;
mod passage;

use crate::answers::read_pair;
use crate::layout::{Layout, pair};
use crate::reading::{Reading, reading};
use crate::tally::{PICKS, never_started, response_score};
use crate::{Detector, DetectorOptions, Next};
use conflict::{agrees, replaces, says_otherwise};
use groundline_claims::values::Value;
use groundline_evidence::{NearnessWeights, nearness_score, rank};
use groundline_types::{
    AtomicFact, ClaimFinding, EvidencePick, ModelFacts, NliLabels, NliProbabilities, Outcome, PreparedCheck,
    Probability, Report, Score, Work,
};
use passage::Passage;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// Nearest evidence sentences that a value may conflict with.
const CONFLICT_ROWS: usize = 5;
/// Nearest evidence sentences that may bear a value out.
const AGREEMENT_ROWS: usize = 12;
/// Most values of the evidence named in one conflict.
const SHOWN_VALUES: usize = 3;

/// Numeric and date consistency.
#[derive(Debug)]
pub(crate) struct Numeric {
    options: DetectorOptions,
    run: Option<Run>,
}

#[derive(Debug)]
struct Run {
    check: Arc<PreparedCheck>,
    labels: NliLabels,
    layout: Layout,
    /// The claims with a value, each with its nearest rows.
    suspects: Vec<Suspect>,
    /// Number of (suspect, near row) pairs asked so far, in order.
    asked: usize,
}

/// A claim with a value.
#[derive(Debug)]
struct Suspect {
    column: usize,
    /// The nearest rows of the layout, nearest first.
    near: Vec<usize>,
    /// For the first of them, as far as asked: whether the row entails the claim.
    entailing: Vec<bool>,
}

impl Numeric {
    pub(crate) fn new(options: &DetectorOptions) -> Self {
        Self { options: options.clone(), run: None }
    }

    fn next(&mut self) -> Next {
        let Some(run) = &mut self.run else {
            return Next::Done(never_started("numeric"));
        };
        let work: Vec<Work> = run.pairs().skip(run.asked).take(self.options.pairs_per_round.max(1)).collect();
        if work.is_empty() { Next::Done(run.report()) } else { Next::Work(work) }
    }
}

impl Detector for Numeric {
    fn name(&self) -> &'static str {
        "numeric"
    }

    fn start(&mut self, check: &Arc<PreparedCheck>, facts: &ModelFacts) -> Next {
        let layout = Layout::new(check, facts);
        let suspects = Evidence::new(check, &layout).suspects();
        self.run = Some(Run { check: check.clone(), labels: facts.labels, layout, suspects, asked: 0 });
        self.next()
    }

    fn planned_items(&self) -> usize {
        let suspects = self.run.iter().flat_map(|run| &run.suspects);
        suspects.map(|suspect| suspect.near.len().min(CONFLICT_ROWS)).sum()
    }

    fn resume(&mut self, outcomes: &[Outcome<Score>]) -> Next {
        if let Some(run) = &mut self.run {
            run.take(outcomes, &self.options);
        }
        self.next()
    }
}

impl Run {
    /// The pairs of all suspects and the rows that may conflict with them.
    fn pairs(&self) -> impl Iterator<Item = Work> {
        self.suspects.iter().flat_map(move |suspect| {
            let claim = self.layout.column_text(&self.check, suspect.column);
            suspect
                .near
                .iter()
                .take(CONFLICT_ROWS)
                .map(move |row| pair(self.layout.row_text(&self.check, *row), claim))
        })
    }

    fn take(&mut self, outcomes: &[Outcome<Score>], options: &DetectorOptions) {
        let open = self.suspects.iter_mut().flat_map(|suspect| {
            let missing = suspect.near.len().min(CONFLICT_ROWS) - suspect.entailing.len();
            std::iter::repeat_n(suspect.column, missing)
        });
        let columns: Vec<usize> = open.take(options.pairs_per_round.max(1)).collect();
        self.asked += columns.len();
        for (at, column) in columns.into_iter().enumerate() {
            let read = read_pair(outcomes.get(at), &self.labels);
            let entails = read.is_ok_and(|read| read.entailment.get() >= options.support_threshold);
            if let Some(suspect) = self.suspects.iter_mut().find(|suspect| suspect.column == column) {
                suspect.entailing.push(entails);
            }
        }
    }

    fn report(&self) -> Report {
        let evidence = Evidence::new(&self.check, &self.layout);
        let mut found: Vec<_> =
            self.layout.columns.iter().map(|_| Some(Outcome::Scored(ClaimFinding::default()))).collect();
        let (mut conflicts, mut passages) = (BTreeMap::new(), BTreeMap::new());
        for suspect in &self.suspects {
            let in_claim = evidence.conflicts(suspect, &mut passages);
            found[suspect.column] = Some(Outcome::Scored(evidence.finding(in_claim.iter())));
            conflicts.insert(self.layout.columns[suspect.column], in_claim);
        }
        let claims = self.layout.outcomes(found);
        let facts = if self.check.request.facts { evidence.facts(&claims, &conflicts) } else { Vec::new() };
        let scored = claims.iter().filter_map(Outcome::scored);
        let (sum, count) = scored.fold((0.0, 0.0), |(sum, count), finding| {
            (sum + f64::from(u8::from(finding.numeric_conflict.is_none())), count + 1.0)
        });
        Report {
            method: "numeric",
            score: response_score(&claims, (count > 0.0).then(|| sum / count)),
            claims,
            facts,
            extra: BTreeMap::new(),
            matrix: None,
            notes: Vec::new(),
            work_items: self.asked,
        }
    }
}

/// All evidence of a check with what it says.
struct Evidence<'a> {
    check: &'a PreparedCheck,
    layout: &'a Layout,
    rows: Vec<Arc<Reading>>,
}

/// A value of the evidence that a claim's value conflicts with.
struct Conflict {
    row: usize,
    shown: String,
}

/// A value of a claim that conflicts with evidence.
struct Conflicting {
    value: Value,
    shown: String,
    /// Never empty.
    with: Vec<Conflict>,
}

impl<'a> Evidence<'a> {
    fn new(check: &'a PreparedCheck, layout: &'a Layout) -> Self {
        let of_row = |row: usize| reading(check, layout.row_text(check, row));
        Self { check, layout, rows: (0..layout.rows.len()).map(of_row).collect() }
    }

    fn suspects(&self) -> Vec<Suspect> {
        let suspect = |column: usize| {
            let text = self.layout.column_text(self.check, column);
            let values = self.claim(column).values;
            (!values.is_empty()).then(|| Suspect { column, near: self.near(text), entailing: Vec::new() })
        };
        (0..self.layout.columns.len()).filter_map(suspect).collect()
    }

    fn claim(&self, column: usize) -> Passage {
        let claim = self.layout.columns[column];
        let before = match claim.checked_sub(1) {
            Some(before) => Some(&*self.check.claims[before].text),
            None => self.check.before.as_deref(),
        };
        self.passage_of(&self.check.claims[claim].text, before)
    }

    /// The values of a claim that conflict with evidence near it.
    fn conflicts(&self, suspect: &Suspect, passages: &mut BTreeMap<usize, Rc<Passage>>) -> Vec<Conflicting> {
        let passage = self.claim(suspect.column);
        // Most rows are near to more than one claim, and taking one apart is most of the work.
        let mut of_row =
            |row: usize| Rc::clone(passages.entry(row).or_insert_with(|| Rc::new(self.passage(row))));
        let rows: Vec<NearRow> = suspect
            .near
            .iter()
            .enumerate()
            .map(|(at, row)| NearRow {
                row: *row,
                passage: of_row(*row),
                entails: suspect.entailing.get(at).copied().unwrap_or(false),
            })
            .collect();
        let conflicting = |value: &Value| Conflicting {
            value: value.clone(),
            shown: passage.show(value),
            with: conflicts(&passage, value, &rows),
        };
        passage.values.iter().map(conflicting).filter(|conflicting| !conflicting.with.is_empty()).collect()
    }

    /// For each claim, a finding for each of its facts: the conflicts of its sentence with a value that stands in the fact. A fact
    /// is not looked into by itself, so that it never conflicts where its sentence does not.
    fn facts(
        &self,
        claims: &[Outcome<ClaimFinding>],
        conflicts: &BTreeMap<usize, Vec<Conflicting>>,
    ) -> Vec<Vec<Outcome<ClaimFinding>>> {
        let of_fact = |fact: &str, index: usize| {
            let in_fact = reading(self.check, fact);
            let stands = |conflicting: &&Conflicting| {
                let is_it = |value: &Value| value.kind == conflicting.value.kind;
                in_fact.values.iter().any(is_it)
            };
            Outcome::Scored(self.finding(conflicts.get(&index).into_iter().flatten().filter(stands)))
        };
        let of_claim = |(index, outcome): (usize, &Outcome<ClaimFinding>)| {
            let claim = &self.check.claims[index];
            let finding = |fact: &AtomicFact| match outcome {
                Outcome::Scored(_) if fact.text != claim.text => of_fact(&fact.text, index),
                whole => whole.clone(),
            };
            claim.facts.iter().map(finding).collect()
        };
        claims.iter().enumerate().map(of_claim).collect()
    }

    fn finding<'c>(&self, found: impl Iterator<Item = &'c Conflicting> + Clone) -> ClaimFinding {
        let picks = found.clone().flat_map(|conflicting| &conflicting.with).take(PICKS).map(|conflict| {
            let (source, sentence) = self.layout.rows[conflict.row];
            EvidencePick { source, sentence, probabilities: NO_PROBABILITIES }
        });
        let evidence = picks.collect();
        let told = found.map(|conflicting| {
            let with: Vec<&str> = conflicting.with.iter().map(|conflict| conflict.shown.as_str()).collect();
            format!("{} here, {} in the evidence", conflicting.shown, with.join(", "))
        });
        let told: Vec<String> = told.collect();
        ClaimFinding {
            evidence,
            numeric_conflict: (!told.is_empty()).then(|| told.join("; ")),
            ..ClaimFinding::default()
        }
    }

    /// The rows nearest to a claim, of those that share anything with it.
    fn near(&self, text: &str) -> Vec<usize> {
        let claim = reading(self.check, text);
        let weights = NearnessWeights::default();
        let score =
            |row: &Arc<Reading>| nearness_score((&claim.features, None), (&row.features, None), &weights);
        let ranked = rank(self.rows.iter().map(score));
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
        self.passage_of(self.layout.row_text(self.check, row), before)
    }

    fn passage_of(&self, text: &str, before: Option<&str>) -> Passage {
        let before = before.map(|before| reading(self.check, before));
        Passage::new(text, &reading(self.check, text), before.as_deref())
    }
}

/// An evidence sentence near a claim.
struct NearRow {
    row: usize,
    passage: Rc<Passage>,
    /// Whether the model takes it to entail the claim.
    entails: bool,
}

fn conflicts(claim: &Passage, value: &Value, rows: &[NearRow]) -> Vec<Conflict> {
    let bears_out =
        |row: &NearRow| row.passage.values.iter().any(|other| agrees(claim, value, &row.passage, other));
    if rows.iter().any(bears_out) {
        return Vec::new();
    }
    let mut conflicts: Vec<Conflict> = Vec::new();
    let mut undated = 0;
    for near in rows.iter().take(CONFLICT_ROWS) {
        let row = &near.passage;
        for other in &row.values {
            let replaced = near.entails && replaces(value, other);
            if !replaced && !says_otherwise(claim, value, row, other) {
                continue;
            }
            undated += usize::from(!replaced && conflict::only_evidence_is_dated(claim, value, row, other));
            let shown = row.show(other);
            if conflicts.iter().all(|known| known.shown != shown) {
                conflicts.push(Conflict { row: near.row, shown });
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

/// Stands in a pick of a method without a model. Verdicts take such a pick as a pointer to the sentence only.
const NO_PROBABILITIES: NliProbabilities = NliProbabilities {
    entailment: Probability::ZERO,
    contradiction: Probability::ZERO,
    neutral: Probability::ONE,
};

#[cfg(test)]
mod tests;

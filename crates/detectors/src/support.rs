//! `support`: the binary support head of a model; and learned detectors beside the model, each in its own windows.
//!
//! A head trained for one question: is this claim supported by this passage? For the shipped model it is described on the card in
//! models/groundline-mini. Pairs are (evidence, claim), as for NLI; of its two logits the second is "supported", and the
//! probability is their softmax.
//!
//! Support of a claim is the **largest** over all windows and all single sentences of all sources, never the largest doubt: a
//! source more can only add support. (A window at the end of one text may change when the text goes on, and with it what that window
//! says; single sentences stay.) A binary head cannot tell contradicted from not mentioned: what it does not support is not
//! mentioned. The response's number is its weakest sentence's (the mean, for AlignScore).

use crate::answers::read_logits;
use crate::features::EvidenceFeatures;
use crate::layout::Layout;
use crate::learned::{evidence_in_window, facts_of, not_loaded, pick, rewindowed};
use crate::rounds::{Numbered, Rounds};
use crate::tally::{PICKS, mean_support, response_number, weakest_support};
use crate::{Detector, DetectorOptions, Next};
use groundline_types::{
    ClaimFinding, Code, EvidencePick, Head, ModelFacts, Outcome, Polarity, PreparedCheck, Preset,
    Probability, Reason, Report, Score, Work,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The largest support over windows, and over sentences where the model is asked about those too.
#[derive(Debug)]
pub(crate) struct Support {
    method: &'static str,
    /// The learned detector that is asked; `None` for the model's own head.
    preset: Option<Preset>,
    rounds: Rounds<Run>,
}

/// Claim by claim: all windows, then all rows.
#[derive(Debug)]
struct Run {
    method: &'static str,
    preset: Option<Preset>,
    check: Arc<PreparedCheck>,
    layout: Layout,
    /// The text of each of the layout's windows, which are not the check's own where a learned detector is asked.
    windows: Vec<Arc<str>>,
    /// For the sentences that a learned detector's window was chosen for.
    features: Option<EvidenceFeatures>,
    /// The answers about the claim that is open.
    open: Vec<Result<f32, Reason>>,
    found: Vec<Option<Outcome<ClaimFinding>>>,
}

impl Support {
    /// The model's own support head, over windows and single sentences.
    pub(crate) fn new(options: &DetectorOptions) -> Self {
        let method = "support";
        Self { method, preset: None, rounds: Rounds::new(method, options) }
    }

    /// A learned detector, over its authors' windows alone.
    pub(crate) fn learned(method: &'static str, preset: Preset, options: &DetectorOptions) -> Self {
        Self { method, preset: Some(preset), rounds: Rounds::new(method, options) }
    }

    /// The check and the facts that the one who is asked sees, or why there is nobody to ask.
    fn view(
        &self,
        check: &Arc<PreparedCheck>,
        facts: &ModelFacts,
    ) -> (Arc<PreparedCheck>, ModelFacts, Option<Reason>) {
        let Some(preset) = self.preset else {
            let message = "the model has no support head; add support_head.safetensors or use another method";
            let reason = (!facts.has_support_head).then(|| Reason::new(Code::HEAD_MISSING, message));
            return (Arc::clone(check), facts.clone(), reason);
        };
        match facts.learned.iter().find(|learned| learned.preset == preset) {
            Some(learned) => (Arc::new(rewindowed(check, learned)), facts_of(learned, facts), None),
            None => (Arc::clone(check), facts.clone(), Some(not_loaded(preset))),
        }
    }
}

impl Detector for Support {
    fn name(&self) -> &'static str {
        self.method
    }

    fn start(&mut self, check: &Arc<PreparedCheck>, facts: &ModelFacts) -> Next {
        let (seen, facts, missing) = self.view(check, facts);
        let mut layout = Layout::new(&seen, &facts);
        if let Some(reason) = missing {
            layout.fail_columns(&reason);
        }
        let windows = (0..layout.windows.len()).map(|place| Arc::clone(layout.window_text(&seen, place)));
        let is_asked = self.preset.is_some() && !layout.columns.is_empty();
        let run = Run {
            method: self.method,
            preset: self.preset,
            check: Arc::clone(check),
            windows: windows.collect(),
            features: is_asked.then(|| EvidenceFeatures::new(check, &layout)),
            open: Vec::new(),
            found: vec![None; layout.columns.len()],
            layout,
        };
        self.rounds.start(run)
    }

    fn planned_items(&self) -> usize {
        self.rounds.planned_items()
    }

    fn resume(&mut self, outcomes: &[Outcome<Score>]) -> Next {
        self.rounds.resume(outcomes)
    }
}

impl Run {
    /// Pairs for one claim. A learned detector is asked what its authors ask it: windows alone.
    fn height(&self) -> usize {
        self.windows.len() + if self.preset.is_some() { 0 } else { self.layout.rows.len() }
    }

    fn finding(&self, column: usize, answers: &[Result<f32, Reason>]) -> Outcome<ClaimFinding> {
        let mut supports = Vec::with_capacity(answers.len());
        for answer in answers {
            match answer {
                Ok(support) => supports.push(*support),
                Err(reason) => return Outcome::Failed(reason.clone()),
            }
        }
        let best = supports.iter().copied().reduce(f32::max).and_then(Probability::new);
        let Some(best) = best else {
            return Outcome::Failed(Reason::new(Code::INTERNAL, "there was nothing to score"));
        };
        let evidence = if self.preset.is_some() {
            self.evidence_in_window(column, &supports)
        } else {
            self.evidence_by_row(supports.get(self.windows.len()..).unwrap_or_default())
        };
        Outcome::Scored(ClaimFinding {
            support: Some(best),
            evidence,
            score: Some(f64::from(best.get())),
            ..ClaimFinding::default()
        })
    }

    /// The sentences that support most.
    fn evidence_by_row(&self, rows: &[f32]) -> Vec<EvidencePick> {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        // Stable: of equals the earlier sentence comes first.
        order.sort_by(|a, b| rows[*b].total_cmp(&rows[*a]));
        order.into_iter().take(PICKS).filter_map(|row| pick(&self.layout, row, rows[row])).collect()
    }

    /// The sentences of the best window that are nearest to the claim: which of them the model went by, it does not tell.
    fn evidence_in_window(&self, column: usize, windows: &[f32]) -> Vec<EvidencePick> {
        let places = 0..windows.len().min(self.windows.len());
        let best = places.reduce(|best, place| if windows[place] > windows[best] { place } else { best });
        let (Some(best), Some(features)) = (best, &self.features) else { return Vec::new() };
        evidence_in_window(&self.check, &self.layout, features, column, (best, windows[best]))
    }
}

impl Numbered for Run {
    fn count(&self) -> usize {
        self.layout.columns.len() * self.height()
    }

    fn work(&self, number: usize) -> Work {
        let (column, place) = (number / self.height(), number % self.height());
        let evidence = match self.windows.get(place) {
            Some(window) => window,
            None => self.layout.row_text(&self.check, place - self.windows.len()),
        };
        let claim = self.layout.column_text(&self.check, column);
        let head = self.preset.map_or(Head::Support, Head::Learned);
        Work::Pair { premise: Arc::clone(evidence), hypothesis: Arc::clone(claim), head }
    }

    fn take(&mut self, number: usize, outcome: Option<&Outcome<Score>>) {
        let height = self.height();
        self.open.push(read_support(outcome));
        if (number + 1).is_multiple_of(height) {
            let answers = std::mem::take(&mut self.open);
            self.found[number / height] = Some(self.finding(number / height, &answers));
        }
    }

    fn report(&mut self) -> Report {
        let claims = self.layout.outcomes(std::mem::take(&mut self.found));
        let number = match self.preset {
            // As published: the mean over the response's sentences.
            Some(Preset::Alignscore) => mean_support(&claims),
            _ => weakest_support(&claims),
        };
        Report {
            method: self.method,
            score: response_number(&claims, number, Polarity::HigherIsSupported),
            claims,
            facts: Vec::new(),
            extra: BTreeMap::new(),
            matrix: None,
            notes: Vec::new(),
            work_items: 0,
        }
    }
}

/// The probability of "supported", 0 to 1.
fn read_support(outcome: Option<&Outcome<Score>>) -> Result<f32, Reason> {
    let logits = read_logits(outcome, 2)?;
    Ok(1.0 / (1.0 + (logits[0] - logits[1]).exp()))
}

#[cfg(test)]
mod tests;

//! `support`: the binary support head of a model.
//!
//! A head trained for one question: is this claim supported by this passage? For the shipped model it is described on the card in
//! models/groundline-mini. Pairs are (evidence, claim), as for NLI; of its two logits the second is "supported", and the
//! probability is their softmax.
//!
//! Support of a claim is the **largest** over all windows and all single sentences of all sources, never the largest doubt: a
//! source more can only add support. (A window at the end of one text may change when the text goes on, and with it what that window
//! says; single sentences stay.) A binary head cannot tell contradicted from not mentioned: what it does not support is not
//! mentioned. The response's number is its weakest sentence's.

use crate::answers::read_logits;
use crate::layout::Layout;
use crate::tally::{PICKS, never_started, response_number, weakest_support};
use crate::{Detector, DetectorOptions, Next};
use groundline_types::{
    ClaimFinding, Code, EvidencePick, Head, ModelFacts, NliProbabilities, Outcome, Polarity, PreparedCheck,
    Probability, Reason, Report, Score, Work,
};
use std::collections::BTreeMap;
use std::sync::Arc;

const METHOD: &str = "support";

/// The largest support of the support head over windows and sentences.
#[derive(Debug)]
pub(crate) struct Support {
    chunk: usize,
    run: Option<Run>,
}

/// Claim by claim: all windows, then all rows.
#[derive(Debug)]
struct Run {
    check: Arc<PreparedCheck>,
    layout: Layout,
    asked: usize,
    answered: usize,
    /// The answers about the claim that is open.
    open: Vec<Result<f32, Reason>>,
    found: Vec<Option<Outcome<ClaimFinding>>>,
}

impl Support {
    pub(crate) fn new(options: &DetectorOptions) -> Self {
        Self { chunk: options.pairs_per_round.max(1), run: None }
    }

    fn next(&mut self) -> Next {
        let Some(run) = &mut self.run else {
            return Next::Done(never_started(METHOD));
        };
        let start = run.asked;
        run.asked = (start + self.chunk).min(run.planned_items());
        if start == run.asked {
            return Next::Done(run.report());
        }
        Next::Work((start..run.asked).map(|at| run.work(at)).collect())
    }
}

impl Detector for Support {
    fn name(&self) -> &'static str {
        METHOD
    }

    fn start(&mut self, check: &Arc<PreparedCheck>, facts: &ModelFacts) -> Next {
        let mut layout = Layout::new(check, facts);
        if !facts.has_support_head {
            let message = "the model has no support head; add support_head.safetensors or use another method";
            layout.fail_columns(&Reason::new(Code::HEAD_MISSING, message));
        }
        let found = vec![None; layout.columns.len()];
        self.run =
            Some(Run { check: Arc::clone(check), layout, asked: 0, answered: 0, open: Vec::new(), found });
        self.next()
    }

    fn planned_items(&self) -> usize {
        self.run.as_ref().map_or(0, Run::planned_items)
    }

    fn resume(&mut self, outcomes: &[Outcome<Score>]) -> Next {
        if let Some(run) = &mut self.run {
            run.take(outcomes);
        }
        self.next()
    }
}

impl Run {
    /// Pairs for one claim.
    fn height(&self) -> usize {
        self.layout.windows.len() + self.layout.rows.len()
    }

    fn planned_items(&self) -> usize {
        self.layout.columns.len() * self.height()
    }

    fn work(&self, at: usize) -> Work {
        let (column, place) = (at / self.height(), at % self.height());
        let evidence = match place.checked_sub(self.layout.windows.len()) {
            None => self.layout.window_text(&self.check, place),
            Some(row) => self.layout.row_text(&self.check, row),
        };
        let claim = self.layout.column_text(&self.check, column);
        Work::Pair { premise: Arc::clone(evidence), hypothesis: Arc::clone(claim), head: Head::Support }
    }

    fn take(&mut self, outcomes: &[Outcome<Score>]) {
        let (first, height) = (self.answered, self.height());
        for (at, place) in (first..self.asked).enumerate() {
            self.open.push(read_support(outcomes.get(at)));
            if (place + 1) % height == 0 {
                let answers = std::mem::take(&mut self.open);
                self.found[place / height] = Some(self.finding(&answers));
            }
        }
        self.answered = self.asked;
    }

    fn finding(&self, answers: &[Result<f32, Reason>]) -> Outcome<ClaimFinding> {
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
        let rows = supports.get(self.layout.windows.len()..).unwrap_or_default();
        let mut order: Vec<usize> = (0..rows.len()).collect();
        // Stable: of equals the earlier sentence comes first.
        order.sort_by(|a, b| rows[*b].total_cmp(&rows[*a]));
        let evidence = order.into_iter().take(PICKS).filter_map(|row| self.pick(row, rows[row])).collect();
        Outcome::Scored(ClaimFinding {
            support: Some(best),
            evidence,
            score: Some(f64::from(best.get())),
            ..ClaimFinding::default()
        })
    }

    fn pick(&self, row: usize, support: f32) -> Option<EvidencePick> {
        let (source, sentence) = *self.layout.rows.get(row)?;
        let probabilities = NliProbabilities {
            entailment: Probability::new(support)?,
            contradiction: Probability::ZERO,
            neutral: Probability::new(1.0 - support)?,
        };
        Some(EvidencePick { source, sentence, probabilities })
    }

    fn report(&mut self) -> Report {
        let claims = self.layout.outcomes(std::mem::take(&mut self.found));
        Report {
            method: METHOD,
            score: response_number(&claims, weakest_support(&claims), Polarity::HigherIsSupported),
            claims,
            facts: Vec::new(),
            extra: BTreeMap::new(),
            matrix: None,
            notes: Vec::new(),
            work_items: self.asked,
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

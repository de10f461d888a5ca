//! SummaC: entailment of each response sentence by single source sentences.
//!
//! The report's score is the mean over response sentences of the best entailment over source sentences, 0..=1; its extra number
//! `summac_zs` is the published SummaC-ZS, -1..=1, by default best entailment minus best contradiction. Both run over the
//! sentences that were scored.
//!
//! A claim's finding has the best entailment as support. Its contradiction is not ZS's, which takes any source sentence: it comes
//! from the few nearest by shared names, numbers and words, as the verdict rules ask.

pub mod math;

use crate::features::EvidenceFeatures;
use crate::layout::{GridWalk, Layout, keeps_matrix};
use crate::reading::reading;
use crate::tally::{grid_finding, never_started, response_score};
use crate::{Detector, DetectorOptions, Next, SummacOperator};
use groundline_types::{ClaimFinding, ModelFacts, NliProbabilities, Outcome, PreparedCheck, Report, Score};
use std::sync::Arc;

/// Mean best entailment over source sentences, and SummaC-ZS as published.
#[derive(Debug)]
pub(crate) struct Summac {
    options: DetectorOptions,
    run: Option<Run>,
}

#[derive(Debug)]
struct Run {
    check: Arc<PreparedCheck>,
    walk: GridWalk,
    features: EvidenceFeatures,
    found: Vec<Option<Outcome<ClaimFinding>>>,
    best_entailment: Vec<f64>,
    zs: Vec<f64>,
    work_items: usize,
}

impl Summac {
    pub(crate) fn new(options: &DetectorOptions) -> Self {
        Self { options: options.clone(), run: None }
    }

    fn layout(&self, check: &PreparedCheck, facts: &ModelFacts) -> Layout {
        if self.options.summac.parity { Layout::with_parity(check, facts) } else { Layout::new(check, facts) }
    }

    fn next(&mut self) -> Next {
        let Some(run) = &mut self.run else {
            return Next::Done(never_started("summac"));
        };
        let work = run.walk.ask();
        if work.is_empty() {
            return Next::Done(run.report(&self.options));
        }
        run.work_items += work.len();
        Next::Work(work)
    }
}

impl Detector for Summac {
    fn name(&self) -> &'static str {
        "summac"
    }

    fn start(&mut self, check: &Arc<PreparedCheck>, facts: &ModelFacts) -> Next {
        let layout = self.layout(check, facts);
        let features = EvidenceFeatures::new(check, &layout);
        let found = vec![None; layout.columns.len()];
        let keep = keeps_matrix(check, self.name());
        let walk = GridWalk::new(check, facts.labels, layout, self.options.grid_chunk(), keep);
        self.run = Some(Run {
            check: check.clone(),
            walk,
            features,
            found,
            best_entailment: Vec::new(),
            zs: Vec::new(),
            work_items: 0,
        });
        self.next()
    }

    fn planned_items(&self) -> usize {
        self.run.as_ref().map_or(0, |run| run.walk.layout.pairs())
    }

    fn resume(&mut self, outcomes: &[Outcome<Score>]) -> Next {
        if let Some(run) = &mut self.run {
            run.take(outcomes, &self.options);
        }
        self.next()
    }
}

impl Run {
    fn take(&mut self, outcomes: &[Outcome<Score>], options: &DetectorOptions) {
        for (column, probabilities) in self.walk.take(outcomes) {
            self.found[column] = Some(match probabilities {
                Ok(probabilities) => Outcome::Scored(self.finding(column, &probabilities, options)),
                Err(reason) => Outcome::Failed(reason),
            });
        }
    }

    fn finding(
        &mut self,
        column: usize,
        probabilities: &[NliProbabilities],
        options: &DetectorOptions,
    ) -> ClaimFinding {
        let entailment = || probabilities.iter().map(|pair| f64::from(pair.entailment.get()));
        let contradiction = || probabilities.iter().map(|pair| f64::from(pair.contradiction.get()));
        self.best_entailment.extend(math::reduce(SummacOperator::Max, entailment()));
        self.zs.extend(math::zs_column(entailment(), contradiction(), &options.summac));
        let claim = reading(&self.check, self.walk.layout.column_text(&self.check, column));
        let near = self.features.ranked(&claim.features, None);
        grid_finding(probabilities, &near, &self.walk.layout, options)
    }

    fn report(&mut self, options: &DetectorOptions) -> Report {
        let claims = self.walk.layout.outcomes(std::mem::take(&mut self.found));
        let mean = math::reduce(SummacOperator::Mean, self.best_entailment.iter().copied());
        let zs = math::zs(self.zs.iter().copied(), &options.summac);
        Report {
            method: "summac",
            score: response_score(&claims, mean),
            claims,
            facts: Vec::new(),
            extra: zs.map(|zs| ("summac_zs", zs)).into_iter().collect(),
            matrix: self.walk.matrix.take(),
            notes: Vec::new(),
            work_items: self.work_items,
        }
    }
}

#[cfg(test)]
mod tests;

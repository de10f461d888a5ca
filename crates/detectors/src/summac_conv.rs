//! SummaC-Conv: a learned layer over the histogram of each response sentence's entailment probabilities.
//!
//! The weights are the released ones (bins "percentile", labels "e", aggregation "mean"). They were fitted to the probabilities of
//! another NLI model; the report says so unless the loaded model brings a layer of its own. Two behaviours of the published
//! layer stay: counts are not normalised, so a longer source scores higher than a short one that supports as little; and a
//! single perfect sentence reaches 0.92, not 1.
//!
//! A response of more than 10 sentences is read whole: the aggregation is a mean, which is defined for any number of them.

use crate::layout::{GridWalk, Layout, keeps_matrix};
use crate::summac::math::{PUBLISHED_ROWS, conv, conv_row, histogram};
use crate::tally::{never_started, response_score};
use crate::{Detector, DetectorOptions, Next};
use groundline_types::{ClaimFinding, Code, ModelFacts, Outcome, PreparedCheck, Report, Score};
use std::collections::BTreeMap;
use std::sync::Arc;

/// SummaC-Conv with the released weights.
#[derive(Debug)]
pub(crate) struct SummacConv {
    options: DetectorOptions,
    run: Option<Run>,
}

#[derive(Debug)]
struct Run {
    walk: GridWalk,
    /// Only whether each claim was scored: the method speaks about the whole response.
    found: Vec<Option<Outcome<ClaimFinding>>>,
    rows: Vec<f64>,
    fitted: bool,
    work_items: usize,
}

impl SummacConv {
    pub(crate) fn new(options: &DetectorOptions) -> Self {
        Self { options: options.clone(), run: None }
    }

    fn layout(&self, check: &PreparedCheck, facts: &ModelFacts) -> Layout {
        if !self.options.summac.parity {
            return Layout::new(check, facts);
        }
        let mut layout = Layout::with_parity(check, facts);
        layout.columns.truncate(PUBLISHED_ROWS);
        layout
    }

    fn next(&mut self) -> Next {
        let Some(run) = &mut self.run else {
            return Next::Done(never_started("summac_conv"));
        };
        let work = run.walk.ask();
        if work.is_empty() {
            return Next::Done(run.report());
        }
        run.work_items += work.len();
        Next::Work(work)
    }
}

impl Detector for SummacConv {
    fn name(&self) -> &'static str {
        "summac_conv"
    }

    fn start(&mut self, check: &Arc<PreparedCheck>, facts: &ModelFacts) -> Next {
        let layout = self.layout(check, facts);
        let found = vec![None; layout.columns.len()];
        let keep = keeps_matrix(check, self.name());
        let walk = GridWalk::new(check, facts.labels, layout, self.options.grid_chunk(), keep);
        self.run =
            Some(Run { walk, found, rows: Vec::new(), fitted: facts.summac_conv_fitted, work_items: 0 });
        self.next()
    }

    fn planned_items(&self) -> usize {
        self.run.as_ref().map_or(0, |run| run.walk.layout.pairs())
    }

    fn resume(&mut self, outcomes: &[Outcome<Score>]) -> Next {
        if let Some(run) = &mut self.run {
            for (column, probabilities) in run.walk.take(outcomes) {
                let scored = probabilities.map(|column| {
                    let entailment = column.iter().map(|pair| f64::from(pair.entailment.get()));
                    run.rows.push(conv_row(&histogram(entailment)));
                });
                run.found[column] =
                    Some(scored.map_or_else(Outcome::Failed, |()| Outcome::Scored(ClaimFinding::default())));
            }
        }
        self.next()
    }
}

impl Run {
    fn report(&mut self) -> Report {
        let outcomes = self.walk.layout.outcomes(std::mem::take(&mut self.found));
        let score = (!self.rows.is_empty()).then(|| conv(self.rows.iter().copied()));
        let mut notes = Vec::new();
        if !self.fitted && score.is_some() {
            let message = "summac_conv_foreign_backbone: the released SummaC-Conv layer was fitted to another NLI model than \
                           the one loaded; compare its numbers with each other, not with published ones";
            notes.push((Code::FOREIGN_BACKBONE, message.to_owned()));
        }
        Report {
            method: "summac_conv",
            score: response_score(&outcomes, score),
            claims: Vec::new(),
            facts: Vec::new(),
            extra: BTreeMap::new(),
            matrix: self.walk.matrix.take(),
            notes,
            work_items: self.work_items,
        }
    }
}

#[cfg(test)]
mod tests;

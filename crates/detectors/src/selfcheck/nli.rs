//! `selfcheck_nli`: does a sentence contradict what the model says in its other answers?
//!
//! As published, the pair is (the sentence under test, the whole sample): the sentence is the premise, the sample the hypothesis;
//! or the other way round ([`NliPremise::Sample`]). Its value is the probability of contradiction among entailment and contradiction alone: `e^c / (e^e + e^c)` of the two logits,
//! which takes neutral out of a three-class model. A model without a contradiction class is read by its other class. A sentence's
//! number is the mean over samples, 0 to 1, the response's the mean of its sentences'.
//!
//! The published code cuts a sample that the model cannot read at once. Here it is read in windows of whole sentences, and the
//! window that agrees most counts: what one window supports the sample supports.
//!
//! A sentence with any pair that has no score is failed with that pair's reason. Equal pairs are asked once.

use super::crossing::{Crossing, finding_of};
use super::sampled::{Sampled, distinct, mean_score, notes, report};
use super::subject::Subjects;
use crate::answers::read_logits;
use crate::layout::pair;
use crate::tally::never_started;
use crate::{Detector, DetectorOptions, Next, NliPremise};
use groundline_types::{
    ClaimFinding, Code, ModelFacts, NliLabels, Outcome, PreparedCheck, PreparedSource, Reason, Report, Score,
};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

const METHOD: &str = "selfcheck_nli";

/// Contradiction between sentences and samples.
#[derive(Debug)]
pub(crate) struct SelfcheckNli {
    chunk: usize,
    premise: NliPremise,
    run: Option<Run>,
}

/// Every different sentence meets every different window.
#[derive(Debug)]
struct Run {
    check: Arc<PreparedCheck>,
    labels: NliLabels,
    crossing: Crossing,
    windows: Vec<Arc<str>>,
    said: Samples,
}

/// The samples behind the windows.
#[derive(Debug)]
struct Samples {
    distinct: Vec<Sampled>,
    subjects: Subjects,
    /// For each distinct sample, its windows.
    windows_of: Vec<Vec<usize>>,
}

impl SelfcheckNli {
    pub(crate) fn new(options: &DetectorOptions) -> Self {
        let premise = options.selfcheck.nli_premise;
        Self { chunk: options.pairs_per_round.max(1), premise, run: None }
    }

    fn next(&mut self) -> Next {
        let Some(run) = &mut self.run else {
            return Next::Done(never_started(METHOD));
        };
        let work = |(sentence, window): (&Arc<str>, usize)| match self.premise {
            NliPremise::Sentence => pair(sentence, &run.windows[window]),
            NliPremise::Sample => pair(&run.windows[window], sentence),
        };
        let work = run.crossing.next(self.chunk).map(work).collect::<Vec<_>>();
        if work.is_empty() { Next::Done(run.report()) } else { Next::Work(work) }
    }
}

impl Detector for SelfcheckNli {
    fn name(&self) -> &'static str {
        METHOD
    }

    fn start(&mut self, check: &Arc<PreparedCheck>, facts: &ModelFacts) -> Next {
        self.run = Some(Run::new(check, facts));
        self.next()
    }

    fn planned_items(&self) -> usize {
        self.run.as_ref().map_or(0, |run| run.crossing.planned())
    }

    fn resume(&mut self, outcomes: &[Outcome<Score>]) -> Next {
        if let Some(run) = &mut self.run {
            let Run { labels, said, crossing, .. } = run;
            crossing.take(|at| read(outcomes.get(at), labels), |text, answers| said.finding(text, answers));
        }
        self.next()
    }
}

impl Run {
    fn new(check: &Arc<PreparedCheck>, facts: &ModelFacts) -> Self {
        let distinct = distinct(check);
        let (windows, windows_of, longest) = windows_of(check, &distinct);
        let room = facts.max_tokens.saturating_sub(facts.pair_overhead_tokens + longest);
        let refuse = |text: &str| {
            let tokens = facts.counter.count_tokens(text);
            let message = || {
                format!(
                    "the sentence has {tokens} tokens, and next to the longest piece of a sample the model has room for \
                     {room} of its {}",
                    facts.max_tokens
                )
            };
            (tokens > room).then(|| Reason::new(Code::CLAIM_TOO_LONG, message()))
        };
        Self {
            labels: facts.labels,
            crossing: Crossing::new(check, &distinct, windows.len(), refuse),
            windows,
            said: Samples { subjects: Subjects::new(&check.samples, &distinct), distinct, windows_of },
            check: Arc::clone(check),
        }
    }

    fn report(&self) -> Report {
        let claims = self.crossing.claims();
        let (value, notes) = (mean_score(&claims), notes(&self.check, &self.said.distinct));
        Report { work_items: self.crossing.asked(), ..report(METHOD, claims, value, BTreeMap::new(), notes) }
    }
}

impl Samples {
    /// What is said of a sentence, given the answer for each window.
    fn finding(&self, sentence: &str, answers: &[Result<f64, Reason>]) -> Outcome<ClaimFinding> {
        if let Some(reason) = answers.iter().find_map(|answer| answer.as_ref().err()) {
            return Outcome::Failed(reason.clone());
        }
        let of_window = |window: &usize| answers.get(*window)?.as_ref().ok().copied();
        // The largest support is the smallest contradiction.
        let of_sample = |windows: &Vec<usize>| windows.iter().filter_map(of_window).reduce(f64::min);
        let samples = self.distinct.iter().zip(&self.windows_of).zip(self.subjects.speaking(sentence));
        let values: Vec<(f64, u64, bool)> = samples
            .filter_map(|((sampled, windows), speaks)| Some((of_sample(windows)?, sampled.times, speaks)))
            .collect();
        let none = || Outcome::Failed(Reason::new(Code::INTERNAL, "there was nothing to score"));
        finding_of(&values).map_or_else(none, Outcome::Scored)
    }
}

/// The different windows of all samples, those of each sample, and the tokens of the longest.
fn windows_of(check: &PreparedCheck, distinct: &[Sampled]) -> (Vec<Arc<str>>, Vec<Vec<usize>>, usize) {
    let (mut windows, mut longest) = (Vec::new(), 0);
    let mut known: HashMap<Arc<str>, usize> = HashMap::new();
    let samples = distinct.iter().filter_map(|sampled| check.samples.get(sampled.index));
    let windows_of = samples.map(|sample: &PreparedSource| {
        let of_window = |window: &groundline_types::EvidenceWindow| {
            let held = sample.sentences.get(window.first_sentence..window.end_sentence).unwrap_or_default();
            longest = longest.max(held.iter().map(|sentence| sentence.tokens).sum());
            *known.entry(Arc::clone(&window.text)).or_insert_with(|| {
                windows.push(Arc::clone(&window.text));
                windows.len() - 1
            })
        };
        sample.windows.iter().map(of_window).collect()
    });
    let windows_of = windows_of.collect();
    (windows, windows_of, longest)
}

/// The probability of contradiction among the two classes, 0 to 1.
fn read(outcome: Option<&Outcome<Score>>, labels: &NliLabels) -> Result<f64, Reason> {
    let logits = read_logits(outcome, labels.count)?;
    let against = labels.contradiction.or(labels.neutral);
    let logit = |at: usize| logits.get(at).copied().map(f64::from);
    match (logit(labels.entailment), against.and_then(logit)) {
        (Some(entailment), Some(contradiction)) => Ok(1.0 / (1.0 + (entailment - contradiction).exp())),
        _ => Err(Reason::new(Code::UNKNOWN_LABELS, "the model has no class besides entailment")),
    }
}

#[cfg(test)]
mod tests;

//! `selfcheck_nli`: does a sentence contradict what the model says in its other answers?
//!
//! As published, the pair is (the sentence under test, the whole sample): the sentence is the premise, the sample the hypothesis.
//! Its value is the probability of contradiction among entailment and contradiction alone: `e^c / (e^e + e^c)` of the two logits,
//! which takes neutral out of a three-class model. A model without a contradiction class is read by its other class. A sentence's
//! number is the mean over samples, 0 to 1, the response's the mean of its sentences'.
//!
//! The published code cuts a sample that the model cannot read at once. Here it is read in windows of whole sentences, and the
//! window that agrees most counts: what one window supports the sample supports.
//!
//! A sentence with any pair that has no score is failed with that pair's reason. Equal pairs are asked once.

use super::ngram::mean_of;
use super::sampled::{Sampled, distinct, notes, settled, weighted_mean};
use super::subject::Subjects;
use crate::answers::read_logits;
use crate::layout::pair;
use crate::tally::{never_started, response_number};
use crate::{Detector, DetectorOptions, Next};
use groundline_types::{
    ClaimFinding, Code, ModelFacts, NliLabels, Outcome, Polarity, PreparedCheck, PreparedSource, Reason,
    Report, Score,
};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

const METHOD: &str = "selfcheck_nli";

/// Contradiction between sentences and samples.
#[derive(Debug)]
pub(crate) struct SelfcheckNli {
    chunk: usize,
    run: Option<Run>,
}

/// Every different sentence meets every different window, sentence by sentence.
#[derive(Debug)]
struct Run {
    check: Arc<PreparedCheck>,
    labels: NliLabels,
    distinct: Vec<Sampled>,
    subjects: Subjects,
    settled: Vec<Option<Outcome<ClaimFinding>>>,
    /// Index of the first claim of each different text to score.
    sentences: Vec<usize>,
    /// For each claim to score, its place in `sentences`.
    place: BTreeMap<usize, usize>,
    windows: Vec<Arc<str>>,
    /// For each distinct sample, its windows.
    windows_of: Vec<Vec<usize>>,
    /// Pairs asked and answered so far.
    asked: usize,
    answered: usize,
    /// The answers about the sentence that is open, by window.
    open: Vec<Result<f64, Reason>>,
    found: Vec<Outcome<ClaimFinding>>,
}

impl SelfcheckNli {
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
        let (wide, check) = (run.windows.len(), &run.check);
        let work = |at: usize| pair(&check.claims[run.sentences[at / wide]].text, &run.windows[at % wide]);
        Next::Work((start..run.asked).map(work).collect())
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
    fn new(check: &Arc<PreparedCheck>, facts: &ModelFacts) -> Self {
        let distinct = distinct(check);
        let (windows, windows_of, longest) = windows_of(check, &distinct);
        let room = facts.max_tokens.saturating_sub(facts.pair_overhead_tokens + longest);
        let mut settled = settled(check, &distinct);
        let (mut sentences, mut place, mut known) = (Vec::new(), BTreeMap::new(), HashMap::new());
        for (index, slot) in settled.iter_mut().enumerate().filter(|(_, slot)| slot.is_none()) {
            let text = &check.claims[index].text;
            let tokens = facts.counter.count_tokens(text);
            if tokens > room {
                let message = format!(
                    "the sentence has {tokens} tokens, and next to the longest piece of a sample the model has room for \
                     {room} of its {}",
                    facts.max_tokens
                );
                *slot = Some(Outcome::Failed(Reason::new(Code::CLAIM_TOO_LONG, message)));
                continue;
            }
            let at = *known.entry(&**text).or_insert(sentences.len());
            if at == sentences.len() {
                sentences.push(index);
            }
            place.insert(index, at);
        }
        Self {
            labels: facts.labels,
            subjects: Subjects::new(&check.samples, &distinct),
            distinct,
            settled,
            sentences,
            place,
            windows,
            windows_of,
            asked: 0,
            answered: 0,
            open: Vec::new(),
            found: Vec::new(),
            check: Arc::clone(check),
        }
    }

    fn planned_items(&self) -> usize {
        self.sentences.len() * self.windows.len()
    }

    fn take(&mut self, outcomes: &[Outcome<Score>]) {
        for at in 0..self.asked - self.answered {
            self.open.push(read(outcomes.get(at), &self.labels));
            if self.open.len() == self.windows.len() {
                let answers = std::mem::take(&mut self.open);
                let outcome = self.finding(self.found.len(), &answers);
                self.found.push(outcome);
            }
        }
        self.answered = self.asked;
    }

    /// What is said of the sentence at a place, given the answer for each window.
    fn finding(&self, place: usize, answers: &[Result<f64, Reason>]) -> Outcome<ClaimFinding> {
        if let Some(reason) = answers.iter().find_map(|answer| answer.as_ref().err()) {
            return Outcome::Failed(reason.clone());
        }
        let of_window = |window: &usize| answers.get(*window)?.as_ref().ok().copied();
        // The largest support is the smallest contradiction.
        let of_sample = |windows: &Vec<usize>| windows.iter().filter_map(of_window).reduce(f64::min);
        let samples = self.distinct.iter().zip(&self.windows_of);
        let values: Vec<(f64, u64)> =
            samples.filter_map(|(sampled, windows)| Some((of_sample(windows)?, sampled.times))).collect();
        let speaking = self.subjects.speaking(&self.check.claims[self.sentences[place]].text);
        let spoken = || values.iter().zip(&speaking).filter(|(_, speaks)| **speaks).map(|(value, _)| *value);
        let count: u64 = spoken().map(|(_, times)| times).sum();
        let mut finding =
            ClaimFinding { score: weighted_mean(values.iter().copied()), ..ClaimFinding::default() };
        finding.extra.insert("subject_samples", count as f64);
        finding.extra.extend(weighted_mean(spoken()).map(|mean| ("subject_only", mean)));
        Outcome::Scored(finding)
    }

    fn report(&mut self) -> Report {
        let missing = || {
            Outcome::Failed(Reason::new(Code::INTERNAL, "the method ended before this sentence was scored"))
        };
        let outcome = |(index, settled): (usize, &Option<Outcome<ClaimFinding>>)| match settled {
            Some(outcome) => outcome.clone(),
            None => {
                self.place.get(&index).and_then(|at| self.found.get(*at).cloned()).unwrap_or_else(missing)
            }
        };
        let claims: Vec<Outcome<ClaimFinding>> = self.settled.iter().enumerate().map(outcome).collect();
        let scores = claims.iter().filter_map(|claim| Some((claim.scored()?.score?, 1)));
        let value = weighted_mean(scores);
        let subject_only = mean_of(&claims, "subject_only");
        Report {
            method: METHOD,
            score: response_number(&claims, value, Polarity::HigherIsHallucinated),
            claims,
            facts: Vec::new(),
            extra: subject_only.map(|mean| ("subject_only", mean)).into_iter().collect(),
            matrix: None,
            notes: notes(&self.check, &self.distinct),
            work_items: self.asked,
        }
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

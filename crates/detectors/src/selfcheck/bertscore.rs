//! `selfcheck_bertscore`: do other answers have a sentence that says the same in nearly the same words?
//!
//! As published, a sentence's number is 1 - the mean over samples of the best BERTScore F1 with any of the sample's sentences. F1 is
//! rescaled with the baseline `b` of unrelated sentences: `(F1 - b) / (1 - b)`, so that unrelated sentences are at 0. The baseline
//! belongs to the model; a model without one gives F1 as it is, with a note. A number may be a little above 1, where a sentence is
//! farther from every sample than unrelated sentences are.
//!
//! Sentences of samples with at most [`SHORT_TOKENS`] tokens are left out, as published, unless a sample has no other: the published
//! code fails on such a sample.
//!
//! Every different sentence meets every different sentence of the samples, and those follow one another: so each of the samples'
//! sentences is in one job or two, and an engine computes each text once.

use super::asked::Asked;
use super::crossing::finding_of;
use super::sampled::{Sampled, distinct, mean_score, notes, report, sentences};
use super::subject::Subjects;
use super::words::tokens;
use crate::answers::read_similarity;
use crate::rounds::{Numbered, Rounds};
use crate::{Detector, DetectorOptions, Next};
use groundline_types::{ClaimFinding, Code, ModelFacts, Outcome, PreparedCheck, Reason, Report, Score, Work};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

const METHOD: &str = "selfcheck_bertscore";
/// A sample's sentence says something where it has more tokens.
const SHORT_TOKENS: usize = 3;

/// Similarity of sentences and samples.
#[derive(Debug)]
pub(crate) struct SelfcheckBertscore {
    rounds: Rounds<Run>,
}

/// Every different sentence of the samples meets every different sentence, one after the other.
#[derive(Debug)]
struct Run {
    check: Arc<PreparedCheck>,
    baseline: Option<f64>,
    distinct: Vec<Sampled>,
    subjects: Subjects,
    sentences: Asked,
    texts: Vec<SampleSentence>,
    /// For each sentence, its best F1 with each sample so far, or why there is none.
    best: Vec<Result<Vec<f64>, Reason>>,
}

/// A sentence that samples have.
#[derive(Debug)]
struct SampleSentence {
    text: Arc<str>,
    /// Places of the samples in `distinct`.
    samples: Vec<usize>,
}

impl SelfcheckBertscore {
    pub(crate) fn new(options: &DetectorOptions) -> Self {
        Self { rounds: Rounds::new(METHOD, options) }
    }
}

impl Detector for SelfcheckBertscore {
    fn name(&self) -> &'static str {
        METHOD
    }

    fn start(&mut self, check: &Arc<PreparedCheck>, facts: &ModelFacts) -> Next {
        self.rounds.start(Run::new(check, facts))
    }

    fn planned_items(&self) -> usize {
        self.rounds.planned_items()
    }

    fn resume(&mut self, outcomes: &[Outcome<Score>]) -> Next {
        self.rounds.resume(outcomes)
    }
}

impl Run {
    fn new(check: &Arc<PreparedCheck>, facts: &ModelFacts) -> Self {
        let distinct = distinct(check);
        let texts = texts_of(check, &distinct);
        // One text alone has fewer markers around it than a pair.
        let room = facts.max_tokens.saturating_sub(facts.pair_overhead_tokens);
        let sentences = Asked::new(check, &distinct, |text| {
            let tokens = facts.counter.count_tokens(text);
            let message = format!("the sentence has {tokens} tokens and the model reads {room} at once");
            (tokens > room).then(|| Reason::new(Code::CLAIM_TOO_LONG, message))
        });
        Self {
            baseline: facts.similarity_baseline,
            subjects: Subjects::new(&check.samples, &distinct),
            // Below any F1: every sample has a sentence, and so ends with another number.
            best: vec![Ok(vec![f64::NEG_INFINITY; distinct.len()]); sentences.count()],
            distinct,
            sentences,
            texts,
            check: Arc::clone(check),
        }
    }

    /// What is said of the sentence at a place.
    fn finding(&self, place: usize) -> Outcome<ClaimFinding> {
        let best = match &self.best[place] {
            Ok(best) => best,
            Err(reason) => return Outcome::Failed(reason.clone()),
        };
        let speaking = self.subjects.speaking(self.sentences.text(place));
        let samples = self.distinct.iter().zip(best).zip(&speaking);
        let value = |((sampled, f1), speaks): ((&Sampled, &f64), &bool)| {
            (1.0 - rescaled(*f1, self.baseline), sampled.times, *speaks)
        };
        let values: Vec<_> = samples.map(value).collect();
        // A sentence is asked about where there are samples.
        Outcome::Scored(finding_of(&values).unwrap_or_default())
    }
}

impl Numbered for Run {
    fn count(&self) -> usize {
        self.sentences.count() * self.texts.len()
    }

    fn work(&self, number: usize) -> Work {
        let (text, sentence) = (number / self.sentences.count(), number % self.sentences.count());
        Work::Similarity {
            candidate: Arc::clone(&self.texts[text].text),
            reference: Arc::clone(self.sentences.text(sentence)),
        }
    }

    fn take(&mut self, number: usize, outcome: Option<&Outcome<Score>>) {
        let (text, sentence) = (number / self.sentences.count(), number % self.sentences.count());
        let slot = &mut self.best[sentence];
        match (read_similarity(outcome), &mut *slot) {
            (_, Err(_)) => {}
            (Err(reason), Ok(_)) => *slot = Err(reason),
            (Ok(similarity), Ok(best)) => {
                for sample in &self.texts[text].samples {
                    best[*sample] = best[*sample].max(similarity.f1());
                }
            }
        }
    }

    fn report(&mut self) -> Report {
        let found: Vec<Outcome<ClaimFinding>> =
            (0..self.sentences.count()).map(|place| self.finding(place)).collect();
        let claims = self.sentences.claims(&found);
        let value = mean_score(&claims);
        let mut notes = notes(&self.check, &self.distinct);
        if self.baseline.is_none() && value.is_some() {
            let message = "the model has no baseline of unrelated sentences, so similarity is not rescaled and even unrelated \
                           sentences count as somewhat alike; make one with `groundline models baseline`";
            notes.push((Code::NO_BASELINE, message.to_owned()));
        }
        report(METHOD, claims, value, BTreeMap::new(), notes)
    }
}

/// `F1` on the scale on which unrelated sentences are at 0.
fn rescaled(f1: f64, baseline: Option<f64>) -> f64 {
    match baseline {
        Some(baseline) if baseline < 1.0 => (f1 - baseline) / (1.0 - baseline),
        _ => f1,
    }
}

/// The different sentences of all samples to compare with, in order of their first.
fn texts_of(check: &PreparedCheck, distinct: &[Sampled]) -> Vec<SampleSentence> {
    let mut known: HashMap<&str, usize> = HashMap::new();
    let mut texts: Vec<SampleSentence> = Vec::new();
    for (place, sampled) in distinct.iter().enumerate() {
        let Some(sample) = check.samples.get(sampled.index) else { continue };
        let is_long = |text: &str| tokens(text).nth(SHORT_TOKENS).is_some();
        let has_long = sentences(sample).any(is_long);
        let kept = sample.sentences.iter().filter(|sentence| !has_long || is_long(&sentence.text));
        for sentence in kept {
            let at = *known.entry(&sentence.text).or_insert(texts.len());
            if at == texts.len() {
                texts.push(SampleSentence { text: Arc::clone(&sentence.text), samples: Vec::new() });
            }
            if texts[at].samples.last() != Some(&place) {
                texts[at].samples.push(place);
            }
        }
    }
    texts
}

#[cfg(test)]
mod tests;

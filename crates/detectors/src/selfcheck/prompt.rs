//! `selfcheck_prompt`: does a language model say that a sample supports a sentence?
//!
//! As published, each sentence meets each whole sample in one question, answered by yes (0), no (1) or anything else (0.5). A
//! sentence's number is the mean over samples, 0 to 1, the response's the mean of its sentences'. How an answer is read, and how the
//! question is worded, is the judge's part.
//!
//! Equal samples and equal sentences are asked about once. A question without an answer (a refusal, a spent budget) leaves its
//! sample out for that sentence, with a note; a sentence with no answer at all is failed with the first one's reason. Leaving out is
//! sound here, unlike for evidence: the number is a mean, and no sample decides it alone.

use super::ngram::mean_of;
use super::sampled::{Sampled, distinct, notes, settled, weighted_mean};
use super::subject::Subjects;
use crate::judged::{Ledger, wrong_kind};
use crate::tally::{never_started, response_number};
use crate::{Detector, DetectorOptions, Next};
use groundline_types::{
    Answer, Answered, ClaimFinding, Code, ModelFacts, Outcome, Polarity, PreparedCheck, Question, Reason,
    Report, Score,
};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

const METHOD: &str = "selfcheck_prompt";

/// Questions that are asked at once; the next ones follow their answers.
const QUESTIONS_PER_ROUND: usize = 256;

/// A judge's word on sentences and samples.
#[derive(Debug)]
pub(crate) struct SelfcheckPrompt {
    run: Option<Run>,
}

/// Every different sentence meets every different sample, sentence by sentence.
#[derive(Debug)]
struct Run {
    check: Arc<PreparedCheck>,
    distinct: Vec<Sampled>,
    texts: Vec<Arc<str>>,
    subjects: Subjects,
    settled: Vec<Option<Outcome<ClaimFinding>>>,
    /// Index of the first claim of each different text to ask about.
    sentences: Vec<usize>,
    /// For each claim to ask about, its place in `sentences`.
    place: BTreeMap<usize, usize>,
    asked: usize,
    answered: usize,
    /// The answers about the sentence that is open, by sample.
    open: Vec<Result<f64, Reason>>,
    found: Vec<Outcome<ClaimFinding>>,
    ledger: Ledger,
}

impl SelfcheckPrompt {
    pub(crate) fn new(_options: &DetectorOptions) -> Self {
        Self { run: None }
    }

    fn next(&mut self) -> Next {
        let Some(run) = &mut self.run else {
            return Next::Done(never_started(METHOD));
        };
        let start = run.asked;
        run.asked = (start + QUESTIONS_PER_ROUND).min(run.planned());
        if start == run.asked {
            return Next::Done(run.report());
        }
        let (wide, check) = (run.texts.len(), &run.check);
        let question = |at: usize| Question::SelfCheck {
            sentence: Arc::clone(&check.claims[run.sentences[at / wide]].text),
            sample: Arc::clone(&run.texts[at % wide]),
        };
        Next::Ask((start..run.asked).map(question).collect())
    }
}

impl Detector for SelfcheckPrompt {
    fn name(&self) -> &'static str {
        METHOD
    }

    fn start(&mut self, check: &Arc<PreparedCheck>, _facts: &ModelFacts) -> Next {
        self.run = Some(Run::new(check));
        self.next()
    }

    fn planned_items(&self) -> usize {
        0
    }

    fn planned_questions(&self) -> usize {
        self.run.as_ref().map_or(0, Run::planned)
    }

    fn resume(&mut self, _outcomes: &[Outcome<Score>]) -> Next {
        self.hear(&[])
    }

    fn hear(&mut self, answers: &[Answered]) -> Next {
        if let Some(run) = &mut self.run {
            run.take(answers);
        }
        self.next()
    }
}

impl Run {
    fn new(check: &Arc<PreparedCheck>) -> Self {
        let distinct = distinct(check);
        let settled = settled(check, &distinct);
        let (mut sentences, mut place, mut known) = (Vec::new(), BTreeMap::new(), HashMap::new());
        for (index, _) in settled.iter().enumerate().filter(|(_, slot)| slot.is_none()) {
            let at = *known.entry(&*check.claims[index].text).or_insert(sentences.len());
            if at == sentences.len() {
                sentences.push(index);
            }
            place.insert(index, at);
        }
        let samples = distinct.iter().filter_map(|sampled| check.samples.get(sampled.index));
        Self {
            texts: samples.map(|sample| Arc::clone(&sample.text)).collect(),
            subjects: Subjects::new(&check.samples, &distinct),
            distinct,
            settled,
            sentences,
            place,
            asked: 0,
            answered: 0,
            open: Vec::new(),
            found: Vec::new(),
            ledger: Ledger::default(),
            check: Arc::clone(check),
        }
    }

    fn planned(&self) -> usize {
        self.sentences.len() * self.texts.len()
    }

    fn take(&mut self, answers: &[Answered]) {
        for at in 0..self.asked - self.answered {
            self.open.push(match self.ledger.take(answers.get(at)) {
                Outcome::Scored(Answer::Inconsistency(value)) if value.is_finite() => Ok(value),
                Outcome::Scored(_) => Err(wrong_kind()),
                Outcome::Abstained(reason) | Outcome::Failed(reason) => Err(reason),
            });
            if self.open.len() == self.texts.len() {
                let answers = std::mem::take(&mut self.open);
                let outcome = self.finding(self.found.len(), &answers);
                self.found.push(outcome);
            }
        }
        self.answered = self.asked;
    }

    /// What is said of the sentence at a place, given the answer for each sample.
    fn finding(&self, place: usize, answers: &[Result<f64, Reason>]) -> Outcome<ClaimFinding> {
        let text = &self.check.claims[self.sentences[place]].text;
        let speaking = self.subjects.speaking(text);
        let answered = self.distinct.iter().zip(answers).zip(&speaking);
        let values: Vec<(f64, u64, bool)> = answered
            .filter_map(|((sampled, answer), speaks)| Some((*answer.as_ref().ok()?, sampled.times, *speaks)))
            .collect();
        let Some(score) = weighted_mean(values.iter().map(|(value, times, _)| (*value, *times))) else {
            let first = answers.iter().find_map(|answer| answer.as_ref().err());
            let none = || Reason::new(Code::INTERNAL, "there was nothing to ask");
            return Outcome::Failed(first.cloned().unwrap_or_else(none));
        };
        let spoken =
            || values.iter().filter(|(.., speaks)| *speaks).map(|(value, times, _)| (*value, *times));
        let mut finding = ClaimFinding { score: Some(score), ..ClaimFinding::default() };
        let count: u64 = spoken().map(|(_, times)| times).sum();
        finding.extra.insert("subject_samples", count as f64);
        finding.extra.extend(weighted_mean(spoken()).map(|mean| ("subject_only", mean)));
        let answered: u64 = values.iter().map(|(_, times, _)| times).sum();
        finding.extra.insert("answered_samples", answered as f64);
        Outcome::Scored(finding)
    }

    fn report(&mut self) -> Report {
        let missing = || {
            Outcome::Failed(Reason::new(
                Code::INTERNAL,
                "the method ended before this sentence was asked about",
            ))
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
        let mut extra = self.ledger.extra();
        extra.extend(mean_of(&claims, "subject_only").map(|mean| ("subject_only", mean)));
        let mut notes = notes(&self.check, &self.distinct);
        notes.extend(self.ledger.notes());
        Report {
            method: METHOD,
            score: response_number(&claims, value, Polarity::HigherIsHallucinated),
            claims,
            facts: Vec::new(),
            extra,
            matrix: None,
            notes,
            work_items: 0,
        }
    }
}

#[cfg(test)]
mod tests;

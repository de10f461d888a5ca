//! `selfcheck_prompt`: does a language model say that a sample supports a sentence?
//!
//! As published, each sentence meets each whole sample in one question, answered by yes (0), no (1) or anything else (0.5). A
//! sentence's number is the mean over samples, 0 to 1, the response's the mean of its sentences'. How an answer is read, and how the
//! question is worded, is the judge's part.
//!
//! Equal samples and equal sentences are asked about once. A question without an answer (a refusal, a spent budget) leaves its
//! sample out for that sentence, with a note; a sentence with no answer at all is failed with the first one's reason. Leaving out is
//! sound here, unlike for evidence: the number is a mean, and no sample decides it alone.

use super::crossing::{Crossing, finding_of};
use super::sampled::{Sampled, distinct, mean_score, notes, report};
use super::subject::Subjects;
use crate::judged::{Ledger, wrong_kind};
use crate::tally::never_started;
use crate::{Detector, DetectorOptions, Next};
use groundline_types::{
    Answer, Answered, ClaimFinding, Code, ModelFacts, Outcome, PreparedCheck, Question, Reason, Report, Score,
};
use std::sync::Arc;

const METHOD: &str = "selfcheck_prompt";

/// Questions that are asked at once; the next ones follow their answers.
const QUESTIONS_PER_ROUND: usize = 256;

/// A judge's word on sentences and samples.
#[derive(Debug)]
pub(crate) struct SelfcheckPrompt {
    run: Option<Run>,
}

/// Every different sentence meets every different sample.
#[derive(Debug)]
struct Run {
    check: Arc<PreparedCheck>,
    distinct: Vec<Sampled>,
    texts: Vec<Arc<str>>,
    subjects: Subjects,
    crossing: Crossing,
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
        let question = |(sentence, sample): (&Arc<str>, usize)| Question::SelfCheck {
            sentence: Arc::clone(sentence),
            sample: Arc::clone(&run.texts[sample]),
        };
        let questions = run.crossing.next(QUESTIONS_PER_ROUND).map(question).collect::<Vec<_>>();
        if questions.is_empty() { Next::Done(run.report()) } else { Next::Ask(questions) }
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
        self.run.as_ref().map_or(0, |run| run.crossing.planned())
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
        let samples = distinct.iter().filter_map(|sampled| check.samples.get(sampled.index));
        let texts = samples.map(|sample| Arc::clone(&sample.text)).collect::<Vec<_>>();
        Self {
            crossing: Crossing::new(check, &distinct, texts.len(), |_| None),
            subjects: Subjects::new(&check.samples, &distinct),
            texts,
            distinct,
            ledger: Ledger::default(),
            check: Arc::clone(check),
        }
    }

    fn take(&mut self, answers: &[Answered]) {
        let Self { crossing, ledger, distinct, subjects, .. } = self;
        let answer = |at: usize| match ledger.take(answers.get(at)) {
            Outcome::Scored(Answer::Inconsistency(value)) if value.is_finite() => Ok(value),
            Outcome::Scored(_) => Err(wrong_kind()),
            Outcome::Abstained(reason) | Outcome::Failed(reason) => Err(reason),
        };
        crossing.take(answer, |sentence, answers| finding(sentence, answers, distinct, subjects));
    }

    fn report(&self) -> Report {
        let claims = self.crossing.claims();
        let mut notes = notes(&self.check, &self.distinct);
        notes.extend(self.ledger.notes());
        let value = mean_score(&claims);
        report(METHOD, claims, value, self.ledger.extra(), notes)
    }
}

/// What is said of a sentence, given the answer for each sample.
fn finding(
    sentence: &str,
    answers: &[Result<f64, Reason>],
    distinct: &[Sampled],
    subjects: &Subjects,
) -> Outcome<ClaimFinding> {
    let answered = distinct.iter().zip(answers).zip(subjects.speaking(sentence));
    let values: Vec<(f64, u64, bool)> = answered
        .filter_map(|((sampled, answer), speaks)| Some((*answer.as_ref().ok()?, sampled.times, speaks)))
        .collect();
    let Some(mut finding) = finding_of(&values) else {
        let first = answers.iter().find_map(|answer| answer.as_ref().err());
        let none = || Reason::new(Code::INTERNAL, "there was nothing to ask");
        return Outcome::Failed(first.cloned().unwrap_or_else(none));
    };
    let answered: u64 = values.iter().map(|(_, times, _)| times).sum();
    finding.extra.insert("answered_samples", answered as f64);
    Outcome::Scored(finding)
}

#[cfg(test)]
mod tests;

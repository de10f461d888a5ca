//! Every different sentence of a check meets every different text of its samples, sentence by sentence.

use super::asked::Asked;
use super::sampled::{SUBJECT_ONLY, Sampled, weighted_mean};
use groundline_types::{ClaimFinding, Outcome, PreparedCheck, Reason};
use std::sync::Arc;

/// How far a method is with its sentences and texts.
#[derive(Debug)]
pub(super) struct Crossing {
    sentences: Asked,
    /// How many texts each sentence meets.
    texts: usize,
    asked: usize,
    answered: usize,
    /// The answers about the sentence that is open, by text.
    open: Vec<Result<f64, Reason>>,
    found: Vec<Outcome<ClaimFinding>>,
}

impl Crossing {
    /// Nothing is asked yet. `refuse` says why a sentence cannot be asked about.
    pub(super) fn new(
        check: &Arc<PreparedCheck>,
        distinct: &[Sampled],
        texts: usize,
        refuse: impl Fn(&str) -> Option<Reason>,
    ) -> Self {
        let sentences = Asked::new(check, distinct, refuse);
        Self { sentences, texts, asked: 0, answered: 0, open: Vec::new(), found: Vec::new() }
    }

    /// Crossings in all.
    pub(super) fn planned(&self) -> usize {
        self.sentences.count() * self.texts
    }

    /// Crossings asked about so far.
    pub(super) fn asked(&self) -> usize {
        self.asked
    }

    /// The next crossings to ask about, at most so many, as sentences and indexes of texts; none at the end.
    pub(super) fn next(&mut self, most: usize) -> impl Iterator<Item = (&Arc<str>, usize)> {
        let (start, end) = (self.asked, (self.asked + most).min(self.planned()));
        self.asked = end;
        let this = &*self;
        (start..end).map(move |at| (this.sentences.text(at / this.texts), at % this.texts))
    }

    /// Takes the answers to the crossings last asked about, in their order, and finds what they say of each sentence that has all of
    /// its own.
    pub(super) fn take(
        &mut self,
        mut answer: impl FnMut(usize) -> Result<f64, Reason>,
        finding: impl Fn(&str, &[Result<f64, Reason>]) -> Outcome<ClaimFinding>,
    ) {
        for at in 0..self.asked - self.answered {
            self.open.push(answer(at));
            if self.open.len() == self.texts {
                let answers = std::mem::take(&mut self.open);
                let found = finding(self.sentences.text(self.found.len()), &answers);
                self.found.push(found);
            }
        }
        self.answered = self.asked;
    }

    /// One outcome for each claim of the check.
    pub(super) fn claims(&self) -> Vec<Outcome<ClaimFinding>> {
        self.sentences.claims(&self.found)
    }
}

/// What samples say of a sentence: the mean of their values, each as often as its sample was given, and that over those alone that
/// speak of its subject. `None` without a value.
pub(super) fn finding_of(values: &[(f64, u64, bool)]) -> Option<ClaimFinding> {
    let score = weighted_mean(values.iter().map(|(value, times, _)| (*value, *times)))?;
    let spoken = || values.iter().filter(|(.., speaks)| *speaks).map(|(value, times, _)| (*value, *times));
    let mut finding = ClaimFinding { score: Some(score), ..ClaimFinding::default() };
    finding.extra.insert("subject_samples", spoken().map(|(_, times)| times).sum::<u64>() as f64);
    finding.extra.extend(weighted_mean(spoken()).map(|mean| (SUBJECT_ONLY, mean)));
    Some(finding)
}

//! `selfcheck_overlap`: the share of a sentence's n-grams that a sample does not have, averaged over samples.
//!
//! 0 where every sample has every n-gram of the sentence, 1 where no sample has any. Words in lower case, punctuation left out,
//! n-grams within sentences, each different one once. A sentence with fewer words than an n-gram counts with all its words as one.
//! The response's number is the mean of its sentences'. Needs no model and no pairs.

use super::math::{MAX_ORDER, Ngram, ngrams};
use super::sampled::{
    SUBJECT_ONLY, Sampled, distinct, mean_of, notes, report, sentences, settled, weighted_mean,
};
use super::subject::Subjects;
use super::words::Vocabulary;
use crate::tally::never_started;
use crate::{Detector, DetectorOptions, Next};
use groundline_types::{ClaimFinding, Code, ModelFacts, Outcome, PreparedCheck, Reason, Report, Score};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

const METHOD: &str = "selfcheck_overlap";
/// Names of the numbers by order.
const NAMES: [&str; MAX_ORDER] = ["unigram", "bigram", "trigram"];

/// Share of n-grams that samples do not have.
#[derive(Debug)]
pub(crate) struct SelfcheckOverlap {
    order: usize,
}

impl SelfcheckOverlap {
    pub(crate) fn new(options: &DetectorOptions) -> Self {
        Self { order: options.selfcheck.overlap_words.clamp(1, MAX_ORDER) }
    }
}

impl Detector for SelfcheckOverlap {
    fn name(&self) -> &'static str {
        METHOD
    }

    fn start(&mut self, check: &Arc<PreparedCheck>, _facts: &ModelFacts) -> Next {
        Next::Done(compare(check, self.order))
    }

    fn planned_items(&self) -> usize {
        0
    }

    fn resume(&mut self, _outcomes: &[Outcome<Score>]) -> Next {
        Next::Done(never_started(METHOD))
    }
}

/// The n-grams of a text by order.
type ByOrder = [HashSet<Ngram>; MAX_ORDER];

fn compare(check: &PreparedCheck, order: usize) -> Report {
    let distinct = distinct(check);
    let mut vocabulary = Vocabulary::default();
    let of_sample = |sampled: &Sampled| {
        let mut all = ByOrder::default();
        for text in check.samples.get(sampled.index).into_iter().flat_map(sentences) {
            let words = vocabulary.words(text);
            for (at, set) in all.iter_mut().enumerate() {
                set.extend(whole_ngrams(&words, at + 1));
            }
        }
        all
    };
    let samples: Vec<ByOrder> = distinct.iter().map(of_sample).collect();
    let subjects = Subjects::new(&check.samples, &distinct);
    let mut found = settled(check, &distinct);
    for (index, slot) in found.iter_mut().enumerate().filter(|(_, slot)| slot.is_none()) {
        let text = &check.claims[index].text;
        let words = vocabulary.words(text);
        *slot = Some(if words.is_empty() {
            let message = "the sentence has no word to look for in samples";
            Outcome::Abstained(Reason::new(Code::NO_CHECKABLE_CLAIM, message))
        } else {
            Outcome::Scored(finding(&words, order, (&distinct, &samples), &subjects.speaking(text)))
        });
    }
    let claims: Vec<Outcome<ClaimFinding>> = found.into_iter().flatten().collect();
    let mut extra = BTreeMap::new();
    for name in NAMES {
        extra.extend(mean_of(&claims, name).map(|mean| (name, mean)));
    }
    let value = extra.get(NAMES[order - 1]).copied();
    report(METHOD, claims, value, extra, notes(check, &distinct))
}

/// The n-grams that lie within the words; all words together where there are fewer.
fn whole_ngrams(words: &[u32], order: usize) -> impl Iterator<Item = Ngram> {
    let order = order.min(words.len().max(1));
    ngrams(words, order).skip(order - 1)
}

fn finding(
    words: &[u32],
    order: usize,
    (distinct, samples): (&[Sampled], &[ByOrder]),
    speaking: &[bool],
) -> ClaimFinding {
    let mut finding = ClaimFinding::default();
    for (at, name) in NAMES.into_iter().enumerate() {
        // A short sentence's n-grams are of a lower order, and are looked up among those.
        let effective = (at + 1).min(words.len()) - 1;
        let wanted: HashSet<Ngram> = whole_ngrams(words, at + 1).collect();
        let missing = |sample: &ByOrder| {
            let there = wanted.iter().filter(|ngram| sample[effective].contains(*ngram)).count();
            1.0 - there as f64 / wanted.len() as f64
        };
        let values =
            || distinct.iter().zip(samples).map(|(sampled, sample)| (missing(sample), sampled.times));
        finding.extra.extend(weighted_mean(values()).map(|mean| (name, mean)));
        if at + 1 == order {
            let spoken = || values().zip(speaking).filter(|(_, speaks)| **speaks).map(|(value, _)| value);
            finding.extra.extend(weighted_mean(spoken()).map(|mean| (SUBJECT_ONLY, mean)));
            let count: u64 = spoken().map(|(_, times)| times).sum();
            finding.extra.insert("subject_samples", count as f64);
        }
    }
    finding.score = finding.extra.get(NAMES[order - 1]).copied();
    finding
}

#[cfg(test)]
mod tests;

//! `selfcheck_ngram`: how surprising a sentence's words are to a language model of the answers.
//!
//! An n-gram model is counted over the response and all samples ([`super::math`]). A sentence's number is the surprise of its most
//! surprising word, in nats: the published unigram (max), the best of the published variants. The response's is the mean of its
//! sentences'. Mean and maximum of words, pairs and triples are given by name.
//!
//! Needs no model and no pairs. Unlike the published code it smooths ([`crate::SelfcheckOptions::ngram_smoothing`]), and it scores
//! the sentences that make a claim; counts are made over all of them.

use super::math::{MAX_ORDER, NgramCounts, document, mean_and_max, ngrams, surprise};
use super::sampled::{SUBJECT_ONLY, Sampled, distinct, notes, report, sentences, settled};
use super::subject::Subjects;
use super::words::Vocabulary;
use crate::{Detector, DetectorOptions, Next};
use groundline_types::{ClaimFinding, Code, ModelFacts, Outcome, PreparedCheck, Reason, Report, Score};
use std::collections::BTreeMap;
use std::sync::Arc;

const METHOD: &str = "selfcheck_ngram";
/// Names of mean and maximum by order.
const NAMES: [[&str; 2]; MAX_ORDER] =
    [["unigram_avg", "unigram_max"], ["bigram_avg", "bigram_max"], ["trigram_avg", "trigram_max"]];

/// Surprise of words under an n-gram model of response and samples.
#[derive(Debug)]
pub(crate) struct SelfcheckNgram {
    smoothing: f64,
}

/// Counts over response and samples.
struct Model {
    orders: Vec<NgramCounts>,
    /// Single words: in the response, and in each distinct sample.
    response: NgramCounts,
    samples: Vec<NgramCounts>,
}

impl SelfcheckNgram {
    pub(crate) fn new(options: &DetectorOptions) -> Self {
        Self { smoothing: options.selfcheck.ngram_smoothing }
    }
}

impl Detector for SelfcheckNgram {
    fn name(&self) -> &'static str {
        METHOD
    }

    fn start(&mut self, check: &Arc<PreparedCheck>, _facts: &ModelFacts) -> Next {
        Next::Done(compare(check, self.smoothing))
    }

    fn planned_items(&self) -> usize {
        0
    }

    fn resume(&mut self, _outcomes: &[Outcome<Score>]) -> Next {
        Next::Done(crate::tally::never_started(METHOD))
    }
}

fn compare(check: &PreparedCheck, smoothing: f64) -> Report {
    let distinct = distinct(check);
    let mut vocabulary = Vocabulary::default();
    let claims: Vec<Vec<u32>> = check.claims.iter().map(|claim| vocabulary.tokens(&claim.text)).collect();
    let model = Model::new(check, &distinct, &claims, &mut vocabulary);
    let subjects = Subjects::new(&check.samples, &distinct);
    // For each order, the surprises of each claim that is scored.
    let mut surprises: [Vec<Vec<f64>>; MAX_ORDER] = Default::default();
    let mut found = settled(check, &distinct);
    for (index, slot) in found.iter_mut().enumerate().filter(|(_, slot)| slot.is_none()) {
        let of_orders = model.orders.iter().map(|counts| counts.surprises(&claims[index], smoothing));
        let of_orders: Vec<Vec<f64>> = of_orders.collect();
        if of_orders.iter().flatten().any(|surprise| !surprise.is_finite()) {
            let message =
                "a word of the sentence is in no answer, so that its surprise is infinite without smoothing";
            *slot = Some(Outcome::Failed(Reason::new(Code::NON_FINITE, message)));
            continue;
        }
        let mut finding = ClaimFinding { extra: named(&of_orders), ..ClaimFinding::default() };
        finding.score = finding.extra.get("unigram_max").copied();
        let speaking = subjects.speaking(&check.claims[index].text);
        finding.extra.insert("subject_samples", model.spoken(&distinct, &speaking) as f64);
        if let Some(surprise) = model.subject_only(&distinct, &speaking, &claims[index], smoothing) {
            finding.extra.insert(SUBJECT_ONLY, surprise);
        }
        for (all, own) in surprises.iter_mut().zip(of_orders) {
            all.push(own);
        }
        *slot = Some(Outcome::Scored(finding));
    }
    let claims: Vec<Outcome<ClaimFinding>> = found.into_iter().flatten().collect();
    let mut extra: BTreeMap<&'static str, f64> = BTreeMap::new();
    for (names, sentences) in NAMES.iter().zip(&surprises) {
        if let Some((mean, max)) = document(sentences) {
            extra.extend([(names[0], mean), (names[1], max)]);
        }
    }
    let value = extra.get("unigram_max").copied();
    report(METHOD, claims, value, extra, notes(check, &distinct))
}

fn named(of_orders: &[Vec<f64>]) -> BTreeMap<&'static str, f64> {
    let numbers = NAMES.iter().zip(of_orders).filter_map(|(names, surprises)| {
        let (mean, max) = mean_and_max(surprises)?;
        Some([(names[0], mean), (names[1], max)])
    });
    numbers.flatten().collect()
}

impl Model {
    fn new(
        check: &PreparedCheck,
        distinct: &[Sampled],
        claims: &[Vec<u32>],
        vocabulary: &mut Vocabulary,
    ) -> Self {
        let mut orders: Vec<NgramCounts> = (1..=MAX_ORDER).map(NgramCounts::new).collect();
        let mut count = |sentence: &[u32], times: u64| {
            orders.iter_mut().for_each(|counts| counts.add(sentence, times));
        };
        let mut response = NgramCounts::new(1);
        for claim in claims {
            count(claim, 1);
            response.add(claim, 1);
        }
        let mut samples = Vec::with_capacity(distinct.len());
        for sampled in distinct {
            let mut own = NgramCounts::new(1);
            for text in check.samples.get(sampled.index).into_iter().flat_map(sentences) {
                let sentence = vocabulary.tokens(text);
                count(&sentence, sampled.times);
                own.add(&sentence, sampled.times);
            }
            samples.push(own);
        }
        Self { orders, response, samples }
    }

    /// How many samples speak.
    fn spoken(&self, distinct: &[Sampled], speaking: &[bool]) -> u64 {
        distinct.iter().zip(speaking).filter(|(_, speaks)| **speaks).map(|(sampled, _)| sampled.times).sum()
    }

    /// The surprise of the most surprising word under a model of the response and the samples that speak; `None` where none does.
    fn subject_only(
        &self,
        distinct: &[Sampled],
        speaking: &[bool],
        claim: &[u32],
        smoothing: f64,
    ) -> Option<f64> {
        if self.spoken(distinct, speaking) == 0 {
            return None;
        }
        let counted = || self.samples.iter().zip(speaking).filter(|(_, speaks)| **speaks).map(|(own, _)| own);
        let total = self.response.total() + counted().map(NgramCounts::total).sum::<u64>();
        // One vocabulary for all sentences, so that their numbers can be compared.
        let kinds = self.orders.first().map_or(1, NgramCounts::kinds);
        let surprises = ngrams(claim, 1).map(|word| {
            let count = self.response.count(&word) + counted().map(|own| own.count(&word)).sum::<u64>();
            surprise(count, total, kinds, smoothing)
        });
        surprises.reduce(f64::max).filter(|surprise| surprise.is_finite())
    }
}

#[cfg(test)]
mod tests;

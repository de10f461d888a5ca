//! Which samples of a check are compared with, and what to say of them.

use crate::tally::response_number;
use groundline_types::{
    ClaimFinding, Code, Outcome, Polarity, PreparedCheck, PreparedSource, Reason, Report,
};
use std::collections::{BTreeMap, HashMap};

/// The name of a number over the samples alone that speak about a sentence's subject.
pub(super) const SUBJECT_ONLY: &str = "subject_only";

/// A text that was sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sampled {
    /// Index into [`PreparedCheck::samples`].
    pub(crate) index: usize,
    /// How often it was given.
    pub(crate) times: u64,
}

/// The samples with a word, equal ones together, in order of their first.
pub(crate) fn distinct(check: &PreparedCheck) -> Vec<Sampled> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut distinct: Vec<Sampled> = Vec::new();
    let with_words = check.samples.iter().enumerate().filter(|(_, sample)| !sample.sentences.is_empty());
    for (index, sample) in with_words {
        let place = *places.entry(sample.text.trim()).or_insert(distinct.len());
        match distinct.get_mut(place) {
            Some(known) => known.times += 1,
            None => distinct.push(Sampled { index, times: 1 }),
        }
    }
    distinct
}

/// The sentences of a sample.
pub(crate) fn sentences(sample: &PreparedSource) -> impl Iterator<Item = &str> {
    sample.sentences.iter().map(|sentence| &*sentence.text)
}

/// What to know of the samples before their numbers are trusted.
pub(crate) fn notes(check: &PreparedCheck, distinct: &[Sampled]) -> Vec<(Code, String)> {
    let given = check.samples.len();
    let used: u64 = distinct.iter().map(|sampled| sampled.times).sum();
    let mut notes = Vec::new();
    let wordless = check.samples.iter().filter(|sample| sample.sentences.is_empty()).count();
    if wordless > 0 && used > 0 {
        notes.push(format!("{wordless} of {given} samples have no word in them and were left out"));
    }
    if used == 1 {
        notes
            .push("there is one sample to compare with, and one says little; 5 or more are usual".to_owned());
    } else if distinct.len() == 1 {
        notes.push(format!(
            "all {used} samples are the same text and say as much as one; draw them with a temperature above 0"
        ));
    }
    notes.into_iter().map(|message| (Code::WEAK_SAMPLES, message)).collect()
}

/// Why nothing is said of any claim.
fn no_samples(check: &PreparedCheck) -> Reason {
    let message = match check.samples.len() {
        0 => "the request has no samples to compare with; give other answers to the same prompt in `samples`"
            .to_owned(),
        given => format!("none of the {given} samples has a word in it"),
    };
    Reason::new(Code::WEAK_SAMPLES, message)
}

/// One for each claim: what is said of it without looking at a sample, or `None` for those to score.
pub(crate) fn settled(check: &PreparedCheck, distinct: &[Sampled]) -> Vec<Option<Outcome<ClaimFinding>>> {
    let no_claim =
        || Reason::new(Code::NO_CHECKABLE_CLAIM, "the sentence makes no claim that could be checked");
    let settle = |checkable: bool| match (checkable, distinct.is_empty()) {
        (false, _) => Some(Outcome::Abstained(no_claim())),
        (true, true) => Some(Outcome::Abstained(no_samples(check))),
        (true, false) => None,
    };
    check.claims.iter().map(|claim| settle(claim.kind.is_checkable())).collect()
}

/// The mean of the values of samples, each as often as its sample was given; `None` of none.
pub(crate) fn weighted_mean(values: impl IntoIterator<Item = (f64, u64)>) -> Option<f64> {
    let (sum, count) = values
        .into_iter()
        .fold((0.0, 0), |(sum, count), (value, times)| (sum + value * times as f64, count + times));
    (count > 0).then(|| sum / count as f64)
}

/// The mean over sentences of one of their further numbers.
pub(super) fn mean_of(claims: &[Outcome<ClaimFinding>], name: &str) -> Option<f64> {
    let values = claims.iter().filter_map(|claim| claim.scored()?.extra.get(name));
    weighted_mean(values.map(|value| (*value, 1)))
}

/// The mean over sentences of their numbers.
pub(super) fn mean_score(claims: &[Outcome<ClaimFinding>]) -> Option<f64> {
    weighted_mean(claims.iter().filter_map(|claim| Some((claim.scored()?.score?, 1))))
}

/// What a method found that compares with samples and asks no engine: what is said of the claims, the response's number, and
/// further ones, to which that over speaking samples is added.
pub(super) fn report(
    method: &'static str,
    claims: Vec<Outcome<ClaimFinding>>,
    value: Option<f64>,
    mut extra: BTreeMap<&'static str, f64>,
    notes: Vec<(Code, String)>,
) -> Report {
    extra.extend(mean_of(&claims, SUBJECT_ONLY).map(|mean| (SUBJECT_ONLY, mean)));
    let score = response_number(&claims, value, Polarity::HigherIsHallucinated);
    Report { method, score, claims, facts: Vec::new(), extra, matrix: None, notes, work_items: 0 }
}

//! What an ensemble can read from a result.

use groundline_types::{CheckResult, MethodStatus, SentenceResult, SentenceStatus, VerdictReason};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The method whose findings decide sentences.
const ENTAILMENT: &str = "entailment";
/// Methods that compare with samples; all others compare with sources.
const OF_SAMPLES: &[&str] = &["selfcheck_nli", "selfcheck_overlap", "selfcheck_ngram"];

/// How a method's number is brought to a scale on which numbers may be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transform {
    /// As it is.
    Identity,
    /// The log-odds of a probability, which is kept within 0.001..=0.999 before: a small model's certainty says no more.
    Logit,
}

impl Transform {
    /// The number on that scale; finite for every finite number.
    pub fn of(self, value: f64) -> f64 {
        match self {
            Transform::Identity => value,
            Transform::Logit => {
                let kept = value.clamp(0.001, 0.999);
                (kept / (1.0 - kept)).ln()
            }
        }
    }
}

/// An input that an ensemble may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputInfo {
    /// Its name.
    pub name: &'static str,
    /// The method that it comes from.
    pub method: &'static str,
    /// How it is brought to a common scale.
    pub transform: Transform,
    /// Whether more of it speaks for support; otherwise against.
    pub higher_is_supported: bool,
}

impl InputInfo {
    /// The input of this name.
    pub fn named(name: &str) -> Option<&'static InputInfo> {
        INPUTS.iter().find(|input| input.name == name)
    }

    /// Whether it compares with samples instead of sources.
    pub fn is_of_samples(&self) -> bool {
        OF_SAMPLES.contains(&self.method)
    }
}

const fn input(name: &'static str, method: &'static str, transform: Transform, up: bool) -> InputInfo {
    InputInfo { name, method, transform, higher_is_supported: up }
}

/// Every input there is.
pub const INPUTS: &[InputInfo] = &[
    // The weakest sentence's support.
    input("min", ENTAILMENT, Transform::Logit, true),
    // The mean of the sentences' support, plain and by weight.
    input("mean", ENTAILMENT, Transform::Logit, true),
    input("weighted", ENTAILMENT, Transform::Logit, true),
    // The largest contradiction probability of a sentence.
    input("contradiction", ENTAILMENT, Transform::Logit, false),
    input("summac", "summac", Transform::Logit, true),
    input("summac_zs", "summac", Transform::Identity, true),
    input("summac_conv", "summac_conv", Transform::Logit, true),
    input("numeric", "numeric", Transform::Identity, true),
    input("support", "support", Transform::Logit, true),
    input("selfcheck_nli", "selfcheck_nli", Transform::Logit, false),
    input("selfcheck_overlap", "selfcheck_overlap", Transform::Identity, false),
    input("selfcheck_ngram", "selfcheck_ngram", Transform::Identity, false),
];

/// The values of all inputs that a result has, by name; each finite.
///
/// A method's number is not taken where it did not score every sentence that makes a claim, nor where `excluded` names the method,
/// such as one that ran for an audit alone.
pub fn input_values(result: &CheckResult, excluded: &[&str]) -> BTreeMap<&'static str, f64> {
    let with_value = |info: &InputInfo| {
        if excluded.contains(&info.method) || !is_whole(result, info) {
            return None;
        }
        value(result, info).filter(|value| value.is_finite()).map(|value| (info.name, value))
    };
    INPUTS.iter().filter_map(with_value).collect()
}

/// Whether the method scored all that it should.
fn is_whole(result: &CheckResult, info: &InputInfo) -> bool {
    let Some(method) = result.methods.get(info.method) else { return false };
    let failed = method.sentences.iter().any(|sentence| sentence.status == SentenceStatus::Failed);
    // Methods that give verdicts have no list of their own: theirs are the result's sentences.
    let unchecked = || result.sentences.iter().any(|sentence| sentence.status == SentenceStatus::Failed);
    method.status == MethodStatus::Scored && !failed && (info.is_of_samples() || !unchecked())
}

fn value(result: &CheckResult, info: &InputInfo) -> Option<f64> {
    let method = result.methods.get(info.method)?;
    match info.name {
        "mean" => entailed(result)?.scores.mean.map(|mean| f64::from(mean.get())),
        "weighted" => entailed(result)?.scores.weighted.map(|mean| f64::from(mean.get())),
        "contradiction" => {
            let of = |sentence: &SentenceResult| Some(f64::from(sentence.contradiction_probability?.get()));
            entailed(result)?.sentences.iter().filter_map(of).reduce(f64::max)
        }
        "summac_zs" => result.scores.summac_zs,
        _ => method.score,
    }
}

/// The result, where its sentences carry what `entailment` found and not a judge's verdicts.
fn entailed(result: &CheckResult) -> Option<&CheckResult> {
    let judged = result.sentences.iter().any(|sentence| sentence.reason == VerdictReason::Judge);
    (!judged).then_some(result)
}

#[cfg(test)]
pub(super) mod tests;

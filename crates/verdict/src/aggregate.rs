//! From sentences and reports to numbers for the whole response.

use crate::VerdictPolicy;
use crate::sentence::JUDGE;
use groundline_types::{
    Action, ClaimFinding, Code, MethodResult, MethodSentence, MethodStatus, Note, Outcome, Polarity,
    Probability, Reason, Report, Scores, SentenceResult, SentenceStatus, Status, Verdict, VerdictReason,
};
use std::collections::BTreeMap;

/// How many sentences should be and were scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) checkable: usize,
    pub(crate) scored: usize,
}

impl Counts {
    pub(crate) fn status(self) -> Status {
        match self {
            Counts { checkable: 0, .. } => Status::Abstained,
            Counts { scored: 0, .. } => Status::Failed,
            Counts { checkable, scored } if scored < checkable => Status::Partial,
            Counts { .. } => Status::Scored,
        }
    }

    /// Never 1 while a sentence is missing, however many there are.
    pub(crate) fn coverage(self) -> Option<f32> {
        let exact = (self.checkable > 0).then(|| (self.scored as f64 / self.checkable as f64) as f32)?;
        Some(if self.scored < self.checkable { exact.min(1.0 - f32::EPSILON) } else { 1.0 })
    }
}

/// Numbers over the scored sentences, and those of the SummaC methods.
pub(crate) fn scores(sentences: &[SentenceResult], reports: &[Report]) -> Scores {
    let scored = || {
        sentences.iter().filter(|sentence| sentence.status == SentenceStatus::Scored).filter_map(|sentence| {
            Some((f64::from(sentence.support_probability?.get()), f64::from(sentence.weight)))
        })
    };
    let min = scored().map(|(support, _)| support).reduce(f64::min);
    let max = scored().map(|(support, _)| support).reduce(f64::max);
    // Rounding must not put a mean outside of what it is the mean of.
    let mean = |total: f64, weights: f64| match (min, max) {
        (Some(min), Some(max)) if weights > 0.0 => probability((total / weights).clamp(min, max)),
        _ => None,
    };
    let (total, count) =
        scored().fold((0.0, 0.0), |(total, count), (support, _)| (total + support, count + 1.0));
    let (weighted, weights) =
        scored().fold((0.0, 0.0), |(total, sum), (support, weight)| (total + support * weight, sum + weight));
    let report = |name: &str| reports.iter().find(|report| report.method == name);
    let score = |name: &str| Some(report(name)?.score.scored()?.value);
    Scores {
        min: min.and_then(probability),
        mean: mean(total, count),
        weighted: mean(weighted, weights),
        summac: score("summac").and_then(probability),
        summac_zs: report("summac")
            .and_then(|report| report.extra.get("summac_zs").copied())
            .filter(|value| value.is_finite()),
        summac_conv: score("summac_conv").and_then(probability),
        ensemble: None,
    }
}

fn probability(value: f64) -> Option<Probability> {
    Probability::new(value as f32)
}

/// What each method did, by name.
pub(crate) fn methods(reports: &[Report]) -> BTreeMap<String, MethodResult> {
    reports.iter().map(|report| (report.method.to_owned(), method(report))).collect()
}

fn method(report: &Report) -> MethodResult {
    let not_finite = Reason::new(Code::NON_FINITE, "the method gave a number that is not finite");
    let (status, score, polarity, reason) = match &report.score {
        Outcome::Scored(score) if score.value.is_finite() => {
            (MethodStatus::Scored, Some(score.value), score.polarity, None)
        }
        Outcome::Scored(score) => (MethodStatus::Failed, None, score.polarity, Some(&not_finite)),
        Outcome::Abstained(reason) => {
            (MethodStatus::Abstained, None, Polarity::HigherIsSupported, Some(reason))
        }
        Outcome::Failed(reason) => (MethodStatus::Failed, None, Polarity::HigherIsSupported, Some(reason)),
    };
    let note = |reason: &Reason| Note { code: reason.code, message: reason.message.clone(), location: None };
    let extra = named(&report.extra);
    let sentences = method_sentences(report);
    let (work_items, reason) = (report.work_items, reason.map(note));
    MethodResult { status, score, polarity, work_items, reason, extra, sentences }
}

/// The method's own numbers for sentences, where it has any.
fn method_sentences(report: &Report) -> Vec<MethodSentence> {
    let has_own = |outcome: &Outcome<ClaimFinding>| {
        outcome.scored().is_some_and(|finding| finding.score.is_some() || !finding.extra.is_empty())
    };
    if !report.claims.iter().any(has_own) {
        return Vec::new();
    }
    let sentence = |outcome: &Outcome<ClaimFinding>| {
        let score = outcome.scored().and_then(|finding| finding.score).filter(|score| score.is_finite());
        let status = match outcome {
            Outcome::Scored(_) if score.is_some() => SentenceStatus::Scored,
            Outcome::Scored(_) | Outcome::Abstained(_) => SentenceStatus::Abstained,
            Outcome::Failed(_) => SentenceStatus::Failed,
        };
        let extra = outcome.scored().map(|finding| named(&finding.extra)).unwrap_or_default();
        MethodSentence { status, score, extra }
    };
    report.claims.iter().map(sentence).collect()
}

fn named(numbers: &BTreeMap<&'static str, f64>) -> BTreeMap<String, f64> {
    let finite = numbers.iter().filter(|(_, value)| value.is_finite());
    finite.map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

/// What to do: the first line of [`crate::ActionPolicy`] that fits.
pub(crate) fn action(
    verdict: Option<Verdict>,
    status: Status,
    disagree: bool,
    policy: &VerdictPolicy,
) -> Option<Action> {
    let actions = &policy.actions;
    Some(match verdict? {
        Verdict::Contradicted => actions.contradicted,
        Verdict::NotMentioned => actions.not_mentioned,
        Verdict::Supported if status != Status::Scored => actions.partial,
        Verdict::Supported if disagree => actions.disagreement,
        Verdict::Supported => actions.supported,
    })
}

/// Sentences that were not decided by the judge and of which it says something else: its support differs by at least
/// [`VerdictPolicy::strong_disagreement`]. A model for inference cannot be talked to by what it reads, so its verdict stands; that
/// a judge sees it differently is worth a look.
pub(crate) fn judge_conflicts(
    sentences: &[SentenceResult],
    reports: &[Report],
    policy: &VerdictPolicy,
) -> Vec<usize> {
    let judge = reports.iter().find(|report| report.method == JUDGE);
    let findings = judge.into_iter().flat_map(|report| &report.claims);
    let conflicts = |(sentence, outcome): (&SentenceResult, &Outcome<ClaimFinding>)| {
        let (decided, judged) = (sentence.support_probability?, outcome.scored()?.support?);
        let differs = (decided.get() - judged.get()).abs() >= policy.strong_disagreement;
        (differs && sentence.reason != VerdictReason::Judge).then_some(())
    };
    let found = sentences.iter().zip(findings).enumerate();
    found.filter_map(|(index, pair)| conflicts(pair).map(|()| index)).collect()
}

/// Whether the methods disagree strongly: see [`VerdictPolicy::strong_disagreement`].
pub(crate) fn disagree(scores: &Scores, reports: &[Report], policy: &VerdictPolicy) -> bool {
    let foreign =
        reports.iter().flat_map(|report| &report.notes).any(|(code, _)| *code == Code::FOREIGN_BACKBONE);
    let conv = scores.summac_conv.filter(|_| !foreign);
    let Some(mean) = scores.mean else { return false };
    [scores.summac, conv]
        .into_iter()
        .flatten()
        .any(|other| (mean.get() - other.get()).abs() >= policy.strong_disagreement)
}

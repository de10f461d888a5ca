//! The verdict on a response.

use crate::VerdictPolicy;
use crate::aggregate::{Counts, action, disagree, judge_conflicts, methods, scores};
use crate::matrix::matrix;
use crate::notes::{conflict_note, notes};
use crate::sentence::{Findings, Roles};
use crate::spans::spans;
use groundline_types::{
    Action, MatrixResult, MethodResult, Note, PreparedCheck, Report, Scores, SentenceResult, SentenceStatus,
    SpanResult, Status, Verdict,
};
use std::collections::BTreeMap;

/// Everything of a [`groundline_types::CheckResult`] that follows from reports and policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// Whether everything that should be scored was.
    pub status: Status,
    /// The worst scored sentence's verdict; `None` where no sentence was scored.
    pub verdict: Option<Verdict>,
    /// What to do; `None` without a verdict.
    pub action: Option<Action>,
    /// Whether the weakest sentence's support is below [`VerdictPolicy::alert_below`].
    pub alert: bool,
    /// Numbers for the whole response, over the scored sentences.
    pub scores: Scores,
    /// Scored sentences divided by checkable ones, 0..=1, and 1 only where every one was scored; `None` where none is checkable.
    pub coverage: Option<f32>,
    /// Every sentence of the response in order, checkable or not.
    pub sentences: Vec<SentenceResult>,
    /// What each method did, by name.
    pub methods: BTreeMap<String, MethodResult>,
    /// Things a reader should know; `where` is a method or the sentences, counted from 1.
    pub notes: Vec<Note>,
    /// The SummaC matrix, where it was asked for and a method has it.
    pub matrix: Option<MatrixResult>,
    /// The unsupported parts of the response; `None` where no method says anything of parts of sentences.
    pub spans: Option<Vec<SpanResult>>,
}

/// Decides on every sentence and on the response.
///
/// Sentences are decided from the report of `entailment`, else of `summac`, of `support`, or of `judge`. `numeric` adds
/// conflicts: they make a scored sentence contradicted and leave its probabilities as they are. A sentence that the deciding method
/// did not score stays unchecked, whatever other methods say of it. Where methods reported and neither of the two did, every
/// sentence and the response are abstained from.
///
/// Never panics and never gives NaN, whatever the reports hold.
pub fn decide(check: &PreparedCheck, reports: &[Report], policy: &VerdictPolicy) -> Decision {
    decide_staged(check, reports, &Roles::default(), policy)
}

/// The same for methods that ran in stages. A sentence that the deciding method of a later stage did not score keeps what the
/// earlier stage found, where [`Roles::fallback`] names it.
///
/// Never panics and never gives NaN, whatever the reports hold.
pub fn decide_staged(
    check: &PreparedCheck,
    reports: &[Report],
    roles: &Roles,
    policy: &VerdictPolicy,
) -> Decision {
    let findings = Findings::new(check, reports, roles, policy);
    let (mut sentences, mut unchecked) = (Vec::with_capacity(check.claims.len()), Vec::new());
    for (index, claim) in check.claims.iter().enumerate() {
        let (sentence, reason) = findings.sentence(index, claim);
        unchecked.extend(reason.map(|reason| (index, reason)));
        sentences.push(sentence);
    }
    let counts = Counts {
        checkable: check.claims.iter().filter(|claim| claim.kind.is_checkable()).count(),
        scored: sentences.iter().filter(|sentence| sentence.status == SentenceStatus::Scored).count(),
    };
    let status = if findings.give_no_verdict() { Status::Abstained } else { counts.status() };
    let verdict = sentences.iter().filter_map(|sentence| sentence.verdict).max();
    let scores = scores(&sentences, reports);
    let conflicts = judge_conflicts(&sentences, reports, policy);
    let disagree = disagree(&scores, reports, policy) || !conflicts.is_empty();
    let mut notes = notes(reports, &unchecked, counts.checkable);
    notes.extend(conflict_note(&conflicts));
    Decision {
        status,
        verdict,
        action: action(verdict, status, disagree, policy),
        alert: scores.min.is_some_and(|min| min.get() < policy.alert_below),
        coverage: counts.coverage(),
        methods: methods(reports),
        notes,
        matrix: matrix(check, reports),
        spans: spans(check, reports, roles, &sentences, policy),
        scores,
        sentences,
    }
}

#[cfg(test)]
mod tests;

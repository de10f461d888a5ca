//! From reports to the result.

use crate::CoordinatorOptions;
use crate::cascade::{StageOutcome, method_needs, polarity_of};
use groundline_detectors::{Need, mark_hedges};
use groundline_types::{
    CheckResult, Code, ModelFacts, ModelResult, Note, Outcome, PreparedCheck, Reason, Report, SCHEMA,
    SentenceStatus, Timings, Usage, Verdict, VerdictReason,
};
use groundline_verdict::{Decision, Roles, decide_staged, decides, ensemble};

/// What a result holds besides its verdict.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) id: String,
    pub(crate) notes: Vec<Note>,
    pub(crate) is_foreign: bool,
    pub(crate) stages: StageOutcome,
    pub(crate) usage: Usage,
    pub(crate) timings: Timings,
}

/// Makes the verdict and the result.
pub(crate) fn assemble(
    check: &PreparedCheck,
    mut reports: Vec<Report>,
    facts: &ModelFacts,
    options: &CoordinatorOptions,
    context: Context,
) -> CheckResult {
    let StageOutcome { roles, skipped, notes: stage_notes } = context.stages;
    for report in reports.iter_mut().filter(|report| decides(report.method)) {
        mark_hedges(check, report);
    }
    let mut decision = decide_staged(check, &reports, &roles, &options.verdict);
    if context.is_foreign {
        doubt_foreign(&decision, &mut reports);
        decision = decide_staged(check, &reports, &roles, &options.verdict);
    }
    decision.methods.extend(skipped);
    // A report without a number does not say which way the number would have pointed.
    for (name, result) in &mut decision.methods {
        result.polarity = polarity_of(name);
    }
    let mut notes = context.notes;
    notes.extend(stage_notes);
    notes.extend(decision.notes);
    let mut result = CheckResult {
        id: context.id,
        schema: SCHEMA.to_owned(),
        status: decision.status,
        verdict: decision.verdict,
        action: decision.action,
        alert: decision.alert,
        scores: decision.scores,
        coverage: decision.coverage,
        calibrated: false,
        model: ModelResult {
            name: facts.id.name.clone(),
            revision: facts.id.revision.clone(),
            engine: options.engine_name.clone(),
        },
        config_hash: options.config_hash.clone(),
        sentences: decision.sentences,
        methods: decision.methods,
        notes,
        usage: context.usage,
        timings: context.timings,
        matrix: decision.matrix,
        ensemble: None,
        spans: decision.spans,
    };
    ensemble::apply(&options.ensemble, &mut result, &not_combined(check, &reports, &roles));
    #[cfg(test)]
    let result = match result.coverage {
        Some(_) if crate::simulation::is_planted(crate::simulation::Bug::ClaimCoverage) => {
            CheckResult { coverage: Some(1.0), ..result }
        }
        _ => result,
    };
    let source_text =
        |id: &str| check.sources.iter().find(|source| &*source.id == id).map(|source| &*source.text);
    result.with_offsets(check.request.offsets.unwrap_or_default(), &check.request.response, source_text)
}

/// Methods that an ensemble must not hear: those that only a sample of checks has, and those that did not score all that they should.
fn not_combined(check: &PreparedCheck, reports: &[Report], roles: &Roles) -> Vec<&'static str> {
    let failed_one = |report: &&Report| {
        let mut findings = check.claims.iter().zip(&report.claims);
        findings.any(|(claim, finding)| claim.kind.is_checkable() && matches!(finding, Outcome::Failed(_)))
    };
    let partly = reports.iter().filter(failed_one).map(|report| report.method);
    roles.advisory.iter().copied().chain(partly).collect()
}

/// Takes back what a model that reads one language said of sentences against a source in another: only support stands. Not to be
/// supported there says nothing of the sentence, so it is unchecked, and the methods' numbers for the response fall with it.
fn doubt_foreign(decision: &Decision, reports: &mut [Report]) {
    let reason =
        Reason::new(Code::LANGUAGE_MISMATCH, "the sources seem to be in another language than the response");
    let doubted = |index: usize| {
        decision.sentences.get(index).is_some_and(|sentence| {
            sentence.status == SentenceStatus::Scored
                && sentence.verdict != Some(Verdict::Supported)
                && sentence.reason != VerdictReason::Judge
        })
    };
    if !(0..decision.sentences.len()).any(doubted) {
        return;
    }
    // What only compares with other answers never saw the sources; a judge reads many languages.
    let of_sources = |report: &&mut Report| {
        let needs = method_needs(report.method);
        needs.contains(&Need::Source) && !needs.contains(&Need::Judge)
    };
    for report in reports.iter_mut().filter(of_sources) {
        for (index, finding) in report.claims.iter_mut().enumerate().filter(|(index, _)| doubted(*index)) {
            *finding = Outcome::Failed(reason.clone());
            for fact in report.facts.get_mut(index).into_iter().flatten() {
                *fact = Outcome::Failed(reason.clone());
            }
        }
        report.score = Outcome::Failed(reason.clone());
    }
}

//! The parts of a response that no source supports.
//!
//! The rule, sentence by sentence. Only a scored sentence has spans, and each lies within its sentence.
//!
//! - Where a token classifier scored the sentence: each run of neighbouring tokens whose support, 1 less the hallucination probability,
//!   is below [`VerdictPolicy::support_threshold`]. The classifier's support of a sentence is that of its worst token, so where it
//!   decides the sentence, the sentence has such a span exactly where it is not supported (but for conflicting numbers, which are no
//!   token's).
//! - Else, where facts were asked for: the places of exactly those facts whose verdict is not supported.

use crate::VerdictPolicy;
use crate::sentence::Roles;
use groundline_types::{
    ClaimFinding, Outcome, PreparedCheck, Probability, Report, SentenceResult, SentenceStatus, SpanOrigin,
    SpanResult, TokenFinding, Verdict,
};

/// The unsupported parts of the response in order; `None` where no method says anything of parts of sentences.
pub(crate) fn spans(
    check: &PreparedCheck,
    reports: &[Report],
    roles: &Roles,
    sentences: &[SentenceResult],
    policy: &VerdictPolicy,
) -> Option<Vec<SpanResult>> {
    let labels = |report: &&Report| {
        let speaks = !roles.advisory.contains(&report.method);
        speaks && report.claims.iter().any(|outcome| tokens_of(Some(outcome)).is_some())
    };
    let labelled = reports.iter().find(labels);
    if labelled.is_none() && !check.request.facts {
        return None;
    }
    let of_sentence = |(index, sentence): (usize, &SentenceResult)| {
        if sentence.status != SentenceStatus::Scored {
            return Vec::new();
        }
        match labelled.and_then(|report| tokens_of(report.claims.get(index))) {
            Some(tokens) => of_tokens(index, tokens, policy.support_threshold),
            None => of_facts(index, sentence),
        }
    };
    let mut spans: Vec<SpanResult> = sentences.iter().enumerate().flat_map(of_sentence).collect();
    for span in &mut spans {
        let text = check.request.response.get(span.start..span.end);
        span.text = text.unwrap_or_default().to_owned();
    }
    Some(spans)
}

fn tokens_of(outcome: Option<&Outcome<ClaimFinding>>) -> Option<&[TokenFinding]> {
    outcome?.scored().map(|finding| &finding.tokens[..]).filter(|tokens| !tokens.is_empty())
}

fn of_tokens(sentence: usize, tokens: &[TokenFinding], support_threshold: f32) -> Vec<SpanResult> {
    let mut spans: Vec<SpanResult> = Vec::new();
    let mut last_was_bad = false;
    for token in tokens {
        let probability = token.hallucination_probability;
        let is_bad = 1.0 - probability.get() < support_threshold;
        if is_bad {
            match spans.last_mut() {
                // Tokens that stand for one place of the response, such as a row of a table, are one span.
                Some(open) if last_was_bad || token.span.start < open.end => {
                    open.end = open.end.max(token.span.end);
                    open.hallucination_probability = open.hallucination_probability.max(probability);
                }
                _ => spans.push(SpanResult {
                    text: String::new(),
                    start: token.span.start,
                    end: token.span.end,
                    sentence,
                    source: SpanOrigin::Tokens,
                    hallucination_probability: probability,
                    verdict: None,
                }),
            }
        }
        last_was_bad = is_bad;
    }
    spans
}

fn of_facts(index: usize, sentence: &SentenceResult) -> Vec<SpanResult> {
    let mut spans: Vec<SpanResult> = Vec::new();
    let unsupported = |verdict: &Verdict| *verdict != Verdict::Supported;
    for fact in &sentence.facts {
        let Some(verdict) = fact.verdict.filter(unsupported) else { continue };
        let support = fact.support_probability.unwrap_or(Probability::ZERO);
        let probability = Probability::new(1.0 - support.get()).unwrap_or(Probability::ZERO);
        // Two facts of one place, such as those of a list, are one span, as bad as the worse of them.
        match spans.iter_mut().find(|span| (span.start, span.end) == (fact.start, fact.end)) {
            Some(span) => {
                span.hallucination_probability = span.hallucination_probability.max(probability);
                span.verdict = span.verdict.max(Some(verdict));
            }
            None => spans.push(SpanResult {
                text: String::new(),
                start: fact.start,
                end: fact.end,
                sentence: index,
                source: SpanOrigin::Facts,
                hallucination_probability: probability,
                verdict: Some(verdict),
            }),
        }
    }
    spans.sort_by_key(|span| (span.start, span.end));
    spans
}

#[cfg(test)]
mod tests;

//! Where the best evidence of a claim holds back and the claim does not.
//!
//! "It is thought that the bridge opened in 1903" supports "The bridge opened in 1903" only in part, and a model lowers its
//! probability for it without saying why. So each finding is told what its best evidence hedges with, where that speaks of the same
//! thing: it has at least half of the claim's content words. A claim that hedges too is left alone.

use crate::reading::reading;
use groundline_claims::{Hedge, HedgeKind, find_hedge};
use groundline_types::{ClaimFinding, Outcome, PreparedCheck, Report, SourceHedge};

/// Share of a claim's content words that its best evidence must have to speak of the same thing.
const SAME_THING: f32 = 0.5;

/// Tells every finding of a report what its best evidence hedges with.
pub fn mark_hedges(check: &PreparedCheck, report: &mut Report) {
    for (claim, outcome) in check.claims.iter().zip(&mut report.claims) {
        mark(check, &claim.text, outcome);
    }
    for (claim, outcomes) in check.claims.iter().zip(&mut report.facts) {
        for (fact, outcome) in claim.facts.iter().zip(outcomes) {
            mark(check, &fact.text, outcome);
        }
    }
}

fn mark(check: &PreparedCheck, claim: &str, outcome: &mut Outcome<ClaimFinding>) {
    let Outcome::Scored(finding) = outcome else { return };
    let best = finding.evidence.first();
    let sentence = best.and_then(|pick| check.sources.get(pick.source)?.sentences.get(pick.sentence));
    finding.hedge = sentence.and_then(|sentence| hedge_of(check, claim, &sentence.text));
}

fn hedge_of(check: &PreparedCheck, claim: &str, evidence: &str) -> Option<SourceHedge> {
    let Hedge { kind, span } = find_hedge(evidence)?;
    if find_hedge(claim).is_some() {
        return None;
    }
    let share = reading(check, claim).features.word_share(&reading(check, evidence).features);
    (share >= SAME_THING).then(|| SourceHedge {
        is_disputed: kind == HedgeKind::Disputed,
        words: evidence[span.start..span.end].to_owned(),
        says_all: share >= 1.0,
    })
}

#[cfg(test)]
mod tests;

//! From the probabilities of a claim's pairs to a finding.

use crate::DetectorOptions;
use crate::layout::Layout;
use groundline_types::{
    ClaimFinding, Code, EvidencePick, MethodScore, NliProbabilities, Outcome, Polarity, Probability, Reason,
    Report,
};
use std::collections::BTreeMap;
use std::ops::Range;

/// Most sentences of evidence in a finding.
pub(crate) const PICKS: usize = 3;

/// A sentence of evidence with what the model says of (sentence, claim).
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScoredRow {
    /// The row of the layout.
    pub(crate) row: usize,
    pub(crate) probabilities: NliProbabilities,
}

/// A window with what the model says of (window, claim).
#[derive(Debug, Clone)]
pub(crate) struct ScoredWindow {
    /// The rows of the layout that it holds.
    pub(crate) rows: Range<usize>,
    pub(crate) probabilities: NliProbabilities,
}

/// The finding about a claim. `rows` come nearest first.
///
/// * Support is the largest entailment over all rows and windows.
/// * Contradiction is the largest over the nearest rows (as many as `contradiction_neighbours`) and over the windows that hold one
///   of them. A window without near evidence is as unrelated to the claim as a far sentence is, and small NLI models call what
///   is unrelated a contradiction; so the rule for sentences is read to bind windows too.
/// * Where a row supports the claim, only rows nearer than it may speak against it: sources rarely contradict themselves, while
///   "Curie died in 1934" looks like a contradiction of "Curie was born in 1867" to a small model (docs/adr/0005).
/// * Neutral is that of the pair behind the larger of the two. The three come from different pairs: each is a probability, their
///   sum need not be 1.
/// * Evidence, at most [`PICKS`]: where contradiction wins, the near rows that contradict, nearest first, those of the contradicting window
///   first where no row alone says it; where support wins, supporting rows by entailment, or the nearest ones of the supporting
///   window where no row alone supports; else, and to fill up, the nearest rows.
pub(crate) fn finding(
    rows: &[ScoredRow],
    windows: &[ScoredWindow],
    layout: &Layout,
    options: &DetectorOptions,
) -> ClaimFinding {
    let neighbours = options.contradiction_neighbours.max(1);
    let supporter = supporting_row(rows, options.support_threshold);
    let near = &rows[..rows.len().min(supporter.map_or(neighbours, |at| neighbours.min(at + 1)))];
    let is_near = |window: &&ScoredWindow| {
        supporter.is_none() && near.iter().any(|scored| window.rows.contains(&scored.row))
    };
    let of_row = |scored: &ScoredRow| scored.probabilities;
    let of_window = |scored: &ScoredWindow| scored.probabilities;

    let row_support = best(rows.iter().map(of_row), entailment);
    let window_support = best(windows.iter().map(of_window), entailment);
    let row_against = best(near.iter().map(of_row), contradiction);
    let window_against = best(windows.iter().filter(is_near).map(of_window), contradiction);
    let supporting = stronger(row_support, window_support, entailment);
    let against = stronger(row_against, window_against, contradiction);
    let (Some(supporting), Some(against)) = (supporting, against) else {
        return ClaimFinding::default();
    };
    let (support, opposed) = (entailment(&supporting), contradiction(&against));

    let mut picks: Vec<ScoredRow> = Vec::new();
    if opposed >= options.contradiction_threshold && opposed > support {
        // Small models call several near sentences a contradiction, all with certainty: the nearest of them explains best.
        let contradicts =
            |scored: &ScoredRow| contradiction(&scored.probabilities) >= options.contradiction_threshold;
        let mut by_contradiction = near.to_vec();
        by_contradiction.sort_by_key(|scored| !contradicts(scored));
        let alone = row_against.is_some_and(|row| contradiction(&row) >= options.contradiction_threshold);
        if !alone {
            let window = strongest_window(windows.iter().filter(is_near), contradiction);
            picks.extend(
                by_contradiction.iter().filter(|scored| window.is_some_and(|w| w.rows.contains(&scored.row))),
            );
        }
        picks.extend(by_contradiction);
    } else if support >= options.support_threshold {
        let supports = |scored: &&ScoredRow| entailment(&scored.probabilities) >= options.support_threshold;
        picks.extend(rows.iter().filter(supports));
        picks.sort_by(|a, b| entailment(&b.probabilities).total_cmp(&entailment(&a.probabilities)));
        if picks.is_empty() {
            let window = strongest_window(windows.iter(), entailment);
            picks.extend(
                rows.iter().filter(|scored| window.is_some_and(|w| w.rows.contains(&scored.row))).take(PICKS),
            );
        }
    }
    picks.extend(rows.iter().take(PICKS));
    let deciding = if opposed > support { against } else { supporting };
    ClaimFinding {
        support: Some(supporting.entailment),
        contradiction: Some(against.contradiction),
        neutral: Some(deciding.neutral),
        evidence: evidence(&picks, layout),
        ..ClaimFinding::default()
    }
}

/// The finding from single sentences alone; `near` are all rows, nearest first.
pub(crate) fn grid_finding(
    probabilities: &[NliProbabilities],
    near: &[usize],
    layout: &Layout,
    options: &DetectorOptions,
) -> ClaimFinding {
    let scored = |row: &usize| {
        probabilities.get(*row).map(|probabilities| ScoredRow { row: *row, probabilities: *probabilities })
    };
    let rows: Vec<ScoredRow> = near.iter().filter_map(scored).collect();
    finding(&rows, &[], layout, options)
}

/// Where the row stands that entails the claim most, if any does.
fn supporting_row(rows: &[ScoredRow], threshold: f32) -> Option<usize> {
    let larger = |best: usize, at: usize| {
        if entailment(&rows[at].probabilities) > entailment(&rows[best].probabilities) { at } else { best }
    };
    let best = (0..rows.len()).reduce(larger)?;
    (entailment(&rows[best].probabilities) >= threshold).then_some(best)
}

fn entailment(probabilities: &NliProbabilities) -> f32 {
    probabilities.entailment.get()
}

fn contradiction(probabilities: &NliProbabilities) -> f32 {
    probabilities.contradiction.get()
}

/// The first of the largest by `of`.
fn best(
    all: impl Iterator<Item = NliProbabilities>,
    of: fn(&NliProbabilities) -> f32,
) -> Option<NliProbabilities> {
    all.fold(None, |best, next| stronger(best, Some(next), of))
}

/// The larger by `of`; the first where they are equal.
fn stronger(
    first: Option<NliProbabilities>,
    second: Option<NliProbabilities>,
    of: fn(&NliProbabilities) -> f32,
) -> Option<NliProbabilities> {
    match (first, second) {
        (Some(first), Some(second)) if of(&second) > of(&first) => Some(second),
        (Some(first), _) => Some(first),
        (None, second) => second,
    }
}

fn strongest_window<'a>(
    windows: impl Iterator<Item = &'a ScoredWindow>,
    of: fn(&NliProbabilities) -> f32,
) -> Option<&'a ScoredWindow> {
    let larger = |best: &'a ScoredWindow, next: &'a ScoredWindow| {
        if of(&next.probabilities) > of(&best.probabilities) { next } else { best }
    };
    windows.reduce(larger)
}

/// The first [`PICKS`] different rows.
fn evidence(picks: &[ScoredRow], layout: &Layout) -> Vec<EvidencePick> {
    let mut evidence: Vec<EvidencePick> = Vec::with_capacity(PICKS);
    for pick in picks {
        let (source, sentence) = layout.rows[pick.row];
        let is_new = evidence.iter().all(|known| (known.source, known.sentence) != (source, sentence));
        if is_new && evidence.len() < PICKS {
            evidence.push(EvidencePick { source, sentence, probabilities: pick.probabilities });
        }
    }
    evidence
}

/// [`response_number`] of a method whose number rises with support.
pub(crate) fn response_score(claims: &[Outcome<ClaimFinding>], value: Option<f64>) -> Outcome<MethodScore> {
    response_number(claims, value, Polarity::HigherIsSupported)
}

/// The outcome of a method for the whole response: its number, where there is one; else failed where any claim failed, else
/// abstained.
pub(crate) fn response_number(
    claims: &[Outcome<ClaimFinding>],
    value: Option<f64>,
    polarity: Polarity,
) -> Outcome<MethodScore> {
    if let Some(value) = value.filter(|value| value.is_finite()) {
        return Outcome::Scored(MethodScore { value, polarity });
    }
    let failed = claims.iter().find_map(|claim| match claim {
        Outcome::Failed(reason) => Some(reason.clone()),
        Outcome::Scored(_) | Outcome::Abstained(_) => None,
    });
    if let Some(reason) = failed {
        return Outcome::Failed(reason);
    }
    let no_claim =
        || Reason::new(Code::NO_CHECKABLE_CLAIM, "the response has no sentence that could be checked");
    let special =
        claims.iter().filter_map(Outcome::reason).find(|reason| reason.code != Code::NO_CHECKABLE_CLAIM);
    Outcome::Abstained(special.cloned().unwrap_or_else(no_claim))
}

/// The smallest support of a scored claim.
pub(crate) fn weakest_support(claims: &[Outcome<ClaimFinding>]) -> Option<f64> {
    let supports = claims.iter().filter_map(|claim| claim.scored()?.support).map(Probability::get);
    supports.map(f64::from).reduce(f64::min)
}

/// The mean support of the scored claims.
pub(crate) fn mean_support(claims: &[Outcome<ClaimFinding>]) -> Option<f64> {
    let supports = claims.iter().filter_map(|claim| claim.scored()?.support);
    let (sum, count) =
        supports.fold((0.0, 0_u32), |(sum, count), support| (sum + f64::from(support.get()), count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// What a detector says that is resumed before it was started.
pub(crate) fn never_started(method: &'static str) -> Report {
    let reason = Reason::new(Code::INTERNAL, "the method was resumed before it was started");
    Report {
        method,
        claims: Vec::new(),
        facts: Vec::new(),
        score: Outcome::Failed(reason),
        extra: BTreeMap::new(),
        matrix: None,
        notes: Vec::new(),
        work_items: 0,
    }
}

#[cfg(test)]
mod tests;

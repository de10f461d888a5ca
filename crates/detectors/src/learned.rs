//! Learned detectors: the windows that the authors of each put before it.
//!
//! What is asked and how answers become a finding is the support head's, see [`crate::support`]; here a check is given the
//! windows of a preset in place of the default model's.

use crate::features::EvidenceFeatures;
use crate::layout::Layout;
use crate::reading::reading;
use crate::tally::PICKS;
use groundline_types::{
    Code, EvidencePick, EvidenceWindow, LearnedFacts, ModelFacts, NliProbabilities, PreparedCheck,
    PreparedSource, Preset, PresetWindows, Probability, Reason, Span,
};
use std::ops::Range;

/// A claim may fill this part of what a model reads; windows leave room for the longest one.
pub(crate) const CLAIM_PART: usize = 2;

/// The facts of a learned detector as if it were the model that answers.
pub(crate) fn facts_of(learned: &LearnedFacts, model: &ModelFacts) -> ModelFacts {
    ModelFacts {
        id: learned.id.clone(),
        max_tokens: learned.max_tokens,
        pair_overhead_tokens: learned.pair_overhead_tokens,
        counter: learned.counter.clone(),
        ..model.clone()
    }
}

/// The check with the windows of a preset, sentences counted in its tokens.
pub(crate) fn rewindowed(check: &PreparedCheck, learned: &LearnedFacts) -> PreparedCheck {
    let count = |text: &str| learned.counter.count_tokens(text);
    let room = learned.max_tokens.saturating_sub(learned.pair_overhead_tokens);
    let checkable = check.claims.iter().filter(|claim| claim.kind.is_checkable());
    // A claim that leaves no room for any window is too long whatever the windows are.
    let longest = checkable.map(|claim| count(&claim.text)).filter(|tokens| *tokens <= room / CLAIM_PART);
    windowed(check, learned, room.saturating_sub(longest.max().unwrap_or(0)).max(1))
}

/// The check with the windows of a preset, none of which has more than `budget` tokens.
pub(crate) fn windowed(check: &PreparedCheck, learned: &LearnedFacts, budget: usize) -> PreparedCheck {
    let count = |text: &str| learned.counter.count_tokens(text);
    let mut check = check.clone();
    for source in &mut check.sources {
        for sentence in &mut source.sentences {
            // A longer sentence is cut into several windows.
            sentence.tokens = count(&sentence.text).min(budget);
        }
        source.windows = windows(source, learned, budget);
    }
    check
}

/// The windows of one source, in order.
fn windows(source: &PreparedSource, learned: &LearnedFacts, budget: usize) -> Vec<EvidenceWindow> {
    let words = |n: usize| source.sentences[n].text.split_whitespace().count();
    let tokens = |n: usize| source.sentences[n].tokens;
    let count = source.sentences.len();
    let groups = match learned.preset.info().windows {
        PresetWindows::Words(most) => packed(0..count, words, most),
        PresetWindows::Tokens(most) => packed(0..count, tokens, most.min(budget)),
        PresetWindows::Longest => packed(0..count, tokens, budget),
        PresetWindows::EqualGroups { words: most } => {
            let all: usize = (0..count).map(words).sum();
            let size = (count / (all / most + 1)).max(1);
            (0..count).step_by(size).map(|first| first..(first + size).min(count)).collect()
        }
    };
    // Whatever the authors' rule makes, a window must fit beside the claim.
    let fitting = groups.into_iter().flat_map(|group| packed(group, tokens, budget));
    fitting.flat_map(|group| window_or_parts(source, group, learned, budget)).collect()
}

/// Groups of neighbours, each with as many as fit: their sizes add up to at most `most`, except that of one alone.
fn packed(range: Range<usize>, size: impl Fn(usize) -> usize, most: usize) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut sum = 0;
    for n in range {
        match groups.last_mut() {
            Some(group) if sum + size(n) <= most => group.end = n + 1,
            _ => {
                groups.push(n..n + 1);
                sum = 0;
            }
        }
        sum += size(n);
    }
    groups
}

/// The window over a group of sentences, or several where it is too long for one.
fn window_or_parts(
    source: &PreparedSource,
    group: Range<usize>,
    learned: &LearnedFacts,
    budget: usize,
) -> Vec<EvidenceWindow> {
    let held = &source.sentences[group.clone()];
    let (Some(first), Some(last)) = (held.first(), held.last()) else { return Vec::new() };
    let span = Span::new(first.span.start, last.span.end);
    let window = |text: &str| EvidenceWindow {
        span,
        text: text.into(),
        first_sentence: group.start,
        end_sentence: group.end,
    };
    let text = held.iter().map(|sentence| &*sentence.text).collect::<Vec<_>>().join(" ");
    if learned.counter.count_tokens(&text) <= budget {
        return vec![window(&text)];
    }
    if held.len() > 1 {
        // Joined sentences can have more tokens than the sum of theirs: some tokenizers read a word after a space otherwise.
        let middle = group.start + held.len() / 2;
        let halves = [group.start..middle, middle..group.end];
        return halves.into_iter().flat_map(|half| window_or_parts(source, half, learned, budget)).collect();
    }
    let (mut parts, mut rest) = (Vec::new(), &*first.text);
    while !rest.is_empty() {
        let (part, more) = rest.split_at(learned.counter.prefix_within(rest, budget).max(1));
        parts.push(window(part));
        rest = more;
    }
    parts
}

/// Why nobody answers for a preset.
pub(crate) fn not_loaded(preset: Preset) -> Reason {
    let name = preset.name();
    let message = format!(
        "no model of preset {name} is loaded; add a section [models.{name}] with its path to the configuration"
    );
    Reason::new(Code::HEAD_MISSING, message)
}

/// The sentences of a window that are nearest to a column's claim: which of them the model went by, it does not tell. `support` is
/// the window's of the claim.
pub(crate) fn evidence_in_window(
    check: &PreparedCheck,
    layout: &Layout,
    features: &EvidenceFeatures,
    column: usize,
    (window, support): (usize, f32),
) -> Vec<EvidencePick> {
    let rows: Vec<usize> = layout.window_rows[window].clone().collect();
    let claim = reading(check, layout.column_text(check, column));
    let nearest = features.nearest_first(&claim.features, &rows).into_iter().take(PICKS);
    nearest.filter_map(|row| pick(layout, row, support)).collect()
}

/// A sentence of evidence with the support that a model tells from the rest.
pub(crate) fn pick(layout: &Layout, row: usize, support: f32) -> Option<EvidencePick> {
    let (source, sentence) = *layout.rows.get(row)?;
    let probabilities = NliProbabilities {
        entailment: Probability::new(support)?,
        contradiction: Probability::ZERO,
        neutral: Probability::new(1.0 - support)?,
    };
    Some(EvidencePick { source, sentence, probabilities })
}

#[cfg(test)]
mod tests;

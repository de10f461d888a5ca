//! From the sentences of a source to sentences that fit a window, and windows of whole sentences.

use crate::cut::cut_sentence;
use groundline_types::{Code, CountTokens, EvidenceSentence, EvidenceWindow, PreparedSource, Span};
use std::sync::Arc;

/// Most cut sentences of one source that get a note of their own; the rest share one note with their number.
pub const MAX_CUT_NOTES: usize = 8;

/// A source as the splitter left it.
#[derive(Debug, Clone)]
pub struct SourceText {
    /// The caller's id, or `source-1`, `source-2`, … in order.
    pub id: Arc<str>,
    /// The original text that spans point into.
    pub text: Arc<str>,
    /// Sentences in order: where each stands in `text`, and its text without markup.
    pub sentences: Vec<(Span, Arc<str>)>,
}

/// Counts tokens, cuts over-long sentences at white space, and makes windows of whole sentences of at most `window_tokens`
/// tokens with one sentence of overlap.
///
/// No text is lost: the pieces of a cut sentence together hold all its words, and the windows together hold all sentences.
/// A sentence longer than a window is cut into pieces of at most half a window, so that windows over the pieces overlap too.
/// A window that would only repeat the end of the one before it is left out: a sentence stands in at most two windows, so
/// time and memory grow in proportion to the source.
///
/// Tokens of joined sentences can differ from the sum of their tokens, so each window is counted as a whole and shrunk while
/// it is over. Only a single character of more than `window_tokens` tokens can exceed a window.
///
/// The notes are [`Code::SENTENCE_CUT`] with counts only, never text: one for each of the first [`MAX_CUT_NOTES`] sentences
/// that were cut, and one for all others together.
pub fn prepare_source(
    source: SourceText,
    counter: &dyn CountTokens,
    window_tokens: usize,
) -> (PreparedSource, Vec<(Code, String)>) {
    let window_tokens = window_tokens.max(1);
    let total = source.sentences.len();
    let mut sentences = Vec::with_capacity(total);
    let mut cuts = Vec::new();
    for (number, (span, text)) in source.sentences.into_iter().enumerate() {
        let tokens = counter.count_tokens(&text);
        if tokens <= window_tokens {
            sentences.push(EvidenceSentence { span, text, tokens });
            continue;
        }
        let original = span.slice(&source.text).unwrap_or_default();
        let pieces = cut_sentence(&text, original, span, counter, (window_tokens / 2).max(1));
        cuts.push((number + 1, tokens, pieces.len()));
        sentences.extend(pieces);
    }
    let windows = windows_of(&sentences, counter, window_tokens);
    let prepared = PreparedSource { id: source.id, text: source.text, sentences, windows };
    (prepared, cut_notes(&cuts, total, window_tokens))
}

fn cut_notes(cuts: &[(usize, usize, usize)], total: usize, window_tokens: usize) -> Vec<(Code, String)> {
    let single = cuts.iter().take(MAX_CUT_NOTES).map(|(number, tokens, pieces)| {
        let message = format!(
            "sentence {number} of {total} has {tokens} tokens, more than a window of {window_tokens}: it was cut into \
             {pieces} pieces, at white space where there is any"
        );
        (Code::SENTENCE_CUT, message)
    });
    let mut notes: Vec<_> = single.collect();
    if cuts.len() > MAX_CUT_NOTES {
        let more = cuts.len() - MAX_CUT_NOTES;
        notes
            .push((Code::SENTENCE_CUT, format!("{more} more sentences of {total} were cut in the same way")));
    }
    notes
}

fn windows_of(
    sentences: &[EvidenceSentence],
    counter: &dyn CountTokens,
    window_tokens: usize,
) -> Vec<EvidenceWindow> {
    let mut windows = Vec::new();
    let (mut first, mut covered) = (0, 0);
    while covered < sentences.len() {
        let (end, text) = longest_window(sentences, first, counter, window_tokens);
        if end > covered {
            let span = Span::new(sentences[first].span.start, sentences[end - 1].span.end);
            windows.push(EvidenceWindow { span, text, first_sentence: first, end_sentence: end });
            covered = end;
            // One sentence of overlap, except where that would start the same window again.
            first = if end - 1 > first { end - 1 } else { end };
        } else {
            // The overlap leaves no room for the next sentence: start there without it.
            first = covered;
        }
    }
    windows
}

/// The end of the longest run of sentences from `first` that fits, and its text.
fn longest_window(
    sentences: &[EvidenceSentence],
    first: usize,
    counter: &dyn CountTokens,
    window_tokens: usize,
) -> (usize, Arc<str>) {
    let mut sum = sentences[first].tokens;
    let mut end = first + 1;
    while let Some(next) = sentences.get(end)
        && sum + next.tokens <= window_tokens
    {
        sum += next.tokens;
        end += 1;
    }
    while end > first + 1 {
        let texts: Vec<&str> = sentences[first..end].iter().map(|sentence| &*sentence.text).collect();
        let joined = texts.join(" ");
        let over = counter.count_tokens(&joined).saturating_sub(window_tokens);
        if over == 0 {
            return (end, joined.into());
        }
        // Dropping as many tokens as are over keeps the number of recounts small.
        let mut dropped = 0;
        while end > first + 1 && dropped < over {
            end -= 1;
            dropped += sentences[end].tokens.max(1);
        }
    }
    (end, sentences[first].text.clone())
}

#[cfg(test)]
mod tests;

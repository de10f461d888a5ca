//! Citation marks: "[1]", "[2, 3]", "[^note]", "【4†source】", "[citation needed]".

use super::Block;
use crate::mapped::MappedText;
use std::ops::Range;

/// Longest text of a mark between its brackets, in bytes.
const MAX_MARK_BYTES: usize = 40;

/// Words before a bracket that make its numbers an interval and no citation.
const INTERVAL_CUES: &[&str] = &["in", "interval", "range", "between", "from", "to", "of"];

/// The block without the citation marks in its text. A mark at the start stays: it is the number of a reference, and the
/// block's kind depends on it.
pub(crate) fn without_marks(block: Block) -> Block {
    let marks = marks(&block.text, &block.code);
    if marks.is_empty() {
        return block;
    }
    let text = block.text.without(&marks);
    if text.is_blank() {
        return block;
    }
    // Places are given in order, so that one walk over the marks shifts them all.
    let shift = |at: usize| {
        let before = marks.partition_point(|mark| mark.start < at);
        let removed: usize = marks[..before].iter().map(|mark| mark.end.min(at) - mark.start).sum();
        at - removed
    };
    let shift_all =
        |ranges: &[Range<usize>]| ranges.iter().map(|range| shift(range.start)..shift(range.end)).collect();
    let mut breaks: Vec<usize> = block.breaks.iter().map(|at| shift(*at)).collect();
    breaks.dedup();
    let (code, links, emphasis) =
        (shift_all(&block.code), shift_all(&block.links), shift_all(&block.emphasis));
    Block { text, breaks, code, links, emphasis, ..block }
}

fn marks(mapped: &MappedText, code: &[Range<usize>]) -> Vec<Range<usize>> {
    let text = mapped.as_str();
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut code = code.iter().peekable();
    for (at, bracket) in text.char_indices().filter(|(_, c)| matches!(c, '[' | '【')) {
        while code.peek().is_some_and(|range| range.end <= at) {
            code.next();
        }
        let inside_code = code.peek().is_some_and(|range| range.contains(&at));
        if inside_code || found.last().is_some_and(|last| at < last.end) {
            continue;
        }
        let Some(end) = mark_end(text, at, bracket) else { continue };
        let before = text[..at].trim_end();
        let chained = found.last().is_some_and(|last| last.end == at);
        let opens_line = before.is_empty() || before.ends_with('\n');
        let is_cue =
            |cue: &str| before.strip_suffix(cue).is_some_and(|rest| rest.is_empty() || rest.ends_with(' '));
        let interval = INTERVAL_CUES.iter().any(|cue| is_cue(cue));
        if opens_line || (interval && !chained) {
            continue;
        }
        // The space before a mark goes with it where nothing or punctuation follows.
        let next = text[end..].chars().next();
        let closes = next
            .is_none_or(|c| c.is_whitespace() || matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | ')' | '['));
        let start = if closes && !chained { before.len() } else { at };
        found.push(start..end);
    }
    found
}

/// Whether a text is one or more citation marks and nothing else, such as "[1][2]".
pub(super) fn is_chain(text: &str) -> bool {
    let mut at = 0;
    while text[at..].starts_with('[') {
        match mark_end(text, at, '[') {
            Some(end) => at = end,
            None => return false,
        }
    }
    at > 0 && at == text.len()
}

/// Whether a bracket that closes stands before one that opens no mark, as in "[1][a](b)": a definition of the second label would
/// make a link of both.
pub(crate) fn may_chain(text: &str) -> bool {
    text.match_indices("][").any(|(at, _)| mark_end(text, at + 1, '[').is_none())
}

/// The index after the mark whose bracket opens at `at`.
fn mark_end(text: &str, at: usize, bracket: char) -> Option<usize> {
    let inner = &text[at + bracket.len_utf8()..];
    let close = if bracket == '[' { ']' } else { '】' };
    let length =
        inner.char_indices().take_while(|(index, _)| *index <= MAX_MARK_BYTES).find(|(_, c)| *c == close)?.0;
    let body = &inner[..length];
    let numbers = body.starts_with(|c: char| ('1'..='9').contains(&c))
        && body.split([',', ';', '-', '–', '—']).all(|part| {
            let digits = part.trim();
            (1..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
        });
    let note =
        body.strip_prefix('^').is_some_and(|label| !label.is_empty() && !label.contains(char::is_whitespace));
    let tool = bracket == '【' && body.contains('†');
    let missing = matches!(body, "citation needed" | "source?" | "clarification needed");
    (numbers && bracket == '[' || bracket == '【' && (numbers || tool) || note || missing)
        .then(|| at + bracket.len_utf8() + length + close.len_utf8())
}

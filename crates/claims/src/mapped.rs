//! Clean text that knows where each of its bytes came from.

#[cfg(test)]
mod tests;

use groundline_types::{MapRun, Span, TextMap};
use std::ops::Range;

/// A text without markup, and the place in the original of everything in it.
///
/// The text is cut into runs. A run is either *exact*, byte for byte the same as the original, so that places inside it
/// are found by counting; or a *replacement* (a folded line break, a resolved entity), which stands as a whole for a
/// stretch of the original. Runs are in the order of the original and never overlap there, so that pieces of the text that
/// do not overlap have spans that do not overlap, as long as no piece ends inside a replacement.
#[derive(Debug, Clone, Default)]
pub(crate) struct MappedText {
    text: String,
    runs: Vec<Run>,
}

/// A stretch of the text with one kind of origin. It ends where the next run starts.
#[derive(Debug, Clone, Copy)]
struct Run {
    /// Where it starts in the text.
    start: usize,
    original: Span,
    exact: bool,
}

impl MappedText {
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Adds `text`, which stands in the original from byte `start` on.
    pub(crate) fn push_exact(&mut self, start: usize, text: &str) {
        if text.is_empty() {
            return;
        }
        let original = Span::new(start, start + text.len());
        match self.runs.last_mut() {
            Some(last) if last.exact && last.original.end == start => last.original.end = original.end,
            _ => self.runs.push(Run { start: self.text.len(), original, exact: true }),
        }
        self.text.push_str(text);
    }

    /// Adds `text` in place of `original`.
    pub(crate) fn push_replacement(&mut self, original: Span, text: &str) {
        if text.is_empty() {
            return;
        }
        self.runs.push(Run { start: self.text.len(), original, exact: false });
        self.text.push_str(text);
    }

    /// Adds a space in place of white space in the original, unless the text is empty or ends with one.
    pub(crate) fn push_space(&mut self, original: Span) {
        if !self.text.is_empty() && !self.text.ends_with(' ') {
            self.push_replacement(original, " ");
        }
    }

    /// Adds `text`, which stands in the original from byte `start` on, with white space folded to single spaces and
    /// invisible characters left out. A single thin or no-break space between digits stays: it groups a number.
    pub(crate) fn push_folded(&mut self, start: usize, text: &str) {
        let mut kept = 0;
        for (at, c) in text.char_indices() {
            let end = at + c.len_utf8();
            if c == ' ' && !text[..at].ends_with(' ') && at > kept {
                // The common case: one plain space inside a text stays as it is.
                continue;
            }
            if groups_digits(text, at, c) || !(c.is_whitespace() || is_invisible(c)) {
                continue;
            }
            self.push_exact(start + kept, &text[kept..at]);
            if c.is_whitespace() {
                self.push_space(Span::new(start + at, start + end));
            }
            kept = end;
        }
        self.push_exact(start + kept, &text[kept..]);
    }

    /// The original place of a piece of the text. An empty piece gives an empty span.
    pub(crate) fn span(&self, range: Range<usize>) -> Span {
        let Some(first) = self.run_at(range.start) else { return Span::new(0, 0) };
        let place = |run: Run, at: usize| run.original.start + (at - run.start);
        let start = if first.exact { place(first, range.start) } else { first.original.start };
        if range.is_empty() {
            return Span::new(start, start);
        }
        let end = match self.run_at(range.end - 1) {
            Some(last) if last.exact => place(last, range.end),
            Some(last) => last.original.end,
            None => start,
        };
        Span::new(start, end)
    }

    /// The map of a piece of the text, which is not empty, to its own span.
    pub(crate) fn map(&self, range: Range<usize>) -> TextMap {
        let piece = self.piece(range.clone());
        let base = self.span(range).start;
        let relative = |run: &Run| MapRun {
            start: run.start,
            original: Span::new(
                run.original.start.saturating_sub(base),
                run.original.end.saturating_sub(base),
            ),
            is_exact: run.exact,
        };
        TextMap::new(piece.runs.iter().map(relative).collect())
    }

    /// Whether the text may be cut at `at` without two pieces sharing a stretch of the original.
    pub(crate) fn can_cut(&self, at: usize) -> bool {
        self.run_at(at).is_none_or(|run| run.exact || run.start == at)
    }

    fn run_at(&self, at: usize) -> Option<Run> {
        let after = self.runs.partition_point(|run| run.start <= at);
        after.checked_sub(1).map(|index| self.runs[index])
    }

    /// A piece of it, as a text of its own.
    pub(crate) fn piece(&self, range: Range<usize>) -> MappedText {
        let mut piece = MappedText::default();
        piece.append(self, range);
        piece
    }

    /// Adds a piece of another text of the same original.
    pub(crate) fn append(&mut self, other: &MappedText, range: Range<usize>) {
        let mut at = range.start;
        let mut index = other.runs.partition_point(|run| run.start <= at).saturating_sub(1);
        while at < range.end {
            let Some(run) = other.runs.get(index) else { return };
            let end = other.runs.get(index + 1).map_or(other.text.len(), |next| next.start).min(range.end);
            let text = &other.text[at..end];
            if run.exact {
                self.push_exact(run.original.start + (at - run.start), text);
            } else {
                self.push_replacement(run.original, text);
            }
            at = end;
            index += 1;
        }
    }

    /// The text without some pieces of it, given in order and without overlap.
    pub(crate) fn without(&self, pieces: &[Range<usize>]) -> MappedText {
        let mut kept = MappedText::default();
        let mut at = 0;
        for piece in pieces {
            kept.append(self, at..piece.start);
            at = piece.end;
        }
        kept.append(self, at..self.text.len());
        kept
    }

    /// The same text with places that `base` gives: `self` was made from the text of `base`, and `base` from the original.
    pub(crate) fn over(&self, base: &MappedText) -> MappedText {
        let mut mapped = MappedText::default();
        for (index, run) in self.runs.iter().enumerate() {
            let end = self.runs.get(index + 1).map_or(self.text.len(), |next| next.start);
            if run.exact {
                mapped.append(base, run.original.start..run.original.end);
            } else {
                let original = base.span(run.original.start..run.original.end);
                mapped.push_replacement(original, &self.text[run.start..end]);
            }
        }
        mapped
    }
}

/// A no-break or thin space that stands alone between two digits.
fn groups_digits(text: &str, at: usize, c: char) -> bool {
    let thin = matches!(c, '\u{a0}' | '\u{2009}' | '\u{202f}' | '\u{2007}');
    thin && text[..at].ends_with(|c: char| c.is_ascii_digit())
        && text[at + c.len_utf8()..].starts_with(|c: char| c.is_ascii_digit())
}

/// Characters that show nothing and would only disturb a model: zero-width space, byte order mark, soft hyphen, controls.
fn is_invisible(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200b}' | '\u{feff}' | '\u{ad}' | '\u{2060}' | '\u{200e}' | '\u{200f}')
}

//! From a cleaned text back to the original.

use crate::Span;
use std::ops::Range;

/// Where the parts of a text without markup stand in the original text.
///
/// It belongs to a stretch of the original, its *base*, and counts from the base's start, so that it stays right where the base moves.
/// The empty map says that the text is the base, byte for byte.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextMap {
    runs: Vec<MapRun>,
}

/// A stretch of the text with one kind of origin. It ends where the next one starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapRun {
    /// Where it starts in the text, in bytes.
    pub start: usize,
    /// Where it comes from, in bytes from the base's start on.
    pub original: Span,
    /// Whether it is the original byte for byte. Otherwise it stands as a whole for a stretch of the original, as a folded line break
    /// or a resolved entity does.
    pub is_exact: bool,
}

impl TextMap {
    /// A map of runs in the order of the text, the first of which starts at 0.
    pub fn new(runs: Vec<MapRun>) -> Self {
        let is_base =
            matches!(runs[..], [MapRun { start: 0, original: Span { start: 0, .. }, is_exact: true }]);
        Self { runs: if is_base { Vec::new() } else { runs } }
    }

    /// The place in the original of a part of the text, within `base`. What stands for a stretch as a whole counts as a whole.
    pub fn span(&self, base: Span, part: Range<usize>) -> Span {
        let (start, end) = (self.place(part.start, false), self.place(part.end, true));
        let end = (base.start + end).min(base.end);
        Span::new((base.start + start).min(end), end)
    }

    /// Where a place of the text is in the original: as a start, or as an end.
    fn place(&self, at: usize, is_end: bool) -> usize {
        // An end belongs to the byte before it.
        let byte = if is_end { at.saturating_sub(1) } else { at };
        let after = self.runs.partition_point(|run| run.start <= byte);
        let Some(run) = after.checked_sub(1).map(|index| self.runs[index]) else { return at };
        match (run.is_exact, is_end) {
            (true, _) => run.original.start + (at - run.start.min(at)),
            (false, false) => run.original.start,
            (false, true) => run.original.end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_map_counts_from_the_base_on() {
        assert_eq!(TextMap::default().span(Span::new(10, 20), 2..5), Span::new(12, 15));
        assert_eq!(
            TextMap::default().span(Span::new(10, 12), 1..9),
            Span::new(11, 12),
            "never beyond the base"
        );
        let whole = MapRun { start: 0, original: Span::new(0, 9), is_exact: true };
        assert_eq!(TextMap::new(vec![whole]), TextMap::default());
    }

    #[test]
    fn markup_is_stepped_over_and_a_replacement_counts_as_a_whole() {
        // "**999** &amp; more" as "999 & more".
        let map = TextMap::new(vec![
            MapRun { start: 0, original: Span::new(2, 5), is_exact: true },
            MapRun { start: 3, original: Span::new(7, 8), is_exact: true },
            MapRun { start: 4, original: Span::new(8, 13), is_exact: false },
            MapRun { start: 5, original: Span::new(13, 18), is_exact: true },
        ]);
        let base = Span::new(100, 118);
        let text = "**999** &amp; more";
        let of = |part: Range<usize>| {
            let span = map.span(base, part);
            &text[span.start - base.start..span.end - base.start]
        };
        assert_eq!(of(0..3), "999");
        assert_eq!(of(1..2), "9");
        assert_eq!(of(4..5), "&amp;");
        assert_eq!(of(6..10), "more");
        assert_eq!(of(0..10), "999** &amp; more");
    }
}

//! Byte spans into an original text.

use serde::{Deserialize, Serialize};

/// A half-open range of bytes `start..end` in an original UTF-8 text.
///
/// Spans are carried from the splitter on and never found again by string search, because the same words may stand in a
/// text twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// A span; `start` must not exceed `end`.
    pub fn new(start: usize, end: usize) -> Self {
        debug_assert!(start <= end, "span {start}..{end} is reversed");
        Self { start, end }
    }

    /// Length in bytes.
    pub fn len(self) -> usize {
        self.end - self.start
    }

    /// Whether the span covers nothing.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Whether `other` lies within this span.
    pub fn contains(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// The slice of `text` that this span names, or `None` where it does not lie on character boundaries of `text`.
    pub fn slice(self, text: &str) -> Option<&str> {
        text.get(self.start..self.end)
    }

    /// The same span counted in another unit of `text`. A span off the character boundaries of `text` gives `None`.
    pub fn in_unit(self, text: &str, unit: OffsetUnit) -> Option<Span> {
        let (before, within) = (text.get(..self.start)?, text.get(self.start..self.end)?);
        let start = unit.measure(before);
        Some(Span::new(start, start + unit.measure(within)))
    }
}

/// The unit in which offsets are reported; spans are in bytes inside Groundline.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum OffsetUnit {
    /// Bytes of UTF-8.
    #[default]
    Bytes,
    /// Unicode scalar values, as Python's `str` indexes.
    Chars,
    /// UTF-16 code units, as JavaScript's and Java's strings index.
    Utf16,
}

impl OffsetUnit {
    /// Length of `text` in this unit.
    pub fn measure(self, text: &str) -> usize {
        match self {
            OffsetUnit::Bytes => text.len(),
            OffsetUnit::Chars => text.chars().count(),
            OffsetUnit::Utf16 => text.encode_utf16().count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_convert_to_characters_and_utf16_units() {
        let text = "é𝄞x";
        let span = Span::new(2, 7);
        assert_eq!(span.slice(text), Some("𝄞x"));
        assert_eq!(span.in_unit(text, OffsetUnit::Chars), Some(Span::new(1, 3)));
        assert_eq!(span.in_unit(text, OffsetUnit::Utf16), Some(Span::new(1, 4)));
        assert_eq!(Span::new(1, 3).in_unit(text, OffsetUnit::Chars), None);
    }
}

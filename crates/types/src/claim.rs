//! What a response claims.

use crate::{Span, TextMap};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One sentence (or table row, list item, heading, code block) of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Where it stands in the original text, in bytes, markup at its edges left out.
    pub span: Span,
    /// What is scored: the sentence without Markdown markup, white space folded to single spaces.
    pub text: Arc<str>,
    /// Where the parts of `text` stand in the original.
    pub places: TextMap,
    /// What kind of text it is.
    pub kind: ClaimKind,
    /// What makes it high-stakes, in order of [`HighStakesTag`], each once.
    pub tags: Vec<HighStakesTag>,
    /// Atomic facts by rules; empty unless asked for. A sentence that is one fact has that one.
    pub facts: Vec<AtomicFact>,
}

/// What kind of text a [`Claim`] is. Only [`ClaimKind::Statement`] and [`ClaimKind::TableRow`] are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimKind {
    /// A sentence that says something that can be true or false.
    Statement,
    /// A row of a table with its header, such as `City: Paris; Population: 2.1 million`.
    TableRow,
    /// A question.
    Question,
    /// A greeting, thanks, an offer of help or another pleasantry.
    Pleasantry,
    /// A heading or table header.
    Heading,
    /// A code block or a line that is only inline code.
    Code,
    /// A list of citations or links, such as `[1] https://…`.
    Citation,
    /// No word at all: punctuation, emoji, a rule.
    Wordless,
}

impl ClaimKind {
    /// Whether text of this kind is checked.
    pub fn is_checkable(self) -> bool {
        matches!(self, ClaimKind::Statement | ClaimKind::TableRow)
    }
}

/// One fact of a sentence that stands for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtomicFact {
    /// The fact as a sentence of its own, with the subject carried over where its part of the sentence has none.
    pub text: Arc<str>,
    /// The part of the original text that it was taken from.
    pub span: Span,
}

/// Why an error in a sentence would matter more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum HighStakesTag {
    /// Names a person, place, organisation or work.
    Name,
    /// Has a number.
    Number,
    /// Has a date, a year or a time.
    Date,
    /// Has a number with a unit.
    Quantity,
}

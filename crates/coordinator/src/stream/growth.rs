//! The text of a stream and what of it is settled, as a pure machine.

use groundline_claims::{SplitOptions, settled_claims};
use groundline_types::{Claim, OffsetUnit};
use std::sync::Arc;

/// A text is looked at again once it has grown by one part in so many, so that all looks together take time in proportion to it.
const LOOKS_PER_TEXT: usize = 128;
/// Bytes of the beginning from which the language is guessed.
const OPENING_BYTES: usize = 16 << 10;

/// Newly settled claims with the piece of text that they stand in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settled {
    /// From the first claim to the last.
    pub(crate) text: Arc<str>,
    /// Their places count in `text`.
    pub(crate) claims: Vec<Claim>,
    /// The sentence before them, which they may refer back to.
    pub(crate) before: Option<Arc<str>>,
    /// Where `text` starts in the whole, in the unit of the stream.
    pub(crate) start: usize,
    /// How the whole begins.
    pub(crate) opening: Arc<str>,
}

/// A text that grows.
#[derive(Debug)]
pub(crate) struct Growth {
    text: String,
    options: SplitOptions,
    unit: OffsetUnit,
    /// Length of the text at the last look.
    looked_bytes: usize,
    /// Claims handed out.
    handed_out: usize,
    /// A place in bytes and the same place in the unit, so that places are measured once.
    measured: (usize, usize),
}

impl Growth {
    pub(crate) fn new(facts: bool, unit: OffsetUnit) -> Self {
        let options = SplitOptions { facts };
        Self { text: String::new(), options, unit, looked_bytes: 0, handed_out: 0, measured: (0, 0) }
    }

    pub(crate) fn push(&mut self, piece: &str) {
        self.text.push_str(piece);
    }

    /// The whole text so far.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Claims handed out so far. They are the first ones of the whole text.
    pub(crate) fn handed_out(&self) -> usize {
        self.handed_out
    }

    /// Whether something may have settled since the last look.
    pub(crate) fn is_due(&self) -> bool {
        let new = &self.text[self.looked_bytes..];
        // A sentence is settled with the sign that ends the next word.
        new.len() > self.text.len() / LOOKS_PER_TEXT && new.contains(|c: char| !c.is_alphanumeric())
    }

    /// The claims that have settled since the last look; `None` where there is none.
    pub(crate) fn look(&mut self) -> Option<Settled> {
        self.looked_bytes = self.text.len();
        let mut claims = settled_claims(&self.text, &self.options);
        let new = claims.split_off(self.handed_out.min(claims.len()));
        let (before, claims) = (claims.pop().map(|claim| claim.text), new);
        let (first, last) = (claims.first()?.span, claims.last()?.span);
        self.handed_out += claims.len();
        let start = self.measure(first.start);
        let text = Arc::from(self.text.get(first.start..last.end)?);
        Some(Settled { text, claims: shifted(claims, first.start), before, start, opening: self.opening() })
    }

    fn opening(&self) -> Arc<str> {
        let end = (0..=self.text.len().min(OPENING_BYTES)).rev().find(|end| self.text.is_char_boundary(*end));
        Arc::from(&self.text[..end.unwrap_or(0)])
    }

    /// A place in the unit of the stream.
    fn measure(&mut self, at: usize) -> usize {
        let (bytes, units) = self.measured;
        let units = units + self.text.get(bytes..at).map_or(0, |between| self.unit.measure(between));
        self.measured = (at, units);
        units
    }
}

/// The claims with places that count from `by` on.
fn shifted(mut claims: Vec<Claim>, by: usize) -> Vec<Claim> {
    for claim in &mut claims {
        (claim.span.start, claim.span.end) = (claim.span.start - by, claim.span.end - by);
        for fact in &mut claim.facts {
            (fact.span.start, fact.span.end) = (fact.span.start - by, fact.span.end - by);
        }
    }
    claims
}

#[cfg(test)]
mod tests;

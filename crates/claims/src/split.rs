//! From text to claims.

mod growing;

#[cfg(test)]
mod tests;

pub use growing::settled_claims;

use crate::facts;
use crate::kind;
use crate::markdown::{Block, BlockKind, blocks};
use crate::names::find_names;
use crate::values::{ValueKind, find_values};
use groundline_types::{AtomicFact, Claim, ClaimKind, HighStakesTag, Span};
use std::ops::Range;
use std::sync::Arc;

/// What [`split_response`] finds besides sentences.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SplitOptions {
    /// Whether to take sentences apart into atomic facts.
    pub facts: bool,
}

/// A sentence of a source, or a row, line or heading that may hold evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// Where it stands in the source, in bytes, markup at its edges left out.
    pub span: Span,
    /// What is compared: the sentence without markup, white space folded.
    pub text: Arc<str>,
}

/// Splits a response into everything that stands in it, in order: sentences, headings, table rows, code blocks, each with
/// its kind and, where it is checked, its high-stakes tags and facts.
///
/// ```
/// use groundline_claims::{SplitOptions, split_response};
/// use groundline_types::ClaimKind;
///
/// let text = "Sure!\n\n- Dr. Curie won in **1903**.";
/// let claims = split_response(text, &SplitOptions::default());
/// assert_eq!(claims[0].kind, ClaimKind::Pleasantry);
/// assert_eq!(&*claims[1].text, "Dr. Curie won in 1903.");
/// assert_eq!(claims[1].span.slice(text), Some("Dr. Curie won in **1903**."));
/// ```
pub fn split_response(text: &str, options: &SplitOptions) -> Vec<Claim> {
    let (text, shift) = behind_mark(text);
    let mut claims = split_unmarked(text, options);
    for claim in &mut claims {
        claim.span = shifted(claim.span, shift);
        for fact in &mut claim.facts {
            fact.span = shifted(fact.span, shift);
        }
    }
    claims
}

/// The text behind a byte order mark, and the bytes of the mark: it stays in the text that spans count in, and is white space
/// to everything else.
fn behind_mark(text: &str) -> (&str, usize) {
    let rest = text.trim_start_matches('\u{feff}');
    (rest, text.len() - rest.len())
}

fn shifted(span: Span, by: usize) -> Span {
    Span::new(span.start + by, span.end + by)
}

fn split_unmarked(text: &str, options: &SplitOptions) -> Vec<Claim> {
    let mut claims = Vec::new();
    let mut in_references = false;
    for block in blocks(text) {
        for (range, kind) in pieces(&block, in_references) {
            claims.push(claim(&block, range, kind, options));
        }
        in_references = opens_references(&block).unwrap_or(in_references);
    }
    claims
}

/// Whether a list of references follows; `None` where the block is no heading and changes nothing.
fn opens_references(block: &Block) -> Option<bool> {
    let text = block.text.as_str();
    let is_heading = matches!(block.kind, BlockKind::Heading | BlockKind::HeadingLike);
    (is_heading || kind::is_colon_label(text)).then(|| kind::is_reference_heading(text))
}

/// Splits a source the same way. Everything with a word in it stays, headings and code too, since it may be evidence.
/// A code block gives one piece for each line.
pub fn split_source(text: &str) -> Vec<Sentence> {
    let (text, shift) = behind_mark(text);
    let mut found = Vec::new();
    for block in blocks(text) {
        let ranges = match block.kind {
            BlockKind::Paragraph | BlockKind::HeadingLike => block.sentences(),
            BlockKind::Code => lines(&block),
            BlockKind::Heading | BlockKind::TableHeader | BlockKind::TableRow => vec![whole(&block)],
        };
        for range in ranges {
            let text = &block.text.as_str()[range.clone()];
            if text.chars().any(char::is_alphanumeric) {
                let span = shifted(block.text.span(range.clone()), shift);
                found.push(Sentence { span, text: Arc::from(text) });
            }
        }
    }
    found
}

/// The pieces of a block with their kinds.
fn pieces(block: &Block, in_references: bool) -> Vec<(Range<usize>, ClaimKind)> {
    let text = block.text.as_str();
    let range = whole(block);
    let all = &text[range.clone()];
    match block.kind {
        BlockKind::Code => return vec![(range, wordless_or(all, ClaimKind::Code))],
        BlockKind::TableHeader => return vec![(range, wordless_or(all, ClaimKind::Heading))],
        BlockKind::TableRow => return vec![(range, wordless_or(all, ClaimKind::TableRow))],
        BlockKind::Heading => return vec![(range, kind::of_heading(all))],
        BlockKind::Paragraph | BlockKind::HeadingLike => {}
    }
    let linked = || covered_bytes(text, &block.links);
    let written = || covered_bytes(text, std::slice::from_ref(&range));
    if !block.code.is_empty() && covered_bytes(text, &block.code) == written() {
        return vec![(range, wordless_or(all, ClaimKind::Code))];
    }
    if kind::is_reference(all, in_references)
        || (!block.links.is_empty() && kind::is_link_list(all, linked()))
    {
        return vec![(range, ClaimKind::Citation)];
    }
    let ranges = block.sentences();
    let lone = ranges.len() == 1;
    let of = |range: &Range<usize>| {
        let text = &text[range.clone()];
        if block.kind == BlockKind::HeadingLike && lone {
            return kind::of_heading_like(text);
        }
        match kind::of_sentence(text) {
            ClaimKind::Statement if kind::is_colon_label(text) => ClaimKind::Heading,
            kind => kind,
        }
    };
    ranges.into_iter().map(|range| (range.clone(), of(&range))).collect()
}

fn wordless_or(text: &str, kind: ClaimKind) -> ClaimKind {
    if text.chars().any(char::is_alphanumeric) { kind } else { ClaimKind::Wordless }
}

/// The block without white space at its edges.
fn whole(block: &Block) -> Range<usize> {
    let text = block.text.as_str();
    let start = text.len() - text.trim_start().len();
    start..text.trim_end().len().max(start)
}

fn lines(block: &Block) -> Vec<Range<usize>> {
    let text = block.text.as_str();
    let mut lines = Vec::new();
    let mut start = 0;
    for end in block.breaks.iter().copied().chain([text.len()]) {
        let trimmed = text[start..end].trim_end();
        lines.push(start..start + trimmed.len());
        start = end;
    }
    lines
}

/// Bytes of letters and digits of `text` inside `ranges`.
fn covered_bytes(text: &str, ranges: &[Range<usize>]) -> usize {
    let letters = |range: &Range<usize>| {
        text[range.clone()].chars().filter(|c| c.is_alphanumeric()).map(char::len_utf8).sum::<usize>()
    };
    ranges.iter().map(letters).sum()
}

fn claim(block: &Block, range: Range<usize>, kind: ClaimKind, options: &SplitOptions) -> Claim {
    let text = &block.text.as_str()[range.clone()];
    let (span, places) = (block.text.span(range.clone()), block.text.map(range.clone()));
    let tags = if kind.is_checkable() { tags(text) } else { Vec::new() };
    let facts = match kind {
        ClaimKind::Statement if options.facts => facts::facts(text)
            .into_iter()
            .map(|fact| {
                let place = range.start + fact.range.start..range.start + fact.range.end;
                AtomicFact { text: Arc::from(fact.text), span: block.text.span(place) }
            })
            .collect(),
        ClaimKind::TableRow if options.facts => {
            vec![AtomicFact { text: Arc::from(facts::as_sentence(text)), span }]
        }
        _ => Vec::new(),
    };
    Claim { span, text: Arc::from(text), places, kind, tags, facts }
}

/// What makes a sentence high-stakes. A number with a unit is both a number and a quantity.
fn tags(text: &str) -> Vec<HighStakesTag> {
    let mut found = [false; 4];
    found[0] = !find_names(text).is_empty();
    for value in find_values(text) {
        match value.kind {
            ValueKind::Number(_) | ValueKind::Ordinal(_) => found[1] = true,
            ValueKind::Percent(_) | ValueKind::Currency { .. } | ValueKind::Quantity { .. } => {
                found[1] = true;
                found[3] = true;
            }
            ValueKind::Date(_) | ValueKind::Time { .. } => found[2] = true,
            ValueKind::Identifier => {}
        }
    }
    let tags = [HighStakesTag::Name, HighStakesTag::Number, HighStakesTag::Date, HighStakesTag::Quantity];
    tags.into_iter().zip(found).filter(|(_, found)| *found).map(|(tag, _)| tag).collect()
}

//! What is settled in a text that is still being written.
//!
//! The rule. A claim is settled where every claim before it is, and it belongs to
//!
//! - a *closed* leaf of Markdown's structure (paragraph, heading, row, code block): a later leaf has begun, on a line whose first
//!   letter is there. Up to its first letter, a line may still become a list item, a fence, an underline or the rule of a table;
//! - or the *open* leaf at the end, where that is one plain paragraph, and the claim is a sentence behind which another one has
//!   begun with a whole word. Nothing up to the end of that word may be a sign that a later one could pair with (an asterisk, a
//!   backtick, a bracket), no bracket of the sentence may be open with its end in reach, and no emphasis that begins before that place may end
//!   behind it: code or a link in between, which binds closer, would turn its signs into text.
//!
//! Asterisks and the like at the very end are left out: whether they open, close or are text depends on what follows them.
//!
//! A pair of square brackets that is no link yet may become one by a definition anywhere later: nothing from its block on is
//! settled. Citation marks such as `[1]` are not meant: they are marks with and without a definition.

#[cfg(test)]
mod tests;

use super::{Block, BlockKind, SplitOptions, behind_mark, claim, opens_references, pieces, shifted, whole};
use crate::markdown::blocks;
use crate::markdown::marks::may_chain;
use crate::sentences::BRACKET_REACH_BYTES;
use groundline_types::Claim;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// Signs of a paragraph's clean text that a later sign may pair with, which takes them out of the text.
const PAIRING: &[char] = &['*', '_', '~', '`', '[', '<', '|'];
/// The same for the word behind a sentence, where half an entity or escape may stand.
const UNFINISHED: &[char] = &['*', '_', '~', '`', '[', '【', '<', '|', '&', '\\', '!'];
/// Signs whose part depends on the sign behind them, and on how many of them there are.
const RUNS: &[char] = &['*', '_', '~', '`'];
/// Signs before the first letter of a line with which the rest of the line decides what it is.
const LINE_SIGNS: &[char] = &['`', '~', '<', '[', '\\', '&'];

/// The first claims of a text that is still being written: those that [`super::split_response`] finds in the same way, whatever
/// is written behind `text`. Takes time in proportion to the text; call it when a sentence may have ended.
///
/// ```
/// use groundline_claims::{SplitOptions, settled_claims};
///
/// let settled = |text| settled_claims(text, &SplitOptions::default()).len();
/// assert_eq!(settled("She met Dr. Curie in Paris."), 0, "it may go on: Paris.com");
/// assert_eq!(settled("She met Dr. Curie in Paris. The"), 0, "it may go on: They");
/// assert_eq!(settled("She met Dr. Curie in Paris. They talked"), 1);
/// ```
pub fn settled_claims(text: &str, options: &SplitOptions) -> Vec<Claim> {
    let (text, shift) = behind_mark(decided_lines(text));
    let blocks = blocks(text);
    let Some(open_leaf) = blocks.last().map(|block| block.leaf) else { return Vec::new() };
    let may_define = text.contains("]:");
    // A link in a line changes what the bold line before it is: its leaf waits as a whole.
    let labelled_leaf = blocks.iter().find(|block| may_be_link(text, block)).map(|block| block.leaf);
    let (mut claims, mut in_references) = (Vec::new(), false);
    for block in &blocks {
        if labelled_leaf == Some(block.leaf) || (block.is_reread && block.leaf == open_leaf) {
            break;
        }
        let mut found = pieces(block, in_references);
        if block.leaf == open_leaf {
            let alone = blocks.iter().filter(|other| other.leaf == open_leaf).count() == 1;
            let is_plain = alone && block.kind == BlockKind::Paragraph && block.links.is_empty();
            let ranges = found.iter().map(|(range, _)| range.clone()).collect::<Vec<_>>();
            let settled =
                if is_plain && !may_define && !in_references { settled_in(block, &ranges) } else { 0 };
            found.truncate(settled);
        }
        claims.extend(found.into_iter().map(|(range, kind)| claim(block, range, kind, options)));
        in_references = opens_references(block).unwrap_or(in_references);
    }
    for claim in &mut claims {
        claim.span = shifted(claim.span, shift);
        for fact in &mut claim.facts {
            fact.span = shifted(fact.span, shift);
        }
    }
    claims
}

/// The text without signs at its end whose part is open, and without its last line, where that may still become anything.
fn decided_lines(text: &str) -> &str {
    let text = text.trim_end_matches(RUNS);
    let start = text.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let line = &text[start..];
    let is_decided =
        line.find(char::is_alphabetic).is_some_and(|letter| !line[..letter].contains(LINE_SIGNS));
    if is_decided { text } else { &text[..start] }
}

/// Whether a later definition may turn a part of the block into a link.
fn may_be_link(text: &str, block: &Block) -> bool {
    has_label(block) || may_chain(block.text.span(whole(block)).slice(text).unwrap_or_default())
}

/// Whether a pair of square brackets stands in the block that is no citation mark.
fn has_label(block: &Block) -> bool {
    if block.kind == BlockKind::Code {
        return false;
    }
    let text = block.text.as_str();
    let mut opened = false;
    for (at, sign) in text.char_indices().filter(|(_, c)| matches!(c, '[' | ']')) {
        if block.code.iter().any(|range| range.contains(&at)) {
            continue;
        }
        if sign == ']' && opened {
            return true;
        }
        opened |= sign == '[';
    }
    false
}

/// How many of the first sentences of an open paragraph are settled.
fn settled_in(block: &Block, sentences: &[Range<usize>]) -> usize {
    let text = block.text.as_str();
    let in_code = |at: usize| block.code.iter().any(|range| range.contains(&at));
    let has = |range: Range<usize>, signs: &[char]| {
        text[range.clone()].char_indices().any(|(at, c)| signs.contains(&c) && !in_code(range.start + at))
    };
    let mut settled = 0;
    for pair in sentences.windows(2) {
        let (sentence, next) = (&pair[0], &pair[1]);
        let Some(word_end) = whole_word(text, sentence.end) else { break };
        let until = word_end.max(next.start);
        if block.emphasis.iter().any(|range| range.start < until && until < range.end) {
            break;
        }
        if has(sentence.clone(), PAIRING) || has(sentence.end..until, UNFINISHED) {
            break;
        }
        let is_in_reach = text.len() - sentence.end <= BRACKET_REACH_BYTES + 4;
        if is_in_reach && has_open_bracket(&text[sentence.clone()]) {
            break;
        }
        settled += 1;
    }
    settled
}

/// The end of the first word with a letter behind `from`, with the sign that ends the word.
fn whole_word(text: &str, from: usize) -> Option<usize> {
    let rest = &text[from..];
    // A mark on another sign is alphabetic too, and no letter to the rules of where sentences end.
    let (letter, _) = rest.grapheme_indices(true).find(|(_, sign)| sign.starts_with(char::is_alphabetic))?;
    let (length, end) =
        rest[letter..].char_indices().find(|(_, c)| !c.is_alphanumeric() && !matches!(c, '\'' | '’'))?;
    Some(from + letter + length + end.len_utf8())
}

fn has_open_bracket(sentence: &str) -> bool {
    let depth = sentence.bytes().fold(0_usize, |depth, byte| match byte {
        b'(' => depth + 1,
        b')' => depth.saturating_sub(1),
        _ => depth,
    });
    depth > 0
}

//! Words as token ids, without a vocabulary: an id is a hash.

use groundline_types::CountTokens;

/// Id of the marker before a sequence.
pub(crate) const CLS: u32 = 1;
/// Id of the marker after each text.
pub(crate) const SEP: u32 = 2;
/// Set in the ids of words that hold a digit.
const NUMBER_BIT: u32 = 1 << 30;
/// Set in the ids of words that carry no content of their own.
const FUNCTION_BIT: u32 = 1 << 29;
/// Set in the ids of words that deny.
const NEGATION_BIT: u32 = 1 << 28;
/// Bits of the hash itself.
const HASH_MASK: u32 = NEGATION_BIT - 1;

const NEGATIONS: [&str; 9] = ["not", "no", "never", "none", "neither", "nor", "cannot", "didn't", "wasn't"];
const FUNCTION_WORDS: [&str; 36] = [
    "a", "an", "the", "is", "are", "was", "were", "be", "been", "of", "in", "on", "at", "to", "by", "for",
    "with", "from", "and", "or", "but", "as", "it", "its", "he", "she", "his", "her", "they", "their",
    "that", "this", "which", "who", "did", "has",
];

/// Id of a word, the same for every case and whatever punctuation stands around it.
pub(crate) fn word_id(word: &str) -> u32 {
    let trimmed = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let mut hash: u32 = 0x811c_9dc5;
    for byte in trimmed.bytes() {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    let mut id = (hash & HASH_MASK).max(SEP + 1);
    if trimmed.contains(|c: char| c.is_ascii_digit()) {
        id |= NUMBER_BIT;
    }
    if NEGATIONS.contains(&trimmed.as_str()) {
        id |= NEGATION_BIT;
    }
    if trimmed.is_empty() || FUNCTION_WORDS.contains(&trimmed.as_str()) {
        id |= FUNCTION_BIT;
    }
    id
}

pub(crate) fn is_number(id: u32) -> bool {
    id & NUMBER_BIT != 0
}

pub(crate) fn is_negation(id: u32) -> bool {
    id & NEGATION_BIT != 0
}

/// Whether a word says something: no marker, no function word, no denial.
pub(crate) fn is_content(id: u32) -> bool {
    id > SEP && id & (FUNCTION_BIT | NEGATION_BIT) == 0
}

/// Counts words between white space as tokens.
#[derive(Debug, Clone, Copy, Default)]
pub struct WhitespaceCounter;

impl CountTokens for WhitespaceCounter {
    fn count_tokens(&self, text: &str) -> usize {
        text.split_whitespace().count()
    }

    fn prefix_within(&self, text: &str, budget: usize) -> usize {
        let mut words = 0;
        let mut inside = false;
        for (at, character) in text.char_indices() {
            let starts = !character.is_whitespace() && !inside;
            inside = !character.is_whitespace();
            words += usize::from(starts);
            if words > budget {
                return if at == 0 { character.len_utf8() } else { at };
            }
        }
        text.len()
    }
}

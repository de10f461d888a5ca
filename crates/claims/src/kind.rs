//! What kind of text a sentence is.
//!
//! Only statements are checked, so that taking a statement for something else is a silent pass. Every rule here is narrow;
//! what none of them knows is a statement.

mod citation;
mod pleasantry;

#[cfg(test)]
mod tests;

use crate::lookup::in_sorted;
use crate::sentences::CLOSERS;
use groundline_types::ClaimKind;

pub(crate) use citation::{is_link_list, is_reference, is_reference_heading};

/// Most words of a line that is a heading without saying so ("**Early life**", "Key points:").
const MAX_HEADING_WORDS: usize = 8;

/// Words that make a phrase a statement.
const VERBS: &[&str] = &[
    "am",
    "are",
    "aren't",
    "be",
    "became",
    "been",
    "born",
    "can",
    "can't",
    "cannot",
    "consists",
    "contains",
    "could",
    "did",
    "didn't",
    "died",
    "discovered",
    "do",
    "does",
    "doesn't",
    "don't",
    "founded",
    "had",
    "has",
    "have",
    "he's",
    "includes",
    "invented",
    "is",
    "isn't",
    "it's",
    "lies",
    "lived",
    "located",
    "made",
    "makes",
    "may",
    "means",
    "might",
    "must",
    "said",
    "says",
    "she's",
    "should",
    "there's",
    "was",
    "wasn't",
    "were",
    "weren't",
    "will",
    "won",
    "won't",
    "would",
    "wrote",
];

/// The kind of a sentence of a paragraph.
pub(crate) fn of_sentence(text: &str) -> ClaimKind {
    if !text.chars().any(char::is_alphanumeric) {
        ClaimKind::Wordless
    } else if citation::is_bare(text) {
        ClaimKind::Citation
    } else if pleasantry::is_pleasantry(text) {
        ClaimKind::Pleasantry
    } else if is_question(text) {
        ClaimKind::Question
    } else {
        ClaimKind::Statement
    }
}

/// The kind of a heading by markup. One that ends like a sentence says something.
pub(crate) fn of_heading(text: &str) -> ClaimKind {
    let sentence = text.trim_end().ends_with(['.', '!']) && text.split_whitespace().count() > 3;
    match of_sentence(text) {
        ClaimKind::Statement if !sentence => ClaimKind::Heading,
        kind => kind,
    }
}

/// The kind of a line that may be a heading: underlined, all in bold, or a short label with a colon.
pub(crate) fn of_heading_like(text: &str) -> ClaimKind {
    let kind = of_sentence(text);
    if kind == ClaimKind::Statement && is_label(text) { ClaimKind::Heading } else { kind }
}

/// Whether a line reads as a label of what follows: short, no full stop, no verb.
fn is_label(text: &str) -> bool {
    let words: Vec<String> = text.split_whitespace().map(bare_lower).collect();
    let ends = text.trim_end().ends_with(['.', '!', '?', ';', '。']);
    (1..=MAX_HEADING_WORDS).contains(&words.len())
        && !ends
        && !words.iter().any(|word| in_sorted(VERBS, word))
}

/// Whether a word of the text is one of the common verbs.
fn has_verb(text: &str) -> bool {
    text.split_whitespace().any(|word| in_sorted(VERBS, &bare_lower(word)))
}

/// Whether a line by itself is a label with a colon: "Key points:".
pub(crate) fn is_colon_label(text: &str) -> bool {
    text.trim_end().ends_with(':') && is_label(text)
}

fn bare_lower(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase().replace('’', "'")
}

/// Whether a sentence asks. A statement with a question at its end ("…, right?"), a quoted question and "Did you know that"
/// say something.
fn is_question(text: &str) -> bool {
    let bare = text.trim_end_matches(|c: char| {
        CLOSERS.contains(&c) || c.is_whitespace() || !c.is_alphanumeric() && !is_mark(c)
    });
    let closers = &text[bare.len()..];
    let asks = bare.ends_with(['?', '？', '؟', '⁇', '⁈']);
    if !asks {
        return false;
    }
    let closed = closers.chars().any(|c| CLOSERS.contains(&c));
    let opened = !text.starts_with(|c: char| c.is_alphanumeric());
    if closed && !opened {
        return false;
    }
    let lower = text.to_lowercase().replace('’', "'");
    let told = ["did you know", "do you know that", "you know that"]
        .iter()
        .any(|start| lower.trim_start().starts_with(start));
    let tag = lower.rsplit(',').next().map(str::trim).is_some_and(|tag| lower.contains(',') && is_tag(tag));
    !told && !tag
}

fn is_mark(c: char) -> bool {
    matches!(c, '?' | '？' | '؟' | '⁇' | '⁈' | '.' | '!' | '。')
}

/// "right?", "isn't it?", "didn't she?".
fn is_tag(tag: &str) -> bool {
    let words: Vec<String> = tag.split_whitespace().map(bare_lower).collect();
    match words.as_slice() {
        [one] => {
            matches!(one.as_str(), "right" | "correct" | "no" | "yes" | "huh" | "eh" | "ok" | "okay" | "true")
        }
        [verb, pronoun] => {
            let verbs = verb.ends_with("n't") || in_sorted(VERBS, verb);
            verbs && matches!(pronoun.as_str(), "it" | "he" | "she" | "they" | "we" | "you" | "i" | "there")
        }
        _ => false,
    }
}

//! What a number counts: the noun behind it.

use super::token::{Gap, Token};
use crate::lookup::in_sorted;

/// How many words after the number may belong to what it counts.
const REACH_WORDS: usize = 4;

/// Words that end what a number counts.
const STOPS: &[&str] = &[
    "a", "about", "across", "after", "against", "ago", "also", "although", "among", "an", "and", "are",
    "around", "as", "at", "be", "because", "been", "before", "between", "both", "but", "by", "can", "could",
    "did", "do", "does", "down", "during", "each", "earlier", "every", "fewer", "for", "from", "had", "has",
    "have", "he", "her", "his", "i", "if", "in", "into", "is", "it", "its", "later", "less", "may", "might",
    "more", "must", "nor", "not", "of", "on", "only", "or", "our", "out", "over", "per", "shall", "she",
    "should", "since", "so", "than", "that", "the", "their", "then", "there", "these", "they", "this",
    "those", "though", "through", "to", "under", "until", "up", "was", "we", "were", "when", "where",
    "which", "while", "who", "whom", "whose", "will", "with", "within", "without", "would", "you",
];

#[cfg(test)]
pub(crate) const SORTED: &[&str] = STOPS;

/// Plurals and their singulars that no suffix rule gives.
const IRREGULAR: &[(&str, &str)] = &[
    ("people", "person"),
    ("children", "child"),
    ("men", "man"),
    ("women", "woman"),
    ("feet", "foot"),
    ("teeth", "tooth"),
    ("mice", "mouse"),
    ("geese", "goose"),
    ("lives", "life"),
    ("wives", "wife"),
    ("wolves", "wolf"),
    ("leaves", "leaf"),
    ("species", "species"),
    ("series", "series"),
    ("movies", "movie"),
    ("pies", "pie"),
    ("sheep", "sheep"),
    ("fish", "fish"),
    ("aircraft", "aircraft"),
    ("data", "data"),
    ("media", "medium"),
    ("criteria", "criterion"),
    ("analyses", "analysis"),
    ("crises", "crisis"),
    ("houses", "house"),
    ("cases", "case"),
    ("databases", "database"),
    ("diseases", "disease"),
    ("increases", "increase"),
    ("roses", "rose"),
    ("horses", "horse"),
    ("nurses", "nurse"),
    ("courses", "course"),
    ("degrees", "degree"),
    ("heroes", "hero"),
    ("potatoes", "potato"),
    ("tomatoes", "tomato"),
];

/// Singular of a lower-case noun; a word that is no plural stays.
pub(crate) fn singular(word: &str) -> String {
    if let Some((_, singular)) = IRREGULAR.iter().find(|(plural, _)| *plural == word) {
        return (*singular).to_owned();
    }
    if let Some(stem) = word.strip_suffix("ies").filter(|stem| stem.len() > 2) {
        return format!("{stem}y");
    }
    for ending in ["ches", "shes", "xes", "sses", "zes"] {
        if word.ends_with(ending) {
            return word[..word.len() - 2].to_owned();
        }
    }
    match word.strip_suffix('s') {
        Some(stem) if is_plural(word) => stem.to_owned(),
        _ => word.to_owned(),
    }
}

/// Whether a lower-case word looks like a plural.
pub(crate) fn is_plural(word: &str) -> bool {
    let listed = IRREGULAR.iter().any(|(plural, _)| *plural == word);
    let suffix = word.ends_with('s') && !["ss", "us", "is", "ous"].iter().any(|end| word.ends_with(end));
    listed || (suffix && word.len() > 3)
}

/// The noun that follows a number at `tokens[at..]`. A plural within the next words is the head ("3 young children");
/// else it is the first word ("the third wife"), past superlatives ("third largest city").
pub(crate) fn noun_after(tokens: &[Token<'_>], at: usize) -> Option<String> {
    let follows = |token: &&Token<'_>| {
        let hyphen = token.is_sign("-‑") && token.touches();
        hyphen || (token.is_word() && token.gap != Gap::Line && !in_sorted(STOPS, &token.lower()))
    };
    let words: Vec<String> = tokens[at.min(tokens.len())..]
        .iter()
        .take_while(follows)
        .filter(|token| token.is_word())
        .take(REACH_WORDS)
        .map(|token| token.lower().trim_end_matches("'s").trim_end_matches("’s").to_owned())
        .collect();
    let head = words.iter().find(|word| is_plural(word));
    let first = words.iter().find(|word| {
        let skipped = matches!(word.as_str(), "known" | "ever" | "most" | "recorded" | "official");
        !skipped && !word.ends_with("est") && !word.ends_with("ly")
    });
    head.or(first).map(|word| singular(word))
}

/// The noun after an "of" at `tokens[at]`: what a share or a measure is taken of.
pub(crate) fn noun_after_of(tokens: &[Token<'_>], at: usize) -> Option<String> {
    let of = tokens.get(at).filter(|token| token.text == "of")?;
    let mut next = at + 1;
    debug_assert!(of.is_word());
    while tokens
        .get(next)
        .is_some_and(|token| matches!(token.lower().as_str(), "the" | "all" | "its" | "their" | "a"))
    {
        next += 1;
    }
    noun_after(tokens, next)
}

/// Whether a lower-case word cannot be part of what a number counts.
pub(crate) fn is_stop(word: &str) -> bool {
    in_sorted(STOPS, word)
}

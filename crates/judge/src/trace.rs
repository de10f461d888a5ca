//! Whether a fact is traceable to the text that it is said to be from, by words alone.
//!
//! Decomposition by a model goes wrong in known ways: it adds what it knows, changes a number, drops a "not" or a "may". Words
//! show most of that without another model. A fact passes where its numbers, names and negations are in the text, and most of its
//! other words are, up to inflection.

#[cfg(test)]
mod tests;

use crate::verdict::quote::is_unspaced;
use groundline_types::Span;
use std::ops::Range;

/// Share of a fact's words of content that must be in the text or its context.
const MIN_SHARE: f64 = 0.7;
/// Letters that two forms of a word have in common at least ("married", "marriage").
const MIN_STEM_CHARS: usize = 4;
/// Letters at the end in which two forms of a word may differ.
const MAX_ENDING_CHARS: usize = 3;

/// Words without content: a fact may have any of them.
const FUNCTION_WORDS: &[&str] = &[
    "a", "about", "after", "also", "an", "and", "are", "as", "at", "be", "became", "because", "been",
    "before", "being", "but", "by", "called", "did", "do", "does", "during", "for", "from", "had", "has",
    "have", "he", "her", "hers", "him", "his", "i", "in", "into", "is", "it", "its", "of", "off", "on",
    "one", "or", "our", "out", "over", "she", "so", "such", "than", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "those", "to", "under", "up", "was", "we", "were", "what", "when",
    "where", "which", "while", "who", "whom", "whose", "with", "you", "your",
];
/// Words that turn a statement round.
const NEGATIONS: &[&str] = &[
    "no",
    "not",
    "never",
    "none",
    "nor",
    "neither",
    "nobody",
    "nothing",
    "without",
    "cannot",
    "isn't",
    "aren't",
    "wasn't",
    "weren't",
    "don't",
    "doesn't",
    "didn't",
    "hasn't",
    "haven't",
    "hadn't",
    "won't",
    "wouldn't",
    "can't",
    "couldn't",
    "shouldn't",
];
/// Words that put a statement in doubt.
const DOUBTS: &[&str] = &[
    "may",
    "might",
    "could",
    "perhaps",
    "maybe",
    "possibly",
    "probably",
    "likely",
    "allegedly",
    "alleged",
    "reportedly",
    "supposedly",
    "apparently",
    "thought",
    "believed",
    "rumored",
    "rumoured",
    "disputed",
    "claimed",
];

/// Why a fact is not traceable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Untraceable {
    Number,
    Name,
    Negation,
    Words,
}

impl Untraceable {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Number => "a number that is not in it",
            Self::Name => "a name that is not in it",
            Self::Negation => "a negation that is not in it",
            Self::Words => "too many words that are not in it",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    lower: String,
    range: Range<usize>,
    is_number: bool,
    is_capital: bool,
}

impl Word {
    fn is_in(&self, list: &[&str]) -> bool {
        list.contains(&self.lower.as_str())
    }

    fn has_content(&self) -> bool {
        !self.is_in(FUNCTION_WORDS) && !self.is_in(NEGATIONS)
    }

    /// Whether two are the same word, or forms of one. Numbers and names have no forms.
    fn is_like(&self, other: &Word) -> bool {
        if self.lower == other.lower {
            return true;
        }
        if self.is_number || other.is_number || (self.is_capital && other.is_capital) {
            return false;
        }
        let (long, short) = (self.lower.chars().count(), other.lower.chars().count());
        let common = self.lower.chars().zip(other.lower.chars()).take_while(|(a, b)| a == b).count();
        common >= MIN_STEM_CHARS
            && common + MAX_ENDING_CHARS >= long.min(short)
            && common * 2 >= long.max(short)
    }
}

/// The text that facts are from.
#[derive(Debug)]
pub(crate) struct Origin {
    text: Vec<Word>,
    context: Vec<Word>,
}

impl Origin {
    pub(crate) fn new(text: &str, context: Option<&str>) -> Self {
        Self { text: words(text), context: context.map(words).unwrap_or_default() }
    }

    /// Where in the text a fact is from: the shortest stretch with every word of it that the text has.
    pub(crate) fn trace(&self, fact: &str) -> Result<Span, Untraceable> {
        let fact = words(fact);
        let mut content = 0_usize;
        let mut known = 0_usize;
        let mut places = Vec::new();
        for word in &fact {
            if word.is_in(NEGATIONS) && !self.text.iter().any(|other| other.is_in(NEGATIONS)) {
                return Err(Untraceable::Negation);
            }
            if !word.has_content() {
                continue;
            }
            let here = places_of(word, &self.text);
            let is_known = !here.is_empty() || self.context.iter().any(|other| word.is_like(other));
            if word.is_number && here.is_empty() {
                return Err(Untraceable::Number);
            }
            if word.is_capital && !is_known {
                return Err(Untraceable::Name);
            }
            content += 1;
            known += usize::from(is_known);
            if !here.is_empty() {
                places.push(here);
            }
        }
        if places.is_empty() || (known as f64) < MIN_SHARE * content as f64 {
            return Err(Untraceable::Words);
        }
        let stretch = shortest_stretch(&places).ok_or(Untraceable::Words)?;
        let bytes = self.text[stretch.start].range.start..self.text[stretch.end].range.end;
        Ok(Span { start: bytes.start, end: bytes.end })
    }

    /// What of the text no fact has kept, in our words.
    pub(crate) fn lost(&self, facts: &[&str]) -> Option<&'static str> {
        let facts = facts.iter().flat_map(|fact| words(fact)).collect::<Vec<_>>();
        let loses = |list: &[&str]| {
            self.text.iter().any(|word| word.is_in(list)) && !facts.iter().any(|word| word.is_in(list))
        };
        if loses(NEGATIONS) {
            return Some("the negation");
        }
        loses(DOUBTS).then_some("the doubt")
    }

    /// Share of the text's words of content that some fact has.
    pub(crate) fn coverage(&self, facts: &[&str]) -> f64 {
        let facts = facts.iter().flat_map(|fact| words(fact)).collect::<Vec<_>>();
        let content = self.text.iter().filter(|word| word.has_content()).collect::<Vec<_>>();
        if content.is_empty() {
            return 1.0;
        }
        let kept = content.iter().filter(|word| facts.iter().any(|other| word.is_like(other))).count();
        kept as f64 / content.len() as f64
    }
}

/// Indexes of the words of a text that are like a word.
fn places_of(word: &Word, text: &[Word]) -> Vec<usize> {
    let places = text.iter().enumerate().filter(|(_, other)| word.is_like(other));
    places.map(|(place, _)| place).collect()
}

/// First and last index of the shortest stretch that has one place of each list.
fn shortest_stretch(places: &[Vec<usize>]) -> Option<Range<usize>> {
    let mut all = places.iter().enumerate().flat_map(|(list, at)| at.iter().map(move |at| (*at, list)));
    let mut all = all.by_ref().collect::<Vec<_>>();
    all.sort_unstable();
    let mut counts = vec![0_usize; places.len()];
    let (mut missing, mut left) = (places.len(), 0);
    let mut best: Option<Range<usize>> = None;
    for right in 0..all.len() {
        let list = all[right].1;
        missing -= usize::from(counts[list] == 0);
        counts[list] += 1;
        while missing == 0 {
            let stretch = all[left].0..all[right].0;
            if best.as_ref().is_none_or(|best| stretch.end - stretch.start < best.end - best.start) {
                best = Some(stretch);
            }
            let first = all[left].1;
            counts[first] -= 1;
            missing += usize::from(counts[first] == 0);
            left += 1;
        }
    }
    best
}

/// Words with their bytes: runs of letters and digits, with marks inside numbers and words. A character of a script without spaces is a word
/// of its own.
fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut start = None;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let next_joins = next.is_some_and(|next| next.is_alphanumeric() && !is_unspaced(next));
        let digits =
            text[..at].ends_with(|c: char| c.is_ascii_digit()) && next.is_some_and(|c| c.is_ascii_digit());
        let joins =
            start.is_some() && next_joins && (matches!(c, '\'' | '’') || (digits && matches!(c, '.' | ',')));
        if is_unspaced(c) {
            if let Some(start) = start.take() {
                words.extend(word(text, start..at));
            }
            words.extend(word(text, at..at + c.len_utf8()));
        } else if c.is_alphanumeric() || joins {
            start.get_or_insert(at);
        } else if let Some(start) = start.take() {
            words.extend(word(text, start..at));
        }
    }
    if let Some(start) = start {
        words.extend(word(text, start..text.len()));
    }
    words
}

fn word(text: &str, range: Range<usize>) -> Option<Word> {
    let raw = &text[range.clone()];
    let is_capital = raw.chars().next()?.is_uppercase();
    let is_number = raw.contains(|c: char| c.is_ascii_digit());
    let mut lower = raw.to_lowercase().replace('’', "'");
    if is_number {
        lower = lower.replace(',', "");
    }
    let stem = lower.strip_suffix("'s").map(str::to_owned);
    Some(Word { lower: stem.unwrap_or(lower), range, is_number, is_capital })
}

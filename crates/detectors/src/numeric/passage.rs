//! A sentence taken apart for comparing its values with another's.

use crate::reading::Reading;
use groundline_claims::Name;
use groundline_claims::values::Value;
use groundline_evidence::content_words;
use groundline_types::Span;

/// Words that a sentence may refer back with.
const PRONOUNS: &[&str] = &["he", "she", "it", "they", "his", "her", "its", "their"];
/// Words that make the name behind them a circumstance and no subject.
const PREPOSITIONS: &[&str] =
    &["in", "at", "from", "to", "near", "by", "for", "with", "on", "into", "through", "during"];
/// Words and signs that end a clause.
const CLAUSE_WORDS: &[&str] = &["and", "but", "while", "whereas", "which", "who", "although"];

/// Words that say the same of a value, under the first of each group.
const SYNONYMS: &[&[&str]] = &[
    &["won", "win", "winning", "awarded", "received", "receive", "got", "earned", "shared", "share"],
    &["died", "die", "death", "dead"],
    &["born", "birth"],
    &["founded", "established", "created", "started", "formed"],
    &["built", "constructed", "erected"],
    &["published", "released", "launched", "release", "launch"],
    &["rose", "rise", "increased", "increase", "grew", "climbed"],
    &["fell", "fall", "decreased", "decrease", "dropped", "declined"],
    &["bought", "acquired", "purchased"],
    &["employ", "employs", "employed", "employee", "staff", "worker"],
    &["resident", "inhabitant", "population"],
    &["began", "begin", "begun", "beginning"],
    &["ended", "end", "ending", "finished"],
];

/// A content word with its place.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) span: Span,
    pub(super) text: String,
}

/// Whom or what a value is said of.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Subject<'a> {
    /// This name.
    Name(&'a str),
    /// Something that the names do not tell: a common noun, or a pronoun that nothing before explains.
    Unnamed,
    /// Someone in relation to a name ("Curie's husband"), or one of several names.
    Unclear,
}

/// A sentence with its values, words, names and clauses.
#[derive(Debug)]
pub(super) struct Passage {
    text: String,
    /// What can be compared: identifiers left out.
    pub(super) values: Vec<Value>,
    pub(super) words: Vec<Word>,
    names: Vec<Name>,
    /// The first name of the sentence before, where this one refers back to it. Only the first: a pronoun stands for who the
    /// sentence is about, not for the prize that was won in it.
    carried: Option<Name>,
    clauses: Vec<Span>,
}

impl Passage {
    /// Takes apart a text that says `reading`, behind one that says `before`.
    pub(super) fn new(text: &str, reading: &Reading, before: Option<&Reading>) -> Self {
        let (all, names) = (&reading.values, reading.names.clone());
        let inside_value =
            |span: Span| all.iter().any(|value| value.span.start < span.end && span.start < value.span.end);
        let words = content_words(text)
            .filter(|(span, _)| !inside_value(*span) && !names.iter().any(|name| name.span.contains(*span)))
            .map(|(span, word)| Word { span, text: canonical(word) })
            .collect();
        let opening: Vec<String> = lower_words(text).take(3).map(|(_, word)| word).collect();
        let refers = opening.iter().any(|word| PRONOUNS.contains(&word.as_str()));
        let carried = before.filter(|_| refers).and_then(|before| before.names.first().cloned());
        let clauses = clauses(text, all);
        let comparable = |value: &&Value| !value.is_identifier() && !is_part_of_word(text, value.span);
        let values = all.iter().filter(comparable).cloned().collect();
        Self { text: text.to_owned(), values, words, names, carried, clauses }
    }

    /// A value as the text has it.
    pub(super) fn show(&self, value: &Value) -> String {
        value.span.slice(&self.text).unwrap_or_default().trim().to_owned()
    }

    /// The text between two places.
    pub(super) fn between(&self, start: usize, end: usize) -> &str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// The clauses that a value belongs to: its own, and an opening circumstance ("In 2020, …") that holds for all.
    fn scope(&self, value: &Value) -> Vec<Span> {
        let own = self
            .clauses
            .iter()
            .copied()
            .find(|clause| clause.start <= value.span.start && value.span.start < clause.end);
        let mut scope: Vec<Span> = own.into_iter().collect();
        if let Some(first) = self.clauses.first()
            && own != Some(*first)
            && lower_words(self.between(first.start, first.end))
                .next()
                .is_some_and(|(_, word)| PREPOSITIONS.contains(&word.as_str()) || word == "of")
        {
            scope.push(*first);
        }
        let holds_word = |word: &Word| scope.iter().any(|clause| clause.contains(word.span));
        if !self.words.iter().any(holds_word) {
            return vec![Span::new(0, self.text.len())];
        }
        scope
    }

    /// The content words said with a value.
    pub(super) fn scope_words(&self, value: &Value) -> Vec<&str> {
        let scope = self.scope(value);
        let inside = |word: &&Word| scope.iter().any(|clause| clause.contains(word.span));
        self.words.iter().filter(inside).map(|word| word.text.as_str()).collect()
    }

    /// The names said with a value.
    pub(super) fn scope_names(&self, value: &Value) -> Vec<&str> {
        let scope = self.scope(value);
        let inside = |name: &&Name| scope.iter().any(|clause| clause.contains(name.span));
        self.names.iter().filter(inside).map(|name| name.text.as_str()).collect()
    }

    /// The other values said with a value.
    pub(super) fn scope_values<'a>(&'a self, value: &Value) -> impl Iterator<Item = &'a Value> {
        let (scope, own) = (self.scope(value), value.span);
        self.values
            .iter()
            .filter(move |other| other.span != own && scope.iter().any(|clause| clause.contains(other.span)))
    }

    pub(super) fn has_word(&self, word: &str) -> bool {
        self.words.iter().any(|own| own.text == word)
    }

    /// Whether a name occurs here or, where the sentence refers back, in the sentence before: one is part of the other, or all its
    /// words are here in lower case.
    pub(super) fn has_name(&self, name: &str) -> bool {
        let known = self.names.iter().chain(&self.carried);
        known.into_iter().any(|own| same_name(&own.text, name))
            || name.split_whitespace().all(|word| {
                content_words(word).next().is_some_and(|(_, word)| self.has_word(&canonical(word)))
            })
    }

    /// The content word that says what happened at a value: the nearest before it in its clauses, else behind it, else anywhere.
    pub(super) fn predicate(&self, value: &Value) -> Option<&Word> {
        let scope = self.scope(value);
        let inside = |word: &&Word| scope.iter().any(|clause| clause.contains(word.span));
        let before = |word: &&Word| word.span.end <= value.span.start;
        let behind = |word: &&Word| word.span.start >= value.span.end;
        let all = || self.words.iter();
        all()
            .filter(inside)
            .rfind(before)
            .or_else(|| all().filter(inside).find(behind))
            .or_else(|| all().rfind(before))
            .or_else(|| all().find(behind))
    }

    /// Of whom a predicate is said: the nearest name before it that is no circumstance.
    pub(super) fn subject(&self, predicate: Span) -> Subject<'_> {
        let left: Vec<&Name> = self.names.iter().filter(|name| name.span.end <= predicate.start).collect();
        for name in left.iter().rev() {
            let (before, behind) =
                (self.between(0, name.span.start), self.between(name.span.end, predicate.start));
            let lead = lower_words(before).last().map(|(_, word)| word).unwrap_or_default();
            if behind.starts_with("'s") || behind.starts_with("’s") || behind.starts_with('’') || lead == "of"
            {
                return Subject::Unclear;
            }
            if PREPOSITIONS.contains(&lead.as_str()) {
                continue;
            }
            let pronoun = lower_words(behind).any(|(_, word)| PRONOUNS.contains(&word.as_str()));
            return if pronoun && left.len() > 1 { Subject::Unclear } else { Subject::Name(&name.text) };
        }
        self.carried.as_ref().map_or(Subject::Unnamed, |name| Subject::Name(&name.text))
    }
}

/// Whether one name's words are all in the other: "Curie" and "Marie Curie" are the same, "Pierre Curie" and "Marie Curie" are not.
pub(super) fn same_name(a: &str, b: &str) -> bool {
    let within =
        |a: &str, b: &str| a.split_whitespace().all(|word| b.split_whitespace().any(|other| other == word));
    within(a, b) || within(b, a)
}

fn canonical(word: String) -> String {
    match SYNONYMS.iter().find(|group| group.contains(&word.as_str())) {
        Some(group) => group[0].to_owned(),
        None => word,
    }
}

fn lower_words(text: &str) -> impl Iterator<Item = (Span, String)> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(|word| {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        (Span::new(start, start + word.len()), word.to_lowercase())
    })
}

/// Whether the digits at a place end a hyphened word, such as "covid-19", which is a name however it is written.
fn is_part_of_word(text: &str, span: Span) -> bool {
    let before = text.get(..span.start).unwrap_or_default();
    before.strip_suffix(['-', '‐', '‑']).is_some_and(|word| word.ends_with(char::is_alphabetic))
}

/// The clauses of a sentence: between commas, colons, brackets and joining words, except inside values.
fn clauses(text: &str, values: &[Value]) -> Vec<Span> {
    let inside_value = |at: usize| values.iter().any(|value| value.span.start < at && at < value.span.end);
    let signs =
        text.char_indices().filter(|(_, c)| matches!(c, ',' | ';' | ':' | '(' | ')')).map(|(at, _)| at);
    let joints = lower_words(text)
        .filter(|(_, word)| CLAUSE_WORDS.contains(&word.as_str()))
        .map(|(span, _)| span.start);
    let mut ends: Vec<usize> = signs.chain(joints).filter(|at| *at > 0 && !inside_value(*at)).collect();
    ends.sort_unstable();
    ends.push(text.len());
    let mut start = 0;
    let mut clauses = Vec::with_capacity(ends.len());
    for end in ends {
        clauses.push(Span::new(start, end));
        start = end;
    }
    clauses
}

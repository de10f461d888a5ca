//! Atomic facts by rules.
//!
//! A sentence such as "Marie Curie, a Polish physicist, was born in Warsaw and won the Nobel Prize." says three things, and
//! one wrong of three is easier to see alone. The rules take sentences apart where the words leave no doubt:
//!
//! 1. *Clauses*: "…, and she moved to Paris" starts a fact where a subject and a verb follow the conjunction.
//! 2. *Relative clauses*: "X, who was born in Warsaw, won …" gives "X won …" and "X was born in Warsaw". At the end of a
//!    sentence only a name directly before ", who" or ", which" is taken as what the clause is about.
//! 3. *Appositions*: "X, a Polish physicist, won …" gives "X won …" and "X was a Polish physicist".
//! 4. *Verb phrases*: "She was born in Warsaw and won the prize" is cut at "and", and the subject is carried over.
//! 5. *Lists*: "He visited Paris, Rome and Berlin" gives one fact for each of at least three names at the sentence's end.
//!
//! Two nouns joined by "and" stay together ("research and development", "between X and Y"). A sentence stays one fact where it
//! has a condition ("if", "unless", "when", "although"), a hedge or a speaker ("may", "said", "according to"), a quote, or a
//! "that"; with a negation only rule 1 applies, and then each clause keeps its own. So no fact says more than its sentence.

mod clause;
mod lexicon;
mod lists;
mod verbs;
mod words;

#[cfg(test)]
mod tests;

use std::ops::Range;
use words::{Word, words};

/// Longest sentence that is taken apart, in bytes: beyond that it is no sentence.
const MAX_SENTENCE_BYTES: usize = 1_000;

/// Without one of these no rule applies.
const JOINTS: &[&str] = &[" and ", " but ", ", "];

/// A fact, and the part of the sentence that it was taken from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) text: String,
    pub(crate) range: Range<usize>,
}

/// A fact as it is put together: pieces of the sentence and words between them.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    /// What stands before the predicate, with what a rule adds ("Marie Curie was").
    pub(crate) head: String,
    /// Words of the sentence that the fact is about, without the carried-over subject.
    pub(crate) body: Range<usize>,
    /// Where the fact starts in the sentence: that of its body, or of the subject where it stands right before it.
    pub(crate) start: usize,
}

/// The facts of a sentence, at least one.
pub(crate) fn facts(sentence: &str) -> Vec<Fact> {
    let whole = vec![Fact { text: as_sentence(sentence), range: 0..sentence.len() }];
    if sentence.len() > MAX_SENTENCE_BYTES || sentence.contains(['"', '“', '”', '«', ';', ':', '?', '\n'])
    {
        return whole;
    }
    if !JOINTS.iter().any(|joint| sentence.contains(joint)) {
        return whole;
    }
    let words = words(sentence);
    if words.iter().any(|word| lexicon::blocks_all(&word.lower)) {
        return whole;
    }
    let negated = words.iter().any(|word| lexicon::is_negation(&word.lower));
    let mut found = Vec::new();
    for clause in clause::clauses(&words) {
        let words = &words[clause];
        let drafts =
            if negated { vec![clause::plain(sentence, words)] } else { clause::drafts(sentence, words) };
        for draft in drafts {
            if negated {
                found.push(finish(sentence, &draft));
            } else {
                found.extend(
                    lists::members(sentence, words, &draft).iter().map(|draft| finish(sentence, draft)),
                );
            }
        }
    }
    if found.len() < 2 { whole } else { found }
}

/// The text with a full stop, where it has no mark at its end.
pub(crate) fn as_sentence(text: &str) -> String {
    let text = text.trim();
    let ended = text
        .trim_end_matches(crate::sentences::CLOSERS)
        .ends_with(['.', '!', '?', '。', '！', '？', '…', '।', '؟', '۔']);
    if ended { text.to_owned() } else { format!("{}.", text.trim_end_matches([',', ';', ':', ' '])) }
}

fn finish(sentence: &str, draft: &Draft) -> Fact {
    let body = sentence[draft.body.clone()].trim();
    let head = draft.head.trim();
    let text = if head.is_empty() { body.to_owned() } else { format!("{head} {body}") };
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    Fact { text: as_sentence(&format!("{first}{}", chars.as_str())), range: draft.start..draft.body.end }
}

/// Bytes of the sentence that some words take.
pub(crate) fn bytes(words: &[Word]) -> Range<usize> {
    match words {
        [first, .., last] => first.start..last.end,
        [only] => only.start..only.end,
        [] => 0..0,
    }
}

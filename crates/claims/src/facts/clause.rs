//! Clauses, relative clauses, appositions and joined verb phrases.

use super::lexicon::{
    is_adverb, is_auxiliary, is_determiner, is_finite, is_preposition, is_present, is_pronoun, may_be_passive,
};
use super::words::Word;
use super::{Draft, bytes};
use std::ops::Range;

/// Longest subject, in words. What is longer has a clause in it.
const MAX_SUBJECT_WORDS: usize = 8;
/// Longest apposition, in words.
const MAX_APPOSITION_WORDS: usize = 15;

/// Whether the word at `at` is a verb with a tense.
pub(crate) fn finite(words: &[Word], at: usize) -> bool {
    let Some(word) = words.get(at).filter(|word| !word.hidden && !word.capital) else { return false };
    let next = words.get(at + 1).filter(|_| !word.comma).map(|next| (next.lower.as_str(), next.capital));
    is_finite(&word.lower, next)
}

/// Whether a verb with a tense stands at `at`, past adverbs.
fn verb_follows(words: &[Word], at: usize) -> bool {
    let skipped =
        words[at.min(words.len())..].iter().take_while(|word| is_adverb(&word.lower) && !word.comma).count();
    finite(words, at + skipped)
}

fn is_joint(word: &Word) -> bool {
    !word.hidden && matches!(word.lower.as_str(), "and" | "but")
}

fn is_relative(word: &Word) -> bool {
    !word.hidden && matches!(word.lower.as_str(), "who" | "which")
}

/// Rule 1: the clauses of a sentence, each with a subject and a verb of its own.
pub(crate) fn clauses(words: &[Word]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for at in 1..words.len() {
        let comma = words[at - 1].comma;
        let pronoun = words.get(at + 1).is_some_and(|word| is_pronoun(&word.lower));
        let joined = is_joint(&words[at]) && (comma || pronoun);
        let left = &words[start..at];
        let complete = subject_end(left).is_some() && !left.iter().any(is_relative);
        if joined && complete && starts_clause(&words[at + 1..]) {
            found.push(start..at);
            start = at + 1;
        }
    }
    found.push(start..words.len());
    found
}

/// Whether words start with a subject and its verb.
fn starts_clause(words: &[Word]) -> bool {
    let Some(first) = words.first() else { return false };
    let opens = is_pronoun(&first.lower) || is_determiner(&first.lower) || first.capital;
    opens && subject_end(words).is_some_and(|end| words[..end].iter().all(|word| !word.comma))
}

/// The number of words of the subject that a clause starts with; `None` where that is not plain.
fn subject_end(words: &[Word]) -> Option<usize> {
    let start = introduction(words);
    let verb = (start..words.len().min(start + MAX_SUBJECT_WORDS + 1)).find(|at| finite(words, *at))?;
    let end = start
        + words[start..verb].iter().rposition(|word| !is_adverb(&word.lower)).map_or(0, |last| last + 1);
    let last = words[..end].iter().rfind(|word| !word.hidden)?;
    let bare = is_determiner(&last.lower)
        || is_preposition(&last.lower)
        || matches!(last.lower.as_str(), "and" | "very");
    let opens = words.get(start)?;
    let phrase = is_preposition(&opens.lower) || is_joint(opens) || is_relative(opens);
    (end > start && !bare && !phrase).then_some(end)
}

/// The number of words of a phrase in front of the subject: "In 1903, …".
fn introduction(words: &[Word]) -> usize {
    let phrase = words.first().is_some_and(|word| is_preposition(&word.lower));
    let comma = words.iter().take(MAX_SUBJECT_WORDS).position(|word| word.comma);
    match comma {
        Some(comma) if phrase && !(0..=comma).any(|at| finite(words, at)) => comma + 1,
        _ => 0,
    }
}

/// A clause as it stands.
pub(crate) fn plain(sentence: &str, words: &[Word]) -> Draft {
    let body = bytes(words);
    debug_assert!(body.end <= sentence.len());
    Draft { head: String::new(), start: body.start, body }
}

/// Rules 2 to 4 on one clause.
pub(crate) fn drafts(sentence: &str, words: &[Word]) -> Vec<Draft> {
    if let Some(found) = inserted(sentence, words) {
        return found;
    }
    let (main, trailing) = trailing_relative(sentence, words);
    let mut found = verb_phrases(sentence, main, None);
    found.extend(trailing);
    found
}

/// Rules 2 and 3 behind the subject: "X, who …, won …" and "X, a …, won …".
fn inserted(sentence: &str, words: &[Word]) -> Option<Vec<Draft>> {
    let comma = words.iter().position(|word| word.comma)?;
    let (subject, rest) = words.split_at(comma + 1);
    let plain = subject.len() <= MAX_SUBJECT_WORDS && !(0..subject.len()).any(|at| finite(words, at));
    let first = rest.first()?;
    // "The lineup of The Teenagers, an integrated group, …" may be about either noun.
    let nested = subject.iter().any(|word| word.lower == "of");
    if !plain || nested || !words[0].capital || is_preposition(&words[0].lower) || is_adverb(&words[0].lower)
    {
        return None;
    }
    let (inner, verb) = insertion_end(words, comma + 1)?;
    let inner_words = &words[inner.clone()];
    let subject_text = &sentence[bytes(subject)];
    let head = if is_relative(first) {
        let body = &inner_words[1..];
        if !verb_follows(words, inner.start + 1) || body.iter().any(is_relative) {
            return None;
        }
        subject_text.to_owned()
    } else {
        let article = matches!(first.lower.as_str(), "a" | "an" | "the");
        let nominal = !inner.clone().any(|at| finite(words, at)) && inner.len() <= MAX_APPOSITION_WORDS;
        let plural = subject.iter().any(|word| word.lower == "and");
        if !article || !nominal || plural {
            return None;
        }
        let copula = if is_present(&words[verb].lower) { "is" } else { "was" };
        format!("{subject_text} {copula}")
    };
    let body = if is_relative(first) { bytes(&inner_words[1..]) } else { bytes(inner_words) };
    let mut found = verb_phrases(sentence, &words[inner.end..], Some((subject_text, words[0].start)));
    found.push(Draft { head, start: body.start, body });
    Some(found)
}

/// The words of the insertion that starts at `start`, up to the comma with a verb behind it, and where that verb is.
fn insertion_end(words: &[Word], start: usize) -> Option<(Range<usize>, usize)> {
    let relative = is_relative(&words[start]);
    let mut commas = (start..words.len().saturating_sub(1)).filter(|at| words[*at].comma);
    let closing = if relative {
        commas.find(|at| verb_follows(words, at + 1))?
    } else {
        commas.next().filter(|at| verb_follows(words, at + 1))?
    };
    let verb = (closing + 1..words.len()).find(|at| finite(words, *at))?;
    // "X, who did this, did that and did more": with a joined verb behind the comma it may belong to the insertion.
    let unsure = relative && words[start..closing].iter().filter(|word| word.comma).count() > 0;
    (!unsure).then_some((start..closing + 1, verb))
}

/// Rule 2 at the end: "… Pierre Curie, who taught physics". Gives the words before the clause, and its fact.
fn trailing_relative<'a>(sentence: &str, words: &'a [Word]) -> (&'a [Word], Option<Draft>) {
    let none = (words, None);
    let Some(at) = (1..words.len()).find(|at| words[at - 1].comma && is_relative(&words[*at])) else {
        return none;
    };
    let clause = &words[at + 1..];
    let closed = clause.iter().any(|word| word.comma || is_relative(word));
    let names = words[..at].iter().rev().take_while(|word| word.capital && !word.hidden).count();
    if names == 0 || names == at {
        return none;
    }
    let inner_commas = words[at - names..at - 1].iter().any(|word| word.comma);
    if closed || inner_commas || !verb_follows(words, at + 1) || clause.iter().any(is_joint) {
        return none;
    }
    // The name must be the object of a verb or preposition and not one of two: "Bob and Pierre Curie, who …".
    let mut first = at - names;
    if words[first - 1].lower == "the" {
        first -= 1;
    }
    let before = first.checked_sub(1).map(|index| &words[index]);
    if before.is_none_or(|word| {
        word.comma || is_joint(word) || word.lower == "of" || !is_object_start(words, first)
    }) {
        return none;
    }
    let body = bytes(clause);
    let head = sentence[bytes(&words[first..at])].to_owned();
    (&words[..at], Some(Draft { head, start: body.start, body }))
}

fn is_object_start(words: &[Word], at: usize) -> bool {
    at > 0
        && (finite(words, at - 1)
            || is_preposition(&words[at - 1].lower)
            || words[at - 1].lower.ends_with("ed"))
}

/// Rule 4: the verb phrases of a clause. `subject` is given where something was taken out behind it.
fn verb_phrases(sentence: &str, words: &[Word], subject: Option<(&str, usize)>) -> Vec<Draft> {
    let (carried, first_verb) = match subject {
        Some((text, _)) => (text.to_owned(), 0),
        None => match subject_end(words) {
            Some(end) => (sentence[bytes(&words[introduction(words)..end])].to_owned(), end),
            None => return vec![plain(sentence, words)],
        },
    };
    let cuts = phrase_cuts(words, first_verb);
    let mut drafts = Vec::new();
    let mut start = 0;
    for (end, next) in cuts.iter().copied().chain([(words.len(), words.len())]) {
        let body = bytes(&words[start..end]);
        let draft = match (start, subject) {
            (0, Some((text, at))) => Draft { head: text.to_owned(), start: at, body },
            (0, None) => Draft { head: String::new(), start: body.start, body },
            _ => Draft { head: carried.clone(), start: body.start, body },
        };
        drafts.push(draft);
        start = next;
    }
    drafts
}

/// Where verb phrases are joined: the end of the one and the start of the next. Commas count only where an "and" follows.
fn phrase_cuts(words: &[Word], first_verb: usize) -> Vec<(usize, usize)> {
    let passive = (first_verb..words.len())
        .find(|at| finite(words, *at))
        .is_some_and(|at| is_auxiliary(&words[at].lower));
    let mut cuts = Vec::new();
    let mut start = first_verb;
    for at in first_verb + 1..words.len() {
        let joint = is_joint(&words[at]);
        let verb = if joint { at + 1 } else { at };
        if !(joint || words[at - 1].comma) || !verb_follows(words, verb) {
            continue;
        }
        let left = &words[start..at];
        // "She wrote and produced three songs": the first verb shares its object with the second.
        let shared = finite(words, at - 1) && joint;
        let open = shared || left.iter().any(|word| is_relative(word) || word.lower == "between");
        if open || !is_certain(words, verb, passive) {
            return Vec::new();
        }
        cuts.push((at, verb));
        start = verb;
    }
    // "X did A, did B" without a conjunction is a mistake or an insertion.
    let joined = cuts.last().is_some_and(|(end, next)| next > end);
    if joined { cuts } else { Vec::new() }
}

/// Whether the verb of a joined phrase has the subject as its doer: behind "was … and" a participle may be passive, unless an
/// object follows it.
fn is_certain(words: &[Word], verb: usize, passive: bool) -> bool {
    let at = verb + words[verb..].iter().take_while(|word| is_adverb(&word.lower)).count();
    let word = &words[at];
    if !passive || is_auxiliary(&word.lower) || !may_be_passive(&word.lower) {
        return true;
    }
    words.get(at + 1).is_some_and(|next| is_determiner(&next.lower) && !word.comma)
}

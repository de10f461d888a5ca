//! Rule 5: lists of at least three names at the end of a fact.

use super::clause::finite;
use super::words::Word;
use super::{Draft, bytes};

/// Longest member of a list, in words.
const MAX_MEMBER_WORDS: usize = 5;
/// Fewest members: two nouns joined by "and" may be one thing.
const MIN_MEMBERS: usize = 3;

/// Prepositions behind a verb that hold for each member by itself.
const DISTRIBUTIVE: &[&str] = &["in", "to", "at", "through", "across"];

/// Verbs that take their objects together.
const COLLECTIVE: &[&str] = &[
    "combined",
    "combines",
    "mixed",
    "mixes",
    "compared",
    "connects",
    "connected",
    "links",
    "linked",
    "joined",
    "merged",
    "divided",
    "united",
    "unites",
    "separates",
    "separated",
    "consists",
    "comprises",
    "forms",
    "formed",
    "is",
    "are",
    "was",
    "were",
    "borders",
];

/// The draft, or one for each member of the list that it ends with.
pub(crate) fn members(sentence: &str, words: &[Word], draft: &Draft) -> Vec<Draft> {
    let inside = |word: &&Word| word.start >= draft.body.start && word.end <= draft.body.end;
    let words: Vec<Word> = words.iter().filter(inside).cloned().collect();
    let whole = || vec![draft.clone()];
    let Some(members) = list(&words) else { return whole() };
    let first = members[0].start;
    let before = sentence[draft.body.start..words[first].start].trim();
    let head = format!("{} {before}", draft.head.trim());
    members
        .iter()
        .map(|member| {
            let body = bytes(&words[member.clone()]);
            Draft {
                head: head.clone(),
                start: if member.start == first { draft.start } else { body.start },
                body,
            }
        })
        .collect()
}

/// The members of a list of names that ends with the words, as word ranges.
fn list(words: &[Word]) -> Option<Vec<std::ops::Range<usize>>> {
    let and = words.iter().rposition(|word| word.lower == "and" && !word.hidden)?;
    let mut members = Vec::new();
    members.push(and + 1..words.len());
    // Walk back over the commas: each one ends a member.
    let mut end = and;
    let mut at = and;
    while at > 0 {
        let word = &words[at - 1];
        let is_name = word.capital && !word.hidden && is_plain(word);
        if word.comma && at < end {
            members.push(at..end);
            end = at;
        }
        if !is_name && !is_joint(words, at - 1, end) {
            break;
        }
        at -= 1;
    }
    members.push(at..end);
    members.reverse();
    let names = members.iter().all(|member| {
        let words = &words[member.clone()];
        let capital = words.first().is_some_and(|word| word.capital);
        capital
            && words.len() <= MAX_MEMBER_WORDS
            && words.iter().all(|word| (word.capital && is_plain(word)) || word.lower == "of")
    });
    (members.len() >= MIN_MEMBERS && names && is_distributive(words, members[0].start)).then_some(members)
}

/// A name without digits, and no month: "May 12, 1903 and" is no list.
fn is_plain(word: &Word) -> bool {
    !word.lower.is_empty()
        && !word.lower.contains(|c: char| c.is_ascii_digit())
        && crate::values::month_of(&word.lower).is_none()
        && !word.lower.contains('.')
}

/// "of" inside a name.
fn is_joint(words: &[Word], at: usize, end: usize) -> bool {
    words[at].lower == "of" && !words[at].comma && at > 0 && words[at - 1].capital && at + 1 < end
}

/// Whether what stands before the list says the same of each member: a verb, or a verb and a preposition such as "in".
fn is_distributive(words: &[Word], first: usize) -> bool {
    let Some(before) = first.checked_sub(1) else { return false };
    let collective = words[..first].iter().any(|word| {
        COLLECTIVE.contains(&word.lower.as_str())
            && !(matches!(word.lower.as_str(), "was" | "were" | "is" | "are")
                && before > 0
                && word.start != words[before].start
                && DISTRIBUTIVE.contains(&words[before].lower.as_str()))
            || matches!(word.lower.as_str(), "between" | "among" | "together" | "jointly")
    });
    let verb = finite(words, before);
    let preposition =
        DISTRIBUTIVE.contains(&words[before].lower.as_str()) && before > 0 && finite(words, before - 1);
    !collective && !words[before].comma && (verb || preposition)
}

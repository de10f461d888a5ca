//! Names in a text: capitalised sequences and acronyms.
//!
//! There is no dictionary of the world here. A name is a run of capitalised words, small joining words between them
//! included ("University of Warsaw", "Ludwig van Beethoven"). A capitalised word at the start of a sentence counts only
//! where a small list of common words does not know it. Titles ("Dr."), months and weekdays are no names.

mod common;

#[cfg(test)]
mod tests;

pub(crate) use common::is_common_word;

use crate::lookup::in_sorted;
use crate::values::{is_weekday, month_of};
use common::TITLES;
use groundline_types::Span;
use unicode_segmentation::UnicodeSegmentation;

/// A name in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// Where it stands in the text given to [`find_names`], in bytes.
    pub span: Span,
    /// The name in lower case, possessive "'s" left out and white space folded, for comparison.
    pub text: String,
}

/// Words that may stand inside a name in lower case.
const JOINTS: &[&str] = &[
    "of", "de", "la", "le", "du", "des", "von", "van", "der", "den", "di", "da", "del", "bin", "ibn", "al",
    "el", "y", "&",
];

#[derive(Debug, Clone, Copy)]
struct Word<'a> {
    span: Span,
    text: &'a str,
    /// Only white space or a hyphen lies between the word before and this one.
    joined: bool,
    /// A sentence may start here.
    opens: bool,
}

/// Finds the names in `text`, in order and without overlap. Linear in the length of `text`.
///
/// ```
/// let names = groundline_claims::find_names("The physicist Marie Curie worked for NASA.");
/// let texts: Vec<&str> = names.iter().map(|name| name.text.as_str()).collect();
/// assert_eq!(texts, ["marie curie", "nasa"]);
/// ```
pub fn find_names(text: &str) -> Vec<Name> {
    let words = words(text);
    // In a text all in capitals a capital says nothing.
    if !text.chars().any(char::is_lowercase) && words.len() > 3 {
        return Vec::new();
    }
    let mut names = Vec::new();
    let mut at = 0;
    while at < words.len() {
        if !is_capitalised(words[at].text) {
            at += 1;
            continue;
        }
        let end = run_end(&words, at);
        push_name(text, &words[at..end], &mut names);
        at = end;
    }
    names
}

fn words(text: &str) -> Vec<Word<'_>> {
    let mut words: Vec<Word<'_>> = Vec::new();
    for (start, word) in text.unicode_word_indices() {
        let before = words.last().map_or(0, |last| last.span.end);
        let gap = &text[before..start];
        // The full stop of an initial or a title belongs to the word before it.
        let short = gap == ". "
            && words.last().is_some_and(|last| {
                last.text.chars().count() == 1 || in_sorted(TITLES, &last.text.to_lowercase())
            });
        let joined = gap == " " || gap == "-" || gap == " & " || short;
        let opens = words.is_empty() || (gap.contains(['.', '!', '?', ':', '"', '“', ';', '(']) && !joined);
        words.push(Word { span: Span::new(start, start + word.len()), text: word, joined, opens });
    }
    words
}

fn is_capitalised(word: &str) -> bool {
    let mut chars = word.chars();
    let first = chars.next();
    first.is_some_and(char::is_uppercase) || (first.is_some_and(char::is_lowercase) && is_mixed(word))
}

/// A capital inside the word: "iPhone", "McDonald".
fn is_mixed(word: &str) -> bool {
    word.chars().skip(1).any(char::is_uppercase)
}

/// The index after the run of capitalised words that starts at `start`, joining words inside it included.
fn run_end(words: &[Word<'_>], start: usize) -> usize {
    let mut end = start + 1;
    loop {
        let mut next = end;
        while next < words.len() && next - end < 2 && words[next].joined && is_joint(words, next, end) {
            next += 1;
        }
        let goes_on = words.get(next).is_some_and(|word| word.joined && is_capitalised(word.text));
        if !goes_on {
            return end;
        }
        end = next + 1;
    }
}

/// "of" and its like; "the" only behind one of them ("Lord of the Rings").
fn is_joint(words: &[Word<'_>], at: usize, end: usize) -> bool {
    JOINTS.contains(&words[at].text) || (words[at].text == "the" && at > end && words[at - 1].text == "of")
}

fn push_name(text: &str, run: &[Word<'_>], names: &mut Vec<Name>) {
    let mut run = run;
    while let [first, rest @ ..] = run {
        let lower = first.text.to_lowercase();
        let lead = first.opens && is_common_word(&lower) && !is_acronym(first.text);
        let article = matches!(lower.as_str(), "the" | "a" | "an");
        if !(lead || article || in_sorted(TITLES, &lower) || is_calendar(first.text))
            || JOINTS.contains(&first.text)
        {
            break;
        }
        run = rest;
        while let [joint, rest @ ..] = run {
            if is_capitalised(joint.text) {
                break;
            }
            run = rest;
        }
    }
    while let [rest @ .., last] = run {
        if !is_calendar(last.text) && is_capitalised(last.text) {
            break;
        }
        run = rest;
    }
    let ([first, ..], [.., last]) = (run, run) else { return };
    let lone = run.len() == 1;
    let pronoun = lone && matches!(first.text, "I" | "I'm" | "I’m" | "I've" | "I'd" | "I'll");
    let letter = lone && first.text.chars().count() == 1;
    if pronoun || letter {
        return;
    }
    let whole = &text[first.span.start..last.span.end];
    let bare = whole.strip_suffix("'s").or_else(|| whole.strip_suffix("’s")).unwrap_or(whole);
    let words: Vec<&str> = bare.split_whitespace().collect();
    let span = Span::new(first.span.start, first.span.start + bare.len());
    names.push(Name { span, text: words.join(" ").to_lowercase() });
}

fn is_acronym(word: &str) -> bool {
    word.chars().count() > 1 && !word.chars().any(char::is_lowercase)
}

fn is_calendar(word: &str) -> bool {
    month_of(word).is_some() || is_weekday(word)
}

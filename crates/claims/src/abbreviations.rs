//! Abbreviations that end with a full stop, by what a full stop after them may mean.

#[cfg(test)]
mod tests;

use crate::lookup::in_sorted;

/// What a full stop after a word says about the end of the sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Abbreviation {
    /// Something always follows: "Dr.", "e.g.".
    Never,
    /// A number follows, else the sentence ends: "No. 5".
    BeforeNumber,
    /// The sentence ends only where a word follows that starts sentences: "in the U.S. He".
    Maybe,
    /// A time: the sentence ends unless a day or a time zone follows: "at 5 p.m. Monday".
    Clock,
    /// The name of a month or weekday, cut short: a number may follow.
    Calendar,
}

const NEVER: &[&str] = &[
    "adm", "approx", "assoc", "asst", "bzw", "ca", "capt", "cf", "cmdr", "col", "d.h", "dr", "e.g", "eg",
    "esp", "fr", "frau", "gen", "ggf", "gov", "herr", "hon", "hr", "i.e", "ie", "incl", "lt", "maj",
    "messrs", "mlle", "mme", "mr", "mrs", "ms", "mx", "p.ex", "pres", "prof", "rep", "resp", "rev", "sen",
    "sgt", "sra", "srta", "supt", "viz", "vs", "z.b",
];

const BEFORE_NUMBER: &[&str] = &[
    "app", "art", "arts", "avg", "b", "c", "ch", "chap", "d", "ed", "eq", "eqs", "est", "ext", "fig", "figs",
    "fl", "max", "min", "no", "nos", "nr", "op", "p", "par", "para", "pg", "pp", "pt", "q", "r", "ref",
    "refs", "sec", "sect", "tab", "tel", "v", "ver", "vol", "vols",
];

const MAYBE: &[&str] = &[
    "al", "assn", "ave", "b.a", "b.sc", "blvd", "bros", "co", "corp", "d.c", "dept", "dist", "div", "e.u",
    "eds", "etc", "ft", "gmbh", "govt", "hwy", "inc", "intl", "jr", "l.a", "llc", "ltd", "m.a", "m.d",
    "m.sc", "mt", "n.y", "nat", "natl", "ph.d", "plc", "rd", "repr", "sq", "sr", "st", "ste", "trans", "u.k",
    "u.n", "u.s", "u.s.a", "univ",
];

const CALENDAR: &[&str] = &[
    "apr", "aug", "dec", "feb", "fri", "jan", "jul", "jun", "mar", "mon", "nov", "oct", "sat", "sep", "sept",
    "sun", "thu", "thur", "thurs", "tue", "tues", "wed",
];

/// Words that start sentences more often than they go on with one.
const STARTERS: &[&str] = &[
    "a",
    "about",
    "according",
    "additionally",
    "after",
    "all",
    "also",
    "although",
    "an",
    "and",
    "another",
    "any",
    "are",
    "as",
    "at",
    "because",
    "before",
    "both",
    "but",
    "by",
    "despite",
    "did",
    "does",
    "during",
    "each",
    "every",
    "few",
    "finally",
    "for",
    "from",
    "furthermore",
    "he",
    "hence",
    "her",
    "here",
    "his",
    "how",
    "however",
    "i",
    "if",
    "in",
    "instead",
    "is",
    "it",
    "its",
    "just",
    "later",
    "let",
    "like",
    "many",
    "meanwhile",
    "moreover",
    "most",
    "nevertheless",
    "next",
    "no",
    "not",
    "now",
    "of",
    "on",
    "once",
    "one",
    "only",
    "or",
    "other",
    "our",
    "over",
    "perhaps",
    "please",
    "several",
    "she",
    "since",
    "so",
    "some",
    "soon",
    "still",
    "such",
    "than",
    "that",
    "the",
    "their",
    "then",
    "there",
    "therefore",
    "these",
    "they",
    "this",
    "those",
    "though",
    "through",
    "thus",
    "to",
    "today",
    "under",
    "unlike",
    "until",
    "was",
    "we",
    "were",
    "what",
    "when",
    "where",
    "whether",
    "which",
    "while",
    "who",
    "why",
    "with",
    "within",
    "without",
    "yes",
    "yet",
    "you",
    "your",
];

/// What kind of abbreviation a word is, given without its last full stop.
pub(crate) fn abbreviation(word: &str) -> Option<Abbreviation> {
    let lower = word.to_lowercase();
    let lower = lower.as_str();
    let capital = word.starts_with(char::is_uppercase);
    if in_sorted(NEVER, lower) {
        Some(Abbreviation::Never)
    } else if matches!(lower, "a.m" | "p.m" | "am" | "pm" | "b.c" | "a.d" | "b.c.e" | "c.e") {
        Some(Abbreviation::Clock)
    } else if capital && in_sorted(CALENDAR, lower) {
        Some(Abbreviation::Calendar)
    } else if in_sorted(BEFORE_NUMBER, lower) {
        Some(Abbreviation::BeforeNumber)
    } else if in_sorted(MAYBE, lower) || is_dotted_acronym(word) {
        Some(Abbreviation::Maybe)
    } else {
        None
    }
}

/// Single letters with full stops between them: "J.R.R", "U.S.S.R".
fn is_dotted_acronym(word: &str) -> bool {
    let letter = |part: &str| part.chars().count() == 1 && part.chars().all(char::is_alphabetic);
    word.contains('.') && word.split('.').all(letter)
}

/// Whether a capitalised word, given in lower case, is likely to start a sentence.
pub(crate) fn starts_sentences(lower: &str) -> bool {
    in_sorted(STARTERS, lower)
}

/// Whether a word after a time belongs to it: a weekday, a month, or a time zone.
pub(crate) fn belongs_to_time(word: &str) -> bool {
    let zone = matches!(
        word,
        "EST" | "EDT" | "CST" | "CDT" | "MST" | "MDT" | "PST" | "PDT" | "GMT" | "UTC" | "CET" | "ET" | "PT"
    );
    zone || crate::values::is_weekday(word) || crate::values::month_of(word).is_some()
}

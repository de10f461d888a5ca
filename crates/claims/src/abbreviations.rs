//! Abbreviations that end with a full stop, by what a full stop after them may mean.

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
    "dr", "mr", "mrs", "ms", "prof", "gen", "sen", "rep", "gov", "capt", "lt", "col", "sgt", "cmdr", "maj",
    "adm", "rev", "hon", "fr", "pres", "supt", "messrs", "mme", "mlle", "e.g", "eg", "i.e", "ie", "cf",
    "viz", "vs", "approx", "ca", "incl", "esp", "resp", "hr", "frau", "herr", "sra", "srta", "mx", "asst",
    "assoc", "z.b", "d.h", "bzw", "ggf", "p.ex",
];

const BEFORE_NUMBER: &[&str] = &[
    "no", "nos", "nr", "vol", "vols", "fig", "figs", "sec", "sect", "ch", "chap", "art", "arts", "p", "pp",
    "pg", "par", "para", "pt", "eq", "eqs", "op", "app", "tab", "ref", "refs", "max", "min", "avg", "c", "b",
    "d", "fl", "r", "v", "est", "ver", "ed", "q", "tel", "ext",
];

const MAYBE: &[&str] = &[
    "u.s", "u.k", "u.n", "e.u", "u.s.a", "inc", "ltd", "co", "corp", "llc", "plc", "jr", "sr", "bros", "ave",
    "blvd", "rd", "st", "mt", "ft", "ph.d", "m.d", "b.a", "m.a", "b.sc", "m.sc", "d.c", "dept", "univ",
    "assn", "al", "eds", "trans", "gmbh", "n.y", "l.a", "ste", "sq", "hwy", "repr", "etc", "dist", "div",
    "nat", "intl", "natl", "govt",
];

const CALENDAR: &[&str] = &[
    "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "mon", "tue",
    "tues", "wed", "thu", "thur", "thurs", "fri", "sat", "sun",
];

/// Words that start sentences more often than they go on with one.
const STARTERS: &[&str] = &[
    "a",
    "about",
    "after",
    "all",
    "also",
    "although",
    "an",
    "and",
    "another",
    "any",
    "as",
    "at",
    "because",
    "before",
    "both",
    "but",
    "by",
    "despite",
    "during",
    "each",
    "every",
    "few",
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
    "it",
    "its",
    "later",
    "like",
    "many",
    "meanwhile",
    "moreover",
    "most",
    "nevertheless",
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
    "several",
    "she",
    "since",
    "so",
    "some",
    "soon",
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
    "we",
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
    "according",
    "additionally",
    "finally",
    "instead",
    "just",
    "let",
    "next",
    "please",
    "still",
    "is",
    "are",
    "was",
    "were",
    "did",
    "does",
];

/// What kind of abbreviation a word is, given without its last full stop.
pub(crate) fn abbreviation(word: &str) -> Option<Abbreviation> {
    let lower = word.to_lowercase();
    let lower = lower.as_str();
    let capital = word.starts_with(char::is_uppercase);
    if NEVER.contains(&lower) {
        Some(Abbreviation::Never)
    } else if matches!(lower, "a.m" | "p.m" | "am" | "pm" | "b.c" | "a.d" | "b.c.e" | "c.e") {
        Some(Abbreviation::Clock)
    } else if capital && CALENDAR.contains(&lower) {
        Some(Abbreviation::Calendar)
    } else if BEFORE_NUMBER.contains(&lower) {
        Some(Abbreviation::BeforeNumber)
    } else if MAYBE.contains(&lower) || is_dotted_acronym(word) {
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
    STARTERS.contains(&lower)
}

/// Whether a word after a time belongs to it: a weekday, a month, or a time zone.
pub(crate) fn belongs_to_time(word: &str) -> bool {
    let zone = matches!(
        word,
        "EST" | "EDT" | "CST" | "CDT" | "MST" | "MDT" | "PST" | "PDT" | "GMT" | "UTC" | "CET" | "ET" | "PT"
    );
    zone || crate::values::is_weekday(word) || crate::values::month_of(word).is_some()
}

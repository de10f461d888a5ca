//! The small dictionary that the rules go by.

use super::verbs::{ALSO_PARTICIPLES, AUXILIARIES, INTRANSITIVE, NOT_VERBS, PAST, THIRD_PERSON};

/// Words with which a sentence stays whole: conditions, hedges, speakers, alternatives.
const BLOCKERS: &[&str] = &[
    "according",
    "after",
    "aimed",
    "alleged",
    "allegedly",
    "almost",
    "although",
    "apparently",
    "appear",
    "appeared",
    "appears",
    "argue",
    "argued",
    "argues",
    "as",
    "assuming",
    "attempted",
    "because",
    "before",
    "believe",
    "believed",
    "believes",
    "both",
    "called",
    "can",
    "claim",
    "claimed",
    "claims",
    "considered",
    "could",
    "denied",
    "denies",
    "deny",
    "despite",
    "either",
    "estimated",
    "except",
    "expected",
    "failed",
    "hoped",
    "how",
    "if",
    "imagine",
    "instead",
    "intended",
    "known",
    "lest",
    "let",
    "likely",
    "may",
    "maybe",
    "might",
    "must",
    "nearly",
    "once",
    "only",
    "or",
    "perhaps",
    "planned",
    "possibly",
    "potentially",
    "predicted",
    "probably",
    "proposed",
    "provided",
    "purported",
    "rather",
    "refused",
    "report",
    "reported",
    "reportedly",
    "reports",
    "respectively",
    "rumored",
    "rumoured",
    "said",
    "say",
    "says",
    "seem",
    "seemed",
    "seems",
    "shall",
    "should",
    "should've",
    "since",
    "so",
    "state",
    "stated",
    "states",
    "suggest",
    "suggested",
    "suggests",
    "suppose",
    "supposed",
    "supposedly",
    "than",
    "that",
    "then",
    "think",
    "thinks",
    "though",
    "thought",
    "till",
    "tried",
    "unless",
    "unlikely",
    "until",
    "wanted",
    "what",
    "when",
    "whenever",
    "where",
    "whereas",
    "wherever",
    "whether",
    "while",
    "whom",
    "whose",
    "why",
    "wish",
    "would",
];

const NEGATIONS: &[&str] = &[
    "barely", "cannot", "few", "hardly", "lack", "lacked", "lacks", "little", "neither", "never", "no",
    "nobody", "none", "nor", "not", "nothing", "nowhere", "rarely", "scarcely", "seldom", "without",
];

const PREPOSITIONS: &[&str] = &[
    "about",
    "above",
    "across",
    "against",
    "along",
    "among",
    "around",
    "at",
    "away",
    "back",
    "behind",
    "below",
    "between",
    "beyond",
    "by",
    "down",
    "during",
    "for",
    "from",
    "in",
    "inside",
    "into",
    "like",
    "near",
    "of",
    "off",
    "on",
    "onto",
    "out",
    "outside",
    "over",
    "per",
    "through",
    "throughout",
    "to",
    "toward",
    "towards",
    "under",
    "until",
    "up",
    "upon",
    "via",
    "with",
    "within",
];

const DETERMINERS: &[&str] = &[
    "a", "all", "an", "another", "each", "eight", "every", "five", "four", "her", "his", "its", "many",
    "more", "my", "nine", "numerous", "our", "over", "seven", "several", "six", "some", "ten", "the",
    "their", "these", "this", "those", "three", "two", "your",
];

const ADVERBS: &[&str] = &[
    "again",
    "also",
    "eventually",
    "finally",
    "first",
    "later",
    "now",
    "often",
    "soon",
    "still",
    "subsequently",
];

const PRONOUNS: &[&str] = &["both", "he", "it", "she", "these", "they", "this", "we"];

fn holds(list: &[&str], word: &str) -> bool {
    crate::lookup::in_sorted(list, word)
}

/// Whether a sentence with this word stays one fact.
pub(crate) fn blocks_all(word: &str) -> bool {
    holds(BLOCKERS, word)
}

pub(crate) fn is_negation(word: &str) -> bool {
    holds(NEGATIONS, word) || word.ends_with("n't")
}

pub(crate) fn is_auxiliary(word: &str) -> bool {
    holds(AUXILIARIES, word)
}

pub(crate) fn is_adverb(word: &str) -> bool {
    holds(ADVERBS, word)
}

pub(crate) fn is_preposition(word: &str) -> bool {
    holds(PREPOSITIONS, word)
}

pub(crate) fn is_determiner(word: &str) -> bool {
    holds(DETERMINERS, word) || word.starts_with(|c: char| c.is_ascii_digit())
}

pub(crate) fn is_pronoun(word: &str) -> bool {
    holds(PRONOUNS, word)
}

/// Whether a verb may be a participle, so that behind "was" it could be passive.
pub(crate) fn may_be_passive(word: &str) -> bool {
    let regular = word.ends_with("ed") && !holds(PAST, word);
    (regular || holds(ALSO_PARTICIPLES, word)) && !holds(INTRANSITIVE, word)
}

/// Whether a verb is past, for the tense of an apposition.
pub(crate) fn is_present(word: &str) -> bool {
    matches!(word, "is" | "are" | "has" | "have" | "does") || holds(THIRD_PERSON, word)
}

/// Whether a lower-case word is a verb with a tense. Regular past forms look like adjectives ("the retired general"), so that
/// the word behind them has to be one that no adjective has behind it: `next` is that word, and whether it has a capital.
pub(crate) fn is_finite(word: &str, next: Option<(&str, bool)>) -> bool {
    if holds(AUXILIARIES, word) || holds(PAST, word) || holds(THIRD_PERSON, word) {
        return true;
    }
    let regular =
        word.len() >= 4 && word.ends_with("ed") && !word.ends_with("eed") && !holds(NOT_VERBS, word);
    regular
        && match next {
            None => true,
            Some((next, capital)) => {
                capital
                    || holds(PREPOSITIONS, next)
                    || is_determiner(next)
                    || matches!(next, "and" | "him" | "them" | "himself" | "herself" | "there" | "here")
            }
        }
}

#[cfg(test)]
pub(crate) const SORTED: [&[&str]; 12] = [
    BLOCKERS,
    NEGATIONS,
    AUXILIARIES,
    PAST,
    ALSO_PARTICIPLES,
    INTRANSITIVE,
    THIRD_PERSON,
    NOT_VERBS,
    PREPOSITIONS,
    DETERMINERS,
    ADVERBS,
    PRONOUNS,
];

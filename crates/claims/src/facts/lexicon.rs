//! The small dictionary that the rules go by.

/// Words with which a sentence stays whole: conditions, hedges, speakers, alternatives.
const BLOCKERS: &[&str] = &[
    "if",
    "unless",
    "when",
    "whenever",
    "while",
    "although",
    "though",
    "whether",
    "until",
    "till",
    "because",
    "since",
    "that",
    "provided",
    "assuming",
    "except",
    "whereas",
    "where",
    "wherever",
    "what",
    "how",
    "why",
    "whose",
    "whom",
    "as",
    "before",
    "after",
    "once",
    "lest",
    "despite",
    "may",
    "might",
    "could",
    "would",
    "should",
    "can",
    "must",
    "shall",
    "allegedly",
    "reportedly",
    "probably",
    "perhaps",
    "possibly",
    "maybe",
    "likely",
    "unlikely",
    "supposedly",
    "apparently",
    "seem",
    "seems",
    "seemed",
    "appear",
    "appears",
    "appeared",
    "said",
    "says",
    "say",
    "claim",
    "claims",
    "claimed",
    "believe",
    "believes",
    "believed",
    "think",
    "thinks",
    "thought",
    "argue",
    "argues",
    "argued",
    "suggest",
    "suggests",
    "suggested",
    "report",
    "reports",
    "reported",
    "state",
    "stated",
    "states",
    "according",
    "rumored",
    "rumoured",
    "deny",
    "denies",
    "denied",
    "refused",
    "failed",
    "attempted",
    "tried",
    "planned",
    "hoped",
    "wanted",
    "expected",
    "or",
    "either",
    "both",
    "respectively",
    "rather",
    "instead",
    "then",
    "than",
    "so",
    "only",
    "should've",
    "supposed",
    "alleged",
    "purported",
    "aimed",
    "intended",
    "proposed",
    "predicted",
    "estimated",
    "considered",
    "known",
    "called",
    "let",
    "imagine",
    "suppose",
    "wish",
    "almost",
    "nearly",
    "potentially",
];

const NEGATIONS: &[&str] = &[
    "not", "never", "no", "nor", "neither", "none", "nobody", "nothing", "without", "hardly", "rarely",
    "seldom", "cannot", "scarcely", "barely", "few", "little", "lack", "lacks", "lacked", "nowhere",
];

const AUXILIARIES: &[&str] = &["is", "are", "was", "were", "has", "have", "had", "does", "did", "will"];

/// Past forms that are no participles of another verb form, or rarely so.
const PAST: &[&str] = &[
    "won",
    "wrote",
    "became",
    "began",
    "went",
    "came",
    "left",
    "met",
    "made",
    "took",
    "gave",
    "got",
    "found",
    "grew",
    "fell",
    "held",
    "led",
    "lost",
    "ran",
    "rose",
    "saw",
    "sold",
    "bought",
    "built",
    "taught",
    "spoke",
    "spent",
    "stood",
    "sang",
    "drew",
    "flew",
    "fought",
    "knew",
    "kept",
    "paid",
    "sent",
    "wore",
    "broke",
    "chose",
    "drove",
    "rode",
    "shot",
    "sank",
    "swam",
    "threw",
    "brought",
    "caught",
    "ate",
    "hid",
    "laid",
    "lay",
    "struck",
    "withdrew",
    "overcame",
    "underwent",
    "co-wrote",
    "co-founded",
];

/// Past forms that are participles, too: behind "was … and" they may be passive.
const ALSO_PARTICIPLES: &[&str] = &[
    "won", "found", "held", "led", "lost", "sold", "bought", "built", "taught", "spent", "kept", "paid",
    "sent", "shot", "brought", "caught", "laid", "struck", "made", "left", "met", "fought",
];

/// Verbs that stand in no passive: "was born in Warsaw and moved to Paris" has her moving.
const INTRANSITIVE: &[&str] = &[
    "moved",
    "died",
    "lived",
    "worked",
    "returned",
    "remained",
    "retired",
    "served",
    "graduated",
    "emigrated",
    "migrated",
    "travelled",
    "traveled",
    "arrived",
    "appeared",
    "resigned",
    "settled",
    "stayed",
    "starred",
    "debuted",
    "performed",
    "studied",
    "attended",
    "joined",
    "won",
    "received",
    "earned",
    "entered",
    "competed",
    "participated",
    "played",
    "succeeded",
    "enlisted",
];

const THIRD_PERSON: &[&str] = &[
    "wins",
    "writes",
    "includes",
    "contains",
    "provides",
    "produces",
    "becomes",
    "remains",
    "serves",
    "offers",
    "makes",
    "takes",
    "gives",
    "consists",
    "lives",
    "belongs",
    "connects",
    "separates",
    "borders",
    "employs",
    "operates",
    "owns",
    "hosts",
    "publishes",
    "teaches",
    "orbits",
    "weighs",
    "measures",
    "generates",
    "attracts",
    "receives",
    "spans",
    "specializes",
];

const NOT_VERBS: &[&str] = &[
    "united", "limited", "red", "bed", "need", "seed", "indeed", "hundred", "speed", "feed", "aged",
    "related", "based", "advanced", "detailed", "combined", "sacred", "kindred", "hatred", "shed", "sled",
    "naked", "wicked", "beloved", "embed", "exceed", "proceed", "succeed", "breed", "creed", "greed", "weed",
    "reed", "deed", "centered", "centred", "located", "fixed", "mixed",
];

const PREPOSITIONS: &[&str] = &[
    "of",
    "in",
    "on",
    "at",
    "to",
    "from",
    "by",
    "for",
    "with",
    "into",
    "over",
    "under",
    "about",
    "through",
    "across",
    "during",
    "between",
    "among",
    "against",
    "within",
    "towards",
    "toward",
    "near",
    "around",
    "along",
    "beyond",
    "behind",
    "above",
    "below",
    "onto",
    "upon",
    "via",
    "per",
    "like",
    "out",
    "up",
    "down",
    "off",
    "back",
    "away",
    "throughout",
    "outside",
    "inside",
    "until",
];

const DETERMINERS: &[&str] = &[
    "the", "a", "an", "his", "her", "its", "their", "this", "these", "those", "our", "my", "your", "several",
    "many", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "numerous", "all",
    "some", "another", "every", "each", "over", "more",
];

const ADVERBS: &[&str] = &[
    "later",
    "also",
    "subsequently",
    "soon",
    "eventually",
    "finally",
    "now",
    "still",
    "again",
    "first",
    "often",
];

const PRONOUNS: &[&str] = &["he", "she", "it", "they", "we", "this", "these", "both"];

fn holds(list: &[&str], word: &str) -> bool {
    list.contains(&word)
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
                    || matches!(next, "and" | "him" | "them" | "himself" | "herself")
            }
        }
}

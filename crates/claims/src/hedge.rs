//! Hedged and disputed language in English: "it is thought", "the date is disputed".
//!
//! A source that hedges supports a claim that does not hedge only in part, and models lower their probability for it without
//! saying why. This says why. It goes by words alone and errs towards silence: "May 1867", "he thought about it" and "undisputed"
//! are no hedges.

#[cfg(test)]
mod tests;

use groundline_types::Span;
use unicode_segmentation::UnicodeSegmentation;

/// How a sentence holds back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HedgeKind {
    /// It says that something may be so: "probably", "is believed to", "may have".
    Hedged,
    /// It says that people do not agree or do not know: "disputed", "no consensus", "it is unclear".
    Disputed,
}

impl HedgeKind {
    /// For people, such as in the reason of a verdict.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hedged => "hedged source",
            Self::Disputed => "disputed source",
        }
    }
}

/// A hedge and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hedge {
    /// Its kind.
    pub kind: HedgeKind,
    /// Bytes of the sentence that say so.
    pub span: Span,
}

/// Words between the parts of a phrase that do not change it: "is now widely thought to".
const BETWEEN: &[&str] = &[
    "also",
    "commonly",
    "currently",
    "frequently",
    "generally",
    "however",
    "long",
    "much",
    "now",
    "often",
    "sometimes",
    "still",
    "today",
    "traditionally",
    "typically",
    "usually",
    "variously",
    "very",
    "well",
    "widely",
];

/// Words that take a dispute back: "not disputed", "no longer contested", "beyond dispute".
const TAKEN_BACK: &[&str] =
    &["beyond", "hardly", "never", "no", "not", "rarely", "scarcely", "undisputedly", "without"];

/// Phrases of doubt. `*` is one word of any kind.
const HEDGED: &[&str] = &[
    "allegedly",
    "alleged to",
    "apparently",
    "arguably",
    "conceivably",
    "ostensibly",
    "perhaps",
    "maybe",
    "possibly",
    "presumably",
    "probably",
    "purportedly",
    "putatively",
    "reportedly",
    "reputedly",
    "seemingly",
    "supposedly",
    "it is thought",
    "it was thought",
    "is thought to",
    "are thought to",
    "was thought to",
    "were thought to",
    "been thought to",
    "thought to have",
    "thought to be",
    "it is believed",
    "it was believed",
    "is believed to",
    "are believed to",
    "was believed to",
    "were believed to",
    "believed to have",
    "believed to be",
    "it is said",
    "is said to",
    "are said to",
    "was said to",
    "said to have",
    "it is assumed",
    "is assumed to",
    "are assumed to",
    "it is presumed",
    "is presumed to",
    "presumed to have",
    "presumed to be",
    "it is rumoured",
    "it is rumored",
    "rumoured to",
    "rumored to",
    "it is suspected",
    "suspected to",
    "is supposed to have",
    "it is claimed",
    "is claimed to",
    "are claimed to",
    "claimed to have been",
    "it has been suggested",
    "has been suggested that",
    "suggests that",
    "suggest that",
    "it is possible",
    "it is probable",
    "it is likely",
    "it seems",
    "it appears",
    "seems to",
    "seem to",
    "seemed to",
    "appears to",
    "appear to",
    "appeared to",
    "most likely",
    "more likely",
    "is likely",
    "are likely",
    "was likely",
    "were likely",
    "likely to",
    "likely that",
    "unlikely",
    "may have",
    "may be",
    "may not have",
    "may not be",
    "may also",
    "might",
    "could have been",
    "could be",
    "could have",
    "it is estimated",
    "estimated to",
    "estimated at",
    "is speculated",
    "it is speculated",
    "speculated that",
    "some * believe",
    "some believe",
    "many believe",
    "some * think",
    "some * argue",
    "some * suggest",
    "some * claim",
    "scholars believe",
    "historians believe",
    "scientists believe",
    "researchers believe",
    "experts believe",
    "according to legend",
    "according to tradition",
    "legend has it",
];

/// Phrases of disagreement and of not knowing.
const DISPUTED: &[&str] = &[
    "is disputed",
    "are disputed",
    "was disputed",
    "were disputed",
    "been disputed",
    "remains disputed",
    "remain disputed",
    "a disputed",
    "the disputed",
    "disputed by",
    "in dispute",
    "under dispute",
    "a matter of dispute",
    "matter of debate",
    "subject of debate",
    "is debated",
    "are debated",
    "been debated",
    "remains debated",
    "open to debate",
    "a debated",
    "is contested",
    "are contested",
    "was contested",
    "been contested",
    "remains contested",
    "hotly contested",
    "is controversial",
    "are controversial",
    "remains controversial",
    "is contentious",
    "no consensus",
    "lack of consensus",
    "is uncertain",
    "are uncertain",
    "remains uncertain",
    "was uncertain",
    "not certain",
    "is unclear",
    "are unclear",
    "remains unclear",
    "was unclear",
    "it is unknown",
    "is unknown",
    "are unknown",
    "remains unknown",
    "not known",
    "unconfirmed",
    "unverified",
    "unproven",
    "not confirmed",
    "not been confirmed",
    "cannot be confirmed",
    "cannot be verified",
    "not been verified",
    "conflicting accounts",
    "conflicting reports",
    "conflicting evidence",
    "accounts differ",
    "sources differ",
    "accounts vary",
    "sources vary",
    "scholars disagree",
    "historians disagree",
    "scientists disagree",
    "experts disagree",
    "sources disagree",
    "researchers disagree",
    "opinions differ",
    "open question",
    "called into question",
    "been questioned",
    "is questioned",
    "is doubtful",
    "are doubtful",
    "of doubtful",
    "have doubted",
    "has been doubted",
];

/// The first hedge of a sentence; of two at the same place, a dispute. `None` where it says what it says.
pub fn find_hedge(sentence: &str) -> Option<Hedge> {
    let words = words(sentence);
    (0..words.len()).find_map(|at| {
        let kinds = [(HedgeKind::Disputed, DISPUTED), (HedgeKind::Hedged, HEDGED)];
        kinds.into_iter().find_map(|(kind, phrases)| {
            let longest = phrases.iter().filter_map(|phrase| phrase_end(&words[at..], phrase)).max()?;
            if kind == HedgeKind::Disputed && is_taken_back(&words[..at]) {
                return None;
            }
            let span = Span::new(words[at].span.start, words[at + longest - 1].span.end);
            Some(Hedge { kind, span })
        })
    })
}

#[derive(Debug)]
struct Word {
    lower: String,
    span: Span,
}

/// The words of a sentence without those that change no phrase. "May" with a capital inside a sentence is the month.
fn words(sentence: &str) -> Vec<Word> {
    let words = sentence.unicode_word_indices().enumerate();
    let words = words.filter(|(number, (_, word))| *number == 0 || *word != "May");
    let words = words.map(|(_, (at, word))| Word {
        lower: word.to_lowercase().replace('’', "'"),
        span: Span::new(at, at + word.len()),
    });
    words.filter(|word| !BETWEEN.contains(&word.lower.as_str())).collect()
}

/// How many words a phrase takes at the beginning of `words`; `None` where it is not there.
fn phrase_end(words: &[Word], phrase: &str) -> Option<usize> {
    let parts = phrase.split(' ');
    let mut taken = 0;
    for part in parts {
        let word = words.get(taken)?;
        if part != "*" && word.lower != part {
            return None;
        }
        taken += 1;
    }
    Some(taken)
}

/// Whether one of the two words before a phrase takes it back.
fn is_taken_back(before: &[Word]) -> bool {
    before.iter().rev().take(2).any(|word| TAKEN_BACK.contains(&word.lower.as_str()))
}

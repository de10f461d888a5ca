//! A cheap guess at the language of a text, to notice that a source is in another one than the response.
//!
//! A model that reads one language calls a foreign source a contradiction or not mentioned, and neither says anything about the
//! response. The guess is for that alone: it speaks only when it is sure, and texts of a few words get none.

mod words;

use std::collections::HashMap;
use std::sync::LazyLock;
use words::{MAX_WORDS_READ, PROFILES};

/// Fewest letters from which a script is said.
const MIN_LETTERS: usize = 12;
/// Share of letters that the script must have, in percent.
const MIN_SCRIPT_PERCENT: usize = 80;
/// Fewest frequent words of a language from which it is said.
const MIN_HITS: usize = 3;
/// Share of all words that these must have, in percent.
const MIN_HIT_PERCENT: usize = 15;
/// Fewest signs of a language, words or letters, from which it is said of a short text that has none of another.
const MIN_SHORT_SIGNS: usize = 2;
/// Share of all words that these must have, in percent.
const MIN_SHORT_PERCENT: usize = 30;

/// A language, as far as it can be told from the writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Language {
    /// In Latin script, by its frequent words.
    Latin(&'static str),
    /// In a script that says enough.
    Script(&'static str),
}

/// The language of a text, where it is sure.
pub(crate) fn guess(text: &str) -> Option<Language> {
    match dominant_script(text)? {
        "latin" => by_frequent_words(text).map(Language::Latin),
        script => Some(Language::Script(script)),
    }
}

/// Whether every source is surely in another language than the response. A text without a guess is never foreign.
pub(crate) fn is_foreign<'a>(response: &str, sources: impl IntoIterator<Item = &'a str>) -> bool {
    let Some(response) = guess(response) else { return false };
    let mut sources = sources.into_iter().filter(|text| text.chars().any(char::is_alphabetic)).peekable();
    sources.peek().is_some() && sources.all(|source| guess(source).is_some_and(|source| source != response))
}

fn dominant_script(text: &str) -> Option<&'static str> {
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    let mut total = 0;
    for script in text.chars().filter_map(script_of).take(MAX_WORDS_READ * 8) {
        total += 1;
        match counts.iter_mut().find(|(name, _)| *name == script) {
            Some((_, count)) => *count += 1,
            None => counts.push((script, 1)),
        }
    }
    // Japanese is written in kana and Han together; Han alone is Chinese.
    let kana = counts.iter().find(|(name, _)| *name == "kana").map_or(0, |(_, count)| *count);
    if kana > 0 {
        for (name, count) in &mut counts {
            match *name {
                "kana" => *count = 0,
                "han" => *name = "kana",
                _ => {}
            }
        }
        match counts.iter_mut().find(|(name, count)| *name == "kana" && *count > 0) {
            Some((_, count)) => *count += kana,
            None => counts.push(("kana", kana)),
        }
    }
    let (script, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    (total >= MIN_LETTERS && count * 100 >= total * MIN_SCRIPT_PERCENT).then_some(script)
}

fn script_of(letter: char) -> Option<&'static str> {
    if !letter.is_alphabetic() {
        return None;
    }
    Some(match letter as u32 {
        0x0041..=0x024F | 0x1E00..=0x1EFF => "latin",
        0x0370..=0x03FF | 0x1F00..=0x1FFF => "greek",
        0x0400..=0x052F => "cyrillic",
        0x0530..=0x058F => "armenian",
        0x0590..=0x05FF => "hebrew",
        0x0600..=0x06FF | 0x0750..=0x077F => "arabic",
        0x0900..=0x097F => "devanagari",
        0x0980..=0x09FF => "bengali",
        0x0B80..=0x0BFF => "tamil",
        0x0E00..=0x0E7F => "thai",
        0x10A0..=0x10FF => "georgian",
        0x1100..=0x11FF | 0xAC00..=0xD7AF => "hangul",
        0x3040..=0x30FF => "kana",
        0x3400..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x2FFFF => "han",
        _ => "other",
    })
}

/// Signs of one language in a text.
#[derive(Debug, Clone, Copy, Default)]
struct Signs {
    /// Frequent words that are surely no part of a name: lower case, or the first of the text.
    words: usize,
    /// Frequent words, those in names too, as in "Los Angeles".
    all_words: usize,
    /// Other lower-case words with a letter of the language. Names have such letters in any language, and a capital.
    lettered: usize,
}

/// Of each frequent word, and of each letter, whose it is: one bit for each profile.
struct Known {
    words: HashMap<&'static str, u16>,
    letters: HashMap<char, u16>,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let (mut words, mut letters) = (HashMap::new(), HashMap::new());
    for (index, profile) in PROFILES.iter().enumerate() {
        profile.words.iter().for_each(|word| *words.entry(*word).or_default() |= 1 << index);
        profile.letters.iter().for_each(|letter| *letters.entry(*letter).or_default() |= 1 << index);
    }
    Known { words, letters }
});

fn by_frequent_words(text: &str) -> Option<&'static str> {
    let mut signs = [Signs::default(); PROFILES.len()];
    let (mut total, mut lower) = (0, String::new());
    let words = text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    for word in words.take(MAX_WORDS_READ) {
        total += 1;
        let is_plain = total == 1 || word.starts_with(char::is_lowercase);
        lower.clear();
        lower.extend(word.chars().flat_map(char::to_lowercase));
        let of_word = KNOWN.words.get(lower.as_str()).copied().unwrap_or(0);
        let of_letters = match lower.is_ascii() || total == 1 || !is_plain {
            true => 0,
            false => {
                lower.chars().filter_map(|letter| KNOWN.letters.get(&letter)).fold(0, |all, of| all | of)
            }
        };
        if of_word | of_letters == 0 {
            continue;
        }
        for (index, sign) in signs.iter_mut().enumerate() {
            if of_word >> index & 1 == 1 {
                sign.all_words += 1;
                sign.words += usize::from(is_plain);
            } else if of_letters >> index & 1 == 1 {
                sign.lettered += 1;
            }
        }
    }
    let best = (0..signs.len()).max_by_key(|index| (signs[*index].words, signs[*index].lettered))?;
    let others = (0..signs.len()).filter(|index| *index != best).map(|index| signs[index]);
    let second = others.map(|sign| sign.all_words).max().unwrap_or(0);
    let found = signs[best];
    let by_words =
        found.words >= MIN_HITS && found.words * 100 >= total * MIN_HIT_PERCENT && found.words > 2 * second;
    // One short sentence: few signs, but a large part of it, and none of any other language.
    let short = found.words + found.lettered;
    let by_share = found.words > 0
        && short >= MIN_SHORT_SIGNS
        && short * 100 >= total * MIN_SHORT_PERCENT
        && second == 0;
    (by_words || by_share).then_some(PROFILES[best].code)
}

#[cfg(test)]
mod tests;

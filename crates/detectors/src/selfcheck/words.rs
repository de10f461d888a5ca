//! Text to lower-case tokens.

use std::collections::HashMap;

/// The tokens of a text in order, in lower case: runs of letters and digits, and every other sign that is no white space by
/// itself. Scripts that put no space between words give one token for each character. On English text that is close to the spaCy
/// tokens of the published code; it gives the published numbers of its README.
///
/// ```
/// let tokens: Vec<String> = groundline_detectors::selfcheck::words::tokens("Dr. Li's 3 cats").collect();
/// assert_eq!(tokens, ["dr", ".", "li", "'", "s", "3", "cats"]);
/// ```
pub fn tokens(text: &str) -> impl Iterator<Item = String> {
    let mut rest = text.trim_start();
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = if is_word(first) && !stands_alone(first) {
            rest.find(|c| !is_word(c) || stands_alone(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, behind) = rest.split_at(end);
        rest = behind.trim_start();
        Some(token.to_lowercase())
    })
}

/// Whether a token of [`tokens`] is a word and no punctuation.
pub fn is_word_token(token: &str) -> bool {
    token.chars().any(char::is_alphanumeric)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Letters of scripts without spaces: Han, kana, Thai, Lao, Khmer, Burmese.
fn stands_alone(c: char) -> bool {
    matches!(c as u32,
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x3040..=0x30FF | 0x3400..=0x9FFF | 0xF900..=0xFAFF
        | 0x20000..=0x2FFFF)
}

/// Numbers for tokens, so that n-grams are compared without reading text.
#[derive(Debug, Default)]
pub(crate) struct Vocabulary {
    ids: HashMap<String, u32>,
}

impl Vocabulary {
    /// The number of a token, from 1 on; a new one for a token not seen before.
    pub(crate) fn id(&mut self, token: String) -> u32 {
        // A request is a few million bytes at most, far below 2^32 tokens.
        let next = u32::try_from(self.ids.len() + 1).unwrap_or(u32::MAX);
        *self.ids.entry(token).or_insert(next)
    }

    /// The numbers of a text's tokens.
    pub(crate) fn tokens(&mut self, text: &str) -> Vec<u32> {
        tokens(text).map(|token| self.id(token)).collect()
    }

    /// The numbers of a text's words, punctuation left out.
    pub(crate) fn words(&mut self, text: &str) -> Vec<u32> {
        tokens(text).filter(|token| is_word_token(token)).map(|token| self.id(token)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        tokens(text).collect()
    }

    #[test]
    fn words_punctuation_and_characters_of_scripts_without_spaces_are_tokens() {
        assert_eq!(
            of("  Won't (St. Émile) cost\n3.50!"),
            ["won", "'", "t", "(", "st", ".", "émile", ")", "cost", "3", ".", "50", "!"]
        );
        assert_eq!(of("東京は首都"), ["東", "京", "は", "首", "都"]);
        assert_eq!(of("GPT東京"), ["gpt", "東", "京"]);
        assert_eq!(of(" \n "), Vec::<String>::new());
        assert_eq!(of("🙂…"), ["🙂", "…"]);
    }

    #[test]
    fn equal_tokens_have_equal_numbers_whatever_their_case() {
        let mut vocabulary = Vocabulary::default();
        let cats = vocabulary.tokens("Cats, cats.");
        assert_eq!((cats.len(), cats[0] == cats[2]), (4, true));
        assert_eq!(vocabulary.words("CATS!"), [cats[0]]);
    }
}

//! Token counts of single words, for tokenizers that read each word by itself.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};
use tokenizers::Tokenizer;
use tokenizers::models::ModelWrapper;
use tokenizers::normalizers::NormalizerWrapper;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;

/// Words that are remembered before all are forgotten: some megabytes, and more than the vocabulary of most users.
const MAX_WORDS: usize = 1 << 16;
/// Longer words are counted each time: few words are longer, and none shall fill the memory.
const MAX_WORD_BYTES: usize = 48;
/// What splits words. Other white space is left to the tokenizer, which drops some of it without a split.
const SEPARATORS: [char; 4] = [' ', '\t', '\n', '\r'];

/// Counts of words that were met before.
#[derive(Debug, Default)]
pub(super) struct WordCounts {
    counts: RwLock<HashMap<Box<str>, usize>>,
}

impl WordCounts {
    /// For a tokenizer that reads words one by one, so that the tokens of a text are those of its words: BERT's normaliser looks at
    /// single characters, its pre-tokenizer splits at white space, and WordPiece reads what is between. A marker may hold white space,
    /// unless it is special, and special ones are read as plain text here.
    pub(super) fn for_tokenizer(tokenizer: &Tokenizer) -> Option<Self> {
        let by_words = matches!(tokenizer.get_normalizer(), Some(NormalizerWrapper::BertNormalizer(_)))
            && matches!(tokenizer.get_pre_tokenizer(), Some(PreTokenizerWrapper::BertPreTokenizer(_)))
            && matches!(tokenizer.get_model(), ModelWrapper::WordPiece(_))
            && tokenizer.get_added_tokens_decoder().values().all(|token| token.special);
        by_words.then(Self::default)
    }

    /// Tokens of a text, given what counts a word that was not met yet.
    pub(super) fn count(&self, text: &str, count_word: impl Fn(&str) -> usize) -> usize {
        let words = || text.split(SEPARATORS).filter(|word| !word.is_empty());
        let (mut sum, mut unknown) = (0, Vec::new());
        {
            let known = self.counts.read().unwrap_or_else(PoisonError::into_inner);
            for word in words() {
                match known.get(word) {
                    Some(count) => sum += count,
                    None => unknown.push(word),
                }
            }
        }
        let counted = unknown.into_iter().map(|word| (word, count_word(word))).collect::<Vec<_>>();
        sum += counted.iter().map(|(_, count)| count).sum::<usize>();
        let short = counted.into_iter().filter(|(word, _)| word.len() <= MAX_WORD_BYTES);
        let short = short.map(|(word, count)| (Box::from(word), count)).collect::<Vec<_>>();
        if !short.is_empty() {
            let mut known = self.counts.write().unwrap_or_else(PoisonError::into_inner);
            if known.len() + short.len() > MAX_WORDS {
                known.clear();
            }
            known.extend(short.into_iter().take(MAX_WORDS));
        }
        sum
    }
}

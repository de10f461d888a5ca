//! Texts and pairs of texts as token ids.

mod words;

use crate::deberta::DebertaConfig;
use crate::engine::{Encoded, Task};
use groundline_types::{Code, CountTokens, Head, Problem};
use tokenizers::utils::truncation::{TruncationParams, TruncationStrategy, truncate_encodings};
use tokenizers::{Encoding, Tokenizer};
use words::WordCounts;

/// A model's tokenizer, read from its `tokenizer.json`.
///
/// A pair is `[CLS] premise [SEP] hypothesis [SEP]`, put together by the file's own post-processor. Nothing is cut: truncation
/// and padding that the file stores are switched off. Markers that stand in a text, such as `[SEP]`, are read as plain
/// text, so that no response can end its own hypothesis.
#[derive(Debug)]
pub struct PairTokenizer {
    tokenizer: Tokenizer,
    max_tokens: usize,
    vocab_size: usize,
    largest_type: u32,
    pair_overhead: usize,
    /// For tokenizers that read each word by itself: counting is most of what splitting a short text takes.
    words: Option<WordCounts>,
}

/// Bytes of text tokenised at first for each token of a budget, when a prefix is looked for.
const BYTES_PER_TOKEN: usize = 8;

impl PairTokenizer {
    /// Reads `tokenizer.json`, for a model of shape `config` that reads up to `max_tokens` at once.
    ///
    /// # Errors
    /// [`Code::TOKENIZER_CORRUPT`] where the file is malformed or belongs to another model.
    pub fn from_bytes(json: &[u8], config: &DebertaConfig, max_tokens: usize) -> Result<Self, Problem> {
        let corrupt = |message: String| Problem::new(Code::TOKENIZER_CORRUPT, message);
        let malformed = |error: tokenizers::Error| {
            corrupt(format!("tokenizer.json is malformed: {error}; download it again or make it anew"))
        };
        let mut tokenizer = Tokenizer::from_bytes(json).map_err(malformed)?;
        tokenizer.with_padding(None).with_truncation(None).map_err(malformed)?;
        tokenizer.set_encode_special_tokens(true);
        let (tokens, vocab_size) = (tokenizer.get_vocab_size(true), config.vocab_size);
        if tokens > vocab_size {
            return Err(corrupt(format!(
                "tokenizer.json has {tokens} tokens and the model embeddings for {vocab_size}; they belong to different models"
            )));
        }
        let pair = tokenizer.encode_fast(("", ""), true).map_err(malformed)?;
        if pair.is_empty() {
            return Err(corrupt(
                "tokenizer.json adds no special tokens to a pair; expected a post-processor for [CLS] a [SEP] b [SEP]".into(),
            ));
        }
        // A model without types ignores them; one with a single type gives it to both texts.
        let largest_type = if config.type_vocab_size == 1 { 0 } else { 1 };
        let (pair_overhead, words) = (pair.len(), WordCounts::for_tokenizer(&tokenizer));
        Ok(Self { max_tokens, vocab_size, largest_type, pair_overhead, words, tokenizer })
    }

    /// Longest input in tokens, special tokens included.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// Tokens of special markers around a pair.
    pub fn pair_overhead_tokens(&self) -> usize {
        self.pair_overhead
    }

    /// A pair for `head`, uncut.
    ///
    /// # Errors
    /// [`Code::TEXT_TOO_LONG`] where it has more tokens than the model reads.
    pub fn encode_pair(&self, premise: &str, hypothesis: &str, head: Head) -> Result<Encoded, Problem> {
        let encoding =
            self.tokenizer.encode_fast((premise, hypothesis), true).map_err(|_| failed(premise))?;
        self.checked(encoding, Task::Classify(head))
    }

    /// A single text to embed, uncut.
    ///
    /// # Errors
    /// [`Code::TEXT_TOO_LONG`] where it has more tokens than the model reads.
    pub fn encode_text(&self, text: &str) -> Result<Encoded, Problem> {
        let encoding = self.tokenizer.encode_fast(text, true).map_err(|_| failed(text))?;
        self.checked(encoding, Task::Embed)
    }

    /// A pair for `head`, cut to what the model reads by dropping tokens from the end of the longer text, as `transformers` does
    /// with `truncation="longest_first"`. For callers that asked for a cut, and for reference results made with one.
    ///
    /// # Errors
    /// [`Code::TOKENIZER_CORRUPT`] where the tokenizer fails on a text.
    pub fn encode_pair_cut(&self, premise: &str, hypothesis: &str, head: Head) -> Result<Encoded, Problem> {
        let encode = |text: &str| self.tokenizer.encode_fast(text, false).map_err(|_| failed(text));
        let params = TruncationParams {
            max_length: self.max_tokens.saturating_sub(self.pair_overhead),
            strategy: TruncationStrategy::LongestFirst,
            ..TruncationParams::default()
        };
        let (mut second, first) = (encode(hypothesis)?, encode(premise)?);
        second.set_type_ids(vec![1; second.len()]);
        let (first, second) =
            truncate_encodings(first, Some(second), &params).map_err(|_| failed(premise))?;
        let joined = self.tokenizer.post_process(first, second, true).map_err(|_| failed(premise))?;
        self.checked(joined, Task::Classify(head))
    }

    fn checked(&self, encoding: Encoding, task: Task) -> Result<Encoded, Problem> {
        let (ids, limit) = (encoding.get_ids(), self.max_tokens);
        if ids.len() > limit {
            let what = if task == Task::Embed { "text" } else { "pair" };
            return Err(Problem::new(
                Code::TEXT_TOO_LONG,
                format!("the {what} has {} tokens and the model reads {limit} at once; split it", ids.len()),
            ));
        }
        if let Some(id) = ids.iter().find(|&&id| id as usize >= self.vocab_size) {
            return Err(Problem::new(
                Code::TOKENIZER_CORRUPT,
                format!(
                    "tokenizer.json gives the token id {id}, and the model has embeddings for {}",
                    self.vocab_size
                ),
            ));
        }
        let type_ids = encoding.get_type_ids().iter().map(|&id| id.min(self.largest_type) as u8).collect();
        Ok(Encoded { ids: ids.to_vec(), type_ids, task })
    }

    fn count_whole(&self, text: &str) -> usize {
        // A text that the tokenizer fails on counts as if every byte were a token, which no limit lets pass unseen.
        self.tokenizer.encode_fast(text, false).map_or(text.len(), |encoding| encoding.len())
    }

    /// Byte offsets where the tokens of `text` start.
    fn token_starts(&self, text: &str) -> Option<Vec<usize>> {
        let encoding = self.tokenizer.encode(text, false).ok()?;
        Some(encoding.get_offsets().iter().map(|&(start, _)| start).collect())
    }
}

impl CountTokens for PairTokenizer {
    fn count_tokens(&self, text: &str) -> usize {
        match &self.words {
            Some(words) => words.count(text, |word| self.count_whole(word)),
            None => self.count_whole(text),
        }
    }

    fn prefix_within(&self, text: &str, budget: usize) -> usize {
        // Only as much is tokenised as decides the answer: a text may be megabytes long. Where more text would be fewer tokens
        // (WordPiece reads a word of over 100 characters as one unknown token), this cuts earlier, which loses nothing.
        let mut reach = budget.saturating_mul(BYTES_PER_TOKEN).max(BYTES_PER_TOKEN);
        let (slice, starts) = loop {
            let slice = &text[..boundary_at_or_before(text, reach)];
            let Some(starts) = self.token_starts(slice) else { break (slice, Vec::new()) };
            if starts.len() > budget {
                break (slice, starts);
            }
            if slice.len() == text.len() {
                return text.len();
            }
            reach = reach.saturating_mul(2);
        };
        // A cut may split a word into more tokens than it had within the text, so each candidate is counted again.
        let candidates = starts.iter().take(budget + 1).rev();
        let boundary = candidates
            .copied()
            .filter(|&end| end > 0 && slice.is_char_boundary(end))
            .find(|&end| self.count_tokens(&slice[..end]) <= budget);
        boundary.unwrap_or_else(|| text.chars().next().map_or(0, char::len_utf8))
    }
}

fn boundary_at_or_before(text: &str, index: usize) -> usize {
    if index >= text.len() {
        return text.len();
    }
    (0..=index).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

fn failed(text: &str) -> Problem {
    Problem::new(
        Code::TOKENIZER_CORRUPT,
        format!(
            "the tokenizer failed on a text of {} bytes; tokenizer.json lacks what the text needs",
            text.len()
        ),
    )
}

#[cfg(test)]
mod tests;

//! Texts and pairs of texts as token ids.

mod formats;
mod words;

use crate::engine::{AskedToken, Encoded, Task};
use formats::Format;
use groundline_types::{Code, CountTokens, Head, PairInput, Problem};
use tokenizers::Tokenizer;
use tokenizers::utils::truncation::{TruncationParams, TruncationStrategy, truncate_encodings};
use words::WordCounts;

/// A model's tokenizer, read from its `tokenizer.json`.
///
/// A pair is `[CLS] premise [SEP] hypothesis [SEP]`, put together by the file's own post-processor, or what a learned detector
/// reads in its place ([`PairInput`]). Nothing is cut: truncation
/// and padding that the file stores are switched off. Markers that stand in a text, such as `[SEP]`, are read as plain
/// text, so that no response can end its own hypothesis.
#[derive(Debug)]
pub struct PairTokenizer {
    tokenizer: Tokenizer,
    max_tokens: usize,
    vocab_size: usize,
    largest_type: u32,
    pair_overhead: usize,
    format: Format,
    /// For tokenizers that read each word by itself: counting is most of what splitting a short text takes.
    words: Option<WordCounts>,
}

/// Bytes of text tokenised at first for each token of a budget, when a prefix is looked for.
const BYTES_PER_TOKEN: usize = 8;

/// What a tokenizer must fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenizerShape {
    /// Token ids that the model has embeddings for.
    pub vocab_size: usize,
    /// Token types that the model adds at the input; one that adds none ignores them.
    pub type_vocab_size: usize,
    /// Longest input in tokens.
    pub max_tokens: usize,
    /// How a pair is put before the model.
    pub input: PairInput,
}

impl PairTokenizer {
    /// Reads `tokenizer.json`.
    ///
    /// # Errors
    /// [`Code::TOKENIZER_CORRUPT`] where the file is malformed or belongs to another model.
    pub fn from_bytes(json: &[u8], shape: TokenizerShape) -> Result<Self, Problem> {
        let corrupt = |message: String| Problem::new(Code::TOKENIZER_CORRUPT, message);
        let malformed = |error: tokenizers::Error| {
            corrupt(format!("tokenizer.json is malformed: {error}; download it again or make it anew"))
        };
        let mut tokenizer = Tokenizer::from_bytes(json).map_err(malformed)?;
        tokenizer.with_padding(None).with_truncation(None).map_err(malformed)?;
        tokenizer.set_encode_special_tokens(true);
        let TokenizerShape { vocab_size, max_tokens, .. } = shape;
        let tokens = tokenizer.get_vocab_size(true);
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
        let format = Format::new(&tokenizer, shape.input)?;
        // A model without types ignores them; one with a single type gives it to both texts.
        let largest_type = if shape.type_vocab_size == 1 { 0 } else { 1 };
        let words = WordCounts::for_tokenizer(&tokenizer);
        let pair_overhead = format.overhead(&tokenizer, pair.len());
        Ok(Self { max_tokens, vocab_size, largest_type, pair_overhead, format, words, tokenizer })
    }

    /// The first token of each text, as a model that answers in words begins it.
    ///
    /// # Errors
    /// [`Code::TOKENIZER_CORRUPT`] where a text has no token.
    pub fn first_tokens(&self, texts: &[&str]) -> Result<Vec<u32>, Problem> {
        let first = |text: &&str| {
            let encoding = self.tokenizer.encode_fast(*text, false).map_err(|_| failed(text))?;
            encoding.get_ids().first().copied().ok_or_else(|| failed(text))
        };
        texts.iter().map(first).collect()
    }

    /// Longest input in tokens, special tokens included.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// Tokens of special markers around a pair.
    pub fn pair_overhead_tokens(&self) -> usize {
        self.pair_overhead
    }

    /// Special tokens that stand before and behind a single text.
    pub fn markers(&self) -> (usize, usize) {
        self.format.markers()
    }

    /// A pair for `head`, uncut.
    ///
    /// # Errors
    /// [`Code::TEXT_TOO_LONG`] where it has more tokens than the model reads.
    pub fn encode_pair(&self, premise: &str, hypothesis: &str, head: Head) -> Result<Encoded, Problem> {
        let (ids, types) = self.format.encode(&self.tokenizer, premise, hypothesis)?;
        self.checked(ids, &types, Task::Classify(head))
    }

    /// A pair whose second text is labelled token by token, uncut. Tokens that stand for nothing in the text are not asked about.
    ///
    /// # Errors
    /// [`Code::TEXT_TOO_LONG`] where it has more tokens than the model reads; [`Code::TOKENIZER_CORRUPT`] where the tokenizer does not
    /// tell which tokens are the text's.
    pub fn encode_labelled(&self, context: &str, text: &str, head: Head) -> Result<Encoded, Problem> {
        let encoding = self.tokenizer.encode((context, text), true).map_err(|_| failed(text))?;
        let of_text = encoding.get_sequence_ids().into_iter().zip(encoding.get_offsets()).enumerate();
        let asked = of_text.filter_map(|(index, (sequence, &(start, end)))| {
            let is_asked = sequence == Some(1) && start < end;
            is_asked.then_some(AskedToken { index: index as u32, start: start as u32, end: end as u32 })
        });
        let asked: Vec<AskedToken> = asked.collect();
        if asked.is_empty() && !text.trim().is_empty() {
            return Err(failed(text));
        }
        let encoded =
            self.checked(encoding.get_ids().to_vec(), encoding.get_type_ids(), Task::Tokens(head))?;
        Ok(Encoded { asked, ..encoded })
    }

    /// A single text to embed, uncut.
    ///
    /// # Errors
    /// [`Code::TEXT_TOO_LONG`] where it has more tokens than the model reads.
    pub fn encode_text(&self, text: &str) -> Result<Encoded, Problem> {
        let encoding = self.tokenizer.encode_fast(text, true).map_err(|_| failed(text))?;
        self.checked(encoding.get_ids().to_vec(), encoding.get_type_ids(), Task::Embed)
    }

    /// A pair for `head`, cut to what the model reads by dropping tokens from the end of the longer text, as `transformers` does
    /// with `truncation="longest_first"`. For callers that asked for a cut, and for reference results made with one. In the formats
    /// of learned detectors the premise alone is cut.
    ///
    /// # Errors
    /// [`Code::TOKENIZER_CORRUPT`] where the tokenizer fails on a text; [`Code::TEXT_TOO_LONG`] where the premise alone may be
    /// cut and the hypothesis does not fit.
    pub fn encode_pair_cut(&self, premise: &str, hypothesis: &str, head: Head) -> Result<Encoded, Problem> {
        if !self.format.is_plain() {
            let room = self.max_tokens.saturating_sub(self.pair_overhead + self.count_whole(hypothesis));
            let end = if room == 0 { 0 } else { self.prefix_within(premise, room) };
            return self.encode_pair(&premise[..end], hypothesis, head);
        }
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
        self.checked(joined.get_ids().to_vec(), joined.get_type_ids(), Task::Classify(head))
    }

    fn checked(&self, ids: Vec<u32>, types: &[u32], task: Task) -> Result<Encoded, Problem> {
        let limit = self.max_tokens;
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
        let type_ids = types.iter().map(|&id| id.min(self.largest_type) as u8).collect();
        Ok(Encoded { ids, type_ids, task, asked: Vec::new() })
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

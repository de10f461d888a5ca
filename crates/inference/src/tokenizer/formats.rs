//! How a pair becomes tokens, for each [`PairInput`].

use super::failed;
use groundline_types::{Code, PairInput, Problem};
use tokenizers::Tokenizer;

/// Tokens that a fixed form may have beyond those of its parts: words join differently at the seams.
const SEAM_TOKENS: usize = 4;

/// A pair's ids and token types.
type Tokens = (Vec<u32>, Vec<u32>);

/// A [`PairInput`] with what it needs of the tokenizer.
#[derive(Debug, Clone)]
pub(super) struct Format {
    input: PairInput,
    /// Special tokens that the tokenizer puts before a single text.
    leading: usize,
    /// And behind it.
    trailing: usize,
    /// Id of the special token at the very start.
    marker: Option<u32>,
}

impl Format {
    pub(super) fn new(tokenizer: &Tokenizer, input: PairInput) -> Result<Self, Problem> {
        let single = tokenizer.encode_fast("", true).map_err(|_| failed(""))?;
        let marker = match input {
            PairInput::Prompt { marker: Some(name), .. } => {
                Some(tokenizer.token_to_id(name).ok_or_else(|| {
                    Problem::new(
                        Code::TOKENIZER_CORRUPT,
                        format!("tokenizer.json has no token {name}, which the preset's input starts with"),
                    )
                })?)
            }
            _ => None,
        };
        let trailing = single.len().min(1);
        Ok(Self { input, leading: single.len() - trailing, trailing, marker })
    }

    /// Special tokens before and behind a single text.
    pub(super) fn markers(&self) -> (usize, usize) {
        (self.leading, self.trailing)
    }

    /// Whether pairs are the tokenizer's own.
    pub(super) fn is_plain(&self) -> bool {
        self.input == PairInput::Pair
    }

    /// Tokens around a pair, given those of the tokenizer's own pairs.
    pub(super) fn overhead(&self, tokenizer: &Tokenizer, plain: usize) -> usize {
        match self.input {
            PairInput::Pair => plain,
            PairInput::Joined { .. } | PairInput::Prompt { .. } => {
                self.encode(tokenizer, "", "").map_or(plain, |(ids, _)| ids.len()) + SEAM_TOKENS
            }
        }
    }

    pub(super) fn encode(
        &self,
        tokenizer: &Tokenizer,
        premise: &str,
        hypothesis: &str,
    ) -> Result<Tokens, Problem> {
        let single = |text: &str| {
            let encoding = tokenizer.encode_fast(text, true).map_err(|_| failed(text))?;
            Ok::<_, Problem>(encoding.get_ids().to_vec())
        };
        match self.input {
            PairInput::Pair => {
                let pair = tokenizer.encode_fast((premise, hypothesis), true).map_err(|_| failed(premise))?;
                Ok((pair.get_ids().to_vec(), pair.get_type_ids().to_vec()))
            }
            PairInput::Joined { prefix } => {
                let mut ids = single(&format!("{prefix}{premise}"))?;
                ids.extend(single(hypothesis)?.into_iter().skip(self.leading));
                Ok(of_one_type(ids))
            }
            PairInput::Prompt { before, between, .. } => {
                let mut ids: Vec<u32> = self.marker.into_iter().collect();
                ids.extend(single(&format!("{before}{premise}{between}{hypothesis}"))?);
                Ok(of_one_type(ids))
            }
        }
    }
}

fn of_one_type(ids: Vec<u32>) -> Tokens {
    let types = vec![0; ids.len()];
    (ids, types)
}

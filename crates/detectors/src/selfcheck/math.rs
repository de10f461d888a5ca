//! The arithmetic of SelfCheckGPT's n-gram method, as published.
//!
//! Follows `selfcheckgpt/modeling_ngram.py` of <https://github.com/potsawee/selfcheckgpt>. Counts are made over the response under
//! test and all samples, sentence by sentence, each sentence padded on the left with n - 1 marks. For n > 1 the probability of an
//! n-gram is its **joint** relative frequency, not a conditional probability.

use std::collections::HashMap;

/// Longest n-grams that are counted, in tokens.
pub const MAX_ORDER: usize = 3;

/// An n-gram of token numbers, filled up with [`NOTHING`] at its end.
pub type Ngram = [u32; MAX_ORDER];

/// The mark before a sentence.
const START: u32 = 0;
/// Behind the last token of an n-gram that is shorter than [`MAX_ORDER`].
const NOTHING: u32 = u32::MAX;

/// The n-grams of a sentence: as many as it has tokens. `order` is 1 to [`MAX_ORDER`]; others are brought into that range. Tokens
/// are numbers from 1 on.
pub fn ngrams(sentence: &[u32], order: usize) -> impl Iterator<Item = Ngram> {
    let order = order.clamp(1, MAX_ORDER);
    (0..sentence.len()).map(move |end| {
        let mut ngram = [NOTHING; MAX_ORDER];
        for (place, token) in ngram.iter_mut().enumerate().take(order) {
            // The last of the n-gram is the token at `end`.
            *token = (end + place + 1).checked_sub(order).map_or(START, |at| sentence[at]);
        }
        ngram
    })
}

/// Counts of n-grams of one order.
#[derive(Debug, Clone)]
pub struct NgramCounts {
    order: usize,
    counts: HashMap<Ngram, u64>,
    total: u64,
}

impl NgramCounts {
    /// No counts yet, for n-grams of `order` tokens, 1 to [`MAX_ORDER`].
    pub fn new(order: usize) -> Self {
        Self { order: order.clamp(1, MAX_ORDER), counts: HashMap::new(), total: 0 }
    }

    /// Counts the n-grams of a sentence, `times` each.
    pub fn add(&mut self, sentence: &[u32], times: u64) {
        for ngram in ngrams(sentence, self.order) {
            *self.counts.entry(ngram).or_insert(0) += times;
            self.total += times;
        }
    }

    /// How often an n-gram was counted.
    pub fn count(&self, ngram: &Ngram) -> u64 {
        self.counts.get(ngram).copied().unwrap_or(0)
    }

    /// How many n-grams were counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// How many different n-grams there are, one that was never seen included.
    pub fn kinds(&self) -> u64 {
        self.counts.len() as u64 + 1
    }

    /// The surprise of each n-gram of a sentence: see [`surprise`].
    pub fn surprises(&self, sentence: &[u32], smoothing: f64) -> Vec<f64> {
        let of = |ngram: Ngram| surprise(self.count(&ngram), self.total, self.kinds(), smoothing);
        ngrams(sentence, self.order).map(of).collect()
    }
}

/// The negative logarithm of an n-gram's probability `(count + k) / (total + k · kinds)`, in nats, with `k` the smoothing: 0 or
/// more. Infinite where `k` is 0 and the n-gram was never counted.
pub fn surprise(count: u64, total: u64, kinds: u64, smoothing: f64) -> f64 {
    let probability = (count as f64 + smoothing) / (total as f64 + smoothing * kinds as f64);
    // Rounding may put the probability of the only n-gram there is a little above 1.
    (-probability.ln()).max(0.0)
}

/// Mean and maximum of a sentence's surprises; `None` of none.
pub fn mean_and_max(surprises: &[f64]) -> Option<(f64, f64)> {
    let max = surprises.iter().copied().reduce(f64::max)?;
    Some((surprises.iter().sum::<f64>() / surprises.len() as f64, max))
}

/// The numbers of a response: the mean over all tokens, and the mean of the sentences' maxima. `None` without a token.
pub fn document(sentences: &[Vec<f64>]) -> Option<(f64, f64)> {
    let of_sentences: Vec<(f64, f64)> = sentences.iter().filter_map(|one| mean_and_max(one)).collect();
    let tokens = sentences.iter().map(Vec::len).sum::<usize>();
    let sum = sentences.iter().flatten().sum::<f64>();
    let maxima = of_sentences.iter().map(|(_, max)| max).sum::<f64>();
    (tokens > 0).then(|| (sum / tokens as f64, maxima / of_sentences.len() as f64))
}

#[cfg(test)]
mod tests;

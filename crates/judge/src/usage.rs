//! What questions cost.

use crate::PriceOptions;
use serde::Serialize;

/// Tokens of one or more HTTP calls, as the backend counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TokenUsage {
    /// Tokens read, cached ones included.
    pub input_tokens: u64,
    /// Those of them that the backend had in its own prompt cache.
    pub cached_input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
}

impl TokenUsage {
    /// Read and written together.
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// What they cost, in the currency of the prices.
    pub fn cost(&self, price: &PriceOptions) -> f64 {
        let cached = self.cached_input_tokens.min(self.input_tokens);
        let fresh = self.input_tokens - cached;
        let cached_price = price.cached_input_per_million.unwrap_or(price.input_per_million);
        (fresh as f64 * price.input_per_million
            + cached as f64 * cached_price
            + self.output_tokens as f64 * price.output_per_million)
            / 1e6
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cached_input_tokens = self.cached_input_tokens.saturating_add(other.cached_input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
    }
}

/// What one question, or all of them, took. It is told for failed questions too: a backend bills before we parse.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct JudgeUsage {
    /// HTTP calls sent.
    pub calls: u64,
    /// Those of them that repeated an earlier one.
    pub retries: u64,
    /// Tokens of all of them.
    pub tokens: TokenUsage,
    /// Calls whose tokens the backend did not tell, and are guessed: one token for three bytes where an answer came, the upper
    /// bound where none came.
    pub guessed_calls: u64,
    /// What the tokens cost, in the currency of [`PriceOptions`].
    pub cost: f64,
    /// Questions answered from the cache.
    pub cache_hits: u64,
}

impl JudgeUsage {
    pub(crate) fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.retries += other.retries;
        self.tokens.add(&other.tokens);
        self.guessed_calls += other.guessed_calls;
        self.cost += other.cost;
        self.cache_hits += other.cache_hits;
    }

    /// The usage of a question that the cache answered.
    pub(crate) fn cache_hit() -> Self {
        Self { cache_hits: 1, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_price_by_million_and_cached_input_has_its_own() {
        let tokens =
            TokenUsage { input_tokens: 1_000_000, cached_input_tokens: 400_000, output_tokens: 100_000 };
        let mut price =
            PriceOptions { input_per_million: 0.5, cached_input_per_million: None, output_per_million: 2.0 };
        assert!((tokens.cost(&price) - 0.7).abs() < 1e-12);
        price.cached_input_per_million = Some(0.05);
        assert!((tokens.cost(&price) - (0.3 + 0.02 + 0.2)).abs() < 1e-12);
        assert_eq!(tokens.total_tokens(), 1_100_000);
    }

    #[test]
    fn a_backend_that_tells_more_cached_than_read_costs_no_less_than_nothing() {
        let tokens = TokenUsage { input_tokens: 10, cached_input_tokens: 50, output_tokens: 0 };
        let price = PriceOptions { input_per_million: 1.0, ..PriceOptions::default() };
        assert!((tokens.cost(&price) - 1e-5).abs() < 1e-15);
    }
}

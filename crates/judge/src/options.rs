//! What an operator can say about the judge.

mod validate;

#[cfg(test)]
mod tests;

use crate::{Capabilities, Secret};
use groundline_types::{Code, Problem};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Everything about the judge: where it is, what it may cost, how long it may take.
///
/// `serde` fills what is left out with the defaults below; unknown names are refused. [`JudgeOptions::validate`] tells what is
/// wrong in words, and [`crate::Judge::new`] calls it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JudgeOptions {
    /// Address of the API up to and without `/chat/completions`, such as `http://127.0.0.1:8000/v1`. Empty: no judge.
    pub base_url: String,
    /// Name of the model, as the backend knows it.
    pub model: String,
    /// API key, sent as a bearer token; empty: none. Never shown.
    pub api_key: Secret,
    /// A file with the API key, instead of `api_key`; empty: none.
    pub api_key_file: PathBuf,
    /// A PEM file with certificates that are trusted besides those of the system; empty: none.
    pub ca_file: PathBuf,
    /// Whether an API key may go over plain HTTP to another machine.
    pub allow_plain_http: bool,
    /// Whether `HTTPS_PROXY` and its kin are honoured.
    pub use_environment_proxy: bool,
    /// Fields added to every request, such as `{"chat_template_kwargs": {"enable_thinking": false}}` for vLLM.
    pub extra_body: serde_json::Map<String, serde_json::Value>,
    /// What the backend can do, where it is known; absent: the backend is probed before the first question.
    pub capabilities: Option<Capabilities>,
    /// How long connecting may take, in milliseconds.
    pub connect_timeout_ms: u64,
    /// How long one HTTP call may take, answer included, in milliseconds.
    pub call_timeout_ms: u64,
    /// How long a question may take with all its retries where its caller names no deadline, in milliseconds.
    pub deadline_ms: u64,
    /// Longest HTTP answer, in bytes; a longer one is cut off and counts as unreadable.
    pub max_answer_bytes: usize,
    /// Longest texts of one question together, in bytes; longer ones are refused, never cut.
    pub max_input_bytes: usize,
    /// HTTP calls under way at once.
    pub max_concurrent_calls: usize,
    /// HTTP calls that wait for their turn at once; more are refused.
    pub max_waiting_calls: usize,
    /// HTTP calls a minute, failed ones included; 0: no limit.
    pub requests_per_minute: u32,
    /// Tokens a minute, read and written; 0: no limit.
    pub tokens_per_minute: u64,
    /// Times and pauses of retries.
    pub retry: RetryOptions,
    /// When the backend is left alone.
    pub breaker: BreakerOptions,
    /// What may be spent.
    pub budget: BudgetOptions,
    /// What tokens cost.
    pub price: PriceOptions,
    /// Answers that are kept.
    pub cache: CacheOptions,
    /// Verdicts on claims.
    pub verdict: VerdictOptions,
    /// Decomposition into facts.
    pub facts: FactOptions,
    /// SelfCheckGPT's prompt method.
    pub selfcheck: SelfCheckOptions,
    /// Samples for self-consistency.
    pub sampling: SamplingOptions,
}

impl Default for JudgeOptions {
    fn default() -> Self {
        Self {
            base_url: String::new(),
            model: String::new(),
            api_key: Secret::default(),
            api_key_file: PathBuf::new(),
            ca_file: PathBuf::new(),
            allow_plain_http: false,
            use_environment_proxy: false,
            extra_body: serde_json::Map::new(),
            capabilities: None,
            connect_timeout_ms: 5_000,
            call_timeout_ms: 60_000,
            deadline_ms: 120_000,
            max_answer_bytes: 256 * 1024,
            max_input_bytes: 64 * 1024,
            max_concurrent_calls: 16,
            max_waiting_calls: 4_096,
            requests_per_minute: 0,
            tokens_per_minute: 0,
            retry: RetryOptions::default(),
            breaker: BreakerOptions::default(),
            budget: BudgetOptions::default(),
            price: PriceOptions::default(),
            cache: CacheOptions::default(),
            verdict: VerdictOptions::default(),
            facts: FactOptions::default(),
            selfcheck: SelfCheckOptions::default(),
            sampling: SamplingOptions::default(),
        }
    }
}

impl JudgeOptions {
    /// Whether a judge is configured at all.
    pub fn is_on(&self) -> bool {
        !self.base_url.is_empty()
    }

    /// The API key: that of `api_key`, or the content of `api_key_file`.
    ///
    /// # Errors
    ///
    /// `GL5001` where the file cannot be read or is empty. The message names the file, never its content.
    pub fn load_api_key(&self) -> Result<Secret, Problem> {
        if self.api_key_file.as_os_str().is_empty() {
            return Ok(self.api_key.clone());
        }
        let path = self.api_key_file.display();
        let text = std::fs::read_to_string(&self.api_key_file).map_err(|error| {
            Problem::new(Code::JUDGE_OPTIONS, format!("cannot read api_key_file {path}: {}", error.kind()))
        })?;
        let key = Secret::new(text);
        if key.is_empty() {
            return Err(Problem::new(Code::JUDGE_OPTIONS, format!("api_key_file {path} is empty")));
        }
        Ok(key)
    }
}

/// Retries of one HTTP call: full jitter between 0 and `base_ms * 2^n`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetryOptions {
    /// Times one call is sent at most, the first included.
    pub max_attempts: u32,
    /// Upper end of the first pause, in milliseconds; doubles each time.
    pub base_ms: u64,
    /// Longest pause of our own, in milliseconds.
    pub max_ms: u64,
    /// Longest `Retry-After` that is waited for, in milliseconds; a longer one fails at once.
    pub max_retry_after_ms: u64,
    /// Times a question is asked again whose answer cannot be read.
    pub unreadable_reasks: u32,
}

impl Default for RetryOptions {
    fn default() -> Self {
        Self {
            max_attempts: 4,
            base_ms: 250,
            max_ms: 20_000,
            max_retry_after_ms: 60_000,
            unreadable_reasks: 1,
        }
    }
}

/// When a failing backend is left alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BreakerOptions {
    /// Failures in a row (unreachable, time-out, broken off, 5xx) that open the breaker; 0: it never opens.
    pub failures: u32,
    /// How long it stays open before one call tries again, in milliseconds.
    pub open_ms: u64,
}

impl Default for BreakerOptions {
    fn default() -> Self {
        Self { failures: 10, open_ms: 10_000 }
    }
}

/// What may be spent in a window of time. A call is sent only where its upper bound (one token a byte of its texts, and
/// `max_tokens` of output) still fits, so that the limit is kept whatever the tokenizer is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetOptions {
    /// Tokens a window, read and written; 0: no limit.
    pub tokens: u64,
    /// Money a window, in the currency of [`PriceOptions`]; 0: no limit.
    pub cost: f64,
    /// Length of a window, in milliseconds; the first one begins with the process.
    pub window_ms: u64,
}

impl Default for BudgetOptions {
    fn default() -> Self {
        Self { tokens: 0, cost: 0.0, window_ms: 86_400_000 }
    }
}

/// What tokens cost, in any currency, for a million of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PriceOptions {
    /// Tokens read.
    pub input_per_million: f64,
    /// Tokens read from the backend's own prompt cache; absent: as `input_per_million`.
    pub cached_input_per_million: Option<f64>,
    /// Tokens written.
    pub output_per_million: f64,
}

/// Answers that are kept, by prompt version, model, parameters and texts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CacheOptions {
    /// Size of all answers together, in bytes; 0: nothing is kept.
    pub max_bytes: u64,
    /// How long an answer is kept, in milliseconds.
    pub ttl_ms: u64,
}

impl Default for CacheOptions {
    fn default() -> Self {
        Self { max_bytes: 64 * 1024 * 1024, ttl_ms: 86_400_000 }
    }
}

/// Verdicts on claims.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VerdictOptions {
    /// Tokens that the answer may have.
    pub max_output_tokens: u32,
    /// Whether label probabilities are read from log probabilities where the backend has them.
    pub use_logprobs: bool,
    /// Whether a verdict counts as unsupported where the words that it quotes are not in the source.
    pub require_quote: bool,
    /// Votes in the grey zone, the first answer included; 1: never votes.
    pub votes: u32,
    /// Temperature of the votes after the first.
    pub vote_temperature: f64,
    /// Lower end of the grey zone of a support probability.
    pub grey_low: f64,
    /// Upper end of the grey zone of a support probability.
    pub grey_high: f64,
}

impl Default for VerdictOptions {
    fn default() -> Self {
        Self {
            max_output_tokens: 256,
            use_logprobs: true,
            require_quote: true,
            votes: 3,
            vote_temperature: 0.7,
            grey_low: 0.3,
            grey_high: 0.7,
        }
    }
}

/// Decomposition into facts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FactOptions {
    /// Tokens that the answer may have.
    pub max_output_tokens: u32,
    /// Facts that are taken from one text; more make the answer unreadable.
    pub max_facts: usize,
}

impl Default for FactOptions {
    fn default() -> Self {
        Self { max_output_tokens: 1_024, max_facts: 64 }
    }
}

/// How SelfCheckGPT's question is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SelfCheckPrompt {
    /// The paper's words, with the texts between fences.
    Fenced,
    /// The paper's prompt, character for character; for reproducing its figures on texts that are trusted.
    Reference,
}

/// SelfCheckGPT's prompt method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SelfCheckOptions {
    /// How the question is put.
    pub prompt: SelfCheckPrompt,
    /// Tokens that the answer may have; the reference has 5.
    pub max_output_tokens: u32,
}

impl Default for SelfCheckOptions {
    fn default() -> Self {
        Self { prompt: SelfCheckPrompt::Fenced, max_output_tokens: 5 }
    }
}

/// Samples for self-consistency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SamplingOptions {
    /// Tokens that a sample may have.
    pub max_output_tokens: u32,
    /// Samples of one question at most.
    pub max_samples: usize,
    /// Samples that are drawn for a check that has none and asks for them.
    pub samples: usize,
    /// Temperature that they are drawn at; the paper's is 1.
    pub temperature: f64,
    /// Seed of the first of them, with which they are kept and drawn once; 0: none, new samples each time.
    pub seed: u64,
}

impl Default for SamplingOptions {
    fn default() -> Self {
        Self { max_output_tokens: 512, max_samples: 32, samples: 5, temperature: 1.0, seed: 1 }
    }
}

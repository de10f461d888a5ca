//! What options must be.

use super::JudgeOptions;
use groundline_types::{Code, Problem};

/// Fields of a request that are ours to set.
const OWN_FIELDS: [&str; 11] = [
    "model",
    "messages",
    "stream",
    "n",
    "seed",
    "temperature",
    "max_tokens",
    "max_completion_tokens",
    "logprobs",
    "top_logprobs",
    "response_format",
];
/// Highest temperature that any backend takes.
const MAX_TEMPERATURE: f64 = 2.0;
/// Most votes on one claim: more cost much and tell little.
const MAX_VOTES: u32 = 15;
/// Most sends of one call.
const MAX_ATTEMPTS: u32 = 20;

fn invalid(message: impl Into<String>) -> Problem {
    Problem::new(Code::JUDGE_OPTIONS, message)
}

impl JudgeOptions {
    /// Tells the first thing that is wrong.
    ///
    /// # Errors
    ///
    /// `GL5001` with the option's name, what it is and what it may be.
    pub fn validate(&self) -> Result<(), Problem> {
        self.validate_place()?;
        self.validate_limits()?;
        self.validate_numbers()?;
        if let Some(own) = OWN_FIELDS.iter().find(|own| self.extra_body.contains_key(**own)) {
            return Err(invalid(format!("extra_body may not set {own}: the judge sets it itself")));
        }
        Ok(())
    }

    fn validate_place(&self) -> Result<(), Problem> {
        let url = reqwest::Url::parse(&self.base_url)
            .map_err(|error| invalid(format!("base_url is not an address: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(invalid("base_url must begin with http:// or https:// and name a host"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid("base_url must hold no credentials; use api_key or api_key_file"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(invalid("base_url must end with a path, without ? and #"));
        }
        if url.path().trim_end_matches('/').ends_with("/chat/completions") {
            return Err(invalid("base_url must stop before /chat/completions, which is added to it"));
        }
        if self.model.trim().is_empty() {
            return Err(invalid("model is empty; name the model as the backend knows it"));
        }
        let has_file = !self.api_key_file.as_os_str().is_empty();
        if has_file && !self.api_key.is_empty() {
            return Err(invalid("both api_key and api_key_file are set; keep one"));
        }
        let has_key = has_file || !self.api_key.is_empty();
        if has_key && url.scheme() == "http" && !is_loopback(&url) && !self.allow_plain_http {
            return Err(invalid(
                "an API key would go over plain HTTP to another machine; use https, or set allow_plain_http \
                 where the network is trusted",
            ));
        }
        Ok(())
    }

    fn validate_limits(&self) -> Result<(), Problem> {
        let positive = [
            ("connect_timeout_ms", self.connect_timeout_ms),
            ("call_timeout_ms", self.call_timeout_ms),
            ("deadline_ms", self.deadline_ms),
            ("max_answer_bytes", self.max_answer_bytes as u64),
            ("max_input_bytes", self.max_input_bytes as u64),
            ("max_concurrent_calls", self.max_concurrent_calls as u64),
            ("retry.max_attempts", u64::from(self.retry.max_attempts)),
            ("budget.window_ms", self.budget.window_ms),
            ("verdict.max_output_tokens", u64::from(self.verdict.max_output_tokens)),
            ("verdict.votes", u64::from(self.verdict.votes)),
            ("facts.max_output_tokens", u64::from(self.facts.max_output_tokens)),
            ("facts.max_facts", self.facts.max_facts as u64),
            ("selfcheck.max_output_tokens", u64::from(self.selfcheck.max_output_tokens)),
            ("sampling.max_output_tokens", u64::from(self.sampling.max_output_tokens)),
            ("sampling.max_samples", self.sampling.max_samples as u64),
            ("sampling.samples", self.sampling.samples as u64),
        ];
        if let Some((name, _)) = positive.iter().find(|(_, value)| *value == 0) {
            return Err(invalid(format!("{name} is 0; it must be at least 1")));
        }
        if self.max_concurrent_calls > tokio::sync::Semaphore::MAX_PERMITS {
            return Err(invalid("max_concurrent_calls is larger than any machine can keep open"));
        }
        if self.retry.max_attempts > MAX_ATTEMPTS {
            return Err(invalid(format!("retry.max_attempts must be at most {MAX_ATTEMPTS}")));
        }
        if self.retry.base_ms > self.retry.max_ms {
            return Err(invalid("retry.base_ms is larger than retry.max_ms"));
        }
        if self.sampling.samples > self.sampling.max_samples {
            return Err(invalid("sampling.samples is larger than sampling.max_samples"));
        }
        if self.verdict.votes > MAX_VOTES || self.verdict.votes.is_multiple_of(2) {
            return Err(invalid(format!("verdict.votes must be odd and at most {MAX_VOTES}")));
        }
        Ok(())
    }

    fn validate_numbers(&self) -> Result<(), Problem> {
        let price = &self.price;
        let amounts = [
            ("budget.cost", self.budget.cost),
            ("price.input_per_million", price.input_per_million),
            ("price.cached_input_per_million", price.cached_input_per_million.unwrap_or(0.0)),
            ("price.output_per_million", price.output_per_million),
        ];
        if let Some((name, _)) = amounts.iter().find(|(_, value)| !value.is_finite() || *value < 0.0) {
            return Err(invalid(format!("{name} must be 0 or more")));
        }
        if self.budget.cost > 0.0 && price.input_per_million == 0.0 && price.output_per_million == 0.0 {
            return Err(invalid(
                "budget.cost is set, but price says that nothing costs anything; set the prices",
            ));
        }
        if !(0.0..=MAX_TEMPERATURE).contains(&self.sampling.temperature) {
            return Err(invalid(format!("sampling.temperature must be 0 to {MAX_TEMPERATURE}")));
        }
        let verdict = &self.verdict;
        if !(0.0..=MAX_TEMPERATURE).contains(&verdict.vote_temperature) {
            return Err(invalid(format!("verdict.vote_temperature must be 0 to {MAX_TEMPERATURE}")));
        }
        let ordered = verdict.grey_low <= verdict.grey_high;
        if !(0.0..=1.0).contains(&verdict.grey_low) || !(0.0..=1.0).contains(&verdict.grey_high) || !ordered {
            return Err(invalid(
                "verdict.grey_low and verdict.grey_high must be 0 to 1, the lower one first",
            ));
        }
        Ok(())
    }
}

/// Whether an address is this machine.
fn is_loopback(url: &reqwest::Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

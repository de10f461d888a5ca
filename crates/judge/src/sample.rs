//! Samples of a response, for self-consistency.

#[cfg(test)]
mod tests;

use crate::backend::CallFailure;
use crate::cache::{CacheKey, Kept};
use crate::judge::{Asking, refused, unreadable};
use crate::parse::{is_refusal, without_thoughts};
use crate::wire::{ChatRequest, Choice, Finish};
use crate::{Judge, JudgeResult};
use futures_util::future::join_all;
use groundline_types::{Code, Problem};
use serde::Serialize;
use std::sync::Arc;
use tokio::time::Instant;

/// Version of how samples are drawn: the caller's prompt as it is.
const SAMPLE_PROMPT: &str = "sample/1";

/// A request for several answers to one prompt. The prompt is trusted: it is what the response under test answers.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleRequest {
    /// System message, where the response had one.
    pub system: Option<String>,
    /// The prompt.
    pub prompt: String,
    /// Samples wanted, at least 1.
    pub n: usize,
    /// Temperature, in `0.0..=2.0`; the paper samples at 1.
    pub temperature: f64,
    /// Seed of the first sample; sample `i` of separate calls has `seed + i`. With a seed the samples are kept in the cache.
    pub seed: Option<u64>,
}

/// Samples, at least one.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Samples {
    /// The samples, thoughts left out.
    pub texts: Vec<String>,
    /// How many of `texts` end at the limit of tokens.
    pub cut_off: usize,
    /// How many were refused, empty or not delivered, by code: with `texts` as many as were wanted.
    pub missing: Vec<Code>,
}

impl Judge {
    /// Draws samples: in one call where the backend gives several choices, in as many calls as are needed otherwise.
    ///
    /// # Errors
    ///
    /// `GL5001` where `n` or `temperature` is out of range, `GL5013` for an empty prompt, `GL5010` for one that is too long, and where not
    /// one sample comes, the reason of the first that did not.
    pub async fn sample(&self, wanted: &SampleRequest, deadline: Option<Instant>) -> JudgeResult<Samples> {
        let mut asking = self.asking(deadline);
        let until = asking.deadline;
        let kept = match self.check_samples(wanted) {
            Ok(Some(key)) => self.remember(key, until, self.draw(wanted, &mut asking)).await,
            // Without a seed every drawing is another: nothing to keep, nothing to share.
            Ok(None) => Box::pin(self.draw(wanted, &mut asking)).await,
            Err(problem) => Err(problem),
        };
        self.end(kept, asking, |kept| match kept {
            Kept::Samples(samples) => Some(Arc::unwrap_or_clone(samples)),
            _ => None,
        })
    }

    fn check_samples(&self, wanted: &SampleRequest) -> Result<Option<CacheKey>, Problem> {
        let most = self.options().sampling.max_samples;
        if wanted.n == 0 || wanted.n > most {
            let message = format!("{} samples are wanted; it may be 1 to {most}", wanted.n);
            return Err(Problem::new(Code::JUDGE_OPTIONS, message));
        }
        if !(0.0..=2.0).contains(&wanted.temperature) {
            return Err(Problem::new(Code::JUDGE_OPTIONS, "the temperature of samples must be 0 to 2"));
        }
        if wanted.prompt.trim().is_empty() {
            return Err(Problem::new(Code::JUDGE_NOTHING_TO_JUDGE, "the prompt to sample from is empty"));
        }
        let system = wanted.system.as_deref().unwrap_or_default();
        self.check_length([system, &wanted.prompt])?;
        let parameters = format!(
            "{}/{}/{:?}/{}",
            wanted.n,
            wanted.temperature,
            wanted.seed,
            self.options().sampling.max_output_tokens
        );
        let (model, place) = (&self.options().model, &self.options().base_url);
        let key = CacheKey::new([SAMPLE_PROMPT, model, place, &parameters, system, &wanted.prompt]);
        Ok(wanted.seed.map(|_| key))
    }

    async fn draw(&self, wanted: &SampleRequest, asking: &mut Asking) -> Result<Kept, Problem> {
        let can = self.known(asking).await?;
        let mut drawn = Vec::with_capacity(wanted.n);
        if can.n && wanted.n > 1 {
            let request = self.sample_request(wanted, wanted.n, 0);
            match self.backend().call(&request, &can, asking.deadline, &mut asking.usage).await {
                Ok(reply) => drawn.extend(reply.choices.into_iter().take(wanted.n).map(Ok)),
                Err(failure) if failure.is_rejection => {}
                Err(failure) => return Err(failure.problem),
            }
        }
        // One by one what is still wanted: backends take `n` and then give one choice.
        let before = drawn.len();
        let calls = (before..wanted.n).map(|number| {
            let mut one = Asking { deadline: asking.deadline, usage: crate::JudgeUsage::default() };
            async move {
                let request = self.sample_request(wanted, 1, number);
                let choice = self.backend().call(&request, &can, one.deadline, &mut one.usage).await;
                (choice, one.usage)
            }
        });
        for (reply, usage) in join_all(calls).await {
            asking.usage.add(&usage);
            drawn.push(reply.and_then(|reply| {
                let choice = reply.choices.into_iter().next();
                choice.ok_or_else(|| CallFailure::from(unreadable("the judge's answer has no choice")))
            }));
        }
        let samples = sorted(drawn)?;
        Ok(Kept::Samples(Arc::new(samples)))
    }

    fn sample_request(&self, wanted: &SampleRequest, n: usize, number: usize) -> ChatRequest {
        let most = self.options().sampling.max_output_tokens;
        let mut request = ChatRequest::new(wanted.system.clone(), wanted.prompt.clone(), most);
        request.n = u32::try_from(n).unwrap_or(u32::MAX);
        request.temperature = wanted.temperature;
        request.seed = wanted.seed.map(|seed| seed.wrapping_add(number as u64));
        request
    }
}

/// The samples among what was drawn; the first failure where there is none.
fn sorted(drawn: Vec<Result<Choice, CallFailure>>) -> Result<Samples, Problem> {
    let mut samples = Samples::default();
    let mut first = None;
    for drawn in drawn {
        match drawn.map_err(|failure| failure.problem).and_then(usable) {
            Ok((text, is_cut)) => {
                samples.texts.push(text);
                samples.cut_off += usize::from(is_cut);
            }
            Err(problem) => {
                samples.missing.push(problem.code);
                first.get_or_insert(problem);
            }
        }
    }
    match first {
        Some(problem) if samples.texts.is_empty() => Err(problem),
        _ => Ok(samples),
    }
}

fn usable(choice: Choice) -> Result<(String, bool), Problem> {
    let text = without_thoughts(&choice.text).trim().to_owned();
    if choice.is_refusal || choice.finish == Finish::Filtered || is_refusal(&text) {
        return Err(refused());
    }
    if text.is_empty() {
        return Err(unreadable("a sample is empty"));
    }
    Ok((text, choice.finish == Finish::CutOff))
}

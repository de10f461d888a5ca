//! The judge: questions in, answers out, whatever stands between.

#[cfg(test)]
mod tests;

use crate::backend::{Backend, CallFailure};
use crate::cache::{AnswerCache, CacheKey, Kept};
use crate::parse::{Found, find_answer};
use crate::probe::{Probed, probe};
use crate::transport::HttpTransport;
use crate::wire::{ChatRequest, Choice, Finish};
use crate::{
    AnswerFormat, Capabilities, JudgeFailure, JudgeHealth, JudgeOptions, JudgeResult, JudgeUsage, Judged,
    Randomness, Transport,
};
use groundline_types::{Code, Problem};
use serde::de::DeserializeOwned;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

/// What is added to a question that is asked again: at temperature 0 the same words would bring the same answer.
const REASK: &str = "Your last answer could not be read. Answer with the JSON object alone.\n";

/// Empty answers in a row after which a schema is taken for the cause.
const MAX_EMPTY_ANSWERS: u32 = 3;

/// A language model that is asked about texts. Clones share everything: limits, budget, cache; answers that are kept are shared
/// within one scope alone ([`Judge::scoped`]).
///
/// Every question takes an optional deadline (`None`: [`JudgeOptions::deadline_ms`] from now) and ends in one of two ways: an
/// answer, or a [`JudgeFailure`] with a code. A question whose future is dropped stops at once; what its call may have cost is
/// counted.
#[derive(Debug, Clone)]
pub struct Judge {
    shared: Arc<Shared>,
    scope: Arc<str>,
}

#[derive(Debug)]
struct Shared {
    options: Arc<JudgeOptions>,
    backend: Backend,
    cache: AnswerCache,
    capabilities: OnceLock<Capabilities>,
    /// What was found on the way to them. Locked by whoever looks.
    probed: Mutex<Probed>,
    /// Set once the backend turned out to answer badly where it is held to a schema.
    text_only: AtomicBool,
    /// Empty answers in a row.
    empty_answers: AtomicU32,
}

/// A question on its way: until when, and what it took so far.
#[derive(Debug)]
pub(crate) struct Asking {
    pub(crate) deadline: Instant,
    pub(crate) usage: JudgeUsage,
}

impl Judge {
    /// A judge behind HTTP. Connects to nothing yet.
    ///
    /// # Errors
    ///
    /// `GL5001` where options are invalid, or a key or certificate cannot be read.
    pub fn new(options: JudgeOptions) -> Result<Self, Problem> {
        options.validate()?;
        let transport = Arc::new(HttpTransport::new(&options)?);
        Self::with_transport(options, transport, Randomness::from_system()?)
    }

    /// A judge behind any transport, with any randomness.
    ///
    /// # Errors
    ///
    /// `GL5001` where options are invalid.
    pub fn with_transport(
        options: JudgeOptions,
        transport: Arc<dyn Transport>,
        random: Randomness,
    ) -> Result<Self, Problem> {
        options.validate()?;
        let options = Arc::new(options);
        let shared = Shared {
            backend: Backend::new(options.clone(), transport, random),
            cache: AnswerCache::new(&options.cache),
            capabilities: options.capabilities.map(OnceLock::from).unwrap_or_default(),
            probed: Mutex::default(),
            text_only: AtomicBool::new(false),
            empty_answers: AtomicU32::new(0),
            options,
        };
        Ok(Self { shared: Arc::new(shared), scope: Arc::from("") })
    }

    /// The same judge, which takes no answers that were kept for other scopes, such as other tenants: how fast an answer comes, and
    /// what it cost, would tell what these ask about. It begins in a scope without a name.
    pub fn scoped(&self, scope: &str) -> Self {
        Self { shared: Arc::clone(&self.shared), scope: Arc::from(scope) }
    }

    /// Its options; the key in them does not show.
    pub fn options(&self) -> &JudgeOptions {
        &self.shared.options
    }

    /// What its backend can do, once that is known.
    pub fn capabilities(&self) -> Option<Capabilities> {
        self.shared.capabilities.get().copied()
    }

    /// Finds out what its backend can do, where that is not known yet. The first question does it otherwise.
    ///
    /// # Errors
    ///
    /// `GL5xxx` where the backend does not answer the simplest question, or not before the deadline. What was found until then is
    /// kept, so that questions with little time get to the end of it together.
    pub async fn probe(&self, deadline: Option<Instant>) -> JudgeResult<Capabilities> {
        let mut asking = self.asking(deadline);
        match self.known(&mut asking).await {
            Ok(value) => Ok(Judged { value, usage: asking.usage }),
            Err(problem) => Err(JudgeFailure { problem, usage: asking.usage }),
        }
    }

    /// What all questions took since the judge was made, failed ones included.
    pub fn usage(&self) -> JudgeUsage {
        self.shared.backend.totals()
    }

    /// How it is, for health checks and metrics.
    pub fn health(&self) -> JudgeHealth {
        self.shared.backend.health()
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.shared.backend
    }

    pub(crate) fn asking(&self, deadline: Option<Instant>) -> Asking {
        let own = Duration::from_millis(self.shared.options.deadline_ms);
        Asking { deadline: deadline.unwrap_or_else(|| Instant::now() + own), usage: JudgeUsage::default() }
    }

    /// The code of fences around these texts.
    pub(crate) fn nonce(&self, prompt: &str, texts: &[&str]) -> String {
        self.shared.backend.random.nonce(&[&[prompt], texts].concat())
    }

    /// Refuses texts that are longer together than the judge is asked to read. They are never cut.
    pub(crate) fn check_length<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> Result<(), Problem> {
        let bytes = texts.into_iter().map(str::len).sum::<usize>();
        let most = self.shared.options.max_input_bytes;
        if bytes <= most {
            return Ok(());
        }
        let message =
            format!("the texts for the judge have {bytes} bytes together; max_input_bytes is {most}");
        Err(Problem::new(Code::JUDGE_TEXT_TOO_LONG, message))
    }

    /// The capabilities, probing for them where they are not known.
    pub(crate) async fn known(&self, asking: &mut Asking) -> Result<Capabilities, Problem> {
        let mut known = match self.capabilities() {
            Some(known) => known,
            None => Box::pin(self.find_out(asking)).await?,
        };
        if self.shared.text_only.load(Ordering::Relaxed) {
            known.answer_format = AnswerFormat::Text;
        }
        Ok(known)
    }

    /// Probes for the capabilities: one question does, the others wait for it.
    async fn find_out(&self, asking: &mut Asking) -> Result<Capabilities, Problem> {
        let mut probed =
            timeout_at(asking.deadline, self.shared.probed.lock()).await.map_err(|_| too_late())?;
        if let Some(known) = self.capabilities() {
            return Ok(known);
        }
        let found = probe(self.backend(), &mut probed, asking).await?;
        Ok(*self.shared.capabilities.get_or_init(|| found))
    }

    /// Asks, or takes what is kept under `key`, until the deadline, which `ask` keeps to itself: a call that it cuts off is counted
    /// then, and what came before is not lost.
    pub(crate) async fn remember(
        &self,
        key: CacheKey,
        deadline: Instant,
        ask: impl Future<Output = Result<Kept, Problem>> + Send,
    ) -> Result<Kept, Problem> {
        // Boxed: what asks is large, and a hit does not need it.
        self.shared.cache.get_or(key.within(&self.scope), deadline, Box::pin(ask)).await
    }

    /// The end of a question: its answer with what it took.
    pub(crate) fn end<T>(
        &self,
        kept: Result<Kept, Problem>,
        asking: Asking,
        take: impl Fn(Kept) -> Option<T>,
    ) -> JudgeResult<T> {
        let mut usage = asking.usage;
        let kept = kept.map_err(|problem| JudgeFailure { problem, usage })?;
        if usage.calls == 0 {
            usage = JudgeUsage::cache_hit();
            self.shared.backend.count_cache_hit();
        }
        let wrong_kind = || Problem::new(Code::INTERNAL, "the judge's cache holds an answer of another kind");
        let value = take(kept).ok_or_else(|| JudgeFailure { problem: wrong_kind(), usage })?;
        Ok(Judged { value, usage })
    }

    /// Asks for an object with `key`, again where the answer cannot be read, and without a schema where that seems to be why.
    /// Gives the answer, where its object begins in the text, and the choice it was read from.
    pub(crate) async fn ask<T: DeserializeOwned + PartialEq>(
        &self,
        mut request: ChatRequest,
        key: &str,
        asking: &mut Asking,
    ) -> Result<(T, usize, Choice), Problem> {
        let mut asks_left = self.shared.options.retry.unreadable_reasks;
        loop {
            let choice = match self.choose(&request, asking).await {
                Ok(choice) => choice,
                Err(failure) if failure.is_rejection && self.give_up_schema() => continue,
                Err(failure) if failure.problem.code != Code::JUDGE_UNREADABLE || asks_left == 0 => {
                    return Err(failure.problem);
                }
                Err(_) => {
                    asks_left -= 1;
                    continue;
                }
            };
            let is_empty = choice.text.trim().is_empty();
            match find_answer(&choice.text, key) {
                Found::Answer(answer, at) => {
                    self.shared.empty_answers.store(0, Ordering::Relaxed);
                    return Ok((answer, at, choice));
                }
                Found::Refusal => return Err(refused()),
                Found::Nothing if is_empty && self.is_often_empty() && self.give_up_schema() => {}
                Found::Nothing if asks_left > 0 => {
                    asks_left -= 1;
                    if !request.user.ends_with(REASK) {
                        request.user.push_str(REASK);
                    }
                }
                Found::Nothing if choice.finish == Finish::CutOff => {
                    let most = request.max_output_tokens;
                    return Err(unreadable(&format!(
                        "the judge's answer was cut off at {most} tokens; raise max_output_tokens"
                    )));
                }
                Found::Nothing => return Err(unreadable("the judge's answer is not what was asked for")),
            }
        }
    }

    /// Counts an empty answer; true where there were several in a row. Some backends give them where they are held to a schema.
    fn is_often_empty(&self) -> bool {
        self.shared.empty_answers.fetch_add(1, Ordering::Relaxed) + 1 >= MAX_EMPTY_ANSWERS
    }

    /// Turns to answers without a schema, for good; false where that was done already.
    fn give_up_schema(&self) -> bool {
        let schema = self.capabilities().is_some_and(|can| can.answer_format != AnswerFormat::Text);
        if !schema || self.shared.text_only.swap(true, Ordering::Relaxed) {
            return false;
        }
        tracing::warn!(
            "judge does not answer where it is held to a schema; it is asked in words from now on"
        );
        true
    }

    /// Sends a request and gives its first choice, refusals told as such.
    pub(crate) async fn choose(
        &self,
        request: &ChatRequest,
        asking: &mut Asking,
    ) -> Result<Choice, CallFailure> {
        let can = self.known(asking).await.map_err(CallFailure::from)?;
        let reply = self.backend().call(request, &can, asking.deadline, &mut asking.usage).await?;
        let choice = reply.choices.into_iter().next();
        let choice =
            choice.ok_or_else(|| CallFailure::from(unreadable("the judge's answer has no choice")))?;
        if choice.is_refusal || choice.finish == Finish::Filtered {
            return Err(refused().into());
        }
        Ok(choice)
    }
}

/// A failure for what came to its deadline.
pub(crate) fn too_late() -> Problem {
    Problem::new(Code::JUDGE_DEADLINE, "the judge did not answer before the deadline")
}

/// A failure for what a model refused.
pub(crate) fn refused() -> Problem {
    Problem::new(Code::JUDGE_REFUSED, "the judge refused to answer")
}

/// A failure for what cannot be read.
pub(crate) fn unreadable(message: &str) -> Problem {
    Problem::new(Code::JUDGE_UNREADABLE, message)
}

//! A judge for tests and the demo: it answers by counting words, the same each time, and plays every fault a backend can have.
//!
//! [`StubJudge::serve`] puts it behind HTTP on a port of this machine, in a thread with a runtime of its own;
//! [`StubJudge::transport`] puts it behind [`crate::Transport`], where tests with a paused clock can use it.

mod brain;
mod server;
#[cfg(test)]
mod tests;
mod transport;

pub use server::StubServer;

use crate::{Capabilities, Transport};
use brain::{Reply, reply};
use serde_json::Value;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Something that goes wrong with one request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// No answer, ever.
    Hang,
    /// An answer whose JSON breaks off in the middle.
    HalfAnswer,
    /// Status 429; with `Retry-After`, in seconds, where given.
    RateLimited(Option<u32>),
    /// Status 500.
    ServerError,
    /// An answer whose object has other fields than were asked for.
    WrongSchema,
    /// An answer in words, without an object.
    Prose,
    /// An answer without an end.
    Endless,
    /// An answer that refuses, in words.
    Refusal,
    /// An answer that a filter of the backend took away.
    Filtered,
    /// An answer without text.
    Empty,
    /// An answer of which only the head comes before the connection breaks.
    Reset,
}

/// How the stub reads a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Persona {
    /// Compares words: what a claim says must be in the source.
    #[default]
    Honest,
    /// Honest, but does what any text asks that is not inside a fence, or that looks like markup of a chat.
    Gullible,
    /// Does whatever the claim asks, and quotes the claim.
    Obedient,
    /// Repeats the claim instead of judging it.
    Parrot,
}

/// How a stub behaves.
#[derive(Debug, Clone, PartialEq)]
pub struct StubOptions {
    /// What it can do; what it cannot is refused with status 400, but for `n` and log probabilities, which it leaves out silently, as
    /// real servers do.
    pub capabilities: Capabilities,
    /// How it reads.
    pub persona: Persona,
    /// What happens to the first requests, in order; `None`: nothing.
    pub script: Vec<Option<Fault>>,
    /// Faults of all other requests with the share of requests that has them, together at most 1.
    pub faults: Vec<(Fault, f64)>,
    /// Which requests have faults.
    pub seed: u64,
    /// How long an answer takes.
    pub latency: Duration,
    /// Whether answers tell their tokens.
    pub tells_usage: bool,
    /// The API key that it insists on.
    pub api_key: Option<String>,
    /// Requests that are kept for [`StubJudge::requests`], the last ones.
    pub kept_requests: usize,
}

impl Default for StubOptions {
    fn default() -> Self {
        let capabilities = Capabilities {
            answer_format: crate::AnswerFormat::SchemaNested,
            logprobs: true,
            seed: true,
            n: true,
            ..Capabilities::default()
        };
        Self {
            capabilities,
            persona: Persona::Honest,
            script: Vec::new(),
            faults: Vec::new(),
            seed: 0,
            latency: Duration::ZERO,
            tells_usage: true,
            api_key: None,
            kept_requests: 64,
        }
    }
}

/// What a stub has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StubSeen {
    /// Requests that arrived.
    pub requests: u64,
    /// Those with a fault.
    pub faults: u64,
    /// Tokens that it would bill: what was read, and what was written; all that was allowed, where an answer was never finished.
    pub billed_tokens: u64,
    /// Most requests at once.
    pub most_at_once: u64,
}

/// A judge that answers by counting words. Clones are the same stub.
#[derive(Clone)]
pub struct StubJudge {
    state: Arc<State>,
}

impl fmt::Debug for StubJudge {
    /// What it has seen, but for the texts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StubJudge").field("seen", &self.seen()).finish_non_exhaustive()
    }
}

struct State {
    options: StubOptions,
    seen: Mutex<(StubSeen, VecDeque<Value>)>,
    under_way: AtomicU64,
}

impl StubJudge {
    /// A stub that behaves so.
    pub fn new(options: StubOptions) -> Self {
        let state = State { options, seen: Mutex::default(), under_way: AtomicU64::new(0) };
        Self { state: Arc::new(state) }
    }

    /// A way to it inside the process.
    pub fn transport(&self) -> Arc<dyn Transport> {
        Arc::new(transport::InsideTransport { stub: self.clone() })
    }

    /// Serves it over HTTP on a free port of this machine, until the server is dropped.
    ///
    /// # Errors
    ///
    /// Where no port or thread is to be had.
    pub fn serve(&self) -> std::io::Result<StubServer> {
        StubServer::start(self.clone(), 0)
    }

    /// Serves it on this port.
    ///
    /// # Errors
    ///
    /// Where the port is taken.
    pub fn serve_on(&self, port: u16) -> std::io::Result<StubServer> {
        StubServer::start(self.clone(), port)
    }

    /// What it has seen so far.
    pub fn seen(&self) -> StubSeen {
        self.lock().0
    }

    /// The last requests, oldest first.
    pub fn requests(&self) -> Vec<Value> {
        self.lock().1.iter().cloned().collect()
    }

    /// Takes a request and says what becomes of it.
    fn take(&self, request: &Value) -> Reply {
        let options = &self.state.options;
        let (number, fault) = {
            let mut seen = self.lock();
            let number = seen.0.requests;
            seen.0.requests += 1;
            let fault = options.fault(number);
            seen.0.faults += u64::from(fault.is_some());
            if seen.1.len() >= options.kept_requests {
                seen.1.pop_front();
            }
            if options.kept_requests > 0 {
                seen.1.push_back(request.clone());
            }
            (number, fault)
        };
        let reply = reply(request, options, fault, number);
        self.lock().0.billed_tokens += reply.billed_tokens;
        reply
    }

    /// Counts a request until the guard is dropped.
    fn begin(&self) -> UnderWay {
        let now = self.state.under_way.fetch_add(1, Ordering::Relaxed) + 1;
        let mut seen = self.lock();
        seen.0.most_at_once = seen.0.most_at_once.max(now);
        drop(seen);
        UnderWay { stub: self.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, (StubSeen, VecDeque<Value>)> {
        self.state.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StubOptions {
    /// The fault of a request by its number.
    fn fault(&self, number: u64) -> Option<Fault> {
        if let Some(scripted) = self.script.get(number as usize) {
            return *scripted;
        }
        let hash = blake3::hash([self.seed.to_le_bytes(), number.to_le_bytes()].as_flattened());
        let bytes = hash.as_bytes();
        let drawn = f64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])) / 4_294_967_296.0;
        let mut below = 0.0;
        self.faults.iter().find_map(|(fault, share)| {
            below += share;
            (drawn < below).then_some(*fault)
        })
    }
}

/// A request under way.
struct UnderWay {
    stub: StubJudge,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.stub.state.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether anything but our own words stands outside of a message's fences, or anything inside them could act as markup.
#[cfg(test)]
pub(crate) fn text_escapes(user: &str) -> bool {
    brain::has_escaped(user)
}

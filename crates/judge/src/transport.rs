//! How a request reaches a backend: over HTTP, or, in tests, inside the process.

mod http;

pub(crate) use http::HttpTransport;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use std::fmt;
use std::time::Duration;

/// The body of one `POST …/chat/completions`.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// JSON.
    pub body: Bytes,
    /// How long the call may take, its answer included.
    pub timeout: Duration,
    /// Longest answer that is read, in bytes.
    pub max_answer_bytes: usize,
}

/// An answer with any status, its body whole.
#[derive(Debug, Clone, Default)]
pub struct Incoming {
    /// HTTP status.
    pub status: u16,
    /// The header `Retry-After`.
    pub retry_after: Option<String>,
    /// Whether a header `x-ratelimit-remaining-*` says 0, and then what the matching `x-ratelimit-reset-*` says.
    pub rate_reset: Option<String>,
    /// The body.
    pub body: Bytes,
}

/// Why no answer came. None of these holds text of a request or an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransportError {
    /// No connection: nothing was sent.
    Unreachable,
    /// The time was over.
    TimedOut,
    /// The connection broke.
    BrokenOff,
    /// The answer was longer than allowed; what followed was not read.
    TooLong,
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreachable => "cannot be reached",
            Self::TimedOut => "did not answer in time",
            Self::BrokenOff => "broke off its answer",
            Self::TooLong => "sent an answer longer than max_answer_bytes",
        })
    }
}

/// Sends chat requests. The judge brings the deadline, retries and limits; this only sends.
pub trait Transport: fmt::Debug + Send + Sync {
    /// Sends one request and reads the whole answer.
    fn send(&self, request: Outgoing) -> BoxFuture<'_, Result<Incoming, TransportError>>;
}

//! Requests to the broker, with errors that say what to do next.

use async_nats::client::Request;
use async_nats::{HeaderMap, RequestErrorKind};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;
use tokio::time::timeout;

/// JetStream's own numbers of what it refuses.
pub(super) mod refusal {
    /// No leader yet, or no peers for every copy: a cluster that has just started.
    pub(crate) const NOT_READY: [u64; 3] = [10_005, 10_008, 10_009];
    pub(crate) const STREAM_NOT_FOUND: u64 = 10_059;
    pub(crate) const CONSUMER_NOT_FOUND: u64 = 10_014;
    pub(crate) const MESSAGE_NOT_FOUND: u64 = 10_037;
    pub(crate) const NOT_STORED: u64 = 10_077;
    pub(crate) const MESSAGE_TOO_LARGE: u64 = 10_054;
    pub(crate) const NO_STORAGE_LEFT: u64 = 10_047;
    pub(crate) const NO_MEMORY_LEFT: u64 = 10_028;
    pub(crate) const NO_RESOURCES_LEFT: u64 = 10_023;
    /// What a stream reserves is more than there is.
    pub(crate) const NO_ROOM: [u64; 3] = [NO_STORAGE_LEFT, NO_MEMORY_LEFT, NO_RESOURCES_LEFT];
}

/// A request that got no answer that helps.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ApiError {
    /// It may have been done or not.
    #[error("the broker did not answer in time")]
    NoAnswer,
    /// Nobody listens: there is no such stream, or no JetStream.
    #[error("nobody at the broker takes the request")]
    NobodyThere,
    #[error("the connection to the broker failed: {0}")]
    Broken(String),
    #[error("the broker refused: {description} ({number})")]
    Refused { number: u64, description: String },
}

impl ApiError {
    pub(super) fn is(&self, number: u64) -> bool {
        matches!(self, ApiError::Refused { number: found, .. } if *found == number)
    }

    /// Whether the same may be answered otherwise before long.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            ApiError::Refused { number, .. } => refusal::NOT_READY.contains(number),
            ApiError::NoAnswer | ApiError::NobodyThere | ApiError::Broken(_) => true,
        }
    }
}

/// Where a message was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoreAck {
    pub(super) sequence: u64,
    pub(super) is_duplicate: bool,
}

#[derive(Deserialize)]
struct ErrorBody {
    #[serde(default)]
    err_code: u64,
    #[serde(default)]
    description: String,
}

#[derive(Deserialize)]
struct StoreAnswer {
    error: Option<ErrorBody>,
    #[serde(default)]
    seq: u64,
    #[serde(default)]
    duplicate: bool,
}

/// The broker as we ask it. Clones are the same connection.
#[derive(Debug, Clone)]
pub(super) struct Api {
    pub(super) client: async_nats::Client,
    pub(super) timeout: Duration,
}

impl Api {
    /// Asks JetStream, such as `STREAM.INFO.NAME`.
    pub(super) async fn ask(&self, what: &str, body: Option<&Value>) -> Result<Value, ApiError> {
        let payload = body.map(Value::to_string).unwrap_or_default();
        let answer = self.request(format!("$JS.API.{what}"), None, payload.into()).await?;
        let answer: Value = serde_json::from_slice(&answer).map_err(|_| malformed())?;
        match answer.get("error") {
            Some(error) => Err(Refusal(error).into()),
            None => Ok(answer),
        }
    }

    /// Stores a message in the stream that takes its subject; returns once it is safe.
    pub(super) async fn store(
        &self,
        subject: String,
        headers: HeaderMap,
        payload: Bytes,
    ) -> Result<StoreAck, ApiError> {
        let answer = self.request(subject, Some(headers), payload).await?;
        let answer: StoreAnswer = serde_json::from_slice(&answer).map_err(|_| malformed())?;
        match answer.error {
            Some(error) => Err(ApiError::Refused { number: error.err_code, description: error.description }),
            None => Ok(StoreAck { sequence: answer.seq, is_duplicate: answer.duplicate }),
        }
    }

    async fn request(
        &self,
        subject: String,
        headers: Option<HeaderMap>,
        payload: Bytes,
    ) -> Result<Bytes, ApiError> {
        let mut request = Request::new().payload(payload).timeout(Some(self.timeout));
        if let Some(headers) = headers {
            request = request.headers(headers);
        }
        // The client bounds the wait for the answer; while it is disconnected, the wait for room to send has no bound.
        let answer = timeout(self.timeout, self.client.send_request(subject, request));
        match answer.await {
            Ok(Ok(message)) => Ok(message.payload),
            Err(_) => Err(ApiError::NoAnswer),
            Ok(Err(error)) => Err(match error.kind() {
                RequestErrorKind::TimedOut => ApiError::NoAnswer,
                RequestErrorKind::NoResponders => ApiError::NobodyThere,
                _ => ApiError::Broken(error.to_string()),
            }),
        }
    }

    /// Deletes a message; `false` where there is none.
    pub(super) async fn delete_message(&self, stream: &str, sequence: u64) -> Result<bool, ApiError> {
        let body = serde_json::json!({ "seq": sequence, "no_erase": true });
        match self.ask(&format!("STREAM.MSG.DELETE.{stream}"), Some(&body)).await {
            Ok(_) => Ok(true),
            Err(error) if is_gone(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Deleting what is not there has had several numbers.
fn is_gone(error: &ApiError) -> bool {
    match error {
        ApiError::Refused { number, description } => {
            *number == refusal::MESSAGE_NOT_FOUND
                || description.contains("not found")
                || description.contains("deleted")
        }
        _ => false,
    }
}

fn malformed() -> ApiError {
    ApiError::Broken("its answer is malformed".into())
}

struct Refusal<'a>(&'a Value);

impl From<Refusal<'_>> for ApiError {
    fn from(Refusal(error): Refusal<'_>) -> Self {
        let number = error.get("err_code").and_then(Value::as_u64).unwrap_or_default();
        let description = error.get("description").and_then(Value::as_str).unwrap_or("no reason").to_owned();
        ApiError::Refused { number, description }
    }
}

//! Headers of a job's message: what must be read before its body is.

use super::subjects::RESULTS_PREFIX;
use crate::Job;
use crate::wire::SCHEMA;
use async_nats::HeaderMap;
use std::sync::Arc;
use std::time::Duration;

const MESSAGE_ID: &str = "Nats-Msg-Id";
const EXPECTED_STREAM: &str = "Nats-Expected-Stream";
const REPLY_TO: &str = "Gl-Reply-To";
const DEADLINE_MS: &str = "Gl-Deadline-Ms";
const SCHEMA_HEADER: &str = "Gl-Schema";
const TRACE: &str = "traceparent";
/// Deliveries of earlier messages of the same job, which count against it.
const DELIVERED: &str = "Gl-Delivered";
/// Milliseconds that earlier messages of the same job have waited.
const WAITED_MS: &str = "Gl-Waited-Ms";
/// Longest traceparent that is carried; the W3C's has 55 bytes.
const MAX_TRACE_BYTES: usize = 128;

/// What earlier messages of a job have used up. A job that is handed back becomes a new message, since a broker cannot
/// uncount a delivery.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Carried {
    pub(super) delivered: u32,
    pub(super) waited: Duration,
}

/// What the headers of a job say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JobHeaders {
    pub(super) trace: Option<Arc<str>>,
    pub(super) carried: Carried,
}

/// Why a job is refused before its body is read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum HeaderError {
    /// Somebody else may speak it.
    #[error("the message has schema {found}, which this program does not speak")]
    Schema { found: String },
    #[error("the message asks to be answered where no coordinator listens")]
    ReplyTo,
    #[error("header {name} is missing or malformed")]
    Malformed { name: &'static str },
}

/// `id` names the message for good, for the broker's window for duplicates.
pub(super) fn for_job(job: &Job, stream: &str, id: &str, carried: Carried) -> HeaderMap {
    let mut headers = plain(stream, id);
    headers.insert(REPLY_TO, super::subjects::results(job.id.reply_to));
    headers.insert(DEADLINE_MS, job.time_left.as_millis().to_string());
    if let Some(trace) = job.trace.as_deref().filter(|trace| is_trace(trace)) {
        headers.insert(TRACE, trace);
    }
    if carried != Carried::default() {
        headers.insert(DELIVERED, carried.delivered.to_string());
        headers.insert(WAITED_MS, carried.waited.as_millis().to_string());
    }
    headers
}

/// The headers of a message that takes the place of one with these, which was message `sequence` of its stream.
pub(super) fn in_place_of(mut headers: HeaderMap, sequence: u64, carried: Carried) -> HeaderMap {
    let id = format!("{}:from-{sequence}", message_id(&headers).unwrap_or_default());
    headers.insert(MESSAGE_ID, id);
    headers.insert(DELIVERED, carried.delivered.to_string());
    headers.insert(WAITED_MS, carried.waited.as_millis().to_string());
    headers
}

/// Headers of any message of ours to a stream.
pub(super) fn plain(stream: &str, id: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(MESSAGE_ID, id);
    headers.insert(EXPECTED_STREAM, stream);
    headers.insert(SCHEMA_HEADER, SCHEMA);
    headers
}

/// What names a message of ours for good.
pub(super) fn message_id(headers: &HeaderMap) -> Option<&str> {
    text(Some(headers), MESSAGE_ID)
}

/// Headers of any message of ours that goes to no stream.
pub(super) fn schema_only() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(SCHEMA_HEADER, SCHEMA);
    headers
}

/// Reads the headers of a job's message.
pub(super) fn read_job(headers: Option<&HeaderMap>) -> Result<JobHeaders, HeaderError> {
    check_schema(headers)?;
    let reply_to = text(headers, REPLY_TO).ok_or(HeaderError::Malformed { name: REPLY_TO })?;
    if !reply_to.starts_with(RESULTS_PREFIX) {
        return Err(HeaderError::ReplyTo);
    }
    let delivered = number(headers, DELIVERED)?.unwrap_or_default();
    let waited = Duration::from_millis(number(headers, WAITED_MS)?.unwrap_or_default());
    let delivered = u32::try_from(delivered).map_err(|_| HeaderError::Malformed { name: DELIVERED })?;
    Ok(JobHeaders { trace: trace_of(headers), carried: Carried { delivered, waited } })
}

/// The trace of a message; what is no traceparent is not carried on.
pub(super) fn trace_of(headers: Option<&HeaderMap>) -> Option<Arc<str>> {
    text(headers, TRACE).filter(|trace| is_trace(trace)).map(Arc::from)
}

/// A message without a schema, or of another major, is not ours to read.
pub(super) fn check_schema(headers: Option<&HeaderMap>) -> Result<(), HeaderError> {
    let found = text(headers, SCHEMA_HEADER).unwrap_or("none");
    if major(found) == major(SCHEMA) {
        return Ok(());
    }
    // From somebody else, so it is not repeated at any length.
    Err(HeaderError::Schema { found: found.chars().filter(|c| c.is_ascii_graphic()).take(16).collect() })
}

fn major(schema: &str) -> &str {
    schema.split_once('.').map_or(schema, |(major, _)| major)
}

fn is_trace(trace: &str) -> bool {
    (1..=MAX_TRACE_BYTES).contains(&trace.len())
        && trace.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

fn text<'a>(headers: Option<&'a HeaderMap>, name: &str) -> Option<&'a str> {
    headers?.get(name).map(|value| value.as_str())
}

fn number(headers: Option<&HeaderMap>, name: &'static str) -> Result<Option<u64>, HeaderError> {
    text(headers, name).map(|digits| digits.parse().map_err(|_| HeaderError::Malformed { name })).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::job;

    #[test]
    fn headers_of_a_job_are_read_back() {
        let carried = Carried { delivered: 2, waited: Duration::from_millis(1500) };
        let headers = for_job(&job(1), "STREAM", "id", carried);
        assert_eq!(headers.get("Nats-Msg-Id").unwrap().as_str(), "id");
        assert_eq!(headers.get("Nats-Expected-Stream").unwrap().as_str(), "STREAM");
        assert_eq!(headers.get("Gl-Deadline-Ms").unwrap().as_str(), "30000");
        assert_eq!(read_job(Some(&headers)), Ok(JobHeaders { trace: job(1).trace, carried }));
    }

    #[test]
    fn a_minor_version_is_read_and_a_major_one_is_left_to_others() {
        let mut headers = for_job(&job(1), "STREAM", "id", Carried::default());
        headers.insert("Gl-Schema", "1.7");
        assert!(read_job(Some(&headers)).is_ok());
        headers.insert("Gl-Schema", "2.0");
        assert_eq!(read_job(Some(&headers)), Err(HeaderError::Schema { found: "2.0".into() }));
        assert_eq!(read_job(None), Err(HeaderError::Schema { found: "none".into() }));
    }

    #[test]
    fn an_answer_is_never_sent_to_an_arbitrary_subject() {
        let mut headers = for_job(&job(1), "STREAM", "id", Carried::default());
        headers.insert("Gl-Reply-To", "$JS.API.STREAM.DELETE.GL_JOBS_V1");
        assert_eq!(read_job(Some(&headers)), Err(HeaderError::ReplyTo));
        let mut bare = HeaderMap::new();
        bare.insert("Gl-Schema", "1.0");
        assert_eq!(read_job(Some(&bare)), Err(HeaderError::Malformed { name: "Gl-Reply-To" }));
    }

    #[test]
    fn what_is_no_traceparent_is_not_carried() {
        let odd = crate::Job { trace: Some("x\r\nEvil: 1".into()), ..job(1) };
        let headers = for_job(&odd, "STREAM", "id", Carried::default());
        assert_eq!(trace_of(Some(&headers)), None);
        let mut headers = for_job(&job(1), "STREAM", "id", Carried::default());
        headers.insert("Gl-Delivered", "many");
        assert_eq!(read_job(Some(&headers)), Err(HeaderError::Malformed { name: "Gl-Delivered" }));
    }
}

//! The streams and consumers as they should be, as the broker's own JSON, and how they differ from what is there.
//!
//! Old brokers ignore what they do not know and say that all is well, so everything is read back and compared.

use super::subjects as names;
use crate::{LaneId, MAX_JOB_BYTES, NatsOptions, NatsStorage};
use groundline_types::Lane;
use serde_json::{Map, Value, json};

/// What the broker adds to a body: headers, names, history.
const MESSAGE_OVERHEAD_BYTES: usize = 8 << 10;
/// Bodies of checks up to this size travel in their message, larger ones through the object store.
pub(super) const MAX_INLINE_BYTES: usize = 256 << 10;
/// Smallest message that the broker must carry.
pub(super) const MIN_PAYLOAD_BYTES: usize = MAX_JOB_BYTES + MESSAGE_OVERHEAD_BYTES;
/// Most pulls of one queue that wait at once, of all its workers together.
const MAX_WAITING_PULLS: u32 = 1024;
const NANOS_PER_MS: u64 = 1_000_000;
/// What no broker lets change.
const FIXED: [&str; 5] = ["name", "retention", "storage", "durable_name", "ack_policy"];

/// A version of the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(pub(super) u32, pub(super) u32, pub(super) u32);

/// The oldest broker that is supported and tested.
pub(super) const OLDEST: Version = Version(2, 9, 10);

impl Version {
    /// Reads `2.10.25`, `2.12.0-RC.1`, `v2.9.10`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim_start_matches('v').split(['.', '-', '+']).map(|part| part.parse().ok());
        Some(Self(parts.next()??, parts.next()??, parts.next()??))
    }

    /// Whether streams may carry metadata, by which people see whose they are.
    fn has_metadata(self) -> bool {
        self >= Version(2, 10, 0)
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// A stream or a consumer as it should be.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wanted {
    /// The stream.
    pub(super) stream: String,
    /// The consumer on it, unless the stream itself is meant.
    pub(super) consumer: Option<String>,
    /// The broker's configuration of it. What is not named here may be anything.
    pub(super) config: Value,
}

impl Wanted {
    /// What it is, for people; each has another name.
    pub(super) fn name(&self) -> String {
        match &self.consumer {
            None => format!("stream {}", self.stream),
            Some(consumer) => format!("consumer {consumer} of stream {}", self.stream),
        }
    }
}

/// Every stream that there must be.
pub(super) fn streams(options: &NatsOptions, version: Version) -> Vec<Wanted> {
    let all = [jobs(options), dead(options), checks(options), answers(options), bodies(options)];
    let streams = all.into_iter().map(|config| {
        let mut config = config;
        config["num_replicas"] = json!(options.replicas);
        if version.has_metadata() {
            config["metadata"] = json!({ "groundline-schema": crate::wire::SCHEMA });
        }
        Wanted { stream: config["name"].as_str().unwrap_or_default().to_owned(), consumer: None, config }
    });
    streams.collect()
}

fn storage(options: &NatsOptions) -> &'static str {
    match options.storage {
        NatsStorage::File => "file",
        NatsStorage::Memory => "memory",
    }
}

fn nanos(ms: u64) -> u64 {
    ms.saturating_mul(NANOS_PER_MS).min(i64::MAX as u64)
}

/// Without `first_seq`, which would keep the numbers of a stream that is made anew apart from those before: a broker of 2.10.25
/// that restarts with it has lost every message (measured).
fn jobs(options: &NatsOptions) -> Value {
    json!({
        "name": names::JOBS_STREAM,
        "subjects": [names::ALL_JOBS],
        "retention": "workqueue",
        "storage": storage(options),
        // A full queue refuses; dropping the oldest job would lose it in silence.
        "discard": "new",
        "discard_new_per_subject": true,
        "max_msgs_per_subject": options.max_jobs_per_tenant,
        "max_msgs": options.max_jobs,
        "max_bytes": options.max_job_bytes_total,
        "max_msg_size": MIN_PAYLOAD_BYTES,
        "max_age": nanos(options.max_job_age_ms),
        "duplicate_window": nanos(options.duplicate_window_ms),
    })
}

/// Limits, not a work queue: a work queue cannot be browsed.
fn dead(options: &NatsOptions) -> Value {
    let subjects = [
        names::ALL_DEAD.to_owned(),
        names::max_deliveries(names::JOBS_STREAM),
        names::max_deliveries(names::CHECKS_STREAM),
    ];
    json!({
        "name": names::DEAD_STREAM,
        "subjects": subjects,
        "retention": "limits",
        "storage": storage(options),
        "discard": "old",
        "max_bytes": options.max_dead_bytes_total,
        "max_age": nanos(options.max_dead_age_ms),
        // A burial is repeated until it is confirmed.
        "duplicate_window": nanos(options.duplicate_window_ms.min(options.max_dead_age_ms)),
    })
}

/// On disk whatever `storage` says: this queue exists to survive.
fn checks(options: &NatsOptions) -> Value {
    json!({
        "name": names::CHECKS_STREAM,
        "subjects": [names::ALL_CHECKS],
        "retention": "workqueue",
        "storage": "file",
        "discard": "new",
        "discard_new_per_subject": true,
        "max_msgs_per_subject": options.max_checks_per_tenant,
        "max_bytes": options.max_check_bytes_total,
        "max_msg_size": MAX_INLINE_BYTES + MESSAGE_OVERHEAD_BYTES,
        "max_age": nanos(options.max_check_age_ms),
        "duplicate_window": nanos(options.duplicate_window_ms.min(options.max_check_age_ms)),
    })
}

/// A key-value bucket is a stream of this shape.
fn answers(options: &NatsOptions) -> Value {
    json!({
        "name": format!("KV_{}", names::ANSWERS_BUCKET),
        "subjects": [format!("$KV.{}.>", names::ANSWERS_BUCKET)],
        "retention": "limits",
        "storage": "file",
        "discard": "new",
        "max_msgs_per_subject": 1,
        "max_bytes": options.max_answer_bytes_total,
        "max_age": nanos(options.answer_ttl_ms),
        "allow_rollup_hdrs": true,
        "deny_delete": true,
        "allow_direct": true,
    })
}

/// An object store is a stream of this shape. Bodies live as long as the longer of a check and its answer.
fn bodies(options: &NatsOptions) -> Value {
    let bucket = names::BODIES_BUCKET;
    json!({
        "name": format!("OBJ_{bucket}"),
        "subjects": [format!("$O.{bucket}.C.>"), format!("$O.{bucket}.M.>")],
        "retention": "limits",
        "storage": "file",
        "discard": "new",
        "max_bytes": options.max_body_bytes_total,
        "max_age": nanos(options.max_check_age_ms.max(options.answer_ttl_ms)),
        "allow_rollup_hdrs": true,
        "allow_direct": true,
    })
}

/// The consumer of one queue of jobs.
pub(super) fn jobs_consumer(options: &NatsOptions, lane: &LaneId) -> Wanted {
    let ack_wait_ms = options.ack_wait(lane.lane).as_millis() as u64;
    consumer(options, names::JOBS_STREAM, &names::jobs_consumer(lane), &names::jobs_of(lane), ack_wait_ms)
}

/// The consumer of one lane of checks.
pub(super) fn checks_consumer(options: &NatsOptions, lane: Lane) -> Wanted {
    let (name, filter) = (names::checks_consumer(lane), names::checks_of(lane));
    consumer(options, names::CHECKS_STREAM, name, &filter, options.ack_wait_check_ms)
}

/// Who reads that a message of `stream` was delivered as often as is allowed. Tries for ever: it must not need a janitor itself.
pub(super) fn janitor_consumer(options: &NatsOptions, stream: &str) -> Wanted {
    let (name, filter) = (format!("{}-{stream}", names::JANITOR_CONSUMER), names::max_deliveries(stream));
    let mut wanted = consumer(options, names::DEAD_STREAM, &name, &filter, 4 * options.request_timeout_ms);
    wanted.config["max_deliver"] = json!(-1);
    wanted
}

fn consumer(options: &NatsOptions, stream: &str, name: &str, filter: &str, ack_wait_ms: u64) -> Wanted {
    let config = json!({
        "durable_name": name,
        "deliver_policy": "all",
        "ack_policy": "explicit",
        "replay_policy": "instant",
        "filter_subject": filter,
        "ack_wait": nanos(ack_wait_ms),
        "max_deliver": options.max_deliver,
        "max_ack_pending": options.max_undecided,
        "max_waiting": MAX_WAITING_PULLS,
    });
    Wanted { stream: stream.to_owned(), consumer: Some(name.to_owned()), config }
}

/// One field that is not as it should be.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Difference {
    pub(super) field: String,
    pub(super) wanted: Value,
    pub(super) found: Value,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is {} and should be {}", self.field, self.found, self.wanted)
    }
}

/// The fields of `wanted` that are otherwise in `found`. A field that the broker leaves out has its zero.
pub(super) fn differences(wanted: &Value, found: &Value) -> Vec<Difference> {
    let Some(fields) = wanted.as_object() else { return Vec::new() };
    let mut differences = Vec::new();
    for (field, wanted) in fields {
        let found = found.get(field).unwrap_or(&Value::Null);
        if !is_as_wanted(wanted, found) {
            let (wanted, found) = (wanted.clone(), found.clone());
            differences.push(Difference { field: field.clone(), wanted, found });
        }
    }
    differences
}

fn is_as_wanted(wanted: &Value, found: &Value) -> bool {
    match (wanted, found) {
        (Value::Bool(false), Value::Null) => true,
        (Value::Number(number), Value::Null) => number.as_i64() == Some(0),
        // The broker adds entries of its own.
        (Value::Object(wanted), Value::Object(found)) => {
            wanted.iter().all(|(key, value)| found.get(key) == Some(value))
        }
        _ => wanted == found,
    }
}

/// What may not be changed on a stream or a consumer that exists.
pub(super) fn fixed(differences: &[Difference]) -> Vec<&Difference> {
    differences.iter().filter(|difference| FIXED.contains(&difference.field.as_str())).collect()
}

/// What is there, with everything that we ask for.
pub(super) fn merged(found: &Value, wanted: &Value) -> Value {
    let mut merged = found.as_object().cloned().unwrap_or_else(Map::new);
    for (field, value) in wanted.as_object().into_iter().flatten() {
        merged.insert(field.clone(), value.clone());
    }
    Value::Object(merged)
}

#[cfg(test)]
mod tests;

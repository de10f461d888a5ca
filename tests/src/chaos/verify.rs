//! What must hold of the processes when nobody asks any more.

use super::cluster::Cluster;
use super::load::{Kind, Record};
use super::schedule::{Fault, Node, Schedule};
use crate::cluster::{POISON, VICTIM};
use crate::{groundline, run_command};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Streams that must be empty.
const QUEUES: [&str; 2] = ["GL_JOBS_V1", "GL_CHECKS_V1"];
/// Errors that a run may log. A proxy takes a connection before it finds that there is no broker behind it; a broker that is gone
/// takes none.
const ALLOWED_ERRORS: [&str; 1] = ["async_nats::connector: expected INFO, got nothing"];
const PAUSE: Duration = Duration::from_millis(200);

/// The queues are empty, nothing is undecided, gateways are ready, and the dead are the planned poison.
pub(super) fn at_rest(
    cluster: &Cluster,
    schedule: &Schedule,
    records: &[Record],
    patience: Duration,
) -> anyhow::Result<Vec<String>> {
    let give_up = Instant::now() + patience;
    let mut violations = loop {
        let mut left = left_over(&cluster.streams()?);
        if !cluster.is_ready() {
            left.push("a gateway is not ready".to_owned());
        }
        if left.is_empty() || Instant::now() > give_up {
            break left;
        }
        std::thread::sleep(PAUSE);
    };
    violations.extend(dead(cluster, schedule, records)?);
    Ok(violations)
}

/// What the queues hold still.
fn left_over(streams: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let accounts = list(&streams["account_details"]);
    let streams = accounts.iter().flat_map(|account| list(&account["stream_detail"])).collect::<Vec<_>>();
    let mut left = Vec::new();
    for queue in QUEUES {
        let Some(stream) = streams.iter().find(|stream| stream["name"] == queue) else {
            left.push(format!("there is no stream {queue}"));
            continue;
        };
        if stream["state"]["messages"] != 0 {
            left.push(format!("{queue} holds {} messages", stream["state"]["messages"]));
        }
        for consumer in list(&stream["consumer_detail"]) {
            if consumer["num_ack_pending"].as_u64().unwrap_or(0) > 0 {
                left.push(format!("{queue} has {} undecided deliveries", consumer["num_ack_pending"]));
            }
        }
    }
    left
}

/// Every dead job is a poison, and where somebody asked for poison, some are dead, unless the broker lost those as well.
fn dead(cluster: &Cluster, schedule: &Schedule, records: &[Record]) -> anyhow::Result<Vec<String>> {
    let (config, nats) = (cluster.config_file().to_string_lossy().into_owned(), cluster.broker_url());
    let ask = |arguments: &[&str]| {
        let mut command = groundline(&[&["dead"][..], arguments, &["--config", &config]].concat());
        run_command({
            command.env("GROUNDLINE_NATS_URL", &nats);
            command
        })
    };
    let listed = ask(&["list", "--json", "--limit", "1000"])?;
    if listed.status != 0 {
        return Ok(vec![format!("the dead cannot be listed: {}", listed.stderr)]);
    }
    let (mut violations, dead) = (Vec::new(), listed.json_lines());
    for job in &dead {
        let shown = ask(&["show", &job["sequence"].to_string(), "--texts"])?.stdout;
        if !(shown.contains(POISON) && shown.contains(VICTIM)) {
            violations.push(format!("a job is dead that is no poison: {job}"));
        }
    }
    let poisoned = records.iter().filter(|record| record.kind == Kind::Poisoned).count();
    let may_be_lost = schedule.incidents.iter().any(|incident| incident.fault == Fault::Wipe);
    if (poisoned == 0) != dead.is_empty() && !(dead.is_empty() && may_be_lost) {
        violations.push(format!("{} dead jobs of {poisoned} poisoned checks", dead.len()));
    }
    Ok(violations)
}

/// Nobody logged an error that is not expected, or panicked.
pub(super) fn logs(logs: &BTreeMap<Node, String>) -> Vec<String> {
    let is_bad = |line: &&str| {
        (line.contains(" ERROR ") || line.contains("panicked at"))
            && !ALLOWED_ERRORS.iter().any(|allowed| line.contains(allowed))
    };
    let lines = |(node, log): (&Node, &String)| {
        let bad = log.lines().filter(is_bad).map(|line| format!("{node} logs: {line}"));
        bad.collect::<Vec<_>>()
    };
    logs.iter().flat_map(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_left_in_a_queue_and_what_is_undecided_are_seen() {
        let streams = |messages: u64, pending: u64| {
            let stream = |name: &str| {
                json!({
                    "name": name, "state": {"messages": messages},
                    "consumer_detail": [{"num_ack_pending": pending}],
                })
            };
            json!({"account_details": [{"stream_detail": [stream(QUEUES[0]), stream(QUEUES[1])]}]})
        };
        assert!(left_over(&streams(0, 0)).is_empty());
        assert_eq!(left_over(&streams(1, 0)).len(), 2);
        assert_eq!(left_over(&streams(0, 1)).len(), 2);
        assert_eq!(left_over(&json!({})).len(), 2);
    }

    #[test]
    fn an_error_in_a_log_is_seen() {
        let log = |text: &str| BTreeMap::from([(Node::Broker, text.to_owned())]);
        assert!(logs(&log("2026 WARN a\n2026 INFO b ERRORS")).is_empty());
        assert_eq!(logs(&log("2026 ERROR groundline: broke\nthread 'x' panicked at y")).len(), 2);
    }
}

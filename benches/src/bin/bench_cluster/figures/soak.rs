//! Load for a long time: memory, handles and streams of every process stay as they are.

use super::ADMIT_ALL;
use crate::engine::Pace;
use crate::http::get_once;
use crate::load::{Window, closed_loop, open_loop};
use crate::note;
use crate::report::{Bound, Report, Target};
use crate::stack::{Plan, Stack, Tools};
use crate::system::usage;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const WORKERS: usize = 2;
/// Callers that find out what the most is.
const CALLERS: usize = 32;
const LOAD: f64 = 0.8;
/// Looks at the system in the whole time.
const SAMPLES: u32 = 120;
/// What an allocator may keep without anything having grown.
const SLACK_BYTES: f64 = 4e6;
/// Growth that counts as none.
const FLAT: f64 = 1.03;

/// One look at everything.
#[derive(Debug, Clone)]
struct Sample {
    seconds: f64,
    /// (process, bytes, handles)
    processes: Vec<(String, f64, f64)>,
    broker: Broker,
}

/// What the broker holds.
#[derive(Debug, Clone, Copy, Default)]
struct Broker {
    connections: f64,
    subscriptions: f64,
    streams: f64,
    consumers: f64,
    messages: f64,
}

/// One of the broker's numbers.
type Pick = fn(&Broker) -> f64;

/// No growth in memory, handles or streams at 80 % load.
pub(crate) async fn soak(tools: &Tools, minutes: f64) -> anyhow::Result<Report> {
    let plan = Plan { workers: WORKERS, pace: Pace::NULL, settings: ADMIT_ALL.to_owned() };
    let stack = Stack::start(tools, plan)?;
    let ask = stack.ask(0, None)?;
    let whole = Duration::from_secs_f64(minutes * 60.0);
    let most = closed_loop(&ask, CALLERS, Window::after(whole / 60, whole / 30)).await.rate();
    note(&format!("soak: at most {most:.0} checks/s; {minutes} minutes at {LOAD} of that"));
    // The caches fill and the allocators settle at first.
    let window = Window::after(whole / 4, whole * 3 / 4);
    let watch = async {
        let (began, mut samples) = (Instant::now(), Vec::new());
        while Instant::now() < window.to {
            tokio::time::sleep(whole / SAMPLES).await;
            let sample = look(&stack, began).await?;
            if sample.seconds as u64 % 60 < (whole / SAMPLES).as_secs().max(1) {
                note(&sample.line());
            }
            samples.push(sample);
        }
        anyhow::Ok(samples)
    };
    let (tally, samples) = tokio::join!(open_loop(&ask, most * LOAD, window), watch);
    let samples = samples?;
    let mut targets = growth(&samples);
    let failures = tally.failures() + tally.refusals();
    targets.push(Target::new(
        "checks that failed or were refused",
        failures as f64,
        Bound::AtMost(0.0),
        "checks",
    ));
    let details = json!({
        "minutes": minutes,
        "most_per_second": most,
        "open_loop": tally.json(),
        "samples": samples.iter().map(Sample::json).collect::<Vec<_>>(),
    });
    Ok(Report { figure: "soak", targets, details })
}

async fn look(stack: &Stack, began: Instant) -> anyhow::Result<Sample> {
    let processes = stack.processes().into_iter().enumerate().filter_map(|(index, (name, pid))| {
        let usage = usage(pid)?;
        Some((format!("{name}-{index}"), usage.resident_bytes as f64, usage.handles as f64))
    });
    // The load's own memory holds what it has measured.
    let processes = processes.filter(|(name, _, _)| !name.starts_with("load")).collect();
    let read = async |path: &str| {
        anyhow::Ok(serde_json::from_str::<Value>(&get_once(stack.monitoring(), path).await?)?)
    };
    let (server, streams) = (read("/varz").await?, read("/jsz").await?);
    let number = |value: &Value| value.as_f64().unwrap_or_default();
    let broker = Broker {
        connections: number(&server["connections"]),
        subscriptions: number(&server["subscriptions"]),
        streams: number(&streams["streams"]),
        consumers: number(&streams["consumers"]),
        messages: number(&streams["messages"]),
    };
    Ok(Sample { seconds: began.elapsed().as_secs_f64(), processes, broker })
}

impl Sample {
    fn line(&self) -> String {
        let memory = self
            .processes
            .iter()
            .map(|(name, bytes, handles)| format!("{name} {:.1} MB {handles}", bytes / 1e6));
        let memory = memory.collect::<Vec<_>>().join(", ");
        format!("soak: {:.0} s: {memory}; {:.0} messages in streams", self.seconds, self.broker.messages)
    }

    fn json(&self) -> Value {
        let Broker { connections, subscriptions, streams, consumers, messages } = self.broker;
        let processes = self.processes.iter();
        let processes = processes.map(|(name, bytes, handles)| (name.clone(), json!([bytes, handles])));
        json!({
            "seconds": self.seconds.round(),
            "bytes_and_handles": processes.collect::<serde_json::Map<_, _>>(),
            "broker": [connections, subscriptions, streams, consumers, messages],
        })
    }
}

/// The second and the last quarter side by side.
fn growth(samples: &[Sample]) -> Vec<Target> {
    let quarter = (samples.len() / 4).max(1);
    let early = &samples[quarter.min(samples.len() - 1)..(2 * quarter).min(samples.len())];
    let late = &samples[samples.len() - quarter..];
    let largest =
        |part: &[Sample], value: &dyn Fn(&Sample) -> f64| part.iter().map(value).fold(0.0, f64::max);
    // Bursts come with connections and messages of their own; a leak raises the least of them too.
    let least = |part: &[Sample], value: &dyn Fn(&Sample) -> f64| {
        part.iter().map(value).fold(f64::INFINITY, f64::min)
    };
    let mut targets = Vec::new();
    for (index, (name, _, _)) in samples.iter().take(1).flat_map(|sample| sample.processes.iter().enumerate())
    {
        let memory = |sample: &Sample| sample.processes.get(index).map_or(0.0, |process| process.1);
        let handles = |sample: &Sample| sample.processes.get(index).map_or(0.0, |process| process.2);
        let (before, after) = (largest(early, &memory), largest(late, &memory));
        targets.push(Target::new(
            format!("memory of {name}, late beside early"),
            (after - SLACK_BYTES) / before,
            Bound::AtMost(FLAT),
            "times",
        ));
        let grown = least(late, &handles) - least(early, &handles);
        targets.push(Target::new(
            format!("handles of {name}, grown by"),
            grown,
            Bound::AtMost(8.0),
            "handles",
        ));
    }
    let of_broker: [(&str, Pick, f64); 5] = [
        ("connections", |broker| broker.connections, 0.0),
        ("subscriptions", |broker| broker.subscriptions, 16.0),
        ("streams", |broker| broker.streams, 0.0),
        ("consumers", |broker| broker.consumers, 0.0),
        ("messages in streams", |broker| broker.messages, 1000.0),
    ];
    for (name, pick, slack) in of_broker {
        let of = |part| least(part, &|sample: &Sample| pick(&sample.broker));
        targets.push(Target::new(
            format!("broker: {name}, grown by"),
            of(late) - of(early),
            Bound::AtMost(slack),
            name,
        ));
    }
    targets
}

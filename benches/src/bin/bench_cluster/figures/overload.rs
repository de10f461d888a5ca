//! Three times as much as the cluster can do: what it can do gets done all the same, and memory stays flat.

use super::Scale;
use crate::engine::Pace;
use crate::load::{Window, closed_loop, open_loop};
use crate::note;
use crate::report::{Bound, Report, Target};
use crate::stack::{Plan, Stack, Tools};
use serde_json::json;
use std::time::{Duration, Instant};

/// Pairs and texts a second of one device.
const ITEMS_PER_SECOND: f64 = 2000.0;
const WORKERS: usize = 2;
const BATCH_TOKENS: usize = 1024;
/// Callers that find out what the most is.
const CALLERS: usize = 48;
const TIMES: f64 = 3.0;
const SAMPLE_EVERY: Duration = Duration::from_millis(500);
/// What an allocator may keep without anything having grown.
const SLACK_BYTES: f64 = 4e6;

/// The cache of scores is full before anything is measured: what it takes is no growth.
const SETTINGS: &str = "cache.bytes = 4_000_000\n";

/// Goodput stays above 90 % of the most, and memory stays flat. The coordinator's default limit of checks at once
/// is what refuses.
pub(crate) async fn overload(tools: &Tools, scale: Scale) -> anyhow::Result<Report> {
    let pace = Pace { items_per_second: Some(ITEMS_PER_SECOND), batch_tokens: BATCH_TOKENS };
    let stack = Stack::start(tools, Plan { workers: WORKERS, pace, settings: SETTINGS.to_owned() })?;
    let ask = stack.ask(0, None)?;
    let most = closed_loop(&ask, CALLERS, Window::after(scale.seconds(5.0), scale.seconds(12.0))).await;
    note(&format!("overload: at most {:.1} checks/s", most.rate()));
    let window = Window::after(scale.seconds(5.0), scale.seconds(45.0));
    let sample = async {
        let mut bytes = Vec::new();
        while Instant::now() < window.to {
            tokio::time::sleep(SAMPLE_EVERY).await;
            if Instant::now() >= window.from {
                bytes.push(stack.gateway_bytes() as f64);
            }
        }
        bytes
    };
    let (tally, bytes) = tokio::join!(open_loop(&ask, most.rate() * TIMES, window), sample);
    let share = tally.rate() / most.rate();
    let third = bytes.len() / 3;
    let largest = |samples: &[f64]| samples.iter().copied().fold(0.0, f64::max);
    let (early, late) = (largest(&bytes[..third]), largest(&bytes[bytes.len() - third..]));
    note(&format!(
        "overload: {:.1} checks/s at {TIMES} times the most; memory {:.1} MB, then {:.1} MB",
        tally.rate(),
        early / 1e6,
        late / 1e6
    ));
    let targets = vec![
        Target::new("goodput at 3 times the most", share, Bound::AtLeast(0.9), "of the most"),
        Target::new(
            "memory in the last third, beside the first",
            (late - SLACK_BYTES) / early,
            Bound::AtMost(1.02),
            "times",
        ),
        Target::new("checks that failed", tally.failures() as f64, Bound::AtMost(0.0), "checks"),
    ];
    let details = json!({ "most": most.json(), "overload": tally.json(), "gateway_bytes": bytes });
    Ok(Report { figure: "overload", targets, details })
}

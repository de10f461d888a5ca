//! Workers of fixed speed: twice as many get twice as much done. And a second coordinator that joins under load.

use super::{ADMIT_ALL, Scale};
use crate::engine::Pace;
use crate::load::{Window, closed_loop};
use crate::note;
use crate::report::{Bound, Report, Target, cores_json, cores_sum};
use crate::stack::{Plan, Stack, Tools};
use crate::system::cores;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// Pairs and texts a second of one device.
const ITEMS_PER_SECOND: f64 = 50.0;
/// About 12 items: a quarter of a second.
const BATCH_TOKENS: usize = 512;
const WORKERS: [usize; 5] = [1, 2, 4, 8, 16];
/// Checks under way for each worker: about 4 seconds of work.
const CALLERS_PER_WORKER: usize = 4;

/// At least 95 % of linear at 16 workers, with under half of the processors.
pub(crate) async fn scaling(tools: &Tools, scale: Scale) -> anyhow::Result<Report> {
    let mut steps = Vec::new();
    for workers in WORKERS {
        let mut stack = start(tools, workers)?;
        let step = measure(&mut stack, workers, scale).await?;
        note(&format!("scaling: {workers} workers: {:.1} % of linear", step.share_of_linear * 100.0));
        steps.push(step);
    }
    let joined = join_under_load(tools, scale).await?;
    let failures = steps.iter().map(|step| step.failures).sum::<u64>();
    let at_most = steps.last().map_or(0.0, |step| step.share_of_linear);
    let busy = steps.last().map_or(1.0, |step| step.busy);
    let targets = vec![
        Target::new("share of linear at 16 workers", at_most, Bound::AtLeast(0.95), "of linear"),
        Target::new("processors busy at 16 workers", busy, Bound::AtMost(0.5), "of all"),
        Target::new("checks that failed or were refused", failures as f64, Bound::AtMost(0.0), "checks"),
        Target::new(
            "failures while a second coordinator joins",
            joined.failures as f64,
            Bound::AtMost(0.0),
            "checks",
        ),
        Target::new(
            "share of linear with two coordinators",
            joined.share_of_linear,
            Bound::AtLeast(0.95),
            "of linear",
        ),
    ];
    let details = json!({
        "items_per_second_of_a_worker": ITEMS_PER_SECOND,
        "steps": steps.iter().map(Step::json).collect::<Vec<_>>(),
        "two_coordinators": joined.json(),
    });
    Ok(Report { figure: "scaling", targets, details })
}

struct Step {
    workers: usize,
    items_per_second: f64,
    share_of_linear: f64,
    failures: u64,
    /// Share of the processors that were busy.
    busy: f64,
    details: Value,
}

impl Step {
    fn new(workers: usize, items: u64, seconds: f64) -> Self {
        let items_per_second = items as f64 / seconds;
        let share_of_linear = items_per_second / (ITEMS_PER_SECOND * workers as f64);
        Self { workers, items_per_second, share_of_linear, failures: 0, busy: 0.0, details: Value::Null }
    }

    fn json(&self) -> Value {
        json!({
            "workers": self.workers,
            "items_per_second": self.items_per_second,
            "share_of_linear": self.share_of_linear,
            "processors_busy": self.busy,
            "details": self.details,
        })
    }
}

fn start(tools: &Tools, workers: usize) -> anyhow::Result<Stack> {
    let pace = Pace { items_per_second: Some(ITEMS_PER_SECOND), batch_tokens: BATCH_TOKENS };
    Stack::start(tools, Plan { workers, pace, settings: ADMIT_ALL.to_owned() })
}

async fn measure(stack: &mut Stack, workers: usize, scale: Scale) -> anyhow::Result<Step> {
    let window = Window::after(scale.seconds(6.0), scale.seconds(12.0));
    let (ask, callers) = (stack.ask(0, None)?, workers * CALLERS_PER_WORKER);
    let count = async {
        sleep(window.from.saturating_duration_since(Instant::now())).await;
        let (meter, before, began) = (stack.cpu_meter(), stack.scored()?, Instant::now());
        sleep(window.to.saturating_duration_since(Instant::now())).await;
        let (items, seconds) = (stack.scored()? - before, began.elapsed().as_secs_f64());
        anyhow::Ok((Step::new(workers, items, seconds), meter.cores()))
    };
    let (tally, counted) = tokio::join!(closed_loop(&ask, callers, window), count);
    let (mut step, used) = counted?;
    step.failures = tally.failures() + tally.refusals();
    step.busy = cores_sum(&used) / cores();
    step.details = json!({ "closed_loop": tally.json(), "cores_used": cores_json(&used) });
    Ok(step)
}

/// A second gateway, and with it a second coordinator, starts while the first one is busy, and takes over half of the callers.
async fn join_under_load(tools: &Tools, scale: Scale) -> anyhow::Result<Step> {
    let workers = 16;
    let mut stack = start(tools, workers)?;
    let callers = workers * CALLERS_PER_WORKER / 2;
    let (first, alone) = (stack.ask(0, None)?, scale.seconds(6.0));
    let (settle, measured) = (scale.seconds(6.0) + Duration::from_secs(1), scale.seconds(12.0));
    let end = alone + settle + measured + Duration::from_secs(2);
    let staying = closed_loop(&first, callers, Window::after(Duration::ZERO, end));
    let leaving = closed_loop(&first, callers, Window::after(Duration::ZERO, alone));
    let joining = async {
        sleep(alone).await;
        tokio::task::block_in_place(|| stack.add_gateway())?;
        let second = stack.ask(1, None)?;
        let count = async {
            sleep(settle).await;
            let (before, began) = (stack.scored()?, Instant::now());
            sleep(measured).await;
            anyhow::Ok((stack.scored()? - before, began.elapsed().as_secs_f64()))
        };
        let window = Window::after(Duration::ZERO, settle + measured);
        let (tally, counted) = tokio::join!(closed_loop(&second, callers, window), count);
        anyhow::Ok((tally, counted?))
    };
    let (staying, leaving, joined) = tokio::join!(staying, leaving, joining);
    let (joined, (items, seconds)) = joined?;
    let mut step = Step::new(workers, items, seconds);
    step.failures =
        [&staying, &leaving, &joined].iter().map(|tally| tally.failures() + tally.refusals()).sum();
    step.details = json!({ "first": staying.json(), "second": joined.json() });
    note(&format!(
        "scaling: two coordinators: {:.1} % of linear, {} failures",
        step.share_of_linear * 100.0,
        step.failures
    ));
    Ok(step)
}

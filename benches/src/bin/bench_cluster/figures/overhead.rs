//! What everything around an engine adds: gateway, coordinator, broker, worker and back, with an engine that answers at once.

use super::{ADMIT_ALL, Scale};
use crate::engine::Pace;
use crate::load::{Window, closed_loop, open_loop};
use crate::note;
use crate::report::{Bound, Report, Target, cores_json, cores_sum};
use crate::stack::{Plan, Stack, Tools};
use crate::system::cores;
use serde_json::json;

/// Callers that find out what the most is.
const CALLERS: usize = 32;
/// Loads that are measured, as shares of the most; the last is the one that counts.
const LOADS: [f64; 3] = [0.1, 0.4, 0.7];

/// At 70 % of the most that this machine answers, under 2 ms for half of all checks and under 10 ms for 99 in 100.
pub(crate) async fn overhead(tools: &Tools, scale: Scale) -> anyhow::Result<Report> {
    let plan = Plan { workers: 1, pace: Pace::NULL, settings: ADMIT_ALL.to_owned() };
    let stack = Stack::start(tools, plan)?;
    let ask = stack.ask(0, None)?;
    let most = closed_loop(&ask, CALLERS, Window::after(scale.seconds(4.0), scale.seconds(10.0))).await;
    note(&format!("overhead: at most {:.0} checks/s over HTTP and NATS", most.rate()));
    let (mut targets, mut loads, mut failures) = (Vec::new(), Vec::new(), most.failures() + most.refusals());
    for load in LOADS {
        let per_second = most.rate() * load;
        let window = Window::after(scale.seconds(2.0), scale.seconds(20.0));
        let meter = stack.cpu_meter();
        let tally = open_loop(&ask, per_second, window).await;
        let used = meter.cores();
        let (p50, p99) = (tally.latency.quantile_ms(0.5), tally.latency.quantile_ms(0.99));
        note(&format!(
            "overhead: {per_second:.0} checks/s ({:.0} %): p50 {p50:.2} ms, p99 {p99:.2} ms",
            load * 100.0
        ));
        failures += tally.failures() + tally.refusals();
        targets = vec![
            Target::new(format!("added at {:.0} % load, p50", load * 100.0), p50, Bound::AtMost(2.0), "ms"),
            Target::new(format!("added at {:.0} % load, p99", load * 100.0), p99, Bound::AtMost(10.0), "ms"),
        ];
        loads.push(json!({
            "share_of_most": load,
            "checks_per_second": per_second,
            "open_loop": tally.json(),
            "cores_used": cores_json(&used),
            "processors_busy": cores_sum(&used) / cores(),
        }));
    }
    targets.push(Target::new(
        "checks that failed or were refused",
        failures as f64,
        Bound::AtMost(0.0),
        "checks",
    ));
    Ok(Report { figure: "overhead", targets, details: json!({ "most": most.json(), "loads": loads }) })
}

//! Checks a second with an engine that answers at once: in one process, over NATS, and over HTTP and NATS. And where the time goes.

use super::{ADMIT_ALL, Scale};
use crate::engine::{Pace, SimulatedDevice};
use crate::load::{Ask, Ended, Tally, Window, closed_loop};
use crate::note;
use crate::profile::{Sampler, Shares};
use crate::report::{Bound, Report, Target, cores_json};
use crate::stack::{Plan, Stack, Tools};
use crate::system::{CoresUsed, CpuMeter};
use crate::texts;
use groundline::{CheckRequest, Checker, ConfigLayers, Status};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Callers at once.
const CALLERS: usize = 48;
/// Shares below this are summed up as the rest.
const LEAST_SHARE: f64 = 0.005;

/// At least 3,000 responses of 4 sentences against 8 a second through memory and 1,000 over NATS, on 2 cores.
pub(crate) async fn throughput(tools: &Tools, scale: Scale) -> anyhow::Result<Report> {
    let memory = memory(tools, scale).await?;
    let nats = nats(tools, scale).await?;
    let http = http(tools, scale).await?;
    let failures =
        [&memory, &nats, &http].iter().map(|way| way.tally.failures() + way.tally.refusals()).sum::<u64>();
    let targets = vec![
        Target::new("memory bus", memory.tally.rate(), Bound::AtLeast(3000.0), "responses/s"),
        Target::new("NATS", nats.tally.rate(), Bound::AtLeast(1000.0), "responses/s"),
        Target::new("checks that failed or were refused", failures as f64, Bound::AtMost(0.0), "checks"),
    ];
    let details = json!({ "memory": memory.json(), "nats": nats.json(), "http_and_nats": http.json() });
    Ok(Report { figure: "throughput", targets, details })
}

/// What was seen of one way from caller to engine.
struct Way {
    tally: Tally,
    used: CoresUsed,
    shares: Shares,
}

impl Way {
    /// Measures, then samples while the same load goes on.
    async fn measure(name: &str, ask: &Ask, processes: Vec<(String, u32)>, scale: Scale) -> Self {
        let (warm_up, measured) = (scale.seconds(4.0), scale.seconds(12.0));
        let meter = CpuMeter::start(processes.clone());
        let tally = closed_loop(ask, CALLERS, Window::after(warm_up, measured)).await;
        let used = meter.cores();
        note(&format!("throughput: {name}: {:.0} responses/s", tally.rate()));
        let sampled = scale.seconds(6.0);
        let sampler = Sampler::start(&processes, sampled);
        closed_loop(ask, CALLERS, Window::after(Duration::ZERO, sampled)).await;
        let shares = sampler.map(|sampler| sampler.finish(&processes)).unwrap_or_default();
        Self { tally, used, shares }
    }

    fn json(&self) -> Value {
        let (large, small): (Vec<_>, Vec<_>) =
            self.shares.iter().partition(|(_, _, share)| *share >= LEAST_SHARE);
        let row = |(process, what, share): &(String, String, f64)| json!({ "process": process, "what": what, "share": share });
        let mut rows = large.into_iter().map(row).collect::<Vec<_>>();
        let rest = small.iter().map(|(_, _, share)| share).sum::<f64>();
        if rest > 0.0 {
            rows.push(json!({ "process": "all", "what": "the rest", "share": rest }));
        }
        json!({ "closed_loop": self.tally.json(), "cores_used": cores_json(&self.used), "where_time_goes": rows })
    }
}

/// Checks of a checker in this process.
fn ask_checker(checker: Checker) -> Ask {
    Arc::new(move |number| {
        let checker = checker.clone();
        Box::pin(async move { ended(&checker, texts::request(number)).await })
    })
}

async fn ended(checker: &Checker, request: CheckRequest) -> Ended {
    match checker.check(request).await {
        Ok(result) if result.status == Status::Scored => Ended::Whole,
        Ok(_) => Ended::Failed("answered in part".to_owned()),
        Err(problem) => Ended::Failed(problem.code.to_string()),
    }
}

fn this_process() -> Vec<(String, u32)> {
    vec![("all in one".to_owned(), std::process::id())]
}

async fn memory(tools: &Tools, scale: Scale) -> anyhow::Result<Way> {
    let settings = format!("model.name = {:?}\n{ADMIT_ALL}", tools.model);
    let config = ConfigLayers::default().toml(settings).load()?;
    let engine = SimulatedDevice::new(&config, Pace::NULL)?;
    let checker = Checker::with_engine(Arc::new(engine), config)?;
    let way = Way::measure("memory bus", &ask_checker(checker.clone()), this_process(), scale).await;
    checker.shutdown().await;
    Ok(way)
}

async fn nats(tools: &Tools, scale: Scale) -> anyhow::Result<Way> {
    let plan = Plan { workers: 1, pace: Pace::NULL, settings: ADMIT_ALL.to_owned() };
    let stack = Stack::without_gateway(tools, plan)?;
    let checker = Checker::connect(ConfigLayers::default().toml(stack.config_text()).load()?).await?;
    let way = Way::measure("NATS", &ask_checker(checker.clone()), stack.processes(), scale).await;
    checker.shutdown().await;
    Ok(way)
}

async fn http(tools: &Tools, scale: Scale) -> anyhow::Result<Way> {
    let plan = Plan { workers: 1, pace: Pace::NULL, settings: ADMIT_ALL.to_owned() };
    let stack = Stack::start(tools, plan)?;
    Ok(Way::measure("HTTP and NATS", &stack.ask(0, None)?, stack.processes(), scale).await)
}

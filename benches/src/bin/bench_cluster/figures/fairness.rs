//! What one tenant notices of another one's flood.

use super::Scale;
use crate::engine::Pace;
use crate::load::{Window, closed_loop, open_loop};
use crate::note;
use crate::report::{Bound, Report, Target};
use crate::stack::{Plan, Stack, Tools};
use anyhow::Context as _;
use serde_json::json;
use std::process::Command;

/// Pairs and texts a second of one device, as a small graphics card has with a small model.
const ITEMS_PER_SECOND: f64 = 2000.0;
const WORKERS: usize = 2;
/// About 12 items: 6 milliseconds.
const BATCH_TOKENS: usize = 512;
/// Callers that find out what the most is.
const CALLERS: usize = 32;
/// What the quiet tenant asks for, as a share of the most.
const QUIET_SHARE: f64 = 0.2;
/// What the flooding tenant asks for, as a multiple of the most.
const FLOOD_TIMES: f64 = 5.0;
/// The flooding tenant may have about 100 checks under way; what is more is refused with 429. Without such a limit the flood fills
/// the places of all.
const FLOOD_TOKENS_IN_FLIGHT: usize = 50_000;

/// The quiet tenant's p95 stays under twice what it is without the flood.
pub(crate) async fn fairness(tools: &Tools, scale: Scale) -> anyhow::Result<Report> {
    let pace = Pace { items_per_second: Some(ITEMS_PER_SECOND), batch_tokens: BATCH_TOKENS };
    let settings = format!("{}gateway.keys_file = \"keys.toml\"\n", super::ADMIT_ALL);
    let mut stack = Stack::without_gateway(tools, Plan { workers: WORKERS, pace, settings })?;
    let ((flood_key, flood_entry), (quiet_key, quiet_entry)) =
        (new_key(tools, "flood")?, new_key(tools, "quiet")?);
    let limits = format!("[tenants.flood]\nin_flight_tokens = {FLOOD_TOKENS_IN_FLIGHT}\n");
    stack.write_file("keys.toml", &format!("{flood_entry}\n{quiet_entry}\n{limits}"))?;
    stack.add_gateway()?;
    let (flood, quiet) = (stack.ask(0, Some(&flood_key))?, stack.ask(0, Some(&quiet_key))?);

    let most =
        closed_loop(&quiet, CALLERS, Window::after(scale.seconds(4.0), scale.seconds(6.0))).await.rate();
    note(&format!("fairness: at most {most:.0} checks/s"));
    let seconds = scale.seconds(30.0);
    let alone = open_loop(&quiet, most * QUIET_SHARE, Window::after(scale.seconds(2.0), seconds)).await;
    let window = Window::after(scale.seconds(4.0), seconds);
    let (flooded, flood) = tokio::join!(
        open_loop(&quiet, most * QUIET_SHARE, window),
        open_loop(&flood, most * FLOOD_TIMES, window)
    );
    let (before, during) = (alone.latency.quantile_ms(0.95), flooded.latency.quantile_ms(0.95));
    note(&format!("fairness: the quiet tenant's p95: {before:.1} ms alone, {during:.1} ms in the flood"));
    let failures = [&alone, &flooded].iter().map(|tally| tally.failures() + tally.refusals()).sum::<u64>();
    let targets = vec![
        Target::new(
            "p95 in the flood, as a multiple of the quiet one",
            during / before,
            Bound::AtMost(2.0),
            "times",
        ),
        Target::new(
            "checks of the quiet tenant that failed or were refused",
            failures as f64,
            Bound::AtMost(0.0),
            "checks",
        ),
        Target::new("failures of the flooding tenant", flood.failures() as f64, Bound::AtMost(0.0), "checks"),
    ];
    let details = json!({
        "most_per_second": most,
        "quiet_alone": alone.json(),
        "quiet_in_the_flood": flooded.json(),
        "flood": flood.json(),
    });
    Ok(Report { figure: "fairness", targets, details })
}

/// An API key of a tenant, and its entry for the file of keys.
fn new_key(tools: &Tools, tenant: &str) -> anyhow::Result<(String, String)> {
    let output = Command::new(&tools.groundline).args(["keys", "new", "--tenant", tenant]).output()?;
    let text = String::from_utf8(output.stdout)?;
    let comments = text.lines().filter_map(|line| line.strip_prefix("# "));
    let key = comments.into_iter().find(|line| !line.contains(' ')).context("no key was made")?.to_owned();
    Ok((key, text))
}

//! `cargo xtask bench-cluster`: figures of a whole cluster on this machine, beside what they should be.

use crate::bench::environment::{hardware, target};
use crate::bench::machine_load;
use crate::bench::report::slug;
use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Layout of a result file.
const SCHEMA: &str = "groundline.bench-cluster/1";
/// From this load on, others disturb a measurement.
const DISTURBING_LOAD: f64 = 0.3;

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Figure {
    /// What everything around an engine adds to the time of a check.
    Overhead,
    /// Checks a second through memory, over NATS, and over HTTP and NATS; and where the time goes.
    Throughput,
    /// From 1 to 16 workers of fixed speed, and a second coordinator under load.
    Scaling,
    /// What one tenant notices of another one's flood.
    Fairness,
    /// Three times as much as the cluster can do.
    Overload,
    /// Load for a long time: does anything grow?
    Soak,
}

impl Figure {
    const ALL_BUT_SOAK: [Self; 5] =
        [Self::Overhead, Self::Throughput, Self::Scaling, Self::Fairness, Self::Overload];

    fn name(self) -> &'static str {
        match self {
            Self::Overhead => "overhead",
            Self::Throughput => "throughput",
            Self::Scaling => "scaling",
            Self::Fairness => "fairness",
            Self::Overload => "overload",
            Self::Soak => "soak",
        }
    }
}

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Which figure [default: all but soak, one after the other].
    #[arg(value_enum)]
    figure: Option<Figure>,
    /// The result as JSON on standard output instead of a table.
    #[arg(long)]
    json: bool,
    /// A few seconds of each and no result file: does it work at all?
    #[arg(long)]
    quick: bool,
    /// How long the soak takes.
    #[arg(long, default_value_t = 30.0)]
    minutes: f64,
}

/// Builds what is measured, measures, shows the figures and writes a result file for each.
pub(crate) fn run(root: &Path, options: &Options) -> anyhow::Result<()> {
    build(root)?;
    let load = machine_load();
    if load.is_some_and(|load| load > DISTURBING_LOAD) {
        eprintln!("warning: other processes keep this machine busy (load {:.1})", load.unwrap_or(0.0));
    }
    let mut machine = hardware();
    machine["date"] = json!(today()?);
    let figures = options.figure.map_or_else(|| Figure::ALL_BUT_SOAK.to_vec(), |figure| vec![figure]);
    let mut missed = Vec::new();
    for figure in figures {
        let mut report = measure(root, figure, options)?;
        report["schema"] = json!(SCHEMA);
        report["machine"] = machine.clone();
        report["load_before"] = json!(load);
        if options.json {
            println!("{report}");
        } else {
            print!("{}", table(&report));
        }
        if !options.quick {
            eprintln!("written: {}", write(root, &report)?);
        }
        if targets(&report).iter().any(|target| target["holds"] != true) {
            missed.push(figure.name());
        }
    }
    if !missed.is_empty() {
        bail!("below what is wanted: {}", missed.join(", "));
    }
    Ok(())
}

fn build(root: &Path) -> anyhow::Result<()> {
    let arguments = ["build", "--release", "--all-features", "-p", "benches", "-p", "groundline-cli"];
    if !crate::cargo(root).args(arguments).status()?.success() {
        bail!("what is measured does not build");
    }
    Ok(())
}

/// Runs one measurement, which says on standard error how it goes.
fn measure(root: &Path, figure: Figure, options: &Options) -> anyhow::Result<Value> {
    let programs = target(root).join("release");
    let mut command = Command::new(programs.join("bench-cluster"));
    command.arg(figure.name()).arg("--groundline").arg(programs.join("groundline"));
    command.arg("--model").arg(root.join("models/groundline-mini")).current_dir(root).stdin(Stdio::null());
    if options.quick {
        command.arg("--quick");
    }
    if figure == Figure::Soak {
        command.arg("--minutes").arg(options.minutes.to_string());
    }
    let output = command.stderr(Stdio::inherit()).output().context("cannot start the measurement")?;
    if !output.status.success() {
        bail!("the measurement of {} failed", figure.name());
    }
    serde_json::from_slice(&output.stdout).context("the measurement said nothing that can be read")
}

/// The day, in UTC.
fn today() -> anyhow::Result<String> {
    let output = Command::new("date").args(["-u", "+%F"]).output().context("cannot ask for the date")?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn targets(report: &Value) -> &[Value] {
    report["targets"].as_array().map_or(&[], Vec::as_slice)
}

/// The figures as text.
fn table(report: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("unknown").to_owned();
    let (cpu, cores) = (text(&report["machine"]["cpu"]), &report["machine"]["cores"]);
    let mut table = format!("{} on {cpu}, {cores} cores\n", text(&report["figure"]));
    for target in targets(report) {
        let mark = if target["holds"] == true { "ok    " } else { "MISSED" };
        let (name, wanted) = (text(&target["name"]), text(&target["wanted"]));
        let reached = target["reached"].as_f64().unwrap_or(f64::NAN);
        // Writing to a string cannot fail.
        let _ = writeln!(table, "  {mark} {name}: {reached:.3} {} (wanted: {wanted})", text(&target["unit"]));
    }
    for (name, way) in report["details"].as_object().into_iter().flatten() {
        let rows = way["where_time_goes"].as_array().map_or(&[][..], Vec::as_slice);
        if !rows.is_empty() {
            let _ = writeln!(table, "  where the time goes, {}:", name.replace('_', " "));
        }
        for row in rows {
            let (process, what) = (text(&row["process"]), text(&row["what"]));
            let percent = row["share"].as_f64().unwrap_or_default() * 100.0;
            let _ = writeln!(table, "    {percent:5.1} %  {process}: {what}");
        }
    }
    table
}

/// Writes `benches/results/<date>-<cpu>-cluster-<figure>.json`; its path from the root.
fn write(root: &Path, report: &Value) -> anyhow::Result<String> {
    let text = |value: &Value| value.as_str().unwrap_or("unknown").to_owned();
    let (date, cpu) = (text(&report["machine"]["date"]), slug(&text(&report["machine"]["cpu"])));
    let path = format!("benches/results/{date}-{cpu}-cluster-{}.json", text(&report["figure"]));
    std::fs::create_dir_all(root.join("benches/results"))?;
    let json = serde_json::to_string_pretty(report)? + "\n";
    std::fs::write(root.join(&path), json).with_context(|| format!("cannot write {path}"))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_shows_what_is_missed_and_where_time_goes() {
        let report = json!({
            "figure": "throughput",
            "machine": { "cpu": "Some CPU", "cores": 2 },
            "targets": [
                { "name": "NATS", "reached": 900.0, "unit": "responses/s", "wanted": "at least 1000", "holds": false },
                { "name": "memory bus", "reached": 3100.5, "unit": "responses/s", "wanted": "at least 3000", "holds": true },
            ],
            "details": { "memory": { "where_time_goes": [{ "process": "all", "what": "JSON", "share": 0.25 }] }, "other": 1 },
        });
        let expected = "throughput on Some CPU, 2 cores\n  \
             MISSED NATS: 900.000 responses/s (wanted: at least 1000)\n  \
             ok     memory bus: 3100.500 responses/s (wanted: at least 3000)\n  \
             where the time goes, memory:\n     25.0 %  all: JSON\n";
        assert_eq!(table(&report), expected);
    }
}

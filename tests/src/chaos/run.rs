//! One run from the seed to the verdict.

use super::cluster::{Cluster, Setup, Surprise};
use super::events::Events;
use super::load::{self, Load};
use super::netns::{self, Namespaces};
use super::schedule::{Fault, Incident, Node, Schedule};
use super::{checker, verify};
use anyhow::{Context as _, bail};
use groundline_testkit::write_tiny_model;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the cluster may take to come up, and to come to rest.
const PATIENCE: Duration = Duration::from_secs(60);
/// Pause between two looks at the processes.
const PAUSE: Duration = Duration::from_millis(20);
/// How often the number of checks is told.
const PROGRESS: Duration = Duration::from_secs(10);

/// What to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// What everything follows from.
    pub seed: u64,
    /// How long callers ask.
    pub storm: Duration,
    /// Whether each process gets a network namespace of its own. Needs root.
    pub namespaces: bool,
    /// The process that has made the hub that this one runs in.
    pub inside: Option<u32>,
}

/// Runs a seed. With namespaces, the run itself is a process in the hub, so that this one can clean up whatever becomes of it.
///
/// # Errors
/// Where something does not hold, with all of it, or where the run cannot be made.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let schedule = Schedule::draw(options.seed, options.storm);
    if options.inside.is_none() {
        print!("{schedule}");
    }
    if !options.namespaces || options.inside.is_some() {
        return run_here(&schedule, options.inside.map(Namespaces::of));
    }
    netns::sweep();
    let namespaces = Namespaces::of(std::process::id());
    let outcome = namespaces.make_hub().and_then(|()| run_inside(options, namespaces));
    namespaces.remove();
    outcome
}

fn run_inside(options: &Options, namespaces: Namespaces) -> anyhow::Result<()> {
    let mut command = namespaces.command("hub", &std::env::current_exe()?);
    command.args(["--seed", &options.seed.to_string(), "--seconds", &options.storm.as_secs().to_string()]);
    command.args(["--netns", "--inside", &std::process::id().to_string()]);
    if !command.status()?.success() {
        bail!("the run in the namespaces failed");
    }
    Ok(())
}

fn run_here(schedule: &Schedule, namespaces: Option<Namespaces>) -> anyhow::Result<()> {
    let folder = tempfile::Builder::new().prefix("groundline-chaos-").tempdir()?;
    let mut events = Events::new(folder.path())?;
    let violations = storm(schedule, namespaces, folder.path(), &mut events);
    let violations = violations.unwrap_or_else(|error| vec![format!("the run broke off: {error:#}")]);
    for violation in &violations {
        events.tell("violation", json!({"what": violation}));
    }
    events.tell("end", json!({"seed": schedule.seed, "holds": violations.is_empty()}));
    if violations.is_empty() {
        return Ok(());
    }
    let kept: PathBuf = folder.keep();
    bail!("seed {}: {} things do not hold; logs are in {}", schedule.seed, violations.len(), kept.display());
}

fn storm(
    schedule: &Schedule,
    namespaces: Option<Namespaces>,
    folder: &Path,
    events: &mut Events,
) -> anyhow::Result<Vec<String>> {
    let model = folder.join("model");
    std::fs::create_dir(&model)?;
    write_tiny_model(&model, 1)?;
    let references = load::references(&model).context("no reference answers")?;
    let setup = Setup { folder: folder.to_owned(), model, namespaces, has_poison: schedule.has_poison() };
    let mut cluster = Cluster::start(setup)?;
    let give_up = Instant::now() + PATIENCE;
    while !cluster.is_ready() {
        if Instant::now() > give_up {
            bail!("the cluster does not come up");
        }
        std::thread::sleep(PAUSE);
    }
    // Times of the schedule count from here.
    *events = Events::new(folder)?;
    events.tell("ready", json!({"broker": cluster.broker_url(), "gateways": cluster.gateways()}));
    let mut load = Load::start(schedule.seed, events.began(), cluster.gateways());
    let mut violations = play(schedule, &mut cluster, &mut load, events)?;
    let (records, submitted) = tended(&mut cluster, load, events, &mut violations)?;
    let (wrong, counts) = checker::check(schedule, &records, submitted, &references);
    violations.extend(wrong);
    events.tell("checks", json!({"submitted": submitted, "ended": counts}));
    violations.extend(verify::at_rest(&cluster, schedule, &records, PATIENCE)?);
    violations.extend(tell(cluster.tend()?, events));
    violations.extend(cluster.memory().verdict(events));
    let logs = cluster.logs();
    events.tell("stopping", json!({}));
    violations.extend(cluster.stop()?.into_iter().filter_map(broken));
    violations.extend(verify::logs(&logs));
    Ok(violations)
}

/// Lets every incident happen at its time.
fn play(
    schedule: &Schedule,
    cluster: &mut Cluster,
    load: &mut Load,
    events: &mut Events,
) -> anyhow::Result<Vec<String>> {
    let mut violations = Vec::new();
    let mut waiting = schedule.incidents.iter().rev().collect::<Vec<_>>();
    let mut under_way: Vec<&Incident> = Vec::new();
    let mut next_progress = PROGRESS;
    while events.now() < schedule.storm || !under_way.is_empty() {
        while let Some(incident) = waiting.pop_if(|incident| incident.at <= events.now()) {
            events.tell("begin", details(incident));
            match (incident.fault, incident.node) {
                (Fault::Poison, Node::Gateway(gateway)) => {
                    load.poison(gateway, incident.at.as_millis() as u64)
                }
                (Fault::Flood, Node::Gateway(gateway)) => load.flood(gateway),
                _ => cluster.begin(incident)?,
            }
            under_way.push(incident);
        }
        let over = under_way.extract_if(.., |incident| incident.end() <= events.now()).collect::<Vec<_>>();
        for incident in over {
            let surprises = cluster.end(incident)?;
            events.tell("end_of", details(incident));
            violations.extend(tell(surprises, events));
        }
        violations.extend(tell(cluster.tend()?, events));
        if events.now() >= next_progress {
            events.tell("progress", json!({"checks": load.ended()}));
            next_progress += PROGRESS;
        }
        std::thread::sleep(PAUSE);
    }
    Ok(violations)
}

/// Waits for the last answers, while processes are still looked after.
fn tended(
    cluster: &mut Cluster,
    load: Load,
    events: &mut Events,
    violations: &mut Vec<String>,
) -> anyhow::Result<(Vec<load::Record>, u64)> {
    let ending = std::thread::spawn(move || load.end());
    while !ending.is_finished() {
        violations.extend(tell(cluster.tend()?, events));
        std::thread::sleep(PAUSE);
    }
    ending.join().map_err(|_| anyhow::anyhow!("the callers broke off"))
}

fn details(incident: &Incident) -> serde_json::Value {
    json!({"fault": incident.fault.to_string(), "node": incident.node.to_string()})
}

/// Tells what the cluster did of itself, and keeps what it should not have done.
fn tell(surprises: Vec<Surprise>, events: &mut Events) -> Vec<String> {
    for surprise in &surprises {
        if let Surprise::Poisoned(node) = surprise {
            events.tell("poisoned", json!({"node": node.to_string()}));
        }
    }
    surprises.into_iter().filter_map(broken).collect()
}

fn broken(surprise: Surprise) -> Option<String> {
    match surprise {
        Surprise::Poisoned(_) => None,
        Surprise::Broken(what) => Some(what),
    }
}

//! Whole clusters in one thread: coordinators and workers on a simulated network, under a schedule that follows from a seed.
//!
//! Time is tokio's paused clock, work for threads runs on the spot, and the network is [`groundline_bus::SimNet`]: a run of an
//! hour takes milliseconds, and a seed that fails fails again. `cargo xtask sim --seeds N` runs many; `--from SEED --seeds 1`
//! replays one and prints its schedule.
//!
//! What must hold, whatever happens ([`checker`]): every check is answered, refused or lost with its process; no answer comes after
//! its deadline plus one tick; what is said of a sentence is what a cluster without faults says; coverage is never claimed that
//! was not reached; what was lost is made good, so that a check with enough time does not end at its deadline; in the end no credit
//! is out and no job is left in the bus. Where nothing but one deadly item brings workers down, no other job is dead
//! ([`Schedule::draw_with_one_poison`]).

mod checker;
mod engine;
mod load;
mod planted;
mod schedule;
mod world;

pub(crate) use planted::{Bug, is_planted};

use checker::Record;
use groundline_actors::Simulation;
use groundline_bus::Dice;
use schedule::Schedule;
use std::time::Duration;
use world::World;

/// What became of one seed.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) schedule: Schedule,
    pub(crate) records: Vec<Record>,
    /// What did not hold.
    pub(crate) violations: Vec<String>,
    /// Of everything that callers saw, and when.
    pub(crate) digest: u64,
    /// Messages that met a fault.
    pub(crate) faults_met: u64,
}

/// Runs one seed.
pub(crate) fn run(seed: u64) -> Run {
    play(Schedule::draw(seed))
}

/// Runs one schedule.
fn play(schedule: Schedule) -> Run {
    let reference = load::reference(schedule.checks.iter().map(|check| check.template));
    let world = in_simulation(schedule.seed, World::run(schedule.clone()));
    let mut violations = checker::check(&world.records, &reference);
    violations.extend(world.leftovers);
    violations
        .extend(groundline_actors::take_broken().into_iter().map(|id| format!("invariant {id} is broken")));
    let digest = checker::digest(&world.records);
    Run { schedule, records: world.records, violations, digest, faults_met: world.faults_met }
}

/// Runs a future on one thread and a paused clock, with work for threads on the spot.
fn in_simulation<T>(seed: u64, future: impl Future<Output = T>) -> T {
    let mut dice = Dice::new(!seed);
    let _simulation = Simulation::enter(move |kind| match kind {
        groundline_actors::TaskKind::Score => Duration::from_millis(5 + dice.roll(200)),
        groundline_actors::TaskKind::Encode => Duration::from_millis(dice.roll(4)),
        _ => Duration::ZERO,
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.expect("the system gives a runtime").block_on(future)
}

#[cfg(test)]
mod tests;

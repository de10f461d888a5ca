//! What happens when, all of it drawn from the seed before anything runs.

use super::load::{FIRST_BAD, Nature, ONE_POISON, SINGLES, TEMPLATES, nature};
use groundline_bus::{Dice, SimFaults};
use groundline_types::Lane;
use std::fmt;
use std::time::Duration;

/// Checks are submitted, and incidents happen, within this time.
const STORM: Duration = Duration::from_secs(25);
/// From here on the network loses and delays nothing, and everything that was cut off or ended is back.
pub(super) const CALM_FROM: Duration = Duration::from_secs(50);
const TENANTS: u64 = 3;

/// A check that a caller will ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlannedCheck {
    pub(crate) at: Duration,
    pub(crate) coordinator: usize,
    pub(crate) tenant: u64,
    pub(crate) template: usize,
    pub(crate) lane: Lane,
    pub(crate) deadline: Duration,
    pub(crate) leave: Option<Leave>,
    /// Set where its supervisor is made to fail while it runs.
    pub(crate) may_fail: bool,
}

/// A caller that does not wait to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leave {
    /// It goes away after this time.
    Drop(Duration),
    /// It asks for what there is after this time.
    Cancel(Duration),
}

/// A part of a process that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Router,
    Dispatch,
    Checks,
    Batcher,
}

/// Something that happens to the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Incident {
    /// How the network is from now on.
    Weather(SimFaults),
    CutWorker(usize),
    HealWorker(usize),
    CutCoordinator(usize),
    HealCoordinator(usize),
    /// The process ends at once.
    KillWorker(usize),
    /// It stops in good order, and a new one takes its place.
    ReplaceWorker(usize),
    StartWorker(usize),
    KillCoordinator(usize),
    StartCoordinator(usize),
    Break(Part, usize),
    /// The broker is not there; it comes back with what it had, or empty.
    CutAll,
    BrokerForgets,
    HealAll,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Schedule {
    pub(crate) seed: u64,
    pub(crate) coordinators: usize,
    pub(crate) workers: usize,
    /// Whether coordinators remember scores.
    pub(crate) has_cache: bool,
    pub(crate) checks: Vec<PlannedCheck>,
    /// In order of time.
    pub(crate) incidents: Vec<(Duration, Incident)>,
}

impl Schedule {
    /// Draws the schedule of a seed.
    pub(crate) fn draw(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let coordinators = 1 + dice.roll(2) as usize;
        let workers = 1 + dice.roll(3) as usize;
        let mut schedule = Self {
            seed,
            coordinators,
            workers,
            has_cache: dice.chance(50),
            checks: Vec::new(),
            incidents: Vec::new(),
        };
        schedule.draw_checks(&mut dice);
        if dice.chance(80) {
            schedule.draw_weather(&mut dice);
        }
        for _ in 0..dice.roll(6) {
            schedule.draw_incident(&mut dice);
        }
        schedule.incidents.push((CALM_FROM, Incident::Weather(SimFaults::default())));
        schedule.incidents.sort_by_key(|(at, _)| *at);
        schedule
    }

    /// Draws a schedule in which nothing gets lost and nobody dies, but of one item, in a crowd of others that are jobs of their own
    /// as well.
    pub(super) fn draw_with_one_poison(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let mut schedule = Self {
            seed,
            coordinators: 1,
            workers: 1 + dice.roll(3) as usize,
            has_cache: false,
            checks: Vec::new(),
            incidents: Vec::new(),
        };
        let planned = |at, template| PlannedCheck {
            at: Duration::from_millis(at),
            coordinator: 0,
            tenant: 0,
            template,
            lane: Lane::Online,
            deadline: Duration::from_secs(120),
            leave: None,
            may_fail: false,
        };
        schedule.checks.push(planned(500, ONE_POISON));
        for single in 0..4 + dice.roll(SINGLES as u64 - 4) as usize {
            schedule.checks.push(planned(300 + dice.roll(400), ONE_POISON + 1 + single));
        }
        for _ in 0..dice.roll(8) {
            schedule.checks.push(planned(dice.roll(15_000), dice.roll(FIRST_BAD as u64) as usize));
        }
        let max_delay = Duration::from_millis(1 + dice.roll(150));
        let weather = SimFaults { max_delay, ..SimFaults::default() };
        schedule.incidents.push((Duration::ZERO, Incident::Weather(weather)));
        schedule
    }

    fn draw_checks(&mut self, dice: &mut Dice) {
        let allows_poison = dice.chance(40);
        for _ in 0..8 + dice.roll(24) {
            let template = dice.roll(TEMPLATES as u64) as usize;
            if nature(template) == Nature::Poison && !(allows_poison && dice.chance(30)) {
                continue;
            }
            let deadline = match dice.roll(4) {
                0 => Duration::from_millis(100 + dice.roll(3000)),
                1 => Duration::from_secs(10),
                _ => Duration::from_secs(120),
            };
            let leave = match dice.roll(12) {
                0 => Some(Leave::Drop(Duration::from_millis(dice.roll(4000)))),
                1 => Some(Leave::Cancel(Duration::from_millis(dice.roll(4000)))),
                _ => None,
            };
            self.checks.push(PlannedCheck {
                at: some_time(dice),
                coordinator: dice.roll(self.coordinators as u64) as usize,
                tenant: dice.roll(TENANTS),
                template,
                lane: if dice.chance(25) { Lane::Bulk } else { Lane::Online },
                deadline,
                leave,
                may_fail: false,
            });
        }
    }

    fn draw_weather(&mut self, dice: &mut Dice) {
        let mut chance = |most: u64| if dice.chance(50) { dice.roll(most) as u32 } else { 0 };
        let faults = SimFaults {
            lose_job: chance(60),
            lose_stored: chance(60),
            lose_delivery: chance(60),
            lose_decision: chance(80),
            lose_result: chance(120),
            double_result: chance(200),
            lose_cancel: chance(300),
            lose_presence: chance(300),
            stray: chance(60),
            max_delay: Duration::from_millis(u64::from(chance(400))),
        };
        self.incidents.push((some_time(dice), Incident::Weather(faults)));
    }

    fn draw_incident(&mut self, dice: &mut Dice) {
        let (at, takes) = (some_time(dice), Duration::from_millis(200 + dice.roll(12_000)));
        let worker = dice.roll(self.workers as u64) as usize;
        let coordinator = dice.roll(self.coordinators as u64) as usize;
        let happenings = match dice.roll(10) {
            0 => vec![(at, Incident::CutWorker(worker)), (at + takes, Incident::HealWorker(worker))],
            1 => vec![
                (at, Incident::CutCoordinator(coordinator)),
                (at + takes, Incident::HealCoordinator(coordinator)),
            ],
            2 | 3 => vec![(at, Incident::KillWorker(worker)), (at + takes, Incident::StartWorker(worker))],
            4 => vec![(at, Incident::ReplaceWorker(worker))],
            5 => vec![
                (at, Incident::KillCoordinator(coordinator)),
                (at + takes, Incident::StartCoordinator(coordinator)),
            ],
            6 => vec![(at, Incident::CutAll), (at + takes, Incident::HealAll)],
            7 => vec![
                (at, Incident::CutAll),
                (at + takes, Incident::BrokerForgets),
                (at + takes, Incident::HealAll),
            ],
            // Once at most: a worker that fails again and again gives up, which is right.
            8 if !self.breaks(Part::Batcher) => vec![(at, Incident::Break(Part::Batcher, worker))],
            _ => {
                let part = match dice.roll(5) {
                    0 => Part::Checks,
                    1 | 2 => Part::Router,
                    _ => Part::Dispatch,
                };
                vec![(at, Incident::Break(part, coordinator))]
            }
        };
        self.incidents.extend(happenings);
    }

    fn breaks(&self, part: Part) -> bool {
        self.incidents.iter().any(|(_, what)| matches!(what, Incident::Break(broken, _) if *broken == part))
    }
}

fn some_time(dice: &mut Dice) -> Duration {
    Duration::from_millis(dice.roll(STORM.as_millis() as u64))
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, coordinators, workers, has_cache, .. } = self;
        writeln!(f, "seed {seed}: {coordinators} coordinators, {workers} workers, cache {has_cache}")?;
        for (number, check) in self.checks.iter().enumerate() {
            writeln!(f, "  check {number}: {check:?}")?;
        }
        for (at, incident) in &self.incidents {
            writeln!(f, "  {at:?}: {incident:?}")?;
        }
        Ok(())
    }
}

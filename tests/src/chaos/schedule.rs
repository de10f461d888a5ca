//! What happens when, all of it drawn from the seed before anything runs.

use groundline_bus::Dice;
use std::fmt;
use std::time::Duration;

/// Workers, gateways and coordinators of a cluster.
pub(super) const WORKERS: usize = 3;
pub(super) const GATEWAYS: usize = 2;
/// Nothing happens before everything works.
const CALM_MS: u64 = 3000;
/// Least time between the end of an incident and the beginning of the next, so that what follows is known to follow from one.
const GAP_MS: u64 = 3000;
/// The longest partition or frozen process.
const LONGEST_MS: u64 = 12_000;

/// A process of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Node {
    Worker(usize),
    Gateway(usize),
    Coordinator,
    Broker,
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::Worker(number) => write!(f, "worker{number}"),
            Node::Gateway(number) => write!(f, "gateway{number}"),
            Node::Coordinator => f.write_str("coordinator"),
            Node::Broker => f.write_str("broker"),
        }
    }
}

/// What can happen to a process, or to what it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// It ends at once, and starts again at the end of the incident.
    Kill,
    /// It is told to stop, and starts again at the end of the incident.
    Stop,
    /// It does nothing for the time of the incident, and does not know it.
    Freeze,
    /// Nothing passes between it and the broker, and no connection is closed.
    Cut,
    /// It ends at once, and comes back without anything that it had stored.
    Wipe,
    /// Everything between it and the broker takes longer.
    Delay,
    /// Answers to its jobs get lost.
    LoseResults,
    /// What the broker says to jobs that it has stored gets lost.
    LoseAcks,
    /// Somebody asks for a check that brings workers down.
    Poison,
    /// One tenant asks for a hundred checks at once.
    Flood,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Kill => "kill",
            Fault::Stop => "stop",
            Fault::Freeze => "freeze",
            Fault::Cut => "cut",
            Fault::Wipe => "wipe",
            Fault::Delay => "delay",
            Fault::LoseResults => "lose_results",
            Fault::LoseAcks => "lose_acks",
            Fault::Poison => "poison",
            Fault::Flood => "flood",
        })
    }
}

/// Something that happens, from `at` on, for as long as it `lasts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Incident {
    pub(super) at: Duration,
    pub(super) lasts: Duration,
    pub(super) fault: Fault,
    pub(super) node: Node,
}

impl Incident {
    pub(super) fn end(&self) -> Duration {
        self.at + self.lasts
    }
}

/// A run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Schedule {
    pub(super) seed: u64,
    /// How long callers ask.
    pub(super) storm: Duration,
    /// In order of time.
    pub(super) incidents: Vec<Incident>,
}

impl Schedule {
    /// Draws the schedule of a seed: one incident after the other, and now and then a second one at the same time at another worker,
    /// so that one worker at least, and the broker after a short while, can always be reached.
    pub(super) fn draw(seed: u64, storm: Duration) -> Self {
        let mut dice = Dice::new(seed);
        let storm_ms = storm.as_millis() as u64;
        let mut incidents = Vec::new();
        let mut at_ms = CALM_MS;
        loop {
            let incident = draw_incident(&mut dice, at_ms);
            let end_ms = incident.end().as_millis() as u64;
            if end_ms + GAP_MS > storm_ms {
                break;
            }
            if let Node::Worker(number) = incident.node
                && incident.fault != Fault::Poison
                && dice.chance(40)
            {
                let other = Node::Worker((number + 1 + dice.roll(WORKERS as u64 - 1) as usize) % WORKERS);
                let fault = pick(&mut dice, &[Fault::Kill, Fault::Freeze, Fault::Cut, Fault::Delay]);
                let later_ms = dice.roll(incident.lasts.as_millis() as u64 / 2);
                let at = incident.at + Duration::from_millis(later_ms);
                incidents.push(Incident { at, lasts: incident.end() - at, fault, node: other });
            }
            incidents.push(incident);
            at_ms = end_ms + GAP_MS + dice.roll(GAP_MS);
        }
        incidents.sort_by_key(|incident| (incident.at, incident.node, incident.fault));
        Self { seed, storm, incidents }
    }

    /// Whether some process is told to do what brings it down.
    pub(super) fn has_poison(&self) -> bool {
        self.incidents.iter().any(|incident| incident.fault == Fault::Poison)
    }
}

fn pick<T: Copy>(dice: &mut Dice, choices: &[T]) -> T {
    choices[dice.roll(choices.len() as u64) as usize]
}

fn draw_incident(dice: &mut Dice, at_ms: u64) -> Incident {
    let worker = Node::Worker(dice.roll(WORKERS as u64) as usize);
    let gateway = Node::Gateway(dice.roll(GATEWAYS as u64) as usize);
    let (fault, node) = pick(
        dice,
        &[
            (Fault::Kill, worker),
            (Fault::Stop, worker),
            (Fault::Freeze, worker),
            (Fault::Cut, worker),
            (Fault::Delay, worker),
            (Fault::Kill, gateway),
            (Fault::Stop, gateway),
            (Fault::Freeze, gateway),
            (Fault::Cut, gateway),
            (Fault::Delay, gateway),
            (Fault::LoseResults, gateway),
            (Fault::LoseAcks, gateway),
            (Fault::Kill, Node::Coordinator),
            (Fault::Freeze, Node::Coordinator),
            (Fault::Cut, Node::Coordinator),
            (Fault::Kill, Node::Broker),
            (Fault::Wipe, Node::Broker),
            (Fault::Poison, gateway),
            (Fault::Flood, gateway),
        ],
    );
    let lasts_ms = match (fault, node) {
        // The broker's absence is everybody's.
        (_, Node::Broker) => 500 + dice.roll(3500),
        (Fault::Kill | Fault::Stop, _) => 300 + dice.roll(4000),
        (Fault::LoseResults | Fault::LoseAcks, _) => 2000 + dice.roll(3000),
        (Fault::Poison, _) => 10_000,
        _ => 2000 + dice.roll(LONGEST_MS - 2000),
    };
    Incident { at: Duration::from_millis(at_ms), lasts: Duration::from_millis(lasts_ms), fault, node }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.storm.as_secs_f64();
        writeln!(f, "seed {}: {seconds:.0} s, {} incidents", self.seed, self.incidents.len())?;
        for incident in &self.incidents {
            let (at, lasts) = (incident.at.as_secs_f64(), incident.lasts.as_secs_f64());
            writeln!(f, "  {at:7.2} s  {:<12} {:<12} {lasts:5.2} s", incident.fault, incident.node)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORM: Duration = Duration::from_secs(120);

    #[test]
    fn a_seed_gives_one_schedule_and_seeds_give_different_ones() {
        assert_eq!(Schedule::draw(7, STORM), Schedule::draw(7, STORM));
        assert_ne!(Schedule::draw(7, STORM).incidents, Schedule::draw(8, STORM).incidents);
    }

    #[test]
    fn a_worker_is_always_left_and_everything_ends_within_the_storm() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..500 {
            let schedule = Schedule::draw(seed, STORM);
            assert!(!schedule.incidents.is_empty());
            for incident in &schedule.incidents {
                seen.insert(incident.fault);
                assert!(incident.end() < STORM, "{incident:?}");
                let at_once = schedule.incidents.iter().filter(|other| {
                    other.at < incident.end() && incident.at < other.end() && other.node != incident.node
                });
                assert!(at_once.count() < 2, "{schedule}");
            }
        }
        assert_eq!(seen.len(), 10, "{seen:?}");
    }
}

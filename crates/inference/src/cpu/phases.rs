//! Where the time of a pass goes, for profiles.

use std::time::{Duration, Instant};

/// A kind of work in a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Looking up embeddings, and their norm.
    Embedding,
    /// The products that make queries, keys and values.
    Projections,
    /// Scores, softmax and weighing of values.
    Attention,
    /// The product after attention, with its residual.
    AttentionOutput,
    /// The first feed-forward product, with its activation.
    Intermediate,
    /// The second feed-forward product, with its residual.
    Output,
    /// The norms after attention and after the feed-forward layers.
    Norms,
    /// Convolution, heads and means.
    Heads,
}

impl Phase {
    /// All there are, in the order of a pass.
    pub const ALL: [Phase; 8] = [
        Phase::Embedding,
        Phase::Projections,
        Phase::Attention,
        Phase::AttentionOutput,
        Phase::Intermediate,
        Phase::Output,
        Phase::Norms,
        Phase::Heads,
    ];

    /// As in a table.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Embedding => "embedding",
            Phase::Projections => "projections",
            Phase::Attention => "attention",
            Phase::AttentionOutput => "attention output",
            Phase::Intermediate => "intermediate",
            Phase::Output => "output",
            Phase::Norms => "norms",
            Phase::Heads => "heads",
        }
    }
}

/// Time spent in each phase, in the order of [`Phase::ALL`].
pub type PhaseTimes = [Duration; Phase::ALL.len()];

/// One stretch of work of one phase.
pub(super) type Lap = (Phase, Duration);

/// Splits the time of one thread into laps; stopped, it costs nothing.
#[derive(Debug, Default)]
pub(super) struct Stopwatch {
    /// End of the last lap; `None` while stopped.
    last: Option<Instant>,
    laps: Vec<Lap>,
}

impl Stopwatch {
    pub(super) fn started() -> Self {
        Self { last: Some(Instant::now()), laps: Vec::new() }
    }

    /// Books the time since the last lap on `phase`.
    pub(super) fn lap(&mut self, phase: Phase) {
        if let Some(last) = &mut self.last {
            let now = Instant::now();
            self.laps.push((phase, now - *last));
            *last = now;
        }
    }

    pub(super) fn into_laps(self) -> Vec<Lap> {
        self.laps
    }
}

/// The phases of several runs of the same work, each lap taken from the run that was fastest there: a thread that had to
/// wait for its core loses a few laps, not the run.
pub(super) fn fastest(runs: &[Vec<Lap>]) -> PhaseTimes {
    let mut times = PhaseTimes::default();
    let Some(first) = runs.first() else { return times };
    for (place, (phase, _)) in first.iter().enumerate() {
        let laps = runs.iter().filter_map(|run| run.get(place));
        times[*phase as usize] += laps.map(|(_, time)| *time).min().unwrap_or_default();
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_listed_in_their_order() {
        assert!(Phase::ALL.iter().enumerate().all(|(place, &phase)| phase as usize == place));
    }

    #[test]
    fn a_stopped_watch_books_nothing() {
        let mut watch = Stopwatch::default();
        watch.lap(Phase::Attention);
        assert!(watch.into_laps().is_empty());
        let mut watch = Stopwatch::started();
        watch.lap(Phase::Attention);
        assert_eq!(watch.into_laps().len(), 1);
    }

    #[test]
    fn each_lap_counts_with_its_fastest_run() {
        let run = |times: [u64; 3]| {
            let phases = [Phase::Norms, Phase::Attention, Phase::Norms];
            phases.into_iter().zip(times.map(Duration::from_millis)).collect::<Vec<_>>()
        };
        let times = fastest(&[run([1, 9, 7]), run([5, 2, 3])]);
        assert_eq!(times[Phase::Norms as usize], Duration::from_millis(4));
        assert_eq!(times[Phase::Attention as usize], Duration::from_millis(2));
        assert_eq!(fastest(&[]), PhaseTimes::default());
    }
}

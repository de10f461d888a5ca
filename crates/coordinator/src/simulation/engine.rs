//! A toy engine that brings its process down.

use groundline_bus::SimBus;
use groundline_inference::{Encoded, Engine};
use groundline_testkit::{ToyEngine, ToyHooks};
use groundline_types::{Code, ModelFacts, Problem, Score, Work};
use tokio::sync::mpsc;

/// Whoever scores this dies.
pub(super) const POISON: &str = "poison";
/// What cannot be scored.
pub(super) const UNSCORABLE: &str = "unscorable";

/// The engine of one life of a worker.
pub(super) struct MortalEngine {
    toy: ToyEngine,
    node: SimBus,
    /// Which worker this is, and who wants to know of its death.
    slot: usize,
    deaths: mpsc::UnboundedSender<usize>,
}

impl MortalEngine {
    pub(super) fn new(slot: usize, node: SimBus, deaths: mpsc::UnboundedSender<usize>) -> Self {
        let hooks = ToyHooks {
            nan_word: Some(POISON.to_owned()),
            fail_word: Some(UNSCORABLE.to_owned()),
            ..ToyHooks::default()
        };
        Self { toy: ToyEngine::new(hooks), node, slot, deaths }
    }
}

impl Engine for MortalEngine {
    fn facts(&self) -> &ModelFacts {
        self.toy.facts()
    }

    fn name(&self) -> &str {
        self.toy.name()
    }

    fn encode(&self, work: &Work) -> Result<Encoded, Problem> {
        self.toy.encode(work)
    }

    fn run(&self, batch: &[Encoded]) -> Vec<Result<Score, Problem>> {
        let scores = self.toy.run(batch);
        let is_deadly = |score: &Result<Score, Problem>| matches!(score, Err(problem) if problem.code == Code::NON_FINITE);
        if scores.iter().any(is_deadly) {
            self.node.kill();
            // A run that is over needs no word.
            let _ = self.deaths.send(self.slot);
        }
        scores
    }

    fn batch_tokens(&self) -> usize {
        512
    }
}

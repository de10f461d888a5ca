//! Engines that compute nothing, so that what is measured is everything around an engine.

use groundline::{Config, Engine, ModelFacts, Problem, load_model};
use groundline_inference::{Encoded, Task};
use groundline_types::{Head, Score, Similarity, Work};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Bytes of text that count as a token.
const BYTES_PER_TOKEN: usize = 4;
/// A sleep shorter than this is left out and made up for with the next one: the system wakes no thread more exactly.
const SHORTEST_SLEEP: Duration = Duration::from_micros(500);

/// How a simulated device works.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pace {
    /// Pairs and texts a second; `None`: it answers at once.
    pub(crate) items_per_second: Option<f64>,
    /// Tokens of a batch.
    pub(crate) batch_tokens: usize,
}

impl Pace {
    /// A device that answers at once.
    pub(crate) const NULL: Self = Self { items_per_second: None, batch_tokens: 16_384 };
}

/// A device of fixed speed, or one that answers at once, with the facts of a real model: claims and sources are split, counted
/// and windowed as that model wants it, and embeddings have its width.
#[derive(Debug)]
pub(crate) struct SimulatedDevice {
    facts: ModelFacts,
    pace: Pace,
    logits: Score,
    embedding: Score,
    scored: Arc<AtomicU64>,
}

impl SimulatedDevice {
    /// Stands in for the model that `config` names.
    pub(crate) fn new(config: &Config, pace: Pace) -> Result<Self, Problem> {
        let model = load_model(config)?;
        let text = Work::Embed { text: "text".into() };
        let width = match model.run(&[model.encode(&text)?]).pop() {
            Some(Ok(Score::Embedding(values))) => values.len(),
            _ => 1,
        };
        let mut embedding = vec![0.0_f32; width];
        embedding[0] = 1.0;
        let mut logits = vec![-2.0_f32; model.facts().labels.count];
        logits[model.facts().labels.entailment] = 2.0;
        Ok(Self {
            facts: model.facts().clone(),
            pace,
            logits: Score::Logits(logits.into()),
            embedding: Score::Embedding(embedding.into()),
            scored: Arc::default(),
        })
    }

    /// How much it has scored so far, readable while it runs.
    pub(crate) fn scored(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.scored)
    }
}

impl Engine for SimulatedDevice {
    fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    fn name(&self) -> &str {
        "simulated"
    }

    fn encode(&self, work: &Work) -> Result<Encoded, Problem> {
        let (bytes, task) = match work {
            Work::Pair { premise, hypothesis, head } => {
                (premise.len() + hypothesis.len(), Task::Classify(*head))
            }
            Work::Embed { text } => (text.len(), Task::Embed),
            Work::Similarity { candidate, reference } => {
                (candidate.len() + reference.len(), Task::Similarity { second: 0 })
            }
            Work::Tokens { context, text, head } => (context.len() + text.len(), Task::Tokens(*head)),
        };
        let tokens =
            (bytes / BYTES_PER_TOKEN + self.facts.pair_overhead_tokens).clamp(1, self.facts.max_tokens);
        Ok(Encoded { ids: vec![0; tokens], type_ids: vec![0; tokens], task, asked: Vec::new() })
    }

    fn run(&self, batch: &[Encoded]) -> Vec<Result<Score, Problem>> {
        let began = Instant::now();
        let per_item = self.pace.items_per_second.map(|speed| Duration::from_secs_f64(1.0 / speed));
        let score = |(index, item): (usize, &Encoded)| {
            if let Some(per_item) = per_item {
                let done = began + per_item * (index as u32 + 1);
                let left = done.saturating_duration_since(Instant::now());
                if left >= SHORTEST_SLEEP || index + 1 == batch.len() {
                    std::thread::sleep(left);
                }
            }
            self.scored.fetch_add(1, Ordering::Relaxed);
            Ok(match item.task {
                Task::Classify(Head::Nli) => self.logits.clone(),
                Task::Classify(_) => Score::Logits([-1.0, 1.0].into()),
                Task::Tokens(_) => Score::Tokens([].into()),
                Task::Embed | Task::Hidden => self.embedding.clone(),
                Task::Similarity { .. } => Score::Similarity(Similarity { precision: 0.5, recall: 0.5 }),
            })
        };
        batch.iter().enumerate().map(score).collect()
    }

    fn batch_tokens(&self) -> usize {
        self.pace.batch_tokens
    }
}

//! A real model that fails on purpose.

use groundline::{Config, Engine, load_model};
use groundline_inference::Encoded;
use groundline_types::{ModelFacts, Problem, Score, Work};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A model whose batches take a time of their own, as on a device of fixed speed, and whose process ends where one pair holds all of
/// some words.
pub struct HookedModel {
    model: Box<dyn Engine>,
    batch_delay: Duration,
    abort_words: Vec<String>,
    /// Token ids of pairs with all of the words.
    deadly: Mutex<BTreeSet<Vec<u32>>>,
}

impl std::fmt::Debug for HookedModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HookedModel").field("batch_delay", &self.batch_delay).finish_non_exhaustive()
    }
}

impl HookedModel {
    /// Loads a model folder.
    ///
    /// # Errors
    /// As [`load_model`].
    pub fn load(folder: &Path, batch_delay: Duration, abort_words: Vec<String>) -> Result<Self, Problem> {
        let model = Box::new(load_model(&config_of(folder))?);
        Ok(Self { model, batch_delay, abort_words, deadly: Mutex::default() })
    }
}

/// Settings for the model of a folder: one thread, since several processes share this machine.
pub fn config_of(folder: &Path) -> Config {
    let mut config = Config::default();
    config.model.name = folder.to_string_lossy().into_owned();
    config.engine.threads = 1;
    config
}

impl Engine for HookedModel {
    fn facts(&self) -> &ModelFacts {
        self.model.facts()
    }

    fn name(&self) -> &str {
        self.model.name()
    }

    fn encode(&self, work: &Work) -> Result<Encoded, Problem> {
        let encoded = self.model.encode(work)?;
        if let Work::Pair { premise, hypothesis, .. } = work
            && !self.abort_words.is_empty()
            && self.abort_words.iter().all(|word| premise.contains(word) || hypothesis.contains(word))
        {
            self.deadly.lock().unwrap_or_else(PoisonError::into_inner).insert(encoded.ids.clone());
        }
        Ok(encoded)
    }

    fn run(&self, batch: &[Encoded]) -> Vec<Result<Score, Problem>> {
        std::thread::sleep(self.batch_delay);
        let deadly = self.deadly.lock().unwrap_or_else(PoisonError::into_inner);
        if batch.iter().any(|item| deadly.contains(&item.ids)) {
            std::process::abort();
        }
        drop(deadly);
        self.model.run(batch)
    }

    fn batch_tokens(&self) -> usize {
        self.model.batch_tokens()
    }
}

//! Token embeddings of texts that came up lately. A sentence meets every sentence of many samples, in one batch after another.

use super::TokenVectors;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Numbers of one generation, in bytes; there are two.
const GENERATION_BYTES: usize = 32 << 20;

/// Texts by their token ids.
type Texts = HashMap<Box<[u32]>, Arc<TokenVectors>>;

/// Remembers the texts used last, in about [`GENERATION_BYTES`] to twice as many.
///
/// What is looked up moves to the younger generation; when that is full, the older one is forgotten. An embedding depends on its text
/// alone, so what is remembered changes no number.
#[derive(Debug)]
pub(crate) struct Remembered {
    generations: Mutex<Generations>,
    limit_bytes: usize,
}

#[derive(Debug, Default)]
struct Generations {
    young: Texts,
    young_bytes: usize,
    old: Texts,
}

impl Default for Remembered {
    fn default() -> Self {
        Self::with_limit(GENERATION_BYTES)
    }
}

impl Remembered {
    fn with_limit(limit_bytes: usize) -> Self {
        Self { generations: Mutex::default(), limit_bytes }
    }

    /// The embeddings of a text, where they are remembered.
    pub(crate) fn get(&self, ids: &[u32]) -> Option<Arc<TokenVectors>> {
        // Nothing that holds the lock panics half-way through a change that matters: the worst is a text computed again.
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = generations.young.get(ids) {
            return Some(Arc::clone(found));
        }
        let (ids, found) = generations.old.remove_entry(ids)?;
        generations.insert(ids, Arc::clone(&found), self.limit_bytes);
        Some(found)
    }

    /// Remembers a text.
    pub(crate) fn insert(&self, ids: &[u32], vectors: &Arc<TokenVectors>) {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        generations.insert(ids.into(), Arc::clone(vectors), self.limit_bytes);
    }
}

impl Generations {
    fn insert(&mut self, ids: Box<[u32]>, vectors: Arc<TokenVectors>, limit_bytes: usize) {
        let bytes = vectors.size_bytes();
        if self.young_bytes + bytes > limit_bytes {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        if bytes <= limit_bytes && self.young.insert(ids, vectors).is_none() {
            self.young_bytes += bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors(tokens: usize) -> Arc<TokenVectors> {
        Arc::new(TokenVectors::new(vec![1.0; tokens], 1, (0, 0)))
    }

    #[test]
    fn what_is_used_stays_and_what_is_not_goes() {
        // Four tokens a generation.
        let remembered = Remembered::with_limit(4 * size_of::<f32>());
        for text in 0..3 {
            remembered.insert(&[text], &vectors(2));
        }
        assert!(remembered.get(&[0]).is_some(), "it is in the older generation");
        remembered.insert(&[3], &vectors(2));
        assert!(remembered.get(&[0]).is_some(), "it was used");
        assert!(remembered.get(&[1]).is_none(), "it was not");
        let held = || {
            let generations = remembered.generations.lock().unwrap();
            let texts = generations.young.values().chain(generations.old.values());
            texts.map(|vectors| vectors.size_bytes()).sum::<usize>()
        };
        for text in 0..100 {
            remembered.insert(&[text, text], &vectors(1 + text as usize % 6));
            assert!(held() <= 8 * size_of::<f32>());
        }
    }
}

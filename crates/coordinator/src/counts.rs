//! Token counts of one check: its methods ask for those of the same texts again and again.

use groundline_types::CountTokens;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Texts whose count is remembered; more are counted each time they are asked for.
const MAX_TEXTS: usize = 1 << 14;

/// Hash of a text: 128 bits of BLAKE3, so that two texts are never taken for one.
type TextHash = [u8; 16];

/// A counter that remembers.
pub(crate) struct RememberedCounts {
    counter: Arc<dyn CountTokens>,
    counts: Mutex<HashMap<TextHash, usize>>,
}

impl RememberedCounts {
    pub(crate) fn new(counter: Arc<dyn CountTokens>) -> Self {
        Self { counter, counts: Mutex::default() }
    }
}

impl CountTokens for RememberedCounts {
    fn count_tokens(&self, text: &str) -> usize {
        let mut hash = TextHash::default();
        hash.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..size_of::<TextHash>()]);
        // Counting panics in no known case; if it ever does, what was remembered before is still right.
        let remembered = self.counts.lock().unwrap_or_else(PoisonError::into_inner).get(&hash).copied();
        if let Some(tokens) = remembered {
            return tokens;
        }
        let tokens = self.counter.count_tokens(text);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() < MAX_TEXTS {
            counts.insert(hash, tokens);
        }
        tokens
    }

    fn prefix_within(&self, text: &str, budget: usize) -> usize {
        self.counter.prefix_within(text, budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[derive(Default)]
    struct Slow(AtomicUsize);

    impl CountTokens for Slow {
        fn count_tokens(&self, text: &str) -> usize {
            self.0.fetch_add(1, Ordering::Relaxed);
            text.len()
        }

        fn prefix_within(&self, _: &str, budget: usize) -> usize {
            budget
        }
    }

    #[test]
    fn each_text_is_counted_once() {
        let slow = Arc::new(Slow::default());
        let counts = RememberedCounts::new(slow.clone());
        for _ in 0..3 {
            assert_eq!((counts.count_tokens("ab"), counts.count_tokens("abc")), (2, 3));
        }
        assert_eq!(counts.prefix_within("abc", 2), 2);
        assert_eq!(slow.0.load(Ordering::Relaxed), 2);
    }
}

//! Randomness that tests can fix: jitter, and fence codes that nobody outside can guess.

use groundline_types::{Code, Problem};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Length of a fence code in hexadecimal digits: 64 bits, far beyond guessing within one message.
const NONCE_DIGITS: usize = 16;

/// Where jitter and fence codes come from: a secret key, hashed with what it is asked for.
pub struct Randomness {
    key: [u8; 32],
    drawn: AtomicU64,
}

impl Randomness {
    /// Randomness of the operating system.
    ///
    /// # Errors
    ///
    /// `GL2001` where the system has none to give.
    pub fn from_system() -> Result<Self, Problem> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)
            .map_err(|_| Problem::new(Code::INTERNAL, "the operating system gives no random bytes"))?;
        Ok(Self { key, drawn: AtomicU64::new(0) })
    }

    /// The same sequence for the same seed. For tests alone: who knows the seed knows the fence codes.
    pub fn seeded(seed: u64) -> Self {
        Self { key: *blake3::hash(&seed.to_le_bytes()).as_bytes(), drawn: AtomicU64::new(0) }
    }

    /// A number in `0.0..1.0`, another each time.
    pub(crate) fn fraction(&self) -> f64 {
        let count = self.drawn.fetch_add(1, Ordering::Relaxed);
        let hash = blake3::keyed_hash(&self.key, &count.to_le_bytes());
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&hash.as_bytes()[..8]);
        // 53 bits: what an f64 holds exactly.
        (u64::from_le_bytes(bytes) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The fence code of a message about these texts. It depends on every one of them, so that who writes one cannot know it,
    /// and the same question is put in the same words each time.
    pub(crate) fn nonce(&self, texts: &[&str]) -> String {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        for text in texts {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.finalize().to_hex()[..NONCE_DIGITS].to_owned()
    }
}

impl fmt::Debug for Randomness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Randomness")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_fixes_the_sequence_and_numbers_stay_below_one() {
        let (a, b) = (Randomness::seeded(1), Randomness::seeded(1));
        let drawn = (0..1_000).map(|_| a.fraction()).collect::<Vec<_>>();
        assert_eq!(drawn, (0..1_000).map(|_| b.fraction()).collect::<Vec<_>>());
        assert!(drawn.iter().all(|x| (0.0..1.0).contains(x)));
        let mean = drawn.iter().sum::<f64>() / 1_000.0;
        assert!((0.45..0.55).contains(&mean), "{mean}");
    }

    #[test]
    fn a_fence_code_depends_on_the_key_and_on_every_text_and_where_it_ends() {
        let random = Randomness::seeded(1);
        let code = random.nonce(&["ab", "c"]);
        assert_eq!(code.len(), NONCE_DIGITS);
        assert_eq!(code, random.nonce(&["ab", "c"]));
        assert_ne!(code, random.nonce(&["a", "bc"]));
        assert_ne!(code, random.nonce(&["ab", "d"]));
        assert_ne!(code, Randomness::seeded(2).nonce(&["ab", "c"]));
    }

    #[test]
    fn the_system_gives_another_key_each_time() {
        let codes = [0; 2].map(|_| Randomness::from_system().unwrap().nonce(&["x"]));
        assert_ne!(codes[0], codes[1]);
    }
}

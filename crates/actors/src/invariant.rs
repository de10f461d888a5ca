//! Rules that must hold, each with an id.

use std::sync::atomic::{AtomicU64, Ordering};

static BROKEN: AtomicU64 = AtomicU64::new(0);

/// How many invariants were found broken since the process started.
pub fn broken_invariants() -> u64 {
    BROKEN.load(Ordering::Relaxed)
}

/// Counts and logs a broken invariant; [`check_invariant!`](crate::check_invariant) calls it.
pub fn report_broken(id: &'static str, what: &str) {
    BROKEN.fetch_add(1, Ordering::Relaxed);
    #[cfg(feature = "sim")]
    crate::simulate::note_broken(id);
    tracing::error!(invariant = id, what, "an invariant is broken");
}

/// Checks a rule with an id: a broken one panics in debug builds, and is counted and logged in release builds, where going on is
/// better than to lose a whole mailbox.
#[macro_export]
macro_rules! check_invariant {
    ($id:literal, $condition:expr, $($what:tt)+) => {
        if !$condition {
            let what = format!($($what)+);
            $crate::report_broken($id, &what);
            debug_assert!(false, "invariant {} is broken: {what}", $id);
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_rule_is_counted_and_a_kept_one_is_not() {
        let before = broken_invariants();
        check_invariant!("T1", 1 + 1 == 2, "sums are sound");
        assert_eq!(broken_invariants(), before);
        let broken = std::panic::catch_unwind(|| check_invariant!("T2", 1 + 1 == 3, "sums are {}", "odd"));
        assert_eq!(broken.is_err(), cfg!(debug_assertions));
        assert_eq!(broken_invariants(), before + 1);
    }
}

//! The wall clock, for what people read and what other machines stamped.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970 by this machine's clock; 0 where that is set to before then.
pub(crate) fn wall_clock_ms() -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "a stamp for people and for other machines decides nothing"
    )]
    let now = SystemTime::now();
    now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

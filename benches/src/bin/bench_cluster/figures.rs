//! The measurements.

mod fairness;
mod overhead;
mod overload;
mod scaling;
mod soak;
mod throughput;

pub(crate) use fairness::fairness;
pub(crate) use overhead::overhead;
pub(crate) use overload::overload;
pub(crate) use scaling::scaling;
pub(crate) use soak::soak;
pub(crate) use throughput::throughput;

use std::time::Duration;

/// As many checks at once as any measurement has callers: they shall wait for workers, not be refused.
const ADMIT_ALL: &str = "coordinator.max_checks = 4096\n";

/// How long measurements take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Long enough for figures.
    Full,
    /// Long enough to see that it works.
    Quick,
}

impl Scale {
    /// So many seconds, or a sixth of them.
    fn seconds(self, full: f64) -> Duration {
        Duration::from_secs_f64(if self == Scale::Full { full } else { full / 6.0 })
    }
}

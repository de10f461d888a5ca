//! Whether a process can take work, and what keeps it from that.

use groundline_actors::{ComponentHealth, Condition};
use groundline_inference::Engine;
use groundline_types::{Code, Problem};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// How long a busy component may go without a word before it counts as hung. Longer than the largest batch takes on the
/// slowest engine: saturation is not death.
pub const PROGRESS_PATIENCE: Duration = Duration::from_secs(30);

/// A component that keeps a process from taking work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotReady {
    /// Its name, such as `device`.
    pub component: &'static str,
    /// Why, in a few words.
    pub reason: &'static str,
}

/// Something that is not in the way of taking work, and should be known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// What it is about, such as `device`.
    pub component: &'static str,
    /// What there is to know.
    pub text: String,
}

/// What there is to know of an engine.
pub(crate) fn remarks(engine: &dyn Engine) -> Vec<Remark> {
    let remark = |why: &Problem| match why.code {
        Code::PRECISION_REFUSED => Remark { component: "precision", text: why.to_string() },
        _ => Remark {
            component: "device",
            text: format!("the processor computes, because no GPU can be used: {why}"),
        },
    };
    engine.fallback().map(remark).into_iter().collect()
}

/// The components that keep a process from taking work at `now`, in order of their names.
pub(crate) fn not_ready(components: &BTreeMap<&'static str, ComponentHealth>, now: Instant) -> Vec<NotReady> {
    let reason_of = |health: &ComponentHealth| match health.condition {
        Condition::Failed(why) => Some(why),
        Condition::Starting => Some("it is starting"),
        _ if !health.is_live(now, PROGRESS_PATIENCE) => Some("it makes no progress"),
        _ => None,
    };
    components
        .iter()
        .filter_map(|(&component, health)| reason_of(health).map(|reason| NotReady { component, reason }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_starts_hangs_or_has_failed_is_named_and_what_works_is_not() {
        let start = Instant::now();
        let health = |condition| ComponentHealth { condition, progressed_at: start };
        let components = BTreeMap::from([
            ("a", health(Condition::Idle)),
            ("b", health(Condition::Busy)),
            ("c", health(Condition::Starting)),
            ("d", health(Condition::Failed("it broke"))),
        ]);
        let named = |now| not_ready(&components, now).iter().map(|it| it.component).collect::<Vec<_>>();
        assert_eq!(named(start), ["c", "d"]);
        assert_eq!(named(start + 2 * PROGRESS_PATIENCE), ["b", "c", "d"]);
    }
}

//! Bugs on purpose, to show that the checker sees them.

use std::cell::Cell;

/// A bug that can be planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A result that comes twice settles its items twice.
    DoubleScore,
    /// The outcomes of a job are taken in the wrong order where there are three.
    WrongOrder,
    /// Credits of a job that nobody waits for are not given back.
    LeakCredits,
    /// A job that is not answered is never sent again.
    NeverResend,
    /// No timer ends a check.
    NoDeadline,
    /// Every answer says that everything was checked.
    ClaimCoverage,
    /// A worker begins a suspect job while others are still being handed back.
    RushSuspects,
}

thread_local! {
    static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
}

/// Whether this bug is in the code on this thread.
pub(crate) fn is_planted(bug: Bug) -> bool {
    PLANTED.get() == Some(bug)
}

/// Runs something with a bug.
pub(super) fn with<T>(bug: Bug, run: impl FnOnce() -> T) -> T {
    PLANTED.set(Some(bug));
    // This one is another crate's.
    groundline_worker::let_suspects_rush(bug == Bug::RushSuspects);
    let value = run();
    groundline_worker::let_suspects_rush(false);
    PLANTED.set(None);
    value
}

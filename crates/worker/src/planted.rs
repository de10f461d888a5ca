//! A bug on purpose, to show that the simulation sees it.

use std::cell::Cell;

thread_local! {
    static SUSPECTS_RUSH: Cell<bool> = const { Cell::new(false) };
}

/// Whether suspect jobs begin on this thread while others are still being handed back.
pub fn let_suspects_rush(rush: bool) {
    SUSPECTS_RUSH.set(rush);
}

pub(crate) fn suspects_rush() -> bool {
    SUSPECTS_RUSH.get()
}

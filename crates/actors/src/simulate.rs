//! One thread, one clock and a seed instead of threads, for tests that replay what happened.
//!
//! Under tokio's paused clock nothing but timers moves time, so work on threads of its own would race with it. While a
//! [`Simulation`] is entered, [`run_blocking`](crate::run_blocking) runs its work on the spot, after the time that the
//! simulation says such work takes. Nothing here exists in production: without the feature `sim`, [`is_simulated`] is a constant.

use crate::TaskKind;
use std::cell::RefCell;
use std::time::Duration;

/// How long work of a kind takes, in the time of the simulation.
type Pace = Box<dyn FnMut(TaskKind) -> Duration>;

thread_local! {
    static BROKEN: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    static ENTERED: RefCell<Option<Pace>> = const { RefCell::new(None) };
}

/// A simulation on this thread, until it is dropped.
#[derive(Debug)]
pub struct Simulation {
    /// Bound to the thread that entered it.
    _not_send: std::marker::PhantomData<*const ()>,
}

impl Simulation {
    /// Enters a simulation on this thread, which must be the only one of its runtime.
    pub fn enter(pace: impl FnMut(TaskKind) -> Duration + 'static) -> Self {
        ENTERED.with(|entered| *entered.borrow_mut() = Some(Box::new(pace)));
        Self { _not_send: std::marker::PhantomData }
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        ENTERED.with(|entered| *entered.borrow_mut() = None);
    }
}

/// Whether this thread simulates: then work for threads goes to [`run_blocking`](crate::run_blocking).
pub fn is_simulated() -> bool {
    ENTERED.with(|entered| entered.borrow().is_some())
}

/// The invariants that were found broken on this thread since the last call.
pub fn take_broken() -> Vec<&'static str> {
    BROKEN.take()
}

pub(crate) fn note_broken(id: &'static str) {
    BROKEN.with_borrow_mut(|broken| broken.push(id));
}

/// How long the next work of a kind takes; `None` outside of a simulation.
pub(crate) fn pace(kind: TaskKind) -> Option<Duration> {
    ENTERED.with(|entered| entered.borrow_mut().as_mut().map(|pace| pace(kind)))
}

//! Actors that take one response from text to verdict.
//!
//! [`Coordinator::start`] brings up:
//!
//! ```text
//! Root ─ one_for_one
//! ├─ ResultRouter   brings results to their checks
//! ├─ Dispatch       fair between tenants, bounded by credits; sends jobs, and again where no answer comes
//! ├─ Workers        listens to workers; credits are what they get done in the time that a queue may take
//! └─ Checks         admission
//!    └─ Check(id)   one response; dies with its result
//! ```
//!
//! A check splits the texts, lets its detectors ask for work in rounds, looks each distinct piece of work up in the cache, sends
//! the rest as jobs, and makes the verdict. What it does next is decided by a pure machine (`check::machine`); the actor moves
//! messages in and effects out. Whatever computes for long runs on threads for that.
//!
//! On its deadline a check answers with what it has; what is missing is unchecked, with a reason.
//!
//! Invariant of absence: this crate knows no HTTP and no engine.

#![forbid(unsafe_code)]

mod assemble;
mod cache;
mod cascade;
mod check;
mod checks;
mod coordinator;
mod counts;
mod dispatch;
mod fleet;
mod key;
mod language;
mod observer;
mod options;
mod panel;
mod places;
mod prepare;
mod router;
#[cfg(test)]
mod simulation;
mod stream;
mod workers;

pub use cascade::{resolve_policy, validate_policies};
pub use coordinator::Coordinator;
pub use observer::{CancelToken, CheckObserver, Progress, Stage};
pub use options::CoordinatorOptions;
pub use stream::{StreamEvent, StreamEvents, StreamInput};

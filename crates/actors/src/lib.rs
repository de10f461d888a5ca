//! The little that ractor lacks: a restart policy, stable handles, supervision of a fixed set of children, credits, named
//! tasks, a board of health, and invariants with an id.
//!
//! Rules for every actor of this workspace, each for a reason found in ractor 0.16.5:
//!
//! - no actor has a name and none joins a process group: both are registries of the whole process, and tests run many nodes in one;
//! - every actor overrides `handle_supervisor_evt`: the default stops the parent when any child ends, even normally;
//! - a handler returns `Err` only to die; an expected failure is a message;
//! - `pre_start` is cheap and cannot fail: its failure reaches only who spawned, and no supervisor;
//! - nothing that computes for long runs in a handler: it goes to [`run_blocking`] or to a thread of its own;
//! - mailboxes are unbounded and lost on a panic, so what carries data is bounded by [`Credits`] and kept elsewhere too.
//!
//! Invariant of absence: this crate knows no job, no check and no model.

#![forbid(unsafe_code)]

mod credits;
mod handle;
mod health;
mod invariant;
mod restart;
#[cfg(feature = "sim")]
mod simulate;
mod supervise;
mod task;

pub use credits::Credits;
pub use handle::{Handle, Unsent};
pub use health::{ComponentHealth, Condition, HealthBoard, Reporter};
pub use invariant::{broken_invariants, report_broken};
pub use restart::{RestartDecision, RestartHistory, RestartPolicy};
#[cfg(feature = "sim")]
pub use simulate::{Simulation, is_simulated, take_broken};
pub use supervise::{ChildSpec, Strategy, Supervisor, SupervisorMessage, SupervisorSpec};
pub use task::{OwnedTask, TaskKind, run_blocking, run_computing, spawn_task};

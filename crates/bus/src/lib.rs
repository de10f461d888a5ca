//! The wire between coordinators and workers.
//!
//! A coordinator [publishes](JobBus::publish) [`Job`]s to a work queue, one queue for each model and lane; workers
//! [pull](JobBus::pull) them, decide every [`Delivery`], and [answer](JobBus::answer) to the coordinator that asked. Jobs are
//! delivered at least once, answers at most once; [`JobId`]s make both harmless.
//!
//! Workers [announce](JobBus::announce) themselves. A job that cannot be done ends among the [`DeadJobs`]. Checks that nobody waits
//! for on a connection travel in a [`CheckQueue`] of their own, which any coordinator reads.
//!
//! [`MemoryBus`] is the bus inside one process. Every backend passes the same contract suite (`contract.rs`).
//!
//! Invariant of absence: this crate knows no claim, no detector, no engine and no actor.

#![forbid(unsafe_code)]

mod check_queue;
mod clock;
#[cfg(test)]
mod contract;
mod dead;
mod delivery;
mod error;
mod job;
mod job_bus;
mod listen;
mod memory;
#[cfg(feature = "nats")]
mod nats;
mod nats_options;
mod presence;
#[cfg(feature = "sim")]
mod sim;
mod token;
#[cfg(feature = "nats")]
mod wire;

pub use check_queue::{Answer, CheckDelivery, CheckQueue, CheckTicket, MAX_CHECK_BYTES};
pub use dead::{DeadJob, DeadJobs};
pub use delivery::{Decision, Delivery, DeliveryTicket};
pub use error::{BusClosed, PublishError};
pub use job::{
    CheckId, Incarnation, Job, JobAnswer, JobId, JobItem, JobResult, JobTexts, LaneId, MAX_JOB_BYTES,
    MAX_JOB_ITEMS, TARGET_JOB_TOKENS,
};
pub use job_bus::{BusState, JobBus, Published, PullBudget};
pub use listen::{BusStream, CancelStream, PresenceStream, ResultStream, keep_listening};
pub use memory::{MemoryBus, MemoryBusOptions, MemoryCheckQueue, MemoryCheckQueueOptions};
#[cfg(feature = "nats")]
pub use nats::{NatsBus, NatsCheckQueue, NatsStats};
pub use nats_options::{NatsOptions, NatsStorage, Secret};
pub use presence::Presence;
#[cfg(feature = "sim")]
pub use sim::{Dice, SimBus, SimFaults, SimNet};
pub use token::SubjectToken;

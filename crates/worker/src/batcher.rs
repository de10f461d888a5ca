//! Forms batches of the items of many jobs, and answers jobs from the results of many batches.

mod actor;
mod alone;
mod cancellations;
mod intake;
mod jobs;
mod machine;
mod message;
mod recent;

pub(crate) use actor::Batcher;
pub(crate) use machine::BatchLimits;
pub(crate) use message::{BatcherMessage, BatcherSetup, LaneRoom, Room};

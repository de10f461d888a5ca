//! Forms batches of the items of many jobs, and answers jobs from the results of many batches.

mod actor;
mod jobs;
mod machine;

pub(crate) use actor::{Batcher, BatcherMessage, BatcherSetup, Room};
pub(crate) use machine::BatchLimits;

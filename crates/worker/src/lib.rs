//! Actors that pull, batch, score and answer: one device, one model.
//!
//! [`Worker::start`] brings up a tree that is started again from the failed actor on:
//!
//! ```text
//! Root ─ rest_for_one
//! ├─ Device        async face of the thread that runs the engine; one batch runs, one waits
//! ├─ Batcher       holds the deliveries, forms batches, keeps deliveries alive, answers, acknowledges
//! ├─ Puller online asks the bus only for the tokens that the batcher has room for
//! ├─ Puller bulk
//! └─ Announcer     tells coordinators every second what the worker can take
//! ```
//!
//! A job is answered before it is acknowledged, so that no work is lost for good. What a failed batcher held comes back from
//! the bus; a group that comes back is answered [`Split`](groundline_bus::JobAnswer::Split), and a single that comes back runs
//! alone, once the bus knows that nothing else is in hands (`batcher::alone`), so that an item that brings workers down costs at
//! most three of them and no other job (`batcher::intake`).
//!
//! Invariant of absence: this crate knows no claim and no verdict.

#![forbid(unsafe_code)]

mod batcher;
mod device;
mod load;
mod options;
#[cfg(feature = "sim")]
mod planted;
mod presence;
mod puller;
mod worker;

pub use options::WorkerOptions;
#[cfg(feature = "sim")]
pub use planted::let_suspects_rush;
pub use worker::Worker;

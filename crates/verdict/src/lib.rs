//! Reports to sentence and response verdicts.
//!
//! [`decide`] takes what the methods reported about a prepared check and says, for each sentence and for the response, whether it
//! is supported, contradicted or not mentioned, how sure that is and what to do. It is total: reports that are missing, failed or
//! malformed make sentences unchecked, never supported and never contradicted, and no number is ever NaN.
//!
//! [`reward::reward`] turns a result into one number for training.
//!
//! [`ensemble`] combines several methods' numbers for the response into one calibrated probability.
//!
//! Invariant of absence: this crate does not know where reports come from. It depends on `types` alone of this project.

#![forbid(unsafe_code)]

mod aggregate;
mod decide;
pub mod ensemble;
mod matrix;
mod notes;
mod policy;
pub mod reward;
mod sentence;
mod spans;

pub use decide::{Decision, decide, decide_staged};
pub use policy::{ActionPolicy, VerdictPolicy};
pub use sentence::{Roles, decides, deciding, escalates};

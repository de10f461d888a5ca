//! Test doubles: a toy engine that scores without any model, and a tiny model folder that loads like a real one.
//!
//! [`ToyEngine`] stands in for a model wherever a test is about what happens around scores: planning, batching, caching,
//! failing, waiting. [`tiny_model_dir`] is for tests that need a folder on disk. Neither says anything about the quality of real scores.
//!
//! Invariant of absence: no product crate depends on this one, except for its tests.

#![forbid(unsafe_code)]

mod gate;
mod tiny;
mod toy;
mod words;

pub use gate::Gate;
pub use tiny::{TINY_VOCAB_SIZE, tiny_model_dir, write_tiny_model};
pub use toy::{ToyEngine, ToyHooks, ToyStats};
pub use words::WhitespaceCounter;

//! Test doubles: a toy engine that scores without any model, a tiny model folder that loads like a real one, a real NATS
//! server for what needs a broker, a proxy in front of it that does what networks do, and a driver of a GPU that is not there.
//!
//! `ToyEngine` stands in for a model wherever a test is about what happens around scores: planning, batching, caching,
//! failing, waiting. `tiny_model_dir` is for tests that need a folder on disk. Neither says anything about the quality of real scores.
//!
//! Invariant of absence: no product crate depends on this one, except for its tests.

#![forbid(unsafe_code)]

#[expect(
    clippy::expect_used,
    reason = "a test that needs a network of its own must fail where there is none"
)]
mod fault_proxy;
mod gate;
#[expect(clippy::expect_used, reason = "a test that needs a compiler must fail where there is none")]
mod gpu_driver;
#[expect(
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a test that needs a server must fail where there is none, and show what the server said"
)]
mod nats_server;
#[cfg(feature = "engines")]
mod tiny;
#[cfg(feature = "engines")]
mod toy;
#[cfg(feature = "engines")]
mod words;

pub use fault_proxy::{FaultProxy, NatsMessage, Way};
pub use gate::Gate;
pub use gpu_driver::build_gpu_driver;
pub use nats_server::{NEWEST_NATS, NatsCluster, NatsServer, NatsVersion};
#[cfg(feature = "engines")]
pub use tiny::{TINY_VOCAB_SIZE, tiny_model_dir, write_tiny_model};
#[cfg(feature = "engines")]
pub use toy::{ToyEngine, ToyHooks, ToyStats};
#[cfg(feature = "engines")]
pub use words::WhitespaceCounter;

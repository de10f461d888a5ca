//! One binary for every scenario: linking is the slow part.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a scenario that cannot go on has failed")]

mod bad_input;
mod broker;
mod candidates;
mod check;
mod clock;
mod cluster;
mod ensemble;
mod faults;
mod gpu;
mod jsonl;
mod judge;
mod large;
mod learned;
mod models;
mod overload;
mod policies;
mod roles;
mod soak;
mod stop;
mod telemetry;

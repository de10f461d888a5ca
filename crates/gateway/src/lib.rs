//! HTTP and gRPC over one checker.
//!
//! Invariant of absence: this crate knows no NATS and forms no batches.

#![forbid(unsafe_code)]

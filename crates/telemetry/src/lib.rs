//! Traces, metrics and logs: one inventory of names, and the exporters behind the feature `export`.
//!
//! Invariant of absence: this crate knows nothing of checks, jobs or engines.

#![forbid(unsafe_code)]

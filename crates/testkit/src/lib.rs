//! Toy engines and helpers for tests.

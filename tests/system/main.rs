//! One binary for every scenario: linking is the slow part.

mod bad_input;
mod check;
mod jsonl;
mod large;
mod models;
mod stop;

//! Pairs per second of the CPU engine.
fn main() {}

//! The groundline command.
fn main() {}

//! Checking a response while it is still being written.
//!
//! ```text
//! StreamInput ─ pieces ─► Growth (pure: what is settled) ─► a check of the newly settled sentences ─► StreamEvents
//!                                    └─ at the end ─► a check of the whole text, whose pairs the cache knows
//! ```
//!
//! A sentence is checked once no continuation can change it ([`groundline_claims::settled_claims`] has the rule), so that an event
//! is never taken back. One check runs at a time: what settles meanwhile is checked together, in order. The sources are split
//! once.

mod driver;
mod growth;
mod part;

pub use driver::{StreamEvent, StreamEvents, StreamInput};
pub(crate) use part::{Part, StreamSamples};

//! Who serves a model.

use crate::SubjectToken;

/// What a worker says of itself, once a second while it lives.
///
/// It is told at most once to whoever listens at that moment: nothing but estimates may depend on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Presence {
    /// The worker, one name for each life of it.
    pub worker: SubjectToken,
    /// Revision of the model that it serves, as in [`crate::LaneId`].
    pub model: SubjectToken,
    /// What runs the model, for people: `cpu avx512`, `cuda sm_90`.
    pub engine: String,
    /// Schema of the messages that it speaks, such as `1.0`.
    pub schema: String,
    /// Whether it takes jobs now.
    pub is_ready: bool,
    /// Most estimated tokens that it holds at once.
    pub capacity_tokens: usize,
    /// Estimated tokens that it holds now.
    pub held_tokens: usize,
    /// Estimated tokens that it gets done in a second while it is busy; 0 while that is not known.
    pub tokens_per_second: f64,
    /// Coordinators whose jobs it received within the last seconds: they share what it can take. 0 where it does not say.
    pub coordinators: u32,
}

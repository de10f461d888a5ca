//! What a worker needs of an engine, whatever it computes on.

use groundline_types::{Head, ModelFacts, Problem, Score, Work};

/// One piece of work as tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    /// Token ids, special tokens included; never empty and never longer than the model reads.
    pub ids: Vec<u32>,
    /// Token types, as long as `ids`: 0 for the first text, 1 for the second.
    pub type_ids: Vec<u8>,
    /// What is asked.
    pub task: Task,
    /// The tokens that are asked about, where every token of a text is; else empty.
    pub asked: Vec<AskedToken>,
}

/// A token of a text that is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskedToken {
    /// Its place in [`Encoded::ids`].
    pub index: u32,
    /// Where it starts in its text, in bytes.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
}

/// What is asked of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Task {
    /// The logits of a head for the whole sequence, most often from token 0 of the last layer.
    Classify(Head),
    /// The logits of a head for every token.
    Tokens(Head),
    /// The L2-normalised mean over all tokens of the last hidden state.
    Embed,
    /// How well two texts match; the item's tokens are the first text's and then the second's, each with its own markers. Texts that
    /// repeat are computed once.
    Similarity {
        /// Where the second text's tokens begin.
        second: usize,
    },
    /// The last hidden state of every token: what similarity is made of.
    Hidden,
}

/// Something that scores work for one model revision. Results do not depend on how work was batched together.
pub trait Engine: Send + Sync + 'static {
    /// What planning needs to know of the model.
    fn facts(&self) -> &ModelFacts;

    /// What computes, such as `cpu-avx512-f32`.
    fn name(&self) -> &str;

    /// Why something else computes than was preferred, where that is so: the processor instead of a GPU. It belongs where people
    /// look, for it is the difference between a thousand answers a second and ten.
    fn fallback(&self) -> Option<&Problem> {
        None
    }

    /// Turns work into tokens.
    ///
    /// # Errors
    /// [`groundline_types::Code::TEXT_TOO_LONG`] where it has more tokens than the model reads: nothing is cut here;
    /// [`groundline_types::Code::HEAD_MISSING`].
    fn encode(&self, work: &Work) -> Result<Encoded, Problem>;

    /// Scores a batch on all threads of the engine and returns one answer for each item, in order. Blocks.
    ///
    /// An item that cannot be scored fails alone ([`groundline_types::Code::NON_FINITE`]). Where the device is lost for this
    /// process, every item fails with [`groundline_types::Code::DEVICE_LOST`]; nothing is run after that.
    fn run(&self, batch: &[Encoded]) -> Vec<Result<Score, Problem>>;

    /// How many tokens a batch should hold so that every thread is busy and memory stays within plan.
    fn batch_tokens(&self) -> usize;
}

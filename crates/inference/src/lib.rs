//! DeBERTa inference for natural-language inference (NLI) on the CPU.
//!
//! [`Model::load`] opens a Hugging Face folder; [`Engine`] is what a worker needs of any engine.
//!
//! Invariant of absence: this crate knows no job, no tenant and no async runtime.

mod checkpoint;
pub mod cpu;
pub mod deberta;
mod engine;
mod golden;
mod groundline_file;
mod mapped;
mod model;
mod tensor;
#[cfg(test)]
mod testing;
mod tokenizer;
mod verify;

pub use checkpoint::ModelFile;
pub use engine::{Encoded, Engine, Task};
pub use model::{DEFAULT_WINDOW_TOKENS, LoadOptions, Model, ModelDescription, read_facts};
pub use tensor::{Dtype, Tensor};
pub use tokenizer::PairTokenizer;
pub use verify::{Comparison, VERIFY_TOLERANCE, VerifyReport};

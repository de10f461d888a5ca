//! Inference for natural-language inference (NLI) and fact verification on the CPU: DeBERTa, BERT, RoBERTa, T5 and ModernBERT.
//!
//! [`Model::load`] opens a Hugging Face folder; [`Engine`] is what a worker needs of any engine.
//!
//! Invariant of absence: this crate knows no job, no tenant and no async runtime.

mod backend;
mod bert;
mod beside;
mod checkpoint;
mod config_json;
pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
pub mod deberta;
pub mod encoder;
mod engine;
mod family;
mod golden;
mod groundline_file;
mod lookup;
mod mapped;
mod model;
mod model_set;
mod modernbert;
mod precision;
mod similarity;
mod t5;
mod tensor;
#[cfg(test)]
mod testing;
mod tokenizer;
mod verify;

pub use backend::{DeviceChoice, find_gpus};
pub use checkpoint::ModelFile;
pub use engine::{AskedToken, Encoded, Engine, Task};
pub use model::{DEFAULT_WINDOW_TOKENS, LoadOptions, Model, ModelDescription, read_facts};
pub use model_set::{ModelSet, facts_of_set, revision_of_set};
pub use precision::{
    MeasuredPrecision, PRECISION_ARITHMETIC, PRECISION_FILE, Precision, PrecisionChoice, PrecisionRecord,
    measure_precision,
};
pub use similarity::{SIMILARITY_BASELINE_FILE, SimilarityBaseline};
pub use tensor::{Dtype, Tensor};
pub use tokenizer::{PairTokenizer, TokenizerShape};
pub use verify::{Comparison, VERIFY_TOLERANCE, VerifyReport};

//! Self-consistency: does the model say the same again?
//!
//! After Manakul, Liusie, Gales 2023, "SelfCheckGPT: Zero-Resource Black-Box Hallucination Detection for Generative Large Language
//! Models" (arXiv:2303.08896). A request's `samples` are other answers of the same model to the same prompt. What a model knows it
//! says each time; what it invents differs from answer to answer. All numbers here point the published way: **higher is worse**.
//!
//! Agreement is not truth. A model that is wrong each time agrees with itself, so these methods give no support probability and
//! decide no verdict.
//!
//! Beside the published number each method gives one of ours, `subject_only`, over the samples that speak about the sentence's
//! subject at all ([`subject`]): a sample that tells other things of the same topic is no disagreement.
//!
//! Samples that are the same text count as often as they were given, and are scored once. A sample without a word is left out with
//! a note.

mod asked;
mod bertscore;
mod crossing;
pub mod math;
mod ngram;
mod nli;
mod overlap;
mod prompt;
mod sampled;
mod subject;
pub mod words;

pub(crate) use bertscore::SelfcheckBertscore;
pub(crate) use ngram::SelfcheckNgram;
pub(crate) use nli::SelfcheckNli;
pub(crate) use overlap::SelfcheckOverlap;
pub(crate) use prompt::SelfcheckPrompt;

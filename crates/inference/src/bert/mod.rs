//! BERT and RoBERTa (XLM-RoBERTa too, which differs in its vocabulary only).
//!
//! Devlin et al., "BERT" (arXiv 1810.04805); Liu et al., "RoBERTa" (arXiv 1907.11692); layout as `transformers` stores it. The
//! two differ in the position of the first token (RoBERTa counts from the padding id on) and in their heads.

mod config;
mod load;

pub(crate) use config::BertConfig;

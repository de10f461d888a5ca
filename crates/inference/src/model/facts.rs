//! What planning needs of a model, also without its engine.

use super::{DEFAULT_WINDOW_TOKENS, LoadOptions};
use crate::checkpoint::Checkpoint;
use crate::deberta::{DebertaConfig, parse_config};
use crate::tokenizer::PairTokenizer;
use groundline_types::{Code, ModelFacts, ModelId, NliLabels, Problem};
use std::path::Path;
use std::sync::Arc;

/// Reads what planning needs of the model in `folder`, without preparing its weights: for a process that plans and leaves
/// the computing to others. The revision is a hash over all files, so those who plan and those who compute must have the same
/// folder to meet. The options are those of [`super::Model::load`]; `threads` and `isa` mean nothing here.
///
/// # Errors
/// As [`super::Model::load`], but for what is wrong with single tensors.
pub fn read_facts(folder: &Path, options: &LoadOptions) -> Result<ModelFacts, Problem> {
    let checkpoint = Checkpoint::open(folder)?;
    let mut config = parse_config(&checkpoint.config)?;
    if let Some(labels) = &options.labels {
        config.label_names.clone_from(labels);
    }
    let labels = labels_of(&config)?;
    let max_tokens = max_tokens_of(&checkpoint, &config);
    let tokenizer = Arc::new(PairTokenizer::from_bytes(&checkpoint.tokenizer, &config, max_tokens)?);
    gather(&checkpoint, options, labels, &tokenizer, checkpoint.revision())
}

pub(super) fn labels_of(config: &DebertaConfig) -> Result<NliLabels, Problem> {
    NliLabels::from_names(&config.label_names)
        .map_err(|error| Problem::new(Code::UNKNOWN_LABELS, error.to_string()))
}

pub(super) fn max_tokens_of(checkpoint: &Checkpoint, config: &DebertaConfig) -> usize {
    config.max_position_embeddings.min(checkpoint.tokenizer_max_tokens.unwrap_or(usize::MAX))
}

pub(super) fn gather(
    checkpoint: &Checkpoint,
    options: &LoadOptions,
    labels: NliLabels,
    tokenizer: &Arc<PairTokenizer>,
    revision: String,
) -> Result<ModelFacts, Problem> {
    let max_tokens = tokenizer.max_tokens();
    Ok(ModelFacts {
        id: ModelId { name: name_of(checkpoint, options)?, revision },
        labels,
        max_tokens,
        pair_overhead_tokens: tokenizer.pair_overhead_tokens(),
        window_tokens: window_tokens(checkpoint, options, max_tokens)?,
        has_support_head: checkpoint.support.is_some(),
        summac_conv_fitted: false,
        counter: Arc::clone(tokenizer) as _,
    })
}

fn name_of(checkpoint: &Checkpoint, options: &LoadOptions) -> Result<String, Problem> {
    let given = options.name.clone().or_else(|| checkpoint.groundline.name.clone());
    let folder = || {
        let path = std::path::absolute(&checkpoint.folder).unwrap_or_else(|_| checkpoint.folder.clone());
        path.file_name().map(|name| name.to_string_lossy().into_owned())
    };
    let name = given.or_else(folder).unwrap_or_else(|| "model".to_owned());
    if name.trim().is_empty() {
        return Err(Problem::new(Code::INVALID_CONFIG, "the name of the model is empty; give it one"));
    }
    Ok(name)
}

/// A window may fill three quarters of what the model reads, so that a claim fits beside it.
fn window_tokens(
    checkpoint: &Checkpoint,
    options: &LoadOptions,
    max_tokens: usize,
) -> Result<usize, Problem> {
    let most = (max_tokens * 3 / 4).max(1);
    let Some(asked) = options.window_tokens.or(checkpoint.groundline.window_tokens) else {
        return Ok(DEFAULT_WINDOW_TOKENS.min(most));
    };
    if (1..=most).contains(&asked) {
        return Ok(asked);
    }
    Err(Problem::new(
        Code::INVALID_CONFIG,
        format!(
            "window_tokens is {asked}, and with {max_tokens} tokens at once the model takes windows of 1 to {most}"
        ),
    ))
}

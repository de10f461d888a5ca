//! Loading the model that a configuration names.

use super::find_model;
use crate::Config;
use groundline_inference::{LoadOptions, Model};
use groundline_types::Problem;

/// Loads the model that `config` names. Blocks: from a fraction of a second to many seconds, by the size of the model.
///
/// # Errors
/// [`groundline_types::Code::MODEL_NOT_FOUND`] with the places looked at; a checkpoint that is damaged or of another kind is
/// refused with a code of its own (GL4002 to GL4005, GL1010).
pub fn load_model(config: &Config) -> Result<Model, Problem> {
    Model::load(&find_model(config)?, &load_options(config))
}

/// Reads what planning needs of the model that `config` names, without its engine; errors as [`load_model`].
#[cfg(feature = "cluster")]
pub(crate) fn read_model_facts(config: &Config) -> Result<groundline_types::ModelFacts, Problem> {
    groundline_inference::read_facts(&find_model(config)?, &load_options(config))
}

fn load_options(config: &Config) -> LoadOptions {
    LoadOptions {
        threads: Some(config.engine.threads).filter(|threads| *threads > 0),
        isa: config.engine.isa.cap(),
        labels: Some(config.model.labels.clone()).filter(|labels| !labels.is_empty()),
        window_tokens: Some(config.model.window_tokens).filter(|tokens| *tokens > 0),
        name: None,
        preset: None,
    }
}

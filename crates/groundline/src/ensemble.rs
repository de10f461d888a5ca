//! Finding the weights of an ensemble, and refusing those of another model.

use crate::config::{PROFILE_AUTO, PROFILE_OFF};
use crate::fingerprint::config_hash;
use crate::models::{find_model, read_model_facts};
use crate::{Config, DetectorOptions};
use groundline_inference::revision_of_set;
use groundline_types::{Code, ModelFacts, Problem};
use groundline_verdict::ensemble::{Binding, Ensemble, EnsembleUse};
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;

/// The file in a model's folder.
const PROFILE_FILE: &str = "ensemble.json";
/// Settings of methods that decide the numbers which go into an ensemble.
const DECISIVE: [&str; 6] = [
    "contradiction_neighbours",
    "candidate_sentences",
    "support_threshold",
    "contradiction_threshold",
    "summac",
    "selfcheck",
];

/// What weights that are fitted now would belong to.
#[derive(Debug, Clone, PartialEq)]
pub struct EnsembleScene {
    /// The model and the settings of the methods.
    pub binding: Binding,
    /// `config_hash` of results that were made by them without an ensemble.
    pub config_hash: String,
}

/// Reads what weights for the model and the settings of `config` belong to. Blocks; needs no weights of the model in memory.
///
/// # Errors
/// [`Code::MODEL_NOT_FOUND`] and its neighbours, as [`crate::load_model`].
pub fn ensemble_scene(config: &Config) -> Result<EnsembleScene, Problem> {
    let facts = read_model_facts(&Config { models: Default::default(), ..config.clone() })?;
    let config_hash = config_hash(config, &facts, &EnsembleUse::Off)?;
    Ok(EnsembleScene { binding: binding(config, &facts)?, config_hash })
}

/// The ensemble of a configuration and the model that it names.
///
/// A profile in the model's folder that cannot be used does not stop anything: results say so. One that the configuration names does.
pub(crate) fn ensemble_of(config: &Config, facts: &ModelFacts) -> Result<EnsembleUse, Problem> {
    if config.ensemble.profile != PROFILE_AUTO {
        return ensemble_named(config, facts);
    }
    let file = find_model(config)?.join(PROFILE_FILE);
    if !file.is_file() {
        return Ok(EnsembleUse::Off);
    }
    Ok(read(&file, config, facts).unwrap_or_else(|problem| {
        tracing::warn!(code = %problem.code, why = problem.message, "the ensemble of the model is not used");
        EnsembleUse::Refused(problem)
    }))
}

/// The same where there is no model's folder to look in.
pub(crate) fn ensemble_named(config: &Config, facts: &ModelFacts) -> Result<EnsembleUse, Problem> {
    match config.ensemble.profile.as_str() {
        PROFILE_AUTO | PROFILE_OFF => Ok(EnsembleUse::Off),
        file => read(Path::new(file), config, facts),
    }
}

fn read(file: &Path, config: &Config, facts: &ModelFacts) -> Result<EnsembleUse, Problem> {
    let bytes = std::fs::read(file).map_err(|error| {
        let message = format!("cannot read the ensemble's profile {}: {error}", file.display());
        Problem::new(Code::UNREADABLE_FILE, message)
    })?;
    let ensemble = Ensemble::parse(&bytes)?;
    let mut fitted = ensemble.profile().binding.clone();
    // Profiles that do not name these are of a time when every claim met all evidence, and the sentence was the premise.
    fitted.detectors.entry("candidate_sentences").or_insert_with(|| 0.into());
    if let Some(Value::Object(selfcheck)) = fitted.detectors.get_mut("selfcheck") {
        selfcheck.entry("nli_premise").or_insert_with(|| "sentence".into());
    }
    let mut actual = binding(config, facts)?;
    // Learned detectors beside the model change the revision of the whole, and not what the model says.
    let learned = facts.learned.iter().map(|learned| (learned.preset, learned.id.revision.as_str()));
    if revision_of_set(&fitted.revision, learned) == actual.revision {
        actual.revision.clone_from(&fitted.revision);
    }
    match fitted.mismatch(&actual) {
        None => Ok(EnsembleUse::On(Arc::new(ensemble))),
        Some(why) => Err(Problem::new(Code::ENSEMBLE_PROFILE, format!("the ensemble is off: {why}"))),
    }
}

fn binding(config: &Config, facts: &ModelFacts) -> Result<Binding, Problem> {
    Ok(Binding {
        model: facts.id.name.clone(),
        revision: facts.id.revision.clone(),
        window_tokens: facts.window_tokens,
        detectors: decisive(&config.detectors)?,
    })
}

fn decisive(detectors: &DetectorOptions) -> Result<Map<String, Value>, Problem> {
    let settings = serde_json::to_value(detectors).map_err(|error| {
        Problem::new(Code::INTERNAL, format!("cannot list the settings of the methods: {error}"))
    })?;
    let named = |name: &&str| Some(((*name).to_owned(), settings.get(*name)?.clone()));
    Ok(DECISIVE.iter().filter_map(named).collect())
}

#[cfg(test)]
mod tests;

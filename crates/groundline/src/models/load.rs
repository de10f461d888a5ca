//! Loading the model that a configuration names.

use super::find::{find_in, model_folders};
use super::find_model;
use crate::Config;
use crate::config::LearnedModelConfig;
use groundline_inference::{DeviceChoice, Engine, LoadOptions, Model, ModelSet, PrecisionChoice};
use groundline_telemetry::record;
use groundline_types::{Code, Preset, Problem};
use std::path::PathBuf;
use std::sync::Arc;

/// Loads the model that `config` names. Blocks: from a fraction of a second to many seconds, by the size of the model.
///
/// Where `engine.device` is `auto` and no GPU can be used, the processor computes; that is logged as a warning, counted, and what
/// [`Engine::fallback`](groundline_inference::Engine::fallback) of the model says. So is an `engine.precision` of `int8` that the model
/// is not exact enough for.
///
/// # Errors
/// [`groundline_types::Code::MODEL_NOT_FOUND`] with the places looked at; a checkpoint that is damaged or of another kind is
/// refused with a code of its own (GL4002 to GL4005, GL1010); [`groundline_types::Code::DEVICE_UNAVAILABLE`] and
/// [`groundline_types::Code::DEVICE_MEMORY`] where a GPU was asked for; [`groundline_types::Code::PRECISION_REFUSED`] where `int8`
/// was, and the model has no record of it.
pub fn load_model(config: &Config) -> Result<Model, Problem> {
    let model = Model::load(&find_model(config)?, &load_options(config))?;
    if let Some(why) = model.fallback() {
        let what = match why.code {
            Code::PRECISION_REFUSED => "another precision computes than was asked for",
            _ => "no GPU can be used: the processor computes",
        };
        tracing::warn!(code = %why.code, why = why.message, "{what}");
        record::device_fallback(why.code);
    }
    Ok(model)
}

/// Loads the model that `config` names and the learned detectors beside it, which the processor computes. Blocks.
///
/// # Errors
/// As [`load_model`], for each of them.
pub fn load_engine(config: &Config) -> Result<Arc<dyn Engine>, Problem> {
    let model: Arc<dyn Engine> = Arc::new(load_model(config)?);
    if config.models.is_empty() {
        return Ok(model);
    }
    let load = |learned: &LearnedModelConfig| {
        let model = Model::load(&learned_folder(config, learned)?, &learned_options(config, learned))?;
        Ok((learned.preset, Arc::new(model) as Arc<dyn Engine>))
    };
    let learned: Vec<(Preset, Arc<dyn Engine>)> =
        config.models.values().map(load).collect::<Result<_, Problem>>()?;
    Ok(Arc::new(ModelSet::new(model, learned)))
}

/// Reads what planning needs of the model that `config` names, without its engine; errors as [`load_model`].
pub(crate) fn read_model_facts(config: &Config) -> Result<groundline_types::ModelFacts, Problem> {
    use groundline_inference::{facts_of_set, read_facts};
    let model = read_facts(&find_model(config)?, &load_options(config))?;
    let read = |learned: &LearnedModelConfig| {
        let facts = read_facts(&learned_folder(config, learned)?, &learned_options(config, learned))?;
        Ok((learned.preset, facts))
    };
    let mut learned = config.models.values().map(read).collect::<Result<Vec<_>, Problem>>()?;
    learned.sort_by_key(|(preset, _)| *preset);
    Ok(facts_of_set(model, &learned))
}

fn learned_folder(config: &Config, learned: &LearnedModelConfig) -> Result<PathBuf, Problem> {
    find_in(&learned.path, &model_folders(config))
}

fn learned_options(config: &Config, learned: &LearnedModelConfig) -> LoadOptions {
    LoadOptions {
        threads: Some(config.engine.threads).filter(|threads| *threads > 0),
        isa: config.engine.isa.cap(),
        device: DeviceChoice::Cpu,
        // A detector that was not measured is not in the way of a model that was.
        precision: match config.engine.precision {
            PrecisionChoice::Int8 => PrecisionChoice::Auto,
            other => other,
        },
        preset: Some(learned.preset),
        ..LoadOptions::default()
    }
}

pub(super) fn load_options(config: &Config) -> LoadOptions {
    LoadOptions {
        threads: Some(config.engine.threads).filter(|threads| *threads > 0),
        isa: config.engine.isa.cap(),
        device: config.engine.device,
        precision: config.engine.precision,
        labels: Some(config.model.labels.clone()).filter(|labels| !labels.is_empty()),
        window_tokens: Some(config.model.window_tokens).filter(|tokens| *tokens > 0),
        name: None,
        preset: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groundline_inference::find_gpus;

    fn loaded_on(device: DeviceChoice) -> Result<Model, Problem> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/checkpoints/deberta-v3-like");
        let mut config = Config::default();
        config.model.name = folder.to_owned();
        config.engine.device = device;
        load_model(&config)
    }

    #[test]
    fn a_gpu_that_is_named_and_missing_is_an_error() {
        let problem = loaded_on(DeviceChoice::Cuda(99)).unwrap_err();
        assert_eq!(problem.code, Code::DEVICE_UNAVAILABLE);
    }

    #[test]
    fn where_any_device_will_do_the_processor_computes_for_a_missing_gpu_and_says_why() {
        let model = loaded_on(DeviceChoice::Auto).unwrap();
        match (find_gpus(), model.fallback()) {
            (Err(_), Some(why)) => {
                assert_eq!(why.code, Code::DEVICE_UNAVAILABLE);
                assert!(model.name().starts_with("cpu-"), "{}", model.name());
            }
            (Ok(_), None) => assert!(model.name().starts_with("cuda-"), "{}", model.name()),
            (found, fallback) => panic!("{found:?}, and {fallback:?}"),
        }
        assert!(loaded_on(DeviceChoice::Cpu).unwrap().fallback().is_none());
    }
}

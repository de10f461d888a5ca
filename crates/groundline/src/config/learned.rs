//! Sections `[models.NAME]`: learned detectors beside the model.

use groundline_types::{Code, Preset, Problem};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A learned detector beside the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearnedModelConfig {
    /// Which it is: its input format, windows, and which output means support.
    pub preset: Preset,
    /// A name looked up in the model folders, or a path to a folder.
    pub path: String,
}

/// Refuses two models of one preset, which would answer to the same name.
pub(super) fn validate(models: &BTreeMap<String, LearnedModelConfig>) -> Result<(), Problem> {
    let mut seen: BTreeMap<Preset, &str> = BTreeMap::new();
    for (name, model) in models {
        if model.path.is_empty() {
            return Err(Problem::new(Code::INVALID_CONFIG, format!("models.{name}.path is empty")));
        }
        if let Some(other) = seen.insert(model.preset, name) {
            let preset = model.preset.name();
            let message =
                format!("models.{other} and models.{name} are both of preset {preset}; leave one out");
            return Err(Problem::new(Code::INVALID_CONFIG, message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_model_of_each_preset_and_each_with_a_path() {
        let model = |preset, path: &str| LearnedModelConfig { preset, path: path.to_owned() };
        let of = |models: &[LearnedModelConfig]| {
            let named = models.iter().cloned().enumerate().map(|(n, model)| (format!("m{n}"), model));
            validate(&named.collect())
        };
        assert_eq!(of(&[model(Preset::Factcc, "a"), model(Preset::Hhem, "a")]), Ok(()));
        let twice = of(&[model(Preset::Factcc, "a"), model(Preset::Factcc, "b")]).unwrap_err();
        assert!(twice.message.contains("models.m0 and models.m1"), "{twice}");
        assert!(of(&[model(Preset::Factcc, "")]).unwrap_err().message.contains("models.m0.path"));
    }
}

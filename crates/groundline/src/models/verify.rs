//! Loading a model and comparing it with the reference numbers in its folder.

use super::find_model;
use crate::{Config, load_model};
use groundline_inference::{ModelDescription, VerifyReport};
use groundline_types::Problem;
use std::path::PathBuf;

/// A model that loads, and how it compares with its reference.
#[derive(Debug, Clone)]
pub struct Verification {
    /// Its folder.
    pub path: PathBuf,
    /// What it is.
    pub description: ModelDescription,
    /// How its numbers compare with `golden.json`.
    pub report: VerifyReport,
}

/// Loads the model that `config` names and compares it with the `golden.json` in its folder. Blocks.
///
/// # Errors
/// [`groundline_types::Code::MODEL_NOT_FOUND`], and everything that a damaged or foreign checkpoint is refused with.
pub fn verify_model(config: &Config) -> Result<Verification, Problem> {
    let path = find_model(config)?;
    let model = load_model(config)?;
    let report = model.verify()?;
    Ok(Verification { path, description: model.describe().clone(), report })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn golden_checkpoint() -> Config {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/checkpoints/deberta-v3-like");
        let mut config = Config::default();
        config.model.name = folder.to_owned();
        config
    }

    #[test]
    fn a_model_computes_what_its_reference_did() {
        let found = verify_model(&golden_checkpoint()).unwrap();
        assert!(found.report.has_golden && found.report.has_passed(), "{:?}", found.report);
        assert!(found.path.ends_with("deberta-v3-like"));
    }

    #[test]
    fn labels_of_the_configuration_win() {
        let mut config = golden_checkpoint();
        config.model.labels = ["yes", "no", "maybe"].map(str::to_owned).to_vec();
        assert_eq!(verify_model(&config).unwrap_err().code, groundline_types::Code::UNKNOWN_LABELS);
    }
}

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

    #[test]
    fn the_shipped_model_computes_what_its_reference_did() {
        let found = verify_model(&Config::default()).unwrap();
        assert_eq!(found.description.id.name, "groundline-mini");
        assert!(found.report.has_golden && found.report.has_passed(), "{:?}", found.report);
    }
}

//! The ensemble of a result.

use super::combine::probability;
use super::{Ensemble, InputInfo, input_values};
use groundline_types::{CheckResult, Code, MethodStatus, Note, Problem};
use std::sync::Arc;

/// Whether results get an ensemble.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum EnsembleUse {
    /// They do not.
    #[default]
    Off,
    /// They do, with these weights.
    On(Arc<Ensemble>),
    /// They should, but the profile beside the model cannot be used: each result says why.
    Refused(Problem),
}

/// Fills in a result's ensemble from its other numbers; `excluded` names methods that must not count, such as one that ran for an audit
/// alone. Where none of the profile's methods was asked nothing happens; where some were and none of them can be combined, a note
/// says so.
pub fn apply(ensemble: &EnsembleUse, result: &mut CheckResult, excluded: &[&str]) {
    let note =
        |code, message: &str| Note { code, message: message.to_owned(), location: Some("ensemble".into()) };
    let ensemble = match ensemble {
        EnsembleUse::Off => return,
        EnsembleUse::Refused(problem) => return result.notes.push(note(problem.code, &problem.message)),
        EnsembleUse::On(ensemble) => ensemble,
    };
    let values = input_values(result, excluded);
    if let Some(combined) = ensemble.combine(|name| values.get(name).copied()) {
        result.scores.ensemble = probability(combined.log_odds);
        result.ensemble = Some(combined);
        return;
    }
    let was_asked = |name: &str| {
        InputInfo::named(name)
            .filter(|info| !excluded.contains(&info.method))
            .and_then(|info| result.methods.get(info.method))
            .is_some_and(|method| method.status != MethodStatus::Skipped)
    };
    let mut inputs = ensemble.profile().groups.iter().flat_map(|group| &group.inputs);
    if inputs.any(|input| was_asked(&input.name)) {
        let message = "the ensemble gives no number: none of its methods scored every sentence";
        result.notes.push(note(Code::ENSEMBLE_SILENT, message));
    }
}

#[cfg(test)]
mod tests;

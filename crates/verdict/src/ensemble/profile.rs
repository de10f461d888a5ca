//! The file that holds an ensemble's weights.

use super::combine::{RIDGE, ridged};
use super::{Binding, InputInfo, Transform, solve};
use groundline_types::{Code, Problem};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Name and version of the file's schema.
pub const ENSEMBLE_SCHEMA: &str = "groundline.ensemble/1";
/// Most inputs of a profile: more is a mistake.
pub const MAX_INPUTS: usize = 64;
/// How far a correlation may be from being symmetric, or a 1 on its diagonal: files round numbers.
const ROUNDING: f64 = 1e-6;

/// The file that holds an ensemble's weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnsembleProfile {
    /// Always [`ENSEMBLE_SCHEMA`].
    pub schema: String,
    /// Name for people; results carry it.
    pub name: String,
    /// What the weights belong to.
    pub binding: Binding,
    /// Log-odds of support of a response that nothing is known of.
    pub prior_log_odds: f64,
    /// Inputs that abstain together and add up.
    pub groups: Vec<GroupProfile>,
    /// What it was fitted to.
    pub fitted_to: Vec<FittedSet>,
}

/// Inputs that tell much the same, such as all that compare with sources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupProfile {
    /// Name for people.
    pub name: String,
    /// Log-odds that an average response has beyond the prior.
    pub intercept: f64,
    /// The inputs.
    pub inputs: Vec<InputProfile>,
    /// Correlation of the inputs, a row each.
    pub correlation: Vec<Vec<f64>>,
}

/// One input's weight. It adds `weight · (transform(value) − mean) / scale` to the log-odds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputProfile {
    /// One of [`super::INPUTS`].
    pub name: String,
    /// How its number is brought to a common scale.
    pub transform: Transform,
    /// Mean on that scale.
    pub mean: f64,
    /// Standard deviation on that scale; above 0.
    pub scale: f64,
    /// Log-odds for each standard deviation above the mean.
    pub weight: f64,
}

/// A set of labelled responses that weights were fitted to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FittedSet {
    /// Its name.
    pub name: String,
    /// How many responses were used.
    pub responses: usize,
    /// How many of them were labelled as supported.
    pub supported: usize,
}

/// A profile that was checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Ensemble {
    profile: EnsembleProfile,
}

impl Ensemble {
    /// Reads a profile's file.
    ///
    /// # Errors
    /// [`Code::ENSEMBLE_PROFILE`] saying what is wrong: not JSON of this schema, an input that this version does not know, numbers
    /// that are not finite, a correlation that is none.
    pub fn parse(file: &[u8]) -> Result<Self, Problem> {
        // The schema first: what a later one holds need not be readable.
        #[derive(Deserialize)]
        struct Versioned {
            schema: String,
        }
        let malformed = |error: serde_json::Error| refused(format!("is malformed: {error}"));
        let Versioned { schema } = serde_json::from_slice(file).map_err(malformed)?;
        if schema != ENSEMBLE_SCHEMA {
            return Err(refused(format!("has the schema {schema:?}; this version reads {ENSEMBLE_SCHEMA}")));
        }
        Self::new(serde_json::from_slice(file).map_err(malformed)?)
    }

    /// An ensemble of these weights.
    ///
    /// # Errors
    /// As [`Ensemble::parse`].
    pub fn new(profile: EnsembleProfile) -> Result<Self, Problem> {
        if !profile.prior_log_odds.is_finite() {
            return Err(refused("has a prior that is not finite".to_owned()));
        }
        let names = profile.groups.iter().flat_map(|group| &group.inputs).map(|input| input.name.as_str());
        let (count, distinct) = (names.clone().count(), names.collect::<BTreeSet<_>>().len());
        if count == 0 || count > MAX_INPUTS || distinct != count {
            let message = format!("must have 1 to {MAX_INPUTS} inputs, each once, and has {count}");
            return Err(refused(message));
        }
        for group in &profile.groups {
            check_group(group)?;
        }
        Ok(Self { profile })
    }

    /// The weights.
    pub fn profile(&self) -> &EnsembleProfile {
        &self.profile
    }
}

fn check_group(group: &GroupProfile) -> Result<(), Problem> {
    for input in &group.inputs {
        let name = &input.name;
        if InputInfo::named(name).is_none() {
            return Err(refused(format!("has an input {name:?} that this version does not know")));
        }
        let numbers = [input.mean, input.scale, input.weight];
        if numbers.iter().any(|number| !number.is_finite()) || input.scale <= 0.0 {
            return Err(refused(format!("has a scale or weight of {name} that cannot be used")));
        }
    }
    let (size, rows) = (group.inputs.len(), &group.correlation);
    let is_square = rows.len() == size && rows.iter().all(|row| row.len() == size);
    let is_near = |a: f64, b: f64| (a - b).abs() <= ROUNDING;
    let is_symmetric =
        || (0..size).all(|i| is_near(rows[i][i], 1.0) && (0..i).all(|j| is_near(rows[i][j], rows[j][i])));
    let is_positive = || solve(&ridged(rows, RIDGE), &vec![0.0; size]).is_some();
    if size == 0 || !group.intercept.is_finite() || !is_square || !is_symmetric() || !is_positive() {
        return Err(refused(format!("has a group {:?} without a correlation of its inputs", group.name)));
    }
    Ok(())
}

fn refused(what: String) -> Problem {
    Problem::new(Code::ENSEMBLE_PROFILE, format!("the ensemble's profile {what}"))
}

#[cfg(test)]
mod tests;

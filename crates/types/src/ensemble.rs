//! How several methods' numbers make up one.

use serde::{Deserialize, Serialize};

/// What makes up `scores.ensemble`: an additive account in log-odds.
///
/// `log_odds` = `baseline` + the sum of the inputs' contributions; the probability is `1 / (1 + exp(-log_odds))`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EnsembleResult {
    /// Name of the profile that holds the weights.
    pub profile: String,
    /// Log-odds of support before any input speaks: those of an average response.
    pub baseline: f64,
    /// Log-odds of support from all that spoke; finite.
    pub log_odds: f64,
    /// Every input of the profile whose group spoke, in the profile's order.
    pub inputs: Vec<EnsembleInput>,
}

/// One input of an ensemble.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EnsembleInput {
    /// Its name, such as `mean` or `summac_zs`.
    pub name: String,
    /// The method that it comes from.
    pub method: String,
    /// The method's number; null where the method abstained, failed or was not asked.
    pub value: Option<f64>,
    /// What it adds to the log-odds: above 0 speaks for support. Null where it has no value; what the others say of it is then in
    /// their contributions.
    pub contribution: Option<f64>,
}

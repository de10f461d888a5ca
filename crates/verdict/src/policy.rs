//! Thresholds and actions.

use groundline_types::{Action, Code, Problem};
use serde::{Deserialize, Serialize};

/// How findings become verdicts. Unknown names are refused when reading, missing ones take their default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VerdictPolicy {
    /// Support from which on a sentence is supported, 0 to 1 (default 0.5).
    pub support_threshold: f32,
    /// Contradiction from which on a sentence is contradicted, where it is also above the support; 0 to 1 (default 0.5).
    pub contradiction_threshold: f32,
    /// The alert is raised where the weakest sentence's support is below this, 0 to 1 (default 0.5).
    pub alert_below: f32,
    /// Weight of a sentence with a name, number, date or quantity; others weigh 1. At least 1 (default 2).
    pub high_stakes_weight: f32,
    /// Methods disagree strongly where the mean support of the sentences differs from SummaC's number, or from SummaC-Conv's where
    /// its layer was fitted to the loaded model, by at least this much; 0 to 1 (default 0.5).
    pub strong_disagreement: f32,
    /// What to do with a response.
    pub actions: ActionPolicy,
}

impl Default for VerdictPolicy {
    fn default() -> Self {
        Self {
            support_threshold: 0.5,
            contradiction_threshold: 0.5,
            alert_below: 0.5,
            high_stakes_weight: 2.0,
            strong_disagreement: 0.5,
            actions: ActionPolicy::default(),
        }
    }
}

/// What to do with a response: the first line that fits. There is no action without a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ActionPolicy {
    /// A sentence is contradicted (default block).
    pub contradicted: Action,
    /// A sentence is not mentioned (default retrieve_more).
    pub not_mentioned: Action,
    /// All that was scored is supported, but some checkable sentence was not scored (default review).
    pub partial: Action,
    /// Everything is supported, but methods disagree strongly (default review).
    pub disagreement: Action,
    /// Everything was scored and is supported (default accept).
    pub supported: Action,
}

impl Default for ActionPolicy {
    fn default() -> Self {
        Self {
            contradicted: Action::Block,
            not_mentioned: Action::RetrieveMore,
            partial: Action::Review,
            disagreement: Action::Review,
            supported: Action::Accept,
        }
    }
}

impl VerdictPolicy {
    /// Checks that every setting is in its range.
    ///
    /// # Errors
    /// [`Code::INVALID_CONFIG`] naming the setting, what it is and what it may be.
    pub fn validate(&self) -> Result<(), Problem> {
        let shares = [
            ("support_threshold", self.support_threshold),
            ("contradiction_threshold", self.contradiction_threshold),
            ("alert_below", self.alert_below),
            ("strong_disagreement", self.strong_disagreement),
        ];
        for (name, value) in shares {
            if !(0.0..=1.0).contains(&value) {
                let message = format!("{name} is {value}, it must be between 0 and 1");
                return Err(Problem::new(Code::INVALID_CONFIG, message));
            }
        }
        if !(self.high_stakes_weight.is_finite() && self.high_stakes_weight >= 1.0) {
            let message = format!("high_stakes_weight is {}, it must be at least 1", self.high_stakes_weight);
            return Err(Problem::new(Code::INVALID_CONFIG, message));
        }
        Ok(())
    }

    /// The weight of a sentence. A setting that [`VerdictPolicy::validate`] refuses counts as 1.
    pub(crate) fn weight(&self, high_stakes: bool) -> f32 {
        let weight = self.high_stakes_weight;
        if high_stakes && weight.is_finite() && weight >= 1.0 { weight } else { 1.0 }
    }
}

#[cfg(test)]
mod tests;

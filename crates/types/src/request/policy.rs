//! Which methods a check runs always, and which only where they may be worth it.

use super::json::{known_fields, take, texts_of, wrong};
use crate::{Code, Problem};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How a request says which policy it wants.
#[derive(Debug, Clone, PartialEq)]
pub enum PolicyChoice {
    /// One of the configuration, by its name.
    Named(String),
    /// One of its own.
    Own(CascadePolicy),
}

/// Which methods a check runs, in stages: some always, some only where the first ones leave it open, some for a sample of checks.
///
/// As JSON: `{"always": ["entailment", "numeric"], "grey_zone": {"methods": ["summac"]}, "audit": {"methods": ["summac_conv"],
/// "rate": 0.05}}`. Method names are as in [`super::CheckRequest::methods`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CascadePolicy {
    /// Methods that every check runs. At least one; with a grey zone, one of them gives sentences a support probability.
    pub always: Vec<String>,
    /// Methods for checks that the first ones leave open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grey_zone: Option<GreyZone>,
    /// Methods for a sample of all checks, to see what the others miss. They never change a sentence's verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Audit>,
}

/// When the first methods leave a check open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct GreyZone {
    /// Methods to run then; at least one.
    pub methods: Vec<String>,
    /// A check is in the grey zone where a sentence's support probability is at least this (default 0.3)
    #[serde(default = "GreyZone::default_support_from")]
    pub support_from: f32,
    /// and at most this (default 0.7).
    #[serde(default = "GreyZone::default_support_to")]
    pub support_to: f32,
}

/// Which sample of checks is audited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Audit {
    /// Methods to run then; at least one.
    pub methods: Vec<String>,
    /// Share of checks, 0 to 1. Whether a check is drawn follows from its id, so that it is the same at every repetition.
    pub rate: f64,
}

impl GreyZone {
    const FIELDS: &[&str] = &["methods", "support_from", "support_to"];

    /// Below this a sentence is clearly not supported.
    pub fn default_support_from() -> f32 {
        0.3
    }

    /// Above this a sentence is clearly supported.
    pub fn default_support_to() -> f32 {
        0.7
    }

    /// Whether a support probability leaves its sentence open.
    pub fn holds(&self, support_probability: f32) -> bool {
        (self.support_from..=self.support_to).contains(&support_probability)
    }
}

impl CascadePolicy {
    const FIELDS: &[&str] = &["always", "grey_zone", "audit"];
    /// The names of a policy's settings, with dots between, as in a configuration.
    pub const KEYS: &[&str] = &[
        "always",
        "grey_zone.methods",
        "grey_zone.support_from",
        "grey_zone.support_to",
        "audit.methods",
        "audit.rate",
    ];

    /// Checks what can be checked without knowing the methods.
    ///
    /// # Errors
    /// [`Code::INVALID_FIELD`] naming the field.
    pub fn validate(&self) -> Result<(), Problem> {
        let refuse = |message: String| Err(Problem::new(Code::INVALID_FIELD, message));
        let lists = [
            ("always", Some(&self.always)),
            ("grey_zone.methods", self.grey_zone.as_ref().map(|zone| &zone.methods)),
            ("audit.methods", self.audit.as_ref().map(|audit| &audit.methods)),
        ];
        if let Some((name, _)) = lists.iter().find(|(_, list)| list.is_some_and(Vec::is_empty)) {
            return refuse(format!("`policy.{name}` is empty; name at least one method"));
        }
        if let Some(GreyZone { support_from, support_to, .. }) = self.grey_zone {
            let is_band = (0.0..=1.0).contains(&support_from) && (support_from..=1.0).contains(&support_to);
            if !is_band {
                return refuse(format!(
                    "`policy.grey_zone` goes from {support_from} to {support_to}; both must be between 0 and 1, in this order"
                ));
            }
        }
        match self.audit {
            Some(Audit { rate, .. }) if !(0.0..=1.0).contains(&rate) => {
                refuse(format!("`policy.audit.rate` is {rate}, it must be between 0 and 1"))
            }
            _ => Ok(()),
        }
    }

    /// Reads a policy from a JSON value, as it stands in a request.
    ///
    /// # Errors
    /// [`Code::INVALID_FIELD`] where a field is missing, unknown (the nearest known one is named), of the wrong type or out of range.
    pub fn from_value(value: Value) -> Result<Self, Problem> {
        let Value::Object(mut fields) = value else {
            return Err(wrong("policy", "the name of a policy or an object", &value));
        };
        known_fields(&fields, "policy.", Self::FIELDS)?;
        let always = methods_of(&mut fields, "always", "policy.always")?;
        let grey_zone = match part_of(&mut fields, "grey_zone", GreyZone::FIELDS)? {
            None => None,
            Some(mut fields) => Some(GreyZone {
                methods: methods_of(&mut fields, "methods", "policy.grey_zone.methods")?,
                support_from: number_of(&mut fields, "support_from", "policy.grey_zone.support_from")?
                    .map_or(GreyZone::default_support_from(), |number| number as f32),
                support_to: number_of(&mut fields, "support_to", "policy.grey_zone.support_to")?
                    .map_or(GreyZone::default_support_to(), |number| number as f32),
            }),
        };
        let audit = match part_of(&mut fields, "audit", &["methods", "rate"])? {
            None => None,
            Some(mut fields) => Some(Audit {
                methods: methods_of(&mut fields, "methods", "policy.audit.methods")?,
                rate: number_of(&mut fields, "rate", "policy.audit.rate")?
                    .ok_or_else(|| missing("policy.audit.rate"))?,
            }),
        };
        let policy = Self { always, grey_zone, audit };
        policy.validate()?;
        Ok(policy)
    }
}

/// The policy that a request names or holds.
pub(super) fn policy_of(fields: &mut Map<String, Value>) -> Result<Option<PolicyChoice>, Problem> {
    match take(fields, "policy") {
        None => Ok(None),
        Some(Value::String(name)) => Ok(Some(PolicyChoice::Named(name))),
        Some(value) => CascadePolicy::from_value(value).map(|policy| Some(PolicyChoice::Own(policy))),
    }
}

fn part_of(
    fields: &mut Map<String, Value>,
    name: &str,
    known: &[&str],
) -> Result<Option<Map<String, Value>>, Problem> {
    match take(fields, name) {
        None => Ok(None),
        Some(Value::Object(inner)) => {
            known_fields(&inner, &format!("policy.{name}."), known)?;
            Ok(Some(inner))
        }
        Some(other) => Err(wrong(&format!("policy.{name}"), "an object", &other)),
    }
}

fn methods_of(fields: &mut Map<String, Value>, name: &str, path: &str) -> Result<Vec<String>, Problem> {
    let inside = |problem: Problem| Problem::new(problem.code, problem.message.replacen(name, path, 1));
    texts_of(fields, name).map_err(inside)?.ok_or_else(|| missing(path))
}

fn number_of(fields: &mut Map<String, Value>, name: &str, path: &str) -> Result<Option<f64>, Problem> {
    match take(fields, name) {
        None => Ok(None),
        Some(value) => value.as_f64().map(Some).ok_or_else(|| wrong(path, "a number", &value)),
    }
}

fn missing(path: &str) -> Problem {
    Problem::new(Code::INVALID_FIELD, format!("the field `{path}` is missing"))
}

#[cfg(test)]
mod tests;

//! What a measurement says: figures beside what they should be.

use serde_json::{Value, json};

/// A figure with its bound.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    name: String,
    reached: f64,
    bound: Bound,
    unit: &'static str,
}

/// What a figure should be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Target {
    pub(crate) fn new(name: impl Into<String>, reached: f64, bound: Bound, unit: &'static str) -> Self {
        Self { name: name.into(), reached, bound, unit }
    }

    fn holds(&self) -> bool {
        match self.bound {
            Bound::AtLeast(bound) => self.reached >= bound,
            Bound::AtMost(bound) => self.reached <= bound,
        }
    }

    fn json(&self) -> Value {
        let (relation, bound) = match self.bound {
            Bound::AtLeast(bound) => ("at least", bound),
            Bound::AtMost(bound) => ("at most", bound),
        };
        json!({
            "name": self.name,
            "reached": self.reached,
            "unit": self.unit,
            "wanted": format!("{relation} {bound}"),
            "holds": self.holds(),
        })
    }
}

/// One measurement.
#[derive(Debug, Clone)]
pub(crate) struct Report {
    pub(crate) figure: &'static str,
    pub(crate) targets: Vec<Target>,
    /// Everything else that was seen.
    pub(crate) details: Value,
}

impl Report {
    pub(crate) fn json(&self) -> Value {
        let targets = self.targets.iter().map(Target::json).collect::<Vec<_>>();
        json!({ "figure": self.figure, "targets": targets, "details": self.details })
    }
}

/// Cores used, as an object.
pub(crate) fn cores_json(used: &[(String, f64)]) -> Value {
    let entries = used.iter().map(|(name, cores)| (name.clone(), json!(cores)));
    Value::Object(entries.collect())
}

/// Cores that were used by everything together.
pub(crate) fn cores_sum(used: &[(String, f64)]) -> f64 {
    used.iter().map(|(_, cores)| cores).sum()
}

//! What the weights of an ensemble belong to.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What decides the numbers that go into an ensemble: a model, and the settings by which methods read it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    /// The model's name, for people.
    pub model: String,
    /// The model's revision: a hash over its files.
    pub revision: String,
    /// Tokens of a source that are read at once.
    pub window_tokens: usize,
    /// Settings of the methods, by name.
    pub detectors: Map<String, Value>,
}

impl Binding {
    /// What is different in `actual`, for people; `None` where the weights fit. Settings that `self` does not name may be anything.
    pub fn mismatch(&self, actual: &Binding) -> Option<String> {
        if self.revision != actual.revision {
            let of = |binding: &Binding| format!("{} (revision {})", binding.model, binding.revision);
            return Some(format!("its profile was fitted to {}, not to {}", of(self), of(actual)));
        }
        if self.window_tokens != actual.window_tokens {
            let (fitted, used) = (self.window_tokens, actual.window_tokens);
            return Some(format!("its profile was fitted to windows of {fitted} tokens, not {used}"));
        }
        let differs = |(name, value): &(&String, &Value)| {
            !actual.detectors.get(*name).is_some_and(|now| holds(now, value))
        };
        let (name, _) = self.detectors.iter().find(differs)?;
        Some(format!("its profile was fitted with another value of detectors.{name}"))
    }
}

/// Whether `now` has every setting of `fitted`, with its value; settings that came later may be there too.
fn holds(now: &Value, fitted: &Value) -> bool {
    match (now, fitted) {
        (Value::Object(now), Value::Object(fitted)) => {
            fitted.iter().all(|(name, value)| now.get(name).is_some_and(|now| holds(now, value)))
        }
        (now, fitted) => now == fitted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binding() -> Binding {
        let detectors = serde_json::json!({"contradiction_neighbours": 3, "summac": {"parity": false}});
        Binding {
            model: "mini".to_owned(),
            revision: "a1".to_owned(),
            window_tokens: 96,
            detectors: detectors.as_object().unwrap().clone(),
        }
    }

    #[test]
    fn another_model_window_or_setting_is_named() {
        assert_eq!(binding().mismatch(&binding()), None);
        let other = Binding { revision: "b2".to_owned(), ..binding() };
        let why = binding().mismatch(&other).unwrap();
        assert!(why.contains("revision a1") && why.contains("revision b2"), "{why}");
        let wide = Binding { window_tokens: 350, ..binding() };
        assert!(binding().mismatch(&wide).unwrap().contains("96 tokens, not 350"));
        let mut parity = binding();
        parity.detectors["summac"]["parity"] = true.into();
        assert!(binding().mismatch(&parity).unwrap().contains("detectors.summac"));
    }

    #[test]
    fn settings_that_came_later_do_not_matter_and_missing_ones_do() {
        let mut later = binding();
        later.detectors.insert("new_setting".to_owned(), 1.into());
        later.detectors["summac"]["new_operator"] = true.into();
        assert_eq!(binding().mismatch(&later), None);
        assert!(later.mismatch(&binding()).unwrap().contains("new_setting"));
    }
}

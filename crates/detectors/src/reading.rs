//! What methods read in the texts of a check. Each text is read once, whichever method comes to it first: reading takes longer than
//! all that is done with it.

use groundline_claims::values::{Value, find_values};
use groundline_claims::{Name, find_names};
use groundline_evidence::TextFeatures;
use groundline_types::PreparedCheck;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What a text says.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) values: Vec<Value>,
    pub(crate) names: Vec<Name>,
    /// For [`groundline_evidence::nearness_score`].
    pub(crate) features: TextFeatures,
}

impl Reading {
    pub(crate) fn of(text: &str) -> Self {
        let (values, names) = (find_values(text), find_names(text));
        let numbers: Vec<String> = values.iter().filter_map(normal_form).collect();
        let named: Vec<&str> = names.iter().map(|name| name.text.as_str()).collect();
        let numbers: Vec<&str> = numbers.iter().map(String::as_str).collect();
        let features = TextFeatures::new(text, &named, &numbers);
        Self { values, names, features }
    }
}

/// A value as a text that equals another's where both are the same number or fall in the same year.
fn normal_form(value: &Value) -> Option<String> {
    if let Some(amount) = value.amount() {
        return Some(amount.value.to_string());
    }
    let date = value.date()?;
    match (date.years, date.month, date.day) {
        (Some((first, _)), _, _) => Some(first.to_string()),
        (None, Some(month), Some(day)) => Some(format!("{month}/{day}")),
        _ => None,
    }
}

/// The readings of a check so far.
#[derive(Debug, Default)]
struct Readings {
    by_text: Mutex<HashMap<Box<str>, Arc<Reading>>>,
}

/// What one of a check's texts says.
pub(crate) fn reading(check: &PreparedCheck, text: &str) -> Arc<Reading> {
    let readings = check.derived.get::<Readings>();
    // Nothing that holds the lock panics half-way through a change.
    let mut by_text = readings.by_text.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = by_text.get(text) {
        return Arc::clone(known);
    }
    let new = Arc::new(Reading::of(text));
    by_text.insert(text.into(), Arc::clone(&new));
    new
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check_of;

    #[test]
    fn a_text_is_read_once_in_a_check() {
        let check = check_of(&[&["It opened in 1903."]], &["It opened in 1903."]);
        let (first, again) = (reading(&check, "It opened in 1903."), reading(&check, "It opened in 1903."));
        assert!(Arc::ptr_eq(&first, &again));
        assert_eq!(first.values.len(), 1);
        assert!(!Arc::ptr_eq(&first, &reading(&check, "It opened in 1904.")));
    }
}

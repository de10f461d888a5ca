//! What claims and evidence share: names, numbers and words.

use crate::layout::Layout;
use groundline_claims::values::{Value, find_values};
use groundline_evidence::{NearnessWeights, TextFeatures, nearness_score, rank};
use groundline_types::PreparedCheck;
use std::sync::Arc;

/// Features of a text for [`nearness_score`].
pub(crate) fn features(text: &str) -> TextFeatures {
    features_with(text, &find_values(text))
}

/// The same, with the values of the text already at hand.
pub(crate) fn features_with(text: &str, values: &[Value]) -> TextFeatures {
    let names: Vec<String> = groundline_claims::find_names(text).into_iter().map(|name| name.text).collect();
    let numbers: Vec<String> = values.iter().filter_map(normal_form).collect();
    TextFeatures::new(text, &names, &numbers)
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

/// L2-normalised embeddings of a claim and of every row, where there is one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Embeddings<'a> {
    pub(crate) claim: &'a [f32],
    pub(crate) rows: &'a [Option<Arc<[f32]>>],
}

/// The features of every row of a layout.
#[derive(Debug)]
pub(crate) struct EvidenceFeatures {
    rows: Vec<TextFeatures>,
}

impl EvidenceFeatures {
    pub(crate) fn new(check: &PreparedCheck, layout: &Layout) -> Self {
        let rows = (0..layout.rows.len()).map(|row| features(layout.row_text(check, row))).collect();
        Self { rows }
    }

    /// All rows by falling nearness to a claim. Without embeddings, names, numbers and words decide alone.
    pub(crate) fn ranked(&self, claim: &TextFeatures, embeddings: Option<Embeddings<'_>>) -> Vec<usize> {
        let weights = NearnessWeights::default();
        let score = |(row, features): (usize, &TextFeatures)| {
            let of_row = embeddings.and_then(|all| all.rows.get(row)?.as_deref());
            let of_claim = embeddings.map(|all| all.claim);
            nearness_score((claim, of_claim), (features, of_row), &weights)
        };
        rank(self.rows.iter().enumerate().map(score)).into_iter().map(|near| near.index).collect()
    }

    /// Some rows by falling nearness to a claim, by names, numbers and words.
    pub(crate) fn nearest_first(&self, claim: &TextFeatures, rows: &[usize]) -> Vec<usize> {
        let weights = NearnessWeights::default();
        let score = |row: &usize| match self.rows.get(*row) {
            Some(features) => nearness_score((claim, None), (features, None), &weights),
            None => 0.0,
        };
        rank(rows.iter().map(score)).into_iter().map(|near| rows[near.index]).collect()
    }
}

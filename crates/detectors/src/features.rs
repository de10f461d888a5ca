//! What claims and evidence share: names, numbers and words.

use crate::layout::Layout;
use crate::reading::{Reading, reading};
use groundline_evidence::{NearnessWeights, TextFeatures, nearness_score, rank};
use groundline_types::PreparedCheck;
use std::sync::Arc;

/// L2-normalised embeddings of a claim and of every row, where there is one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Embeddings<'a> {
    pub(crate) claim: &'a [f32],
    pub(crate) rows: &'a [Option<Arc<[f32]>>],
}

/// The features of every row of a layout.
#[derive(Debug)]
pub(crate) struct EvidenceFeatures {
    rows: Vec<Arc<Reading>>,
}

impl EvidenceFeatures {
    pub(crate) fn new(check: &PreparedCheck, layout: &Layout) -> Self {
        let rows = (0..layout.rows.len()).map(|row| reading(check, layout.row_text(check, row))).collect();
        Self { rows }
    }

    /// All rows by falling nearness to a claim. Without embeddings, names, numbers and words decide alone.
    pub(crate) fn ranked(&self, claim: &TextFeatures, embeddings: Option<Embeddings<'_>>) -> Vec<usize> {
        let weights = NearnessWeights::default();
        let score = |(row, reading): (usize, &Arc<Reading>)| {
            let of_row = embeddings.and_then(|all| all.rows.get(row)?.as_deref());
            let of_claim = embeddings.map(|all| all.claim);
            nearness_score((claim, of_claim), (&reading.features, of_row), &weights)
        };
        rank(self.rows.iter().enumerate().map(score)).into_iter().map(|near| near.index).collect()
    }

    /// Some rows by falling nearness to a claim, by names, numbers and words.
    pub(crate) fn nearest_first(&self, claim: &TextFeatures, rows: &[usize]) -> Vec<usize> {
        let weights = NearnessWeights::default();
        let score = |row: &usize| match self.rows.get(*row) {
            Some(reading) => nearness_score((claim, None), (&reading.features, None), &weights),
            None => 0.0,
        };
        rank(rows.iter().map(score)).into_iter().map(|near| rows[near.index]).collect()
    }
}

//! Claims in the notation of near evidence.

use crate::layout::{Layout, pair};
use groundline_types::{PreparedCheck, Work};
use std::sync::Arc;

/// A claim to ask about in other words.
#[derive(Debug, Clone)]
pub(super) struct Variant {
    pub(super) column: usize,
    pub(super) place: Place,
    claim: Arc<str>,
}

/// The evidence whose answer a variant replaces.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    Row(usize),
    Window(usize),
}

impl Variant {
    pub(super) fn work(&self, check: &PreparedCheck, layout: &Layout) -> Work {
        let evidence = match self.place {
            Place::Row(row) => layout.row_text(check, row),
            Place::Window(window) => layout.window_text(check, window),
        };
        pair(evidence, &self.claim)
    }
}

/// Those of `rows` that have a value of a text in another notation, with the text in theirs.
pub(super) fn of_text(
    check: &PreparedCheck,
    layout: &Layout,
    text: &str,
    rows: &[usize],
) -> Vec<(usize, Arc<str>)> {
    rows.iter().filter_map(|row| Some((*row, layout.variant(check, *row, text)?))).collect()
}

/// The variants of a column's claim: against each of the nearest rows that needs one, and against each window that holds such a
/// row; the nearest such row says how.
pub(super) fn of_claim(
    check: &PreparedCheck,
    layout: &Layout,
    column: usize,
    nearest: &[usize],
) -> Vec<Variant> {
    let texts = of_text(check, layout, layout.column_text(check, column), nearest);
    if texts.is_empty() {
        return Vec::new();
    }
    let of_row =
        texts.iter().map(|(row, claim)| Variant { column, place: Place::Row(*row), claim: claim.clone() });
    let of_window = layout.window_rows.iter().enumerate().filter_map(|(window, held)| {
        let (_, claim) = texts.iter().find(|(row, _)| held.contains(row))?;
        Some(Variant { column, place: Place::Window(window), claim: claim.clone() })
    });
    of_row.chain(of_window).collect()
}

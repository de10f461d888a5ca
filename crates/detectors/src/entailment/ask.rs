//! What is asked, and what each answer is for.

use super::variants::Variant;
use crate::layout::{Layout, pair};
use groundline_types::{PreparedCheck, Work};

/// What one work item is for.
#[derive(Debug, Clone)]
pub(super) enum Ask {
    EmbedRow(usize),
    EmbedColumn(usize),
    Window {
        column: usize,
        window: usize,
    },
    Pair {
        column: usize,
        row: usize,
    },
    /// A row or window and a claim in the row's notation.
    Variant(Variant),
}

impl Ask {
    /// The embedding at a position of the list of all: the rows', then the columns'.
    pub(super) fn embed(at: usize, height: usize) -> Self {
        if at < height { Ask::EmbedRow(at) } else { Ask::EmbedColumn(at - height) }
    }

    /// The column that it is about; 0 for a row's embedding.
    pub(super) fn column(&self) -> usize {
        match self {
            Ask::Window { column, .. } | Ask::Pair { column, .. } | Ask::EmbedColumn(column) => *column,
            Ask::Variant(variant) => variant.column,
            Ask::EmbedRow(_) => 0,
        }
    }

    /// The work itself.
    pub(super) fn work(&self, check: &PreparedCheck, layout: &Layout) -> Work {
        match *self {
            Ask::EmbedRow(row) => Work::Embed { text: layout.row_text(check, row).clone() },
            Ask::EmbedColumn(column) => Work::Embed { text: layout.column_text(check, column).clone() },
            Ask::Window { column, window } => {
                pair(layout.window_text(check, window), layout.column_text(check, column))
            }
            Ask::Pair { column, row } => pair(layout.row_text(check, row), layout.column_text(check, column)),
            Ask::Variant(ref variant) => variant.work(check, layout),
        }
    }
}

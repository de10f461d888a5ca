//! What is shown: text for people, JSON for programs.

mod json;
mod matrix;
mod palette;
mod plain;
#[cfg(test)]
pub(crate) mod sample;
mod sink;
mod terminal;

pub(crate) use json::{error_line, result_line};
pub(crate) use palette::Palette;
pub(crate) use plain::{one_line, push, shorten, width, wrap};
pub(crate) use sink::{Sink, WriteError};
pub(crate) use terminal::{Layout, Totals, render_result};

/// Widest text: longer lines are hard to read.
const MAX_COLUMNS: usize = 120;
/// Narrowest text that the layout is made for.
const MIN_COLUMNS: usize = 40;
/// Width where there is no terminal to ask.
const DEFAULT_COLUMNS: usize = 100;

/// Columns to write: what was configured, else the terminal's, else 100.
pub(crate) fn columns(configured: usize) -> usize {
    if configured > 0 {
        return configured.max(MIN_COLUMNS);
    }
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    terminal.map_or(DEFAULT_COLUMNS, |columns| columns.clamp(MIN_COLUMNS, MAX_COLUMNS))
}

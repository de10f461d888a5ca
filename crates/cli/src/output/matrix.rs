//! The SummaC matrix as a table.

use super::{Layout, Palette, one_line, push, shorten, wrap};
use groundline_types::{MatrixResult, Probability, SentenceResult};

/// Columns of one cell: two probabilities, and the space around them.
const CELL_COLUMNS: usize = 12;
const TITLE: &str =
    "SummaC matrix: source sentences (S) by response sentences (R), entailment and contradiction";
/// A probability from which it is coloured.
const COLORED_FROM: f32 = 0.5;

/// The table: a row for each source sentence, a column for each response sentence, the probabilities of entailment and of
/// contradiction in each cell; then what the rows and columns are. A table wider than the text goes in blocks of columns.
pub(super) fn render(matrix: &MatrixResult, sentences: &[SentenceResult], layout: &Layout) -> String {
    let palette = layout.palette;
    let mut out = String::new();
    for line in wrap(TITLE, layout.columns.saturating_sub(2)) {
        push(&mut out, format_args!("  {}\n", palette.bold(&line)));
    }
    let label_columns = 1 + matrix.rows.len().max(1).to_string().len();
    let block = (layout.columns.saturating_sub(2 + label_columns) / CELL_COLUMNS).max(1);
    let all = (0..matrix.columns.len()).collect::<Vec<_>>();
    for columns in all.chunks(block) {
        out.push_str(&" ".repeat(2 + label_columns));
        for column in columns {
            let name = format!("R{}", matrix.columns[*column] + 1);
            out.push_str(&palette.bold(&format!("{name:>CELL_COLUMNS$}")));
        }
        out.push('\n');
        for row in 0..matrix.rows.len() {
            out.push_str("  ");
            out.push_str(&palette.bold(&format!("{:<label_columns$}", format!("S{}", row + 1))));
            for column in columns {
                out.push_str(&cell(matrix, row, *column, palette));
            }
            out.push('\n');
        }
    }
    legend(&mut out, matrix, sentences, layout);
    out
}

fn cell(matrix: &MatrixResult, row: usize, column: usize, palette: Palette) -> String {
    let at = |table: &[Vec<Option<Probability>>]| {
        table.get(row).and_then(|row| row.get(column)).copied().flatten()
    };
    let shown = |probability: Option<Probability>| match probability {
        Some(probability) => format!("{:.2}", probability.get()),
        None => "   -".to_owned(),
    };
    let high = |probability: Option<Probability>| probability.is_some_and(|p| p.get() >= COLORED_FROM);
    let (entailment, contradiction) = (at(&matrix.entailment), at(&matrix.contradiction));
    let (left, right) = (shown(entailment), shown(contradiction));
    let left = if high(entailment) { palette.good(&left) } else { palette.dim(&left) };
    let right = if high(contradiction) { palette.bad(&right) } else { palette.dim(&right) };
    format!("   {left} {right}")
}

fn legend(out: &mut String, matrix: &MatrixResult, sentences: &[SentenceResult], layout: &Layout) {
    let mut line = |name: String, text: String| {
        let columns = layout.columns.saturating_sub(4 + name.len());
        push(out, format_args!("  {} {}\n", layout.palette.bold(&name), shorten(&text, columns)));
    };
    for column in &matrix.columns {
        let text = sentences.get(*column).map(|sentence| one_line(&sentence.text)).unwrap_or_default();
        line(format!("R{}", column + 1), text);
    }
    for (index, row) in matrix.rows.iter().enumerate() {
        let text = format!("{}: {}", one_line(&row.source), one_line(&row.text));
        line(format!("S{}", index + 1), text);
    }
}

#[cfg(test)]
mod tests;

//! The SummaC matrix as a result shows it.

use groundline_types::{
    MatrixResult, MatrixRow, NliProbabilities, PreparedCheck, Probability, Report, SupportMatrix,
};

/// The first matrix among the reports, where the request asks for one. Columns that point outside the claims are left out.
pub(crate) fn matrix(check: &PreparedCheck, reports: &[Report]) -> Option<MatrixResult> {
    if !check.request.matrix {
        return None;
    }
    let matrix = reports.iter().find_map(|report| report.matrix.as_ref())?;
    let columns: Vec<usize> =
        (0..matrix.columns.len()).filter(|at| matrix.columns[*at] < check.claims.len()).collect();
    let rows: Vec<(usize, MatrixRow)> =
        matrix.rows.iter().enumerate().filter_map(|(at, place)| Some((at, row(check, *place)?))).collect();
    let plane = |of: fn(&NliProbabilities) -> Probability| -> Vec<Vec<Option<Probability>>> {
        rows.iter().map(|(row, _)| line(matrix, *row, &columns, of)).collect()
    };
    Some(MatrixResult {
        columns: columns.iter().map(|at| matrix.columns[*at]).collect(),
        entailment: plane(|pair| pair.entailment),
        contradiction: plane(|pair| pair.contradiction),
        neutral: plane(|pair| pair.neutral),
        rows: rows.into_iter().map(|(_, row)| row).collect(),
    })
}

fn row(check: &PreparedCheck, (source, sentence): (usize, usize)) -> Option<MatrixRow> {
    let source = check.sources.get(source)?;
    let sentence = source.sentences.get(sentence)?;
    Some(MatrixRow {
        source: source.id.to_string(),
        start: sentence.span.start,
        end: sentence.span.end,
        text: sentence.text.to_string(),
    })
}

fn line(
    matrix: &SupportMatrix,
    row: usize,
    columns: &[usize],
    of: fn(&NliProbabilities) -> Probability,
) -> Vec<Option<Probability>> {
    columns.iter().map(|column| matrix.get(row, *column).as_ref().map(of)).collect()
}

//! The arithmetic of SummaC, exactly as published, on a matrix of probabilities.
//!
//! Follows `summac/model_summac.py` of <https://github.com/tingofurro/summac>. Matrices are `[source sentence][response
//! sentence]`; all functions here work on one column, the probabilities of all source sentences for one response sentence, in
//! 0..=1. Arithmetic is `f64`; the released weights are `f32`.

use crate::{SummacOperator, SummacOptions};

/// Edges of the histogram that the released SummaC-Conv weights were trained on ("percentile" bins). Left-closed, the last bin
/// closed on both sides.
pub const PERCENTILE_EDGES: [f64; 24] = [
    0.0, 0.01, 0.02, 0.03, 0.04, 0.07, 0.13, 0.37, 0.90, 0.91, 0.92, 0.93, 0.94, 0.95, 0.955, 0.96, 0.965,
    0.97, 0.975, 0.98, 0.985, 0.99, 0.995, 1.0,
];

/// Number of bins of [`PERCENTILE_EDGES`].
pub const BINS: usize = PERCENTILE_EDGES.len() - 1;

/// Response sentences that the published SummaC-Conv reads; further ones it drops.
pub const PUBLISHED_ROWS: usize = 10;

/// Released weights of the layer over the histogram ("Conv" is a linear layer, applied to each response sentence).
const HISTOGRAM_WEIGHTS: [f64; BINS] = [
    -0.004_523_74,
    -0.014_797_47,
    -0.022_358_59,
    0.021_259_11,
    -0.010_985_05,
    -0.079_573_77,
    -0.055_855_73,
    -0.084_195_96,
    -0.245_424_40,
    -0.517_552_61,
    -0.384_757_61,
    -0.486_393_90,
    -0.625_059_55,
    -0.477_514_95,
    -0.772_382_26,
    -0.925_863_74,
    -1.000_946_16,
    -1.092_259_76,
    -1.116_758_82,
    -1.111_118_56,
    -1.599_285_60,
    -2.034_039_26,
    -2.367_029_91,
];
const HISTOGRAM_BIAS: f64 = 0.631_758_81;
/// Released weights of the final layer: from three features to the classes inconsistent and consistent.
const FINAL_WEIGHTS: [[f64; 3]; 2] =
    [[0.049_782_08, 0.569_797_99, 0.546_474_10], [-0.438_356_01, -0.318_463_89, 0.305_572_42]];
const FINAL_BIAS: [f64; 2] = [0.117_747_39, -0.253_438_68];

/// One number of many; `None` of none.
pub fn reduce(operator: SummacOperator, values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut count = 0_usize;
    let folded = values.into_iter().fold(None, |so_far: Option<f64>, value| {
        count += 1;
        Some(so_far.map_or(value, |so_far| match operator {
            SummacOperator::Max => so_far.max(value),
            SummacOperator::Min => so_far.min(value),
            SummacOperator::Mean => so_far + value,
        }))
    });
    folded.map(|value| if operator == SummacOperator::Mean { value / count as f64 } else { value })
}

/// SummaC-ZS of one response sentence: with E and C the reductions of entailment and contradiction over source sentences by the
/// first operator (both by the same one: C takes the *largest* contradiction where E takes the largest entailment), it is E - C,
/// or E, or 1 - C, by which of them are used. -1..=1; `None` without a source sentence or with neither in use.
pub fn zs_column(
    entailment: impl IntoIterator<Item = f64>,
    contradiction: impl IntoIterator<Item = f64>,
    options: &SummacOptions,
) -> Option<f64> {
    let entailment = reduce(options.first_operator, entailment)?;
    let contradiction = reduce(options.first_operator, contradiction)?;
    match (options.use_entailment, options.use_contradiction) {
        (true, true) => Some(entailment - contradiction),
        (true, false) => Some(entailment),
        (false, true) => Some(1.0 - contradiction),
        (false, false) => None,
    }
}

/// SummaC-ZS of a response, from its sentences' [`zs_column`]s: -1..=1; `None` without a sentence.
pub fn zs(columns: impl IntoIterator<Item = f64>, options: &SummacOptions) -> Option<f64> {
    reduce(options.second_operator, columns)
}

/// Raw counts of one response sentence's probabilities in the [`PERCENTILE_EDGES`] bins, not normalised, as
/// `numpy.histogram` counts. A value outside 0..=1 is in no bin.
pub fn histogram(entailment: impl IntoIterator<Item = f64>) -> [u32; BINS] {
    let mut counts = [0; BINS];
    for value in entailment {
        if (0.0..=1.0).contains(&value) {
            let above = PERCENTILE_EDGES.partition_point(|edge| *edge <= value);
            counts[(above - 1).min(BINS - 1)] += 1;
        }
    }
    counts
}

/// SummaC-Conv's number for one response sentence. Unbounded; *falls* with support, the final layer turns it round.
pub fn conv_row(counts: &[u32; BINS]) -> f64 {
    let weighted: f64 =
        counts.iter().zip(HISTOGRAM_WEIGHTS).map(|(count, weight)| f64::from(*count) * weight).sum();
    weighted + HISTOGRAM_BIAS
}

/// SummaC-Conv of a response, from its sentences' [`conv_row`]s, aggregated by their mean (the released `agg="mean"`): the
/// probability of "consistent", 0..=1. Without rows the features are zero and it is 0.408, as published; callers abstain instead.
///
/// The published code gives it the first [`PUBLISHED_ROWS`] rows; a mean is defined for any number.
pub fn conv(rows: impl IntoIterator<Item = f64>) -> f64 {
    let mean = reduce(SummacOperator::Mean, rows).unwrap_or(0.0);
    let class = |index: usize| FINAL_WEIGHTS[index].iter().sum::<f64>() * mean + FINAL_BIAS[index];
    1.0 / (1.0 + (class(0) - class(1)).exp())
}

#[cfg(test)]
mod tests;

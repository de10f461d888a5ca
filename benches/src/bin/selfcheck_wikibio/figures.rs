//! AUC-PR and correlation, and the table.

use std::fmt::{Display, Formatter};

/// A sentence's number and how wrong it is by annotation: 0, 0.5 or 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scored {
    pub(crate) score: f64,
    pub(crate) label: f64,
}

impl Scored {
    /// Whether an annotator found it wrong, in part or as a whole.
    fn is_wrong(&self) -> bool {
        self.label > 0.499
    }
}

/// Rows of figures.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<String>,
}

impl Table {
    /// Adds a row for a method's numbers by passage. `published` are the published figures in the order of the columns.
    pub(crate) fn add(&mut self, name: &str, published: &str, passages: &[Vec<Scored>]) {
        let all: Vec<Scored> = passages.iter().flatten().copied().collect();
        let wrong = all.iter().map(|one| (one.score, one.is_wrong())).collect();
        let right = all.iter().map(|one| (-one.score, !one.is_wrong())).collect();
        let mean = |passage: &Vec<Scored>, of: fn(&Scored) -> f64| {
            passage.iter().map(of).sum::<f64>() / passage.len() as f64
        };
        let with_numbers = passages.iter().filter(|passage| !passage.is_empty());
        let means: Vec<(f64, f64)> = with_numbers
            .map(|passage| (mean(passage, |one| one.score), mean(passage, |one| one.label)))
            .collect();
        let share = all.iter().filter(|one| one.is_wrong()).count() as f64 / all.len() as f64;
        self.rows.push(format!(
            "| {name} | {} | {} | {:.1} | {:.2} | {:.2} | {:.2} | {published} |",
            means.len(),
            all.len(),
            100.0 * share,
            100.0 * area(wrong),
            100.0 * area(right),
            100.0 * pearson(&means),
        ));
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "| method | passages | sentences | wrong, % | NonFact | Factual | Pearson | published |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|")?;
        self.rows.iter().try_for_each(|row| writeln!(f, "{row}"))
    }
}

/// The area under the curve of precision over recall, by trapezoids between the scores that occur, 0 to 1; as scikit-learn's
/// `auc(recall, precision)`, which the published figures are made with. 0 without a positive.
pub(crate) fn area(mut scored: Vec<(f64, bool)>) -> f64 {
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let positives = scored.iter().filter(|(_, positive)| *positive).count() as f64;
    let (mut area, mut recall, mut precision) = (0.0, 0.0, 1.0);
    let (mut hits, mut seen) = (0.0, 0.0);
    for equal in scored.chunk_by(|a, b| a.0 == b.0) {
        hits += equal.iter().filter(|(_, positive)| *positive).count() as f64;
        seen += equal.len() as f64;
        let next = (hits / positives, hits / seen);
        area += (next.0 - recall) * (next.1 + precision) / 2.0;
        (recall, precision) = next;
    }
    if positives > 0.0 { area } else { 0.0 }
}

/// Pearson's correlation of pairs, -1 to 1; 0 where one side does not vary.
pub(crate) fn pearson(pairs: &[(f64, f64)]) -> f64 {
    let count = pairs.len() as f64;
    let (x, y) = pairs.iter().fold((0.0, 0.0), |(x, y), pair| (x + pair.0, y + pair.1));
    let (x, y) = (x / count, y / count);
    let sum = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>();
    let both = sum(&|pair| (pair.0 - x) * (pair.1 - y));
    let (xs, ys) = (sum(&|pair| (pair.0 - x).powi(2)), sum(&|pair| (pair.1 - y).powi(2)));
    let length = (xs * ys).sqrt();
    if length > 0.0 { both / length } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_is_one_in_perfect_order_and_the_share_of_positives_for_equal_scores() {
        assert_eq!(area(vec![(3.0, true), (2.0, true), (1.0, false)]), 1.0);
        // One point, at recall 1 and precision 1/2, from (0, 1).
        assert_eq!(area(vec![(1.0, true), (1.0, false)]), 0.75);
        // Points (0, 0), (1, 1/2).
        assert_eq!(area(vec![(2.0, false), (1.0, true)]), 0.25);
        assert_eq!(area(vec![(1.0, false)]), 0.0);
    }

    #[test]
    fn correlation_is_one_on_a_line_and_zero_where_nothing_varies() {
        assert!((pearson(&[(1.0, 2.0), (2.0, 4.0), (3.0, 6.0)]) - 1.0).abs() < 1e-12);
        assert_eq!(pearson(&[(1.0, 2.0), (1.0, 4.0)]), 0.0);
    }
}

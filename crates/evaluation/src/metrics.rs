//! How well numbers order responses, and how well they are calibrated.

/// A number that a response got, and whether the response is labelled as supported.
pub type Scored = (f64, bool);

/// Bins of [`expected_calibration_error`].
pub const CALIBRATION_BINS: usize = 10;

/// Area under the ROC curve, 0..=1: the share of (supported, unsupported) pairs in which the supported response has the higher
/// number; ties count half. `None` where a label is missing from the scores.
pub fn auc(scored: &[Scored]) -> Option<f64> {
    Ranking::new(scored).auc(&vec![1; scored.len()])
}

/// Scores in order, for counting the same ones many times with other weights.
#[derive(Debug, Clone)]
pub struct Ranking {
    /// (place in the caller's list, is supported) from the lowest score up; equal scores stand in one group.
    groups: Vec<Vec<(usize, bool)>>,
}

impl Ranking {
    /// Orders scores; NaN stands below everything.
    pub fn new(scored: &[Scored]) -> Self {
        let low = |value: f64| if value.is_nan() { f64::NEG_INFINITY } else { value };
        let mut order: Vec<usize> = (0..scored.len()).collect();
        order.sort_by(|a, b| low(scored[*a].0).total_cmp(&low(scored[*b].0)));
        let same = |a: &usize, b: &usize| low(scored[*a].0) == low(scored[*b].0);
        let group = |places: &[usize]| places.iter().map(|place| (*place, scored[*place].1)).collect();
        Self { groups: order.chunk_by(same).map(group).collect() }
    }

    /// The area where each response counts as often as `counts` says, by its place.
    pub fn auc(&self, counts: &[u32]) -> Option<f64> {
        let (mut supported, mut unsupported, mut won) = (0.0, 0.0, 0.0);
        for group in &self.groups {
            let (mut up, mut down) = (0.0, 0.0);
            for (place, is_supported) in group {
                let count = f64::from(counts.get(*place).copied().unwrap_or(0));
                *(if *is_supported { &mut up } else { &mut down }) += count;
            }
            won += up * (unsupported + down / 2.0);
            supported += up;
            unsupported += down;
        }
        let pairs: f64 = supported * unsupported;
        (pairs > 0.0).then(|| won / pairs)
    }
}

/// Mean squared distance of a probability from the label, 0..=1; 0.25 is what 0.5 for everything gets. `None` for no responses.
pub fn brier(scored: &[Scored]) -> Option<f64> {
    let squares = scored.iter().map(|(p, is_supported)| (p - f64::from(u8::from(*is_supported))).powi(2));
    (!scored.is_empty()).then(|| squares.sum::<f64>() / scored.len() as f64)
}

/// Expected calibration error, 0..=1: over [`CALIBRATION_BINS`] bins of equal width, the distance of the mean probability from the
/// share of supported responses, weighted by how many fall into a bin. `None` for no responses.
pub fn expected_calibration_error(scored: &[Scored]) -> Option<f64> {
    let mut bins = [(0.0, 0.0); CALIBRATION_BINS];
    for (p, is_supported) in scored {
        let bin = ((p * CALIBRATION_BINS as f64) as usize).min(CALIBRATION_BINS - 1);
        bins[bin].0 += p;
        bins[bin].1 += f64::from(u8::from(*is_supported));
    }
    let distance: f64 = bins.iter().map(|(probabilities, supported)| (probabilities - supported).abs()).sum();
    (!scored.is_empty()).then(|| distance / scored.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_counts_ties_half() {
        // Pairs (supported, not): 0.9 wins over 0.1 and 0.5; 0.5 wins over 0.1 and ties with 0.5: 3.5 of 4.
        let scored = [(0.9, true), (0.5, true), (0.5, false), (0.1, false)];
        assert_eq!(auc(&scored), Some(0.875));
        let reversed: Vec<Scored> = scored.iter().map(|(score, label)| (-score, *label)).collect();
        assert_eq!(auc(&reversed), Some(0.125));
        assert_eq!(auc(&[(0.3, true), (0.3, false), (0.3, false)]), Some(0.5));
    }

    #[test]
    fn without_both_labels_there_is_no_area() {
        assert_eq!(auc(&[(0.1, true), (0.2, true)]), None);
        assert_eq!(auc(&[]), None);
    }

    #[test]
    fn counts_weigh_as_copies_do() {
        let scored = [(0.9, true), (0.4, true), (0.6, false), (0.1, false)];
        let copies = [(0.9, true), (0.4, true), (0.4, true), (0.4, true), (0.6, false), (0.6, false)];
        assert_eq!(Ranking::new(&scored).auc(&[1, 3, 2, 0]), auc(&copies));
    }

    #[test]
    fn calibration_is_the_distance_of_shares_by_bin() {
        // 0.25 twice with one of two supported: |0.5 - 1|; 0.95 once, supported: |0.95 - 1|; over 3.
        let scored = [(0.25, true), (0.25, false), (0.95, true)];
        let error = expected_calibration_error(&scored).unwrap();
        assert!((error - 0.55 / 3.0).abs() < 1e-12, "{error}");
        assert_eq!(expected_calibration_error(&[(1.0, true), (0.0, false)]), Some(0.0));
        assert_eq!(brier(&[(1.0, true), (0.5, false)]), Some(0.125));
        assert_eq!((brier(&[]), expected_calibration_error(&[])), (None, None));
    }
}

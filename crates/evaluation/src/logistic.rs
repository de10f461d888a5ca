//! Logistic regression with weights that may not change sign.

use groundline_verdict::ensemble::solve;

/// Most steps of Newton's method; it converges in about ten.
const MAX_STEPS: usize = 60;
/// It has converged where no coefficient moves more than this.
const TOLERANCE: f64 = 1e-10;

/// Labelled rows of numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows {
    /// The numbers of each row, all of one length.
    pub(crate) features: Vec<Vec<f64>>,
    /// Whether a row is supported.
    pub(crate) labels: Vec<bool>,
    /// How much a row counts; they add up to 1.
    pub(crate) shares: Vec<f64>,
    /// The set that a row is of, from 0.
    pub(crate) sets: Vec<usize>,
}

/// What was fitted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fitted {
    /// A weight for each feature.
    pub(crate) weights: Vec<f64>,
    /// An intercept for each set.
    pub(crate) intercepts: Vec<f64>,
}

impl Rows {
    fn set_count(&self) -> usize {
        self.sets.iter().max().map_or(0, |last| last + 1)
    }
}

/// Minimises the mean log loss plus `penalty / 2` times the sum of squared weights. Each set has an intercept of its own, so that
/// weights say what orders responses within a set, not what tells sets apart. `None` where there is nothing to fit, or the labels of
/// a set are all alike.
pub(crate) fn fit(rows: &Rows, penalty: f64) -> Option<Fitted> {
    let width = rows.features.first()?.len();
    fit_active(rows, penalty, &vec![true; width])
}

/// The same with no weight below 0: as long as there is one, the feature with the lowest one is left out.
pub(crate) fn fit_non_negative(rows: &Rows, penalty: f64) -> Option<Fitted> {
    let mut active = vec![true; rows.features.first()?.len()];
    loop {
        let fitted = fit_active(rows, penalty, &active)?;
        let lowest = (0..active.len())
            .filter(|index| active[*index])
            .min_by(|a, b| fitted.weights[*a].total_cmp(&fitted.weights[*b]));
        match lowest.filter(|index| fitted.weights[*index] < 0.0) {
            Some(index) => active[index] = false,
            None => return Some(fitted),
        }
    }
}

fn fit_active(rows: &Rows, penalty: f64, active: &[bool]) -> Option<Fitted> {
    let used: Vec<usize> = (0..active.len()).filter(|index| active[*index]).collect();
    let (width, sets) = (used.len(), rows.set_count());
    let mut coefficients = vec![0.0; width + sets];
    for _ in 0..MAX_STEPS {
        let (gradient, curvature) = slopes(rows, &used, &coefficients, penalty);
        let step = solve(&curvature, &gradient)?;
        let largest = step.iter().fold(0.0_f64, |largest, step| largest.max(step.abs()));
        // A full step may overshoot where the curve is flat; log-odds never need to move by more than a few at once.
        let factor = (4.0 / largest).min(1.0);
        coefficients.iter_mut().zip(&step).for_each(|(value, step)| *value -= factor * step);
        if largest < TOLERANCE {
            break;
        }
    }
    let mut weights = vec![0.0; active.len()];
    for (place, index) in used.iter().enumerate() {
        weights[*index] = coefficients[place];
    }
    let intercepts = coefficients.split_off(width);
    let finite = weights.iter().chain(&intercepts).all(|value| value.is_finite() && value.abs() < 1e3);
    finite.then_some(Fitted { weights, intercepts })
}

/// Gradient and matrix of second derivatives; features first, then sets.
fn slopes(rows: &Rows, used: &[usize], coefficients: &[f64], penalty: f64) -> (Vec<f64>, Vec<Vec<f64>>) {
    let (width, size) = (used.len(), coefficients.len());
    let (mut gradient, mut curvature) = (vec![0.0; size], vec![vec![0.0; size]; size]);
    for row in 0..rows.labels.len() {
        let mut entries: Vec<(usize, f64)> =
            used.iter().enumerate().map(|(place, index)| (place, rows.features[row][*index])).collect();
        entries.push((width + rows.sets[row], 1.0));
        let log_odds: f64 = entries.iter().map(|(place, value)| coefficients[*place] * value).sum();
        let p = 1.0 / (1.0 + (-log_odds).exp());
        let (error, spread) = (p - f64::from(u8::from(rows.labels[row])), p * (1.0 - p));
        for (i, a) in &entries {
            gradient[*i] += rows.shares[row] * error * a;
            for (j, b) in &entries {
                curvature[*i][*j] += rows.shares[row] * spread * a * b;
            }
        }
    }
    for place in 0..width {
        gradient[place] += penalty * coefficients[place];
        curvature[place][place] += penalty;
    }
    (gradient, curvature)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers between -1 and 1 without a pattern.
    fn noise(seed: &mut u64) -> f64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) as f64 / f64::from(1_u32 << 30) - 1.0
    }

    /// Rows whose labels follow known weights, with an intercept of its own for each of two sets.
    fn synthetic(count: usize, weights: &[f64], intercepts: [f64; 2]) -> Rows {
        let (mut rows, mut seed) = (Rows::default(), 7);
        for index in 0..count {
            let features: Vec<f64> = weights.iter().map(|_| 2.0 * noise(&mut seed)).collect();
            let set = index % 2;
            let log_odds = intercepts[set] + features.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>();
            rows.labels.push(f64::midpoint(noise(&mut seed), 1.0) < 1.0 / (1.0 + (-log_odds).exp()));
            rows.features.push(features);
            rows.shares.push(1.0 / count as f64);
            rows.sets.push(set);
        }
        rows
    }

    #[test]
    fn known_weights_are_found_again() {
        let rows = synthetic(20_000, &[1.2, 0.4, 0.0], [0.5, -1.0]);
        let fitted = fit(&rows, 1e-6).unwrap();
        for (found, known) in fitted.weights.iter().zip([1.2, 0.4, 0.0]) {
            assert!((found - known).abs() < 0.05, "{fitted:?}");
        }
        for (found, known) in fitted.intercepts.iter().zip([0.5, -1.0]) {
            assert!((found - known).abs() < 0.1, "{fitted:?}");
        }
    }

    #[test]
    fn a_weight_of_the_wrong_sign_is_left_out() {
        let rows = synthetic(5_000, &[1.0, -0.8], [0.0, 0.0]);
        assert!(fit(&rows, 1e-6).unwrap().weights[1] < -0.5);
        let fitted = fit_non_negative(&rows, 1e-6).unwrap();
        assert!(fitted.weights[0] > 0.5, "{fitted:?}");
        assert_eq!(fitted.weights[1], 0.0);
    }

    #[test]
    fn a_penalty_makes_weights_smaller_and_separable_labels_harmless() {
        let rows = synthetic(2_000, &[1.0, 0.5], [0.0, 0.0]);
        let size = |penalty| fit(&rows, penalty).unwrap().weights[0].abs();
        assert!(size(1.0) < size(0.1) && size(0.1) < size(0.001));
        let mut separable = rows.clone();
        separable.labels = separable.features.iter().map(|row| row[0] > 0.0).collect();
        assert!(fit(&separable, 0.01).unwrap().weights[0] > 0.0);
    }

    #[test]
    fn labels_that_are_all_alike_fit_nothing() {
        let mut rows = synthetic(100, &[1.0], [0.0, 0.0]);
        rows.labels = vec![true; 100];
        assert_eq!(fit(&rows, 0.1), None);
        assert_eq!(fit(&Rows::default(), 0.1), None);
    }
}

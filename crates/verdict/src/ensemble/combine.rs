//! From inputs to a probability and its account.

use super::{Ensemble, GroupProfile, InputInfo, solve};
use groundline_types::{EnsembleInput, EnsembleResult, Probability};

/// Added to the diagonal of a correlation before it is inverted: inputs that are equal in one-sentence responses would else stand in
/// for each other with huge weights of both signs.
pub(super) const RIDGE: f64 = 0.01;

/// What a group with an input says.
struct Voice {
    intercept: f64,
    /// By input, in order; `None` where it has no value.
    contributions: Vec<Option<f64>>,
}

impl Ensemble {
    /// Combines the values of inputs, asked for by name. `None` where no input has one.
    pub fn combine(&self, value: impl Fn(&str) -> Option<f64>) -> Option<EnsembleResult> {
        let profile = self.profile();
        let (mut baseline, mut inputs) = (profile.prior_log_odds, Vec::new());
        for group in &profile.groups {
            let values: Vec<Option<f64>> = group.inputs.iter().map(|input| value(&input.name)).collect();
            let Some(voice) = voice(group, &values) else { continue };
            baseline += voice.intercept;
            let numbers = values.into_iter().zip(voice.contributions);
            inputs.extend(group.inputs.iter().zip(numbers).map(|(input, (value, contribution))| {
                let method = InputInfo::named(&input.name).map_or("", |info| info.method).to_owned();
                EnsembleInput { name: input.name.clone(), method, value, contribution }
            }));
        }
        let log_odds = baseline + inputs.iter().filter_map(|input| input.contribution).sum::<f64>();
        let spoke = !inputs.is_empty() && log_odds.is_finite();
        spoke.then(|| EnsembleResult { profile: profile.name.clone(), baseline, log_odds, inputs })
    }
}

/// The probability of these log-odds; `None` where they are not finite.
pub(super) fn probability(log_odds: f64) -> Option<Probability> {
    Probability::new((1.0 / (1.0 + (-log_odds).exp())) as f32).filter(|_| log_odds.is_finite())
}

/// What a group says; `None` where no input has a value.
///
/// With the present inputs `o` and the missing ones `m`, the missing part of the log-odds is normal, given the present one: its mean
/// adds `S_oo⁻¹ S_om w_m` to the present inputs' weights, and its variance shrinks the whole as the mean of the logistic function over
/// a normal distribution does.
fn voice(group: &GroupProfile, values: &[Option<f64>]) -> Option<Voice> {
    let scaled = |index: usize| {
        let input = &group.inputs[index];
        Some((input.transform.of(values[index]?) - input.mean) / input.scale)
    };
    let (present, missing): (Vec<usize>, Vec<usize>) =
        (0..group.inputs.len()).partition(|index| values[*index].is_some());
    if present.is_empty() {
        return None;
    }
    let (correlation, weight) = (&group.correlation, |index: usize| group.inputs[index].weight);
    let toward = |index: usize| missing.iter().map(|m| correlation[index][*m] * weight(*m)).sum::<f64>();
    let pull: Vec<f64> = present.iter().map(|index| toward(*index)).collect();
    let among: Vec<Vec<f64>> =
        present.iter().map(|i| present.iter().map(|j| correlation[*i][*j]).collect()).collect();
    let stand_in = solve(&ridged(&among, RIDGE), &pull)?;
    let explained: f64 = pull.iter().zip(&stand_in).map(|(pull, weight)| pull * weight).sum();
    let variance = missing.iter().map(|m| weight(*m) * toward(*m)).sum::<f64>() - explained;
    let shrink = 1.0 / (1.0 + std::f64::consts::PI / 8.0 * variance.max(0.0)).sqrt();
    let mut contributions = vec![None; values.len()];
    for (index, extra) in present.iter().zip(stand_in) {
        contributions[*index] = scaled(*index).map(|scaled| shrink * (weight(*index) + extra) * scaled);
    }
    Some(Voice { intercept: shrink * group.intercept, contributions })
}

/// The matrix with `ridge` added to its diagonal.
pub(super) fn ridged(matrix: &[Vec<f64>], ridge: f64) -> Vec<Vec<f64>> {
    let mut matrix = matrix.to_vec();
    for (index, row) in matrix.iter_mut().enumerate() {
        if let Some(entry) = row.get_mut(index) {
            *entry += ridge;
        }
    }
    matrix
}

#[cfg(test)]
mod tests;

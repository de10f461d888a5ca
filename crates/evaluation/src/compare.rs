//! Contenders side by side on labelled sets.

use crate::bootstrap::{BOOTSTRAP_SEED, Interval, ScoredSet, draw_areas, interval};
use crate::items::{Item, by_set};
use crate::metrics::{auc, brier, expected_calibration_error};
use groundline_types::{Code, Problem};
use groundline_verdict::ensemble::{Ensemble, InputInfo};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Name of the contender that a comparison is about.
pub const ENSEMBLE: &str = "ensemble";

/// The numbers of an ensemble beside those of each of its inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Draws behind the intervals.
    pub draws: usize,
    /// Seed of the draws.
    pub seed: u64,
    /// Names: the ensemble first, then inputs.
    pub contenders: Vec<String>,
    /// What was found on each set.
    pub sets: Vec<SetFigures>,
    /// Mean of the areas over the sets, for each contender.
    pub macro_auc: Vec<Interval>,
    /// The input with the highest mean; chosen here, on these sets, in its favour.
    pub best_input: String,
    /// The ensemble's mean minus that input's, with the interval of the paired difference.
    pub gain: Interval,
    /// The ensemble where a method has given nothing: mean over the sets.
    pub without: Vec<WithoutMethod>,
    /// Mean of the sets' calibration errors.
    pub macro_calibration_error: f64,
    /// Responses that were left out because some contender says nothing of them.
    pub left_out: usize,
}

/// Figures of one set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SetFigures {
    /// Its name.
    pub name: String,
    /// Responses.
    pub responses: usize,
    /// How many of them people called supported.
    pub supported: usize,
    /// Area under the curve of each contender.
    pub auc: Vec<Interval>,
    /// The ensemble's area minus that of [`Comparison::best_input`].
    pub gain: Interval,
    /// Expected calibration error of the ensemble.
    pub calibration_error: f64,
    /// Brier score of the ensemble.
    pub brier: f64,
}

/// The ensemble without a method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WithoutMethod {
    /// The method.
    pub method: String,
    /// Mean area.
    pub macro_auc: f64,
    /// Mean calibration error.
    pub macro_calibration_error: f64,
}

/// Compares an ensemble with each of `inputs` on `items`. Items of sets that it was fitted to are left out.
///
/// # Errors
/// [`Code::INVALID_FIELD`] for an input that there is not, and where no set has responses with both labels.
pub fn compare(
    ensemble: &Ensemble,
    inputs: &[&str],
    items: &[Item],
    draws: usize,
) -> Result<Comparison, Problem> {
    let refuse = |message: String| Problem::new(Code::INVALID_FIELD, message);
    let named =
        |name: &&str| InputInfo::named(name).ok_or_else(|| refuse(format!("there is no input {name:?}")));
    let known: Vec<&InputInfo> = inputs.iter().map(named).collect::<Result<_, _>>()?;
    let fitted_to = &ensemble.profile().fitted_to;
    let unseen = |item: &&Item| fitted_to.iter().all(|set| set.name != item.set);
    let unseen: Vec<Item> = items.iter().filter(unseen).cloned().collect();
    let nothing =
        "no set that the profile was not fitted to has responses of both labels with all these inputs";
    figures(ensemble, &known, &unseen, draws).ok_or_else(|| refuse(nothing.to_owned()))
}

fn figures(
    ensemble: &Ensemble,
    known: &[&'static InputInfo],
    items: &[Item],
    draws: usize,
) -> Option<Comparison> {
    let numbers = |item: &Item| numbers(ensemble, known, item);
    let mut sets = Vec::new();
    let mut left_out = 0;
    for (name, items) in by_set(items) {
        let whole: Vec<(&Item, Vec<f64>)> =
            items.iter().filter_map(|item| Some((*item, numbers(item)?))).collect();
        left_out += items.len() - whole.len();
        let labels: Vec<bool> = whole.iter().map(|(item, _)| item.is_supported).collect();
        let column = |contender: usize| whole.iter().map(|(_, numbers)| numbers[contender]).collect();
        let set = ScoredSet { labels, numbers: (0..=known.len()).map(column).collect() };
        if auc(&set.of(0)).is_some() {
            sets.push((name, set, whole.into_iter().map(|(item, _)| item).collect::<Vec<_>>()));
        }
    }
    let scored: Vec<ScoredSet> = sets.iter().map(|(_, set, _)| set.clone()).collect();
    let areas = draw_areas(&scored, draws, BOOTSTRAP_SEED);
    let macro_auc: Vec<Interval> = (0..=known.len())
        .map(|contender| mean_area(&scored, &areas, &[(contender, 1.0)]))
        .collect::<Option<_>>()?;
    let best = (1..=known.len()).max_by(|a, b| macro_auc[*a].value.total_cmp(&macro_auc[*b].value))?;
    let gain = mean_area(&scored, &areas, &[(0, 1.0), (best, -1.0)])?;
    let figures = sets.iter().enumerate().map(|(index, (name, set, _))| {
        let one = (std::slice::from_ref(set), &areas[index..=index]);
        let of = |terms: &[(usize, f64)]| mean_area(one.0, one.1, terms);
        Some(SetFigures {
            name: (*name).to_owned(),
            responses: set.labels.len(),
            supported: set.labels.iter().filter(|label| **label).count(),
            auc: (0..=known.len()).map(|contender| of(&[(contender, 1.0)])).collect::<Option<_>>()?,
            gain: of(&[(0, 1.0), (best, -1.0)])?,
            calibration_error: expected_calibration_error(&set.of(0))?,
            brier: brier(&set.of(0))?,
        })
    });
    let figures: Vec<SetFigures> = figures.collect::<Option<_>>()?;
    let methods: BTreeSet<&str> = known.iter().map(|info| info.method).collect();
    let of_sets: Vec<&[&Item]> = sets.iter().map(|(_, _, items)| items.as_slice()).collect();
    let errors = figures.iter().map(|set| set.calibration_error);
    Some(Comparison {
        draws,
        seed: BOOTSTRAP_SEED,
        contenders: std::iter::once(ENSEMBLE)
            .chain(known.iter().map(|info| info.name))
            .map(str::to_owned)
            .collect(),
        macro_calibration_error: errors.sum::<f64>() / figures.len() as f64,
        sets: figures,
        macro_auc,
        best_input: known[best - 1].name.to_owned(),
        gain,
        without: methods.iter().filter_map(|method| without(ensemble, method, &of_sets)).collect(),
        left_out,
    })
}

/// What each contender says of a response, higher for better supported; `None` where one of them says nothing.
fn numbers(ensemble: &Ensemble, inputs: &[&InputInfo], item: &Item) -> Option<Vec<f64>> {
    let combined = probability(ensemble, item, "")?;
    let direction = |info: &InputInfo| if info.higher_is_supported { 1.0 } else { -1.0 };
    let single = inputs.iter().map(|info| Some(direction(info) * item.inputs.get(info.name)?));
    std::iter::once(Some(combined)).chain(single).collect()
}

/// The ensemble's probability where `hidden` is a method that gave nothing.
fn probability(ensemble: &Ensemble, item: &Item, hidden: &str) -> Option<f64> {
    let is_hidden = |name: &str| InputInfo::named(name).is_some_and(|info| info.method == hidden);
    let combined = ensemble.combine(|name| item.inputs.get(name).copied().filter(|_| !is_hidden(name)))?;
    Some(1.0 / (1.0 + (-combined.log_odds).exp()))
}

/// A weighted sum of contenders' areas, as a mean over sets.
fn mean_area(sets: &[ScoredSet], areas: &[Vec<Vec<f64>>], terms: &[(usize, f64)]) -> Option<Interval> {
    let count = sets.len() as f64;
    let mut value = 0.0;
    for set in sets {
        for (contender, factor) in terms {
            value += factor * auc(&set.of(*contender))? / count;
        }
    }
    let draws = areas.first()?.first()?.len();
    let of_draw = |draw: usize| -> f64 {
        let of_set =
            |set: &Vec<Vec<f64>>| terms.iter().map(|(who, factor)| factor * set[*who][draw]).sum::<f64>();
        areas.iter().map(of_set).sum::<f64>() / count
    };
    interval(value, (0..draws).map(of_draw).collect())
}

fn without(ensemble: &Ensemble, method: &str, sets: &[&[&Item]]) -> Option<WithoutMethod> {
    let (mut area, mut error) = (0.0, 0.0);
    for items in sets {
        let scored: Vec<(f64, bool)> = items
            .iter()
            .map(|item| Some((probability(ensemble, item, method)?, item.is_supported)))
            .collect::<Option<_>>()?;
        area += auc(&scored)? / sets.len() as f64;
        error += expected_calibration_error(&scored)? / sets.len() as f64;
    }
    Some(WithoutMethod { method: method.to_owned(), macro_auc: area, macro_calibration_error: error })
}

#[cfg(test)]
mod tests;

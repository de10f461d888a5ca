//! From labelled responses to the weights of an ensemble.

use crate::items::{Item, by_set};
use crate::logistic::{Rows, fit as fit_sets, fit_non_negative};
use crate::metrics::auc;
use groundline_types::{Code, Problem};
use groundline_verdict::ensemble::{
    Binding, ENSEMBLE_SCHEMA, Ensemble, EnsembleProfile, FittedSet, GroupProfile, InputInfo, InputProfile,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Penalties that are tried, from weak to strong.
const PENALTIES: [f64; 8] = [0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0];
/// Penalties whose area is this near to the best one's are as good: such a difference is noise, and strong ones carry over better.
const AS_GOOD: f64 = 0.0025;
/// Folds where there is one set alone, so that none can be left out.
const FOLDS: usize = 5;
/// Decimals that a profile keeps: more would be noise, and files should read well.
const DECIMALS: f64 = 1e6;

/// Inputs that are fitted together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupPlan {
    /// Name for people.
    pub name: String,
    /// Names of inputs.
    pub inputs: Vec<String>,
}

/// The groups of the shipped profile. `weighted` is left out: it is nearly `mean`.
pub fn default_groups() -> Vec<GroupPlan> {
    let group = |name: &str, inputs: &[&str]| GroupPlan {
        name: name.to_owned(),
        inputs: inputs.iter().map(|input| (*input).to_owned()).collect(),
    };
    let sources = ["min", "mean", "contradiction", "summac", "summac_zs", "summac_conv", "numeric"];
    vec![
        group("sources", &sources),
        group("samples", &["selfcheck_nli", "selfcheck_overlap", "selfcheck_ngram"]),
    ]
}

/// How a penalty did on responses that the weights had not seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The penalty.
    pub penalty: f64,
    /// Mean area under the curve over the sets, or folds, that were left out in turn.
    pub auc: f64,
}

/// A fit and how it came about.
#[derive(Debug, Clone, PartialEq)]
pub struct FitOutcome {
    /// The weights.
    pub ensemble: Ensemble,
    /// For each group that could be fitted: its name, the penalty that was taken, and all that were tried.
    pub trials: Vec<(String, f64, Vec<Trial>)>,
    /// Responses that were left out of every group because an input was missing.
    pub left_out: usize,
}

/// Fits the weights of an ensemble.
///
/// For each group, the responses that have all its inputs count, every set as much as any other. The penalty is the strongest of those
/// under which weights order the responses of a left-out set best, mean over the sets. Weights keep the direction that an input has by its meaning:
/// one that would speak against it is left out. At the end one intercept and one slope are fitted over all sets together, which makes
/// log-odds of the sum.
///
/// # Errors
/// [`Code::INVALID_FIELD`] where no group has responses with both labels.
pub fn fit(
    name: &str,
    binding: Binding,
    groups: &[GroupPlan],
    items: &[Item],
) -> Result<FitOutcome, Problem> {
    let fitted: Vec<FittedGroup> = groups.iter().filter_map(|plan| fit_group(plan, items)).collect();
    let first = fitted.first().ok_or_else(|| {
        let message = "no group of inputs has enough labelled responses of both kinds to fit weights to";
        Problem::new(Code::INVALID_FIELD, message)
    })?;
    let has_all = |item: &&Item| {
        let is_whole =
            |plan: &GroupPlan| plan.inputs.iter().all(|name| item.inputs.contains_key(name.as_str()));
        groups.iter().any(is_whole)
    };
    let used: Vec<Item> = items.iter().filter(has_all).cloned().collect();
    let set = |(name, items): (&str, Vec<&Item>)| FittedSet {
        name: name.to_owned(),
        responses: items.len(),
        supported: items.iter().filter(|item| item.is_supported).count(),
    };
    let profile = EnsembleProfile {
        schema: ENSEMBLE_SCHEMA.to_owned(),
        name: name.to_owned(),
        binding,
        prior_log_odds: round(first.prior),
        groups: fitted.iter().map(|group| group.profile.clone()).collect(),
        fitted_to: by_set(&used).into_iter().map(set).collect(),
    };
    let trial = |group: FittedGroup| (group.profile.name, group.penalty, group.trials);
    Ok(FitOutcome {
        left_out: items.len() - used.len(),
        ensemble: Ensemble::new(profile)?,
        trials: fitted.into_iter().map(trial).collect(),
    })
}

struct FittedGroup {
    profile: GroupProfile,
    prior: f64,
    penalty: f64,
    trials: Vec<Trial>,
}

/// A group's rows on their common scale, and what that scale is.
struct Table {
    infos: Vec<&'static InputInfo>,
    rows: Rows,
    means: Vec<f64>,
    scales: Vec<f64>,
}

fn fit_group(plan: &GroupPlan, items: &[Item]) -> Option<FittedGroup> {
    let infos: Vec<&InputInfo> = plan.inputs.iter().filter_map(|name| InputInfo::named(name)).collect();
    let table = table(infos, items)?;
    let trials: Vec<Trial> = PENALTIES.iter().filter_map(|penalty| trial(&table, *penalty)).collect();
    let highest = trials.iter().map(|trial| trial.auc).reduce(f64::max)?;
    let best = trials.iter().rfind(|trial| trial.auc >= highest - AS_GOOD)?;
    let fitted = fit_non_negative(&table.rows, best.penalty)?;
    let (intercept, slope) = calibrate(&table.rows, &fitted.weights)?;
    let kept: Vec<usize> = (0..fitted.weights.len()).filter(|index| fitted.weights[*index] > 0.0).collect();
    let supported = table.rows.labels.iter().zip(&table.rows.shares).filter(|(label, _)| **label);
    let base: f64 = supported.map(|(_, share)| share).sum();
    let prior = (base / (1.0 - base)).ln();
    let input = |index: &usize| {
        let info = table.infos[*index];
        let direction = if info.higher_is_supported { 1.0 } else { -1.0 };
        InputProfile {
            name: info.name.to_owned(),
            transform: info.transform,
            mean: round(direction * table.means[*index]),
            scale: round(table.scales[*index]),
            weight: round(direction * slope * fitted.weights[*index]),
        }
    };
    let correlation = |i: &usize, j: &usize| round(correlation(&table.rows, &table.infos, *i, *j));
    let profile = GroupProfile {
        name: plan.name.clone(),
        intercept: round(intercept - prior),
        inputs: kept.iter().map(input).collect(),
        correlation: kept.iter().map(|i| kept.iter().map(|j| correlation(i, j)).collect()).collect(),
    };
    (!kept.is_empty()).then(|| FittedGroup { profile, prior, penalty: best.penalty, trials: trials.clone() })
}

/// The rows that have all inputs, turned so that more is better, with mean 0 and standard deviation 1 where every set counts the same.
fn table(infos: Vec<&'static InputInfo>, items: &[Item]) -> Option<Table> {
    let mut rows = Rows::default();
    for (_, items) in by_set(items) {
        let features = |item: &Item| -> Option<Vec<f64>> {
            let turned = |info: &&InputInfo| {
                let value = info.transform.of(*item.inputs.get(info.name)?);
                Some(if info.higher_is_supported { value } else { -value })
            };
            infos.iter().map(turned).collect()
        };
        let whole: Vec<(Vec<f64>, bool)> =
            items.iter().filter_map(|item| Some((features(item)?, item.is_supported))).collect();
        let supported = whole.iter().filter(|(_, label)| *label).count();
        if supported == 0 || supported == whole.len() {
            continue;
        }
        let set = rows.sets.last().map_or(0, |last| last + 1);
        for (features, label) in &whole {
            rows.features.push(features.clone());
            rows.labels.push(*label);
            rows.sets.push(set);
            rows.shares.push(1.0 / whole.len() as f64);
        }
    }
    let sets = (rows.sets.last()? + 1) as f64;
    rows.shares.iter_mut().for_each(|share| *share /= sets);
    let (mut means, mut scales) = (Vec::new(), Vec::new());
    for index in 0..infos.len() {
        let weighted = |of: &dyn Fn(f64) -> f64| -> f64 {
            rows.features.iter().zip(&rows.shares).map(|(row, share)| share * of(row[index])).sum()
        };
        let mean = weighted(&|value| value);
        let deviation = weighted(&|value| (value - mean).powi(2)).sqrt();
        // An input that never changes says nothing, on any scale.
        let scale = if deviation > 1e-9 { deviation } else { 1.0 };
        rows.features.iter_mut().for_each(|row| row[index] = (row[index] - mean) / scale);
        means.push(mean);
        scales.push(scale);
    }
    Some(Table { infos, rows, means, scales })
}

/// How weights under a penalty order what was left out, in turn each set, or each fold of a single set.
fn trial(table: &Table, penalty: f64) -> Option<Trial> {
    let sets = table.rows.sets.last()? + 1;
    let part = |row: usize| if sets > 1 { table.rows.sets[row] } else { row % FOLDS };
    let parts = if sets > 1 { sets } else { FOLDS };
    let mut areas = Vec::with_capacity(parts);
    for left_out in 0..parts {
        let kept = subset(&table.rows, |row| part(row) != left_out);
        let weights = fit_non_negative(&kept, penalty)?.weights;
        let unseen = subset(&table.rows, |row| part(row) == left_out);
        let scored: Vec<(f64, bool)> =
            unseen.features.iter().map(|row| sum(row, &weights)).zip(unseen.labels.iter().copied()).collect();
        areas.push(auc(&scored)?);
    }
    Some(Trial { penalty, auc: areas.iter().sum::<f64>() / parts as f64 })
}

fn sum(row: &[f64], weights: &[f64]) -> f64 {
    row.iter().zip(weights).map(|(value, weight)| value * weight).sum()
}

/// Some of the rows, with shares that add up to 1 and sets counted from 0.
fn subset(rows: &Rows, wanted: impl Fn(usize) -> bool) -> Rows {
    let mut part = Rows::default();
    let mut names = BTreeMap::new();
    for row in (0..rows.labels.len()).filter(|row| wanted(*row)) {
        let next = names.len();
        part.features.push(rows.features[row].clone());
        part.labels.push(rows.labels[row]);
        part.shares.push(rows.shares[row]);
        part.sets.push(*names.entry(rows.sets[row]).or_insert(next));
    }
    let all: f64 = part.shares.iter().sum();
    part.shares.iter_mut().for_each(|share| *share /= all);
    part
}

/// The intercept and the slope that make log-odds of the weighted sum, over all sets together.
fn calibrate(rows: &Rows, weights: &[f64]) -> Option<(f64, f64)> {
    let one = Rows {
        features: rows.features.iter().map(|row| vec![sum(row, weights)]).collect(),
        labels: rows.labels.clone(),
        shares: rows.shares.clone(),
        sets: vec![0; rows.sets.len()],
    };
    let fitted = fit_sets(&one, 1e-9)?;
    Some((*fitted.intercepts.first()?, fitted.weights.first().copied().filter(|slope| *slope > 0.0)?))
}

/// Correlation of two inputs as they are, not turned.
fn correlation(rows: &Rows, infos: &[&InputInfo], i: usize, j: usize) -> f64 {
    if i == j {
        return 1.0;
    }
    let turned: f64 =
        rows.features.iter().zip(&rows.shares).map(|(row, share)| share * row[i] * row[j]).sum();
    if infos[i].higher_is_supported == infos[j].higher_is_supported { turned } else { -turned }
}

fn round(value: f64) -> f64 {
    (value * DECIMALS).round() / DECIMALS
}

#[cfg(test)]
pub(crate) mod tests;

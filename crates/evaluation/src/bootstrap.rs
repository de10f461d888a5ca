//! Intervals by drawing the responses again.

use crate::metrics::{Ranking, Scored};

/// The seed of every interval here, so that the same numbers give the same intervals.
pub const BOOTSTRAP_SEED: u64 = 20_261_130;

/// A number with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Interval {
    /// The number itself.
    pub value: f64,
    /// 2.5 % of draws are below.
    pub low: f64,
    /// 2.5 % of draws are above.
    pub high: f64,
}

/// One set: for each response what each contender says, in the order of the contenders, and the label.
#[derive(Debug, Clone, Default)]
pub struct ScoredSet {
    /// Whether each response is labelled as supported.
    pub labels: Vec<bool>,
    /// A list of numbers for each contender, one number for each response.
    pub numbers: Vec<Vec<f64>>,
}

impl ScoredSet {
    /// One contender's numbers with their labels.
    pub fn of(&self, contender: usize) -> Vec<Scored> {
        let numbers = self.numbers.get(contender).map(Vec::as_slice).unwrap_or_default();
        numbers.iter().copied().zip(self.labels.iter().copied()).collect()
    }
}

/// Areas under the curve by draw: `areas[set][contender][draw]`, where all contenders see the same responses in a draw.
///
/// Responses are drawn with replacement within their set, supported and unsupported ones apart, so that every draw has both. A set
/// without both labels, or of which some contender says nothing, has no areas.
pub fn draw_areas(sets: &[ScoredSet], draws: usize, seed: u64) -> Vec<Vec<Vec<f64>>> {
    let mut random = SplitMix(seed);
    sets.iter().map(|set| set_areas(set, draws, &mut random)).collect()
}

fn set_areas(set: &ScoredSet, draws: usize, random: &mut SplitMix) -> Vec<Vec<f64>> {
    let rankings: Vec<Ranking> =
        (0..set.numbers.len()).map(|contender| Ranking::new(&set.of(contender))).collect();
    let places = |wanted: bool| -> Vec<usize> {
        (0..set.labels.len()).filter(|place| set.labels[*place] == wanted).collect()
    };
    let strata = [places(true), places(false)];
    let mut areas = vec![Vec::with_capacity(draws); rankings.len()];
    if strata.iter().any(Vec::is_empty) {
        return areas;
    }
    for _ in 0..draws {
        let mut counts = vec![0_u32; set.labels.len()];
        for stratum in &strata {
            for _ in 0..stratum.len() {
                counts[stratum[random.below(stratum.len())]] += 1;
            }
        }
        for (areas, ranking) in areas.iter_mut().zip(&rankings) {
            areas.extend(ranking.auc(&counts));
        }
    }
    areas
}

/// The interval of `value`, from what it was in each draw; `None` without draws.
pub fn interval(value: f64, mut draws: Vec<f64>) -> Option<Interval> {
    draws.sort_by(f64::total_cmp);
    let at = |share: f64| draws.get(((draws.len().checked_sub(1)?) as f64 * share).round() as usize).copied();
    Some(Interval { value, low: at(0.025)?, high: at(0.975)? })
}

/// A small generator of random numbers (Steele, Lea, Flood 2014): the same on every machine, and good enough to draw responses.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`, which is above 0.
    fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set() -> ScoredSet {
        let labels: Vec<bool> = (0..60).map(|place| place % 3 != 0).collect();
        let good: Vec<f64> =
            (0..60).map(|place| f64::from(place % 7) + 3.0 * f64::from(u8::from(place % 3 != 0))).collect();
        let constant = vec![0.5; 60];
        ScoredSet { labels, numbers: vec![good.clone(), good, constant] }
    }

    #[test]
    fn the_same_seed_gives_the_same_draws_and_another_one_others() {
        let draws = |seed| draw_areas(&[set()], 50, seed);
        assert_eq!(draws(1), draws(1));
        assert_ne!(draws(1), draws(2));
    }

    #[test]
    fn equal_contenders_never_differ_and_a_constant_has_half_the_area() {
        let areas = draw_areas(&[set()], 50, BOOTSTRAP_SEED).remove(0);
        assert_eq!(areas[0], areas[1]);
        assert_eq!(areas[0].len(), 50);
        assert!(areas[2].iter().all(|area| *area == 0.5));
        assert!(areas[0].iter().any(|area| *area != areas[0][0]));
    }

    #[test]
    fn an_interval_holds_95_of_100_draws() {
        let draws: Vec<f64> = (0..=1000).rev().map(f64::from).collect();
        assert_eq!(interval(500.0, draws), Some(Interval { value: 500.0, low: 25.0, high: 975.0 }));
        assert_eq!(interval(1.0, Vec::new()), None);
    }

    #[test]
    fn a_set_without_both_labels_has_no_areas() {
        let one_sided = ScoredSet { labels: vec![true; 3], numbers: vec![vec![0.1, 0.2, 0.3]] };
        assert_eq!(draw_areas(&[one_sided], 10, 1), [[Vec::<f64>::new()]]);
    }
}

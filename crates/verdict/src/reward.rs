//! The reward for training: a result becomes one number, with everything that it was made from.

use groundline_types::{CheckResult, Code, Problem, SentenceResult, Verdict, VerdictReason, nearest_name};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Responses with fewer checkable sentences than this have a positive reward cut in proportion, so that saying one safe sentence
/// is not the best answer.
pub const BREVITY_SENTENCES: usize = 3;
/// Rewards are multiples of one over this, so that a cache hit, a replay and another batch give the same number.
const STEPS_PER_UNIT: f64 = 1000.0;
/// What a contradicted sentence counts, and one that could not be checked.
const WORST: f64 = -1.0;

/// Which formula makes the reward.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RewardShape {
    /// Weighted mean over checkable sentences: supported +1, contradicted -1, not mentioned as configured. A positive mean is
    /// cut to `n / 3` where there are `n < 3` checkable sentences.
    #[default]
    Ternary,
    /// -1 where any sentence is contradicted, else 0. Saying little or much that nobody can verify gains nothing.
    BinaryContradiction,
}

impl RewardShape {
    /// Every shape, in the order of documentation.
    pub const ALL: [RewardShape; 2] = [RewardShape::Ternary, RewardShape::BinaryContradiction];

    /// Its name in requests and configuration.
    pub fn name(self) -> &'static str {
        match self {
            RewardShape::Ternary => "ternary",
            RewardShape::BinaryContradiction => "binary_contradiction",
        }
    }

    /// The name with the version of the formula, such as `ternary/1`. A formula that gives other numbers gets another version.
    pub fn versioned_name(self) -> &'static str {
        match self {
            RewardShape::Ternary => "ternary/1",
            RewardShape::BinaryContradiction => "binary_contradiction/1",
        }
    }
}

/// A formula with its settings. Read with serde, unknown names are refused and missing ones take their default.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RewardProfile {
    /// The formula (default `ternary`).
    pub profile: RewardShape,
    /// What a sentence counts that the sources do not mention, -1 to 0 (default -0.5); `ternary` alone uses it. Above 0 it would
    /// pay for claims that nobody can verify.
    pub not_mentioned_reward: f64,
}

impl Default for RewardProfile {
    fn default() -> Self {
        Self { profile: RewardShape::default(), not_mentioned_reward: -0.5 }
    }
}

impl RewardProfile {
    /// The profile of this name with its other settings as they are; a version such as `ternary/1` may be given too.
    ///
    /// # Errors
    /// [`Code::INVALID_FIELD`] naming the nearest known profile.
    pub fn named(self, name: &str) -> Result<Self, Problem> {
        let is_it = |shape: &RewardShape| name == shape.name() || name == shape.versioned_name();
        let found = RewardShape::ALL.into_iter().find(is_it);
        found.map(|profile| Self { profile, ..self }).ok_or_else(|| {
            let names = RewardShape::ALL.map(RewardShape::name);
            let hint = match nearest_name(name, names) {
                Some(known) => format!("did you mean `{known}`?"),
                None => format!("known profiles are {}", names.join(", ")),
            };
            Problem::new(Code::INVALID_FIELD, format!("unknown reward profile; {hint}"))
        })
    }

    /// Checks that every setting is in its range.
    ///
    /// # Errors
    /// [`Code::INVALID_CONFIG`] naming the setting, what it is and what it may be.
    pub fn validate(&self) -> Result<(), Problem> {
        if (-1.0..=0.0).contains(&self.not_mentioned_reward) {
            return Ok(());
        }
        let message =
            format!("not_mentioned_reward is {}, it must be between -1 and 0", self.not_mentioned_reward);
        Err(Problem::new(Code::INVALID_CONFIG, message))
    }

    /// The versioned name of what makes the number: `ternary/1`, with the setting behind it where it is not the default, such as
    /// `ternary/1 not_mentioned=-0.25`. Equal names and equal results give equal rewards.
    pub fn versioned_name(&self) -> String {
        let name = self.profile.versioned_name();
        let is_plain = self.not_mentioned_reward == Self::default().not_mentioned_reward;
        if is_plain || self.profile != RewardShape::Ternary {
            return name.to_owned();
        }
        format!("{name} not_mentioned={}", self.not_mentioned_reward)
    }

    /// What a checkable sentence counts; `None` where it has no verdict.
    fn sentence(&self, verdict: Option<Verdict>) -> Option<f64> {
        Some(match (self.profile, verdict?) {
            (_, Verdict::Contradicted) => WORST,
            (RewardShape::BinaryContradiction, Verdict::Supported | Verdict::NotMentioned) => 0.0,
            (RewardShape::Ternary, Verdict::Supported) => 1.0,
            // A setting that `validate` refuses counts as the nearest that it accepts, and NaN as the worst.
            (RewardShape::Ternary, Verdict::NotMentioned) if self.not_mentioned_reward.is_nan() => WORST,
            (RewardShape::Ternary, Verdict::NotMentioned) => self.not_mentioned_reward.clamp(WORST, 0.0),
        })
    }
}

/// A reward and what it was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Reward {
    /// Whether there is a number, and whether it is the whole truth.
    pub status: RewardStatus,
    /// The number, -1 to 1, a multiple of 0.001; null where `status` is `unscored`.
    pub reward: Option<f64>,
    /// Versioned name of the profile that made it: see [`RewardProfile::versioned_name`].
    pub profile: String,
    /// Numbers for those who weight rewards themselves.
    pub components: RewardComponents,
    /// Every checkable sentence, in order.
    pub sentences: Vec<SentenceReward>,
}

/// Whether there is a reward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RewardStatus {
    /// Every checkable sentence has a verdict.
    Scored,
    /// Some has none: the reward is the least that a complete check could have given, so that what is not checked never pays.
    Partial,
    /// There is no checkable sentence, or none has a verdict: there is no reward, and in no case a good one.
    Unscored,
}

/// Numbers behind a reward. Every field is always there and finite.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RewardComponents {
    /// Sentences that make a claim.
    pub checkable: usize,
    /// Of these, supported.
    pub supported: usize,
    /// Of these, contradicted.
    pub contradicted: usize,
    /// Of these, not mentioned.
    pub not_mentioned: usize,
    /// Of these, without a verdict.
    pub unchecked: usize,
    /// Sentences with a verdict divided by checkable ones, 0 to 1; 0 where none is checkable.
    pub coverage: f64,
    /// Mean weight of the checkable sentences, at least 1; 0 where none is checkable.
    pub mean_weight: f64,
    /// Mean support probability of the sentences with a verdict, 0 to 1; 0 where there is none.
    pub mean_support_probability: f64,
    /// The number before the cut for brevity and before rounding, -1 to 1; 0 where the reward is null.
    pub mean_reward: f64,
    /// What a positive number was multiplied with because the response has few checkable sentences, above 0 to 1; 1 where nothing
    /// was cut.
    pub brevity_factor: f64,
}

impl RewardComponents {
    /// The same as a flat map of numbers, for trainers that log or weight by name. The names are those of the fields, always all.
    pub fn numbers(&self) -> BTreeMap<&'static str, f64> {
        BTreeMap::from([
            ("checkable", self.checkable as f64),
            ("supported", self.supported as f64),
            ("contradicted", self.contradicted as f64),
            ("not_mentioned", self.not_mentioned as f64),
            ("unchecked", self.unchecked as f64),
            ("coverage", self.coverage),
            ("mean_weight", self.mean_weight),
            ("mean_support_probability", self.mean_support_probability),
            ("mean_reward", self.mean_reward),
            ("brevity_factor", self.brevity_factor),
        ])
    }
}

/// The reward of one sentence, for those who put rewards on tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SentenceReward {
    /// Start in the response, in the unit of the result.
    pub start: usize,
    /// End in the response.
    pub end: usize,
    /// What the sentence counts, -1 to 1; null where it has no verdict. In the reward of the response such a sentence counts -1.
    pub reward: Option<f64>,
    /// Its verdict; null where it could not be checked.
    pub verdict: Option<Verdict>,
    /// Its weight in the mean, at least 1.
    pub weight: f32,
}

/// The reward of a result.
///
/// It depends on verdicts and weights alone, so it is deterministic. A sentence without a verdict (a deadline, a worker that is
/// down, a claim longer than the model reads) counts as contradicted: taking a verdict away never raises the reward, and a policy
/// gains nothing by writing what cannot be checked. The status is then `partial`; a trainer that would rather not learn from such
/// a number leaves the sample out.
pub fn reward(result: &CheckResult, profile: &RewardProfile) -> Reward {
    let is_checkable = |sentence: &&SentenceResult| sentence.reason != VerdictReason::NotAClaim;
    let checkable = result.sentences.iter().filter(is_checkable).collect::<Vec<_>>();
    let sentences = checkable.iter().map(|sentence| SentenceReward {
        start: sentence.start,
        end: sentence.end,
        reward: profile.sentence(sentence.verdict),
        verdict: sentence.verdict,
        weight: sane_weight(sentence.weight),
    });
    let sentences = sentences.collect::<Vec<_>>();
    let mut components = count(&checkable, &sentences);
    let scored = components.checkable - components.unchecked;
    let status = match components {
        _ if scored == 0 => RewardStatus::Unscored,
        RewardComponents { unchecked: 0, .. } => RewardStatus::Scored,
        _ => RewardStatus::Partial,
    };
    let number = (status != RewardStatus::Unscored).then(|| {
        let mean = match profile.profile {
            RewardShape::Ternary => weighted_mean(&sentences),
            RewardShape::BinaryContradiction => {
                sentences.iter().map(|sentence| sentence.reward.unwrap_or(WORST)).fold(0.0, f64::min)
            }
        };
        if mean > 0.0 && components.checkable < BREVITY_SENTENCES {
            components.brevity_factor = components.checkable as f64 / BREVITY_SENTENCES as f64;
        }
        components.mean_reward = mean;
        quantised(mean * components.brevity_factor)
    });
    Reward { status, reward: number, profile: profile.versioned_name(), components, sentences }
}

/// A weight that cannot make a mean NaN or negative, whatever the result holds.
fn sane_weight(weight: f32) -> f32 {
    if weight.is_finite() && weight > 0.0 { weight } else { 1.0 }
}

fn weighted_mean(sentences: &[SentenceReward]) -> f64 {
    let add = |(total, weights): (f64, f64), sentence: &SentenceReward| {
        let weight = f64::from(sentence.weight);
        (total + weight * sentence.reward.unwrap_or(WORST), weights + weight)
    };
    let (total, weights) = sentences.iter().fold((0.0, 0.0), add);
    if weights > 0.0 { (total / weights).clamp(-1.0, 1.0) } else { 0.0 }
}

fn count(checkable: &[&SentenceResult], sentences: &[SentenceReward]) -> RewardComponents {
    let with = |verdict| sentences.iter().filter(|sentence| sentence.verdict == verdict).count();
    let share = |part: f64, of: usize| if of == 0 { 0.0 } else { part / of as f64 };
    let unchecked = with(None);
    let scored = sentences.len() - unchecked;
    let supports = checkable.iter().filter_map(|sentence| sentence.support_probability);
    RewardComponents {
        checkable: sentences.len(),
        supported: with(Some(Verdict::Supported)),
        contradicted: with(Some(Verdict::Contradicted)),
        not_mentioned: with(Some(Verdict::NotMentioned)),
        unchecked,
        coverage: share(scored as f64, sentences.len()),
        mean_weight: share(
            sentences.iter().map(|sentence| f64::from(sentence.weight)).sum(),
            sentences.len(),
        ),
        mean_support_probability: share(supports.map(|support| f64::from(support.get())).sum(), scored),
        mean_reward: 0.0,
        brevity_factor: 1.0,
    }
}

/// The nearest multiple of the step; never the negative zero.
fn quantised(number: f64) -> f64 {
    (number * STEPS_PER_UNIT).round() / STEPS_PER_UNIT + 0.0
}

#[cfg(test)]
mod tests;

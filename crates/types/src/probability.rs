//! A number that is a probability.

use serde::{Deserialize, Deserializer, Serialize};

/// A finite number in `0..=1`. NaN and infinity cannot be held, so they never reach a result.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Probability(f32);

impl Probability {
    /// Impossible.
    pub const ZERO: Probability = Probability(0.0);
    /// Certain.
    pub const ONE: Probability = Probability(1.0);

    /// A probability, or `None` where `value` is NaN or outside `0..=1` by more than rounding (1e-4).
    pub fn new(value: f32) -> Option<Self> {
        (-1e-4..=1.0001).contains(&value).then(|| Self(value.clamp(0.0, 1.0)))
    }

    /// The number, in `0..=1`.
    pub fn get(self) -> f32 {
        self.0
    }

    /// The larger of two.
    pub fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }
}

impl<'de> Deserialize<'de> for Probability {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f32::deserialize(deserializer)?;
        Probability::new(value)
            .ok_or_else(|| serde::de::Error::custom(format!("{value} is not a probability (0 to 1)")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_and_out_of_range_are_refused() {
        assert_eq!(Probability::new(f32::NAN), None);
        assert_eq!(Probability::new(f32::INFINITY), None);
        assert_eq!(Probability::new(-0.1), None);
        assert_eq!(Probability::new(1.000_05).map(Probability::get), Some(1.0));
    }
}

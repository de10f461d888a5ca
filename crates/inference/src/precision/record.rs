//! What was measured, in a file beside the model.

use super::Precision;
use crate::beside;
use groundline_types::Problem;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The file that a model's record lies in, in its folder.
pub const PRECISION_FILE: &str = "precision.json";

/// The largest mean drift of a probability that passes.
const MOST_DRIFT: f64 = 0.005;
/// The least share of equal decisions that passes: with bytes, and with bf16 alone.
const LEAST_AGREEMENT: f64 = 0.990;
const LEAST_AGREEMENT_BF16: f64 = 0.995;
/// The largest margin that a changed decision may have had: the difference between the two largest probabilities.
const MOST_MARGIN: f64 = 0.15;
/// Pairs from which on a measurement says something.
const LEAST_PAIRS: usize = 500;

/// Counted up whenever a short format computes otherwise than before, so that nothing goes by what was measured of another. 2: attention
/// in bf16.
pub const PRECISION_ARITHMETIC: u32 = 2;

fn first_arithmetic() -> u32 {
    1
}

/// What was measured of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrecisionRecord {
    /// The revision of the model that was measured. Of another one the record says nothing, and is not used.
    pub revision: String,
    /// The [`PRECISION_ARITHMETIC`] that was measured; files without it are of the first. Of another one the record says nothing.
    #[serde(default = "first_arithmetic")]
    pub arithmetic: u32,
    /// Pairs that were scored.
    pub pairs: usize,
    /// Where they are from, for people.
    pub text: String,
    /// One entry for each precision but single.
    pub measured: Vec<MeasuredPrecision>,
}

/// How one precision answers, beside single precision on the same pairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredPrecision {
    /// Which.
    pub precision: Precision,
    /// Mean absolute difference of a class's probability, over all pairs and classes.
    pub mean_drift: f64,
    /// The largest one.
    pub largest_drift: f64,
    /// Share of pairs whose most probable class is the same, 0 to 1.
    pub agreement: f64,
    /// Of the pairs where it is not, the largest margin in single precision: the most probable class's probability less the
    /// second's. 0 where there is none.
    pub largest_margin: f64,
}

impl MeasuredPrecision {
    /// Whether it may take the place of single precision: a mean drift of at most 0.005, equal decisions for at least 99 % of the
    /// pairs (99.5 % where there are no bytes), and no decision changed that was clear (a margin above 0.15).
    pub fn passes(&self) -> bool {
        let least = if self.precision.has_bytes() { LEAST_AGREEMENT } else { LEAST_AGREEMENT_BF16 };
        self.mean_drift <= MOST_DRIFT && self.agreement >= least && self.largest_margin <= MOST_MARGIN
    }
}

impl PrecisionRecord {
    /// The fastest precision that passes; `None` where none does, or too few pairs were scored (500) to tell.
    pub fn fastest(&self) -> Option<Precision> {
        let passing = self.measured.iter().filter(|measured| measured.passes());
        passing.map(|measured| measured.precision).max().filter(|_| self.pairs >= LEAST_PAIRS)
    }

    /// Reads it from a model's folder; `None` where there is none.
    ///
    /// # Errors
    /// [`groundline_types::Code::MODEL_CORRUPT`] where the file cannot be read, is malformed, or has a number that cannot be.
    pub fn read(folder: &Path) -> Result<Option<Self>, Problem> {
        let is_share = |number: f64| (0.0..=1.0).contains(&number);
        let is_sound = |one: &MeasuredPrecision| {
            [one.mean_drift, one.largest_drift, one.agreement, one.largest_margin].into_iter().all(is_share)
        };
        let fault = |record: &Self| {
            (!record.measured.iter().all(is_sound)).then_some("has a number that is not from 0 to 1")
        };
        beside::read(folder, PRECISION_FILE, "groundline models precision", fault)
    }

    /// The record, where it is of this revision and of what is computed now.
    pub(crate) fn of_revision(self, revision: &str) -> Option<Self> {
        if self.revision != revision {
            tracing::warn!(
                file = PRECISION_FILE,
                "the record of precision is of another revision of the model; it is not used"
            );
            return None;
        }
        if self.arithmetic != PRECISION_ARITHMETIC {
            tracing::warn!(
                file = PRECISION_FILE,
                "the record of precision is of another version of the short formats; it is not used until `groundline models precision` \
                 has measured anew"
            );
            return None;
        }
        Some(self)
    }

    /// Writes it into a model's folder.
    ///
    /// # Errors
    /// [`groundline_types::Code::UNWRITABLE_OUTPUT`] where the file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), Problem> {
        beside::write(self, folder, PRECISION_FILE)
    }
}

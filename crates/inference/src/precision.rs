//! Which precision a model is computed in, and the measurement that decides it.
//!
//! A shorter format is used where it was seen, for that very model, to answer as single precision does: [`measure_precision`] runs
//! pairs in every [`Precision`], and [`PrecisionRecord`] keeps what it found beside the model.

mod measure;
mod record;

pub use crate::cpu::Precision;
pub use measure::measure_precision;
pub use record::{MeasuredPrecision, PRECISION_ARITHMETIC, PRECISION_FILE, PrecisionRecord};

use crate::cpu::Isa;
use groundline_types::{Code, Problem};
use serde::{Deserialize, Serialize};

/// What precision is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PrecisionChoice {
    /// Single precision: the same numbers on every machine with AVX2 or better.
    #[default]
    F32,
    /// The fastest that this machine has instructions for and that the model's record lets pass; single precision where there
    /// is no record.
    Auto,
    /// bf16, measured or not; on a machine without its instructions in slower steps.
    Bf16,
    /// Bytes in as many layers as the model's record lets pass, and what passes without them where none do, which is said. A
    /// model without a record is refused.
    Int8,
    /// Just this one, measured or not: for measuring.
    #[serde(skip)]
    Exactly(Precision),
}

/// A precision, and what is to be said about it.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub precision: Precision,
    /// Why it is not what was asked for.
    pub instead: Option<Problem>,
}

impl PrecisionChoice {
    /// Whether the choice depends on what was measured.
    pub(crate) fn wants_record(self) -> bool {
        matches!(self, Self::Auto | Self::Int8)
    }

    /// The precision to compute in on `isa`, where `record` is what was measured for the model.
    ///
    /// # Errors
    /// [`Code::PRECISION_REFUSED`] where bytes are asked for and nothing was measured.
    pub(crate) fn choose(self, isa: Isa, record: Option<&PrecisionRecord>) -> Result<Chosen, Problem> {
        let as_asked = |precision| Ok(Chosen { precision, instead: None });
        let fastest = |record: &PrecisionRecord| record.fastest().unwrap_or_default();
        match self {
            Self::F32 => as_asked(Precision::F32),
            Self::Bf16 => as_asked(Precision::Bf16),
            Self::Exactly(precision) => as_asked(precision),
            Self::Auto if !isa.has_short_products() => as_asked(Precision::F32),
            Self::Auto => as_asked(record.map_or(Precision::F32, fastest)),
            Self::Int8 => {
                let record = record.ok_or_else(|| {
                    let message = format!(
                        "int8 is asked for, and it was not measured how exactly this model computes in it; run `groundline models precision` (it writes {PRECISION_FILE}), or ask for auto, bf16 or f32"
                    );
                    Problem::new(Code::PRECISION_REFUSED, message)
                })?;
                let precision = fastest(record);
                let instead = (precision != Precision::Int8).then(|| {
                    let message = format!(
                        "the model is not exact enough in int8 throughout: it is computed in {precision}"
                    );
                    Problem::new(Code::PRECISION_REFUSED, message)
                });
                Ok(Chosen { precision, instead })
            }
        }
    }
}

#[cfg(test)]
mod tests;

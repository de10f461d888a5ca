//! How exactly the layers of a model are computed.

use super::pack::Format;
use super::simd::LANES;
use std::str::FromStr;

/// How exactly the products of an encoder are computed, exact ones first, and the fastest last.
///
/// Embeddings, norms, softmax, the residual stream and heads are in single precision in all of them. Shorter formats round what
/// goes into a product; sums are in single precision (bf16) or exact (int8). With all but [`Precision::F32`] attention's products
/// are in bf16, where heads are a multiple of 32 wide.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub enum Precision {
    /// Single precision.
    #[default]
    #[serde(rename = "f32")]
    F32,
    /// Weights and activations as bf16, 8 bits of mantissa.
    #[serde(rename = "bf16")]
    Bf16,
    /// Bytes in attention's projections; both feed-forward layers in bf16.
    #[serde(rename = "int8-bf16-feed-forward")]
    Int8Projections,
    /// Bytes, but for the second feed-forward layer, whose inputs have the largest outliers: it is in bf16.
    #[serde(rename = "int8-bf16-output")]
    Int8BeforeOutput,
    /// Weights as signed bytes with a scale for each output, activations as unsigned bytes with a zero and a scale for each
    /// token.
    #[serde(rename = "int8")]
    Int8,
}

/// A linear layer's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Queries, keys, values, or the heads' results.
    Projection,
    /// The first feed-forward layer, or its gate.
    Intermediate,
    /// The second.
    Output,
}

impl Precision {
    /// All there are, exact ones first.
    pub const ALL: [Self; 5] =
        [Self::F32, Self::Bf16, Self::Int8Projections, Self::Int8BeforeOutput, Self::Int8];

    /// As in a record of what was measured, such as `int8-bf16-output`.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::Int8Projections => "int8-bf16-feed-forward",
            Self::Int8BeforeOutput => "int8-bf16-output",
            Self::Int8 => "int8",
        }
    }

    /// Whether some layers are computed with bytes.
    pub fn has_bytes(self) -> bool {
        self > Self::Bf16
    }

    /// What attention's products are in, for heads of this many numbers: bf16 pairs where they fill vectors. Bytes would not do:
    /// softmax's weights span too many orders of magnitude.
    pub(super) fn attention(self, head_width: usize) -> Format {
        if self == Self::F32 || !head_width.is_multiple_of(2 * LANES) {
            Format::Single
        } else {
            Format::Pairs
        }
    }

    pub(super) fn format(self, part: Part) -> Format {
        match (self, part) {
            (Self::F32, _) => Format::Single,
            (Self::Bf16, _)
            | (Self::Int8Projections, Part::Intermediate | Part::Output)
            | (Self::Int8BeforeOutput, Part::Output) => Format::Pairs,
            (Self::Int8Projections | Self::Int8BeforeOutput | Self::Int8, _) => Format::Quads,
        }
    }
}

impl std::fmt::Display for Precision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Precision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|precision| precision.name() == text);
        found.ok_or_else(|| format!("give one of {}", Self::ALL.map(Self::name).join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_precision_has_a_format_for_each_part() {
        let formats = |precision: Precision| {
            [Part::Projection, Part::Intermediate, Part::Output].map(|part| precision.format(part))
        };
        assert_eq!(formats(Precision::F32), [Format::Single; 3]);
        assert_eq!(formats(Precision::Bf16), [Format::Pairs; 3]);
        assert_eq!(formats(Precision::Int8Projections), [Format::Quads, Format::Pairs, Format::Pairs]);
        assert_eq!(formats(Precision::Int8BeforeOutput), [Format::Quads, Format::Quads, Format::Pairs]);
        assert_eq!(formats(Precision::Int8), [Format::Quads; 3]);
    }

    #[test]
    fn attention_is_in_pairs_where_heads_fill_vectors_of_them() {
        for precision in Precision::ALL {
            assert_eq!(precision.attention(48), Format::Single);
            let format = if precision == Precision::F32 { Format::Single } else { Format::Pairs };
            assert_eq!([32, 64].map(|width| precision.attention(width)), [format; 2]);
        }
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for precision in Precision::ALL {
            assert_eq!(precision.name().parse(), Ok(precision));
            let json = serde_json::to_string(&precision).unwrap();
            assert_eq!(json, format!("\"{}\"", precision.name()));
        }
        assert!("fp16".parse::<Precision>().unwrap_err().contains("int8-bf16-output"));
    }
}

//! What the distance of two tokens adds to their attention score.

use crate::deberta::DebertaConfig;

/// What the distance of two tokens adds to their attention score.
#[derive(Debug, Clone, PartialEq)]
pub enum Distances {
    /// Nothing.
    None,
    /// Content-to-position and position-to-content terms over a table of relative embeddings (DeBERTa).
    Disentangled(Box<DebertaConfig>),
    /// A learned number for each head and bucket of distances, the same in every layer (T5).
    Bias {
        /// Number of buckets, half of them for keys after the query.
        buckets: usize,
        /// The distance from which on all fall into the last bucket.
        max_distance: usize,
    },
    /// In layers that say so, keys farther than `reach` tokens from the query are not seen (ModernBERT).
    Local {
        /// Farthest distance that is seen.
        reach: usize,
    },
}

impl Distances {
    /// Rows of the table that [`Distances::slot`] points into.
    pub fn slots(&self) -> usize {
        match self {
            Distances::None => 0,
            Distances::Disentangled(config) => 2 * config.span(),
            Distances::Bias { buckets, .. } => *buckets,
            Distances::Local { .. } => 2,
        }
    }

    /// Row of the table for query position `i` and key position `j` with `distance = i - j`.
    pub fn slot(&self, distance: isize) -> usize {
        match self {
            Distances::None => 0,
            Distances::Disentangled(config) => config.slot(distance),
            Distances::Bias { buckets, max_distance } => bias_bucket(-distance, *buckets, *max_distance),
            Distances::Local { reach } => usize::from(distance.unsigned_abs() <= *reach),
        }
    }
}

/// T5's bucket of `ahead = j - i`: half of the buckets for each side, of those half for one distance each, the rest widening
/// logarithmically. In single precision, as the authors' code computes it.
fn bias_bucket(ahead: isize, buckets: usize, max_distance: usize) -> usize {
    let side = buckets / 2;
    let exact = side / 2;
    let far = ahead.unsigned_abs();
    let within = if far < exact {
        far
    } else {
        let ratio = (far as f32 / exact as f32).ln() / (max_distance as f32 / exact as f32).ln();
        (exact + (ratio * (side - exact) as f32) as usize).min(side - 1)
    };
    if ahead > 0 { side + within } else { within }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t5_buckets_are_exact_near_by_and_widen_far_off() {
        let bucket = |ahead| bias_bucket(ahead, 32, 128);
        // Values of the published function.
        let published = [
            (0, 0),
            (1, 17),
            (-1, 1),
            (7, 23),
            (-7, 7),
            (8, 24),
            (-8, 8),
            (-15, 9),
            (-16, 10),
            (-40, 12),
            (-64, 14),
        ];
        for (ahead, wanted) in published {
            assert_eq!(bucket(ahead), wanted, "{ahead}");
        }
        assert_eq!((bucket(-91), bucket(-128), bucket(-5000), bucket(5000)), (15, 15, 15, 31));
    }

    #[test]
    fn a_local_layer_sees_both_sides_up_to_its_reach() {
        let local = Distances::Local { reach: 16 };
        assert_eq!([0, 16, -16, 17, -17].map(|distance| local.slot(distance)), [1, 1, 1, 0, 0]);
    }
}

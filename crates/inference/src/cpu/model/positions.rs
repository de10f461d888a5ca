//! What a model does with positions: tables of distances, and rotations.

use super::super::buffer::{Buffer, Rows, RowsMut};
use super::super::pack::{Format, Packed};
use super::super::tables::SlotTables;
use super::{Layer, Packer};
use crate::encoder::{Distances, EncoderLayer, EncoderWeights, LinearWeights};
use crate::tensor::Tensor;
use groundline_types::{Code, Problem};

/// What hides a key: far below every score, and finite, so that no sum becomes something that is not a number.
const HIDDEN: f32 = -1e30;

/// Cosines and sines of every position, `[positions][head_size / 2]` each (Su et al., "RoFormer", arXiv 2104.09864).
#[derive(Debug)]
pub(in super::super) struct Rotation {
    base: f32,
    half: usize,
    cosines: Vec<f32>,
    sines: Vec<f32>,
}

impl Rotation {
    /// Angles in single precision, as `transformers` has them.
    fn new(base: f32, head_size: usize, positions: usize) -> Self {
        let half = head_size / 2;
        let frequencies: Vec<f32> =
            (0..half).map(|k| 1.0 / base.powf((2 * k) as f32 / head_size as f32)).collect();
        let angle = |n: usize| (n / half) as f32 * frequencies[n % half];
        let (mut cosines, mut sines) = (Vec::new(), Vec::new());
        for n in 0..positions * half {
            let (sine, cosine) = f64::from(angle(n)).sin_cos();
            cosines.push(cosine as f32);
            sines.push(sine as f32);
        }
        Self { base, half, cosines, sines }
    }

    /// Rotates every head of every row, the first of which is token 0: number k of a head with number k + half.
    pub(in super::super) fn apply(&self, rows: RowsMut<'_>, heads: usize, head_width: usize) {
        let half = self.half;
        for (position, row) in rows.data.chunks_exact_mut(rows.stride).take(rows.count).enumerate() {
            let cosines = &self.cosines[position * half..][..half];
            let sines = &self.sines[position * half..][..half];
            for head in row.chunks_exact_mut(head_width).take(heads) {
                let (low, high) = head.split_at_mut(half);
                for (((a, b), cosine), sine) in low.iter_mut().zip(high).zip(cosines).zip(sines) {
                    let (x, y) = (*a, *b);
                    *a = x * cosine - y * sine;
                    *b = y * cosine + x * sine;
                }
            }
        }
    }
}

impl Packer {
    /// One rotation for each base in use, in the order in which layers name them.
    pub(super) fn rotations(&self) -> Vec<Rotation> {
        let mut rotations: Vec<Rotation> = Vec::new();
        let positions = self.config.longest_sequence.unwrap_or(0);
        for &base in &self.config.rotary_bases {
            if rotations.iter().all(|rotation| rotation.base != base) {
                rotations.push(Rotation::new(base, self.config.head_size, positions));
            }
        }
        rotations
    }

    /// Place of a layer's rotation among [`Packer::rotations`].
    pub(super) fn rotation_of(&self, layer: usize) -> Option<usize> {
        let mine = self.config.rotary_bases.get(layer)?;
        let mut bases: Vec<f32> = Vec::new();
        for &base in &self.config.rotary_bases {
            if !bases.contains(&base) {
                bases.push(base);
            }
        }
        bases.iter().position(|base| base == mine)
    }

    /// Tables that all layers share: T5's biases, or what hides far keys from a local layer.
    pub(super) fn shared_tables(&self, weights: &EncoderWeights) -> Result<Vec<SlotTables>, Problem> {
        let bias = match &self.config.distances {
            Distances::None | Distances::Disentangled(_) => return Ok(Vec::new()),
            Distances::Local { .. } => Buffer::from_values(&[HIDDEN, 0.0]),
            distances @ Distances::Bias { .. } => {
                let shape = [distances.slots(), self.config.heads];
                let table = weights.distance_table.as_ref().filter(|table| table.shape() == shape);
                Buffer::from_values(&table.map(Tensor::to_f32).ok_or_else(table_missing)?)
            }
        };
        Ok(vec![SlotTables { bias: Some(bias), ..SlotTables::default() }])
    }

    /// The relative embeddings, normalised where the model says so.
    pub(super) fn relative_rows(&self, weights: &EncoderWeights) -> Result<Buffer, Problem> {
        let (rows, stride) = (self.config.distances.slots(), self.widths.hidden);
        let table = weights.distance_table.as_ref().filter(|table| table.shape()[0] >= rows);
        let table = table.ok_or_else(table_missing)?;
        let mut rel = Buffer::zeros(rows * stride);
        for (index, row) in rel.as_mut_slice().chunks_exact_mut(stride).take(rows).enumerate() {
            table.read_row(index, &mut row[..self.config.hidden_size]);
        }
        if let Some(norm) = &weights.distance_norm {
            let (norm, x) = (self.norm(norm), RowsMut::new(rel.as_mut_slice(), stride, rows));
            self.kernels.norm(x, self.config.hidden_size, norm.call());
        }
        Ok(rel)
    }

    /// PK and PQ of one layer; where they share the content projections, with the biases of those.
    pub(super) fn slot_tables(&self, source: &EncoderLayer, layer: &Layer, rel: &Buffer) -> SlotTables {
        let Distances::Disentangled(config) = &self.config.distances else { return SlotTables::default() };
        let (rows, stride) = (self.config.distances.slots(), self.widths.inner);
        let project = |weights: &Packed| {
            let input = Rows::new(rel.as_slice(), self.widths.hidden, rows);
            let mut out = Buffer::zeros(rows * stride);
            self.kernels.linear(weights, input, RowsMut::new(out.as_mut_slice(), stride, rows));
            out
        };
        // In single precision, whatever the layer itself is in: it is done once.
        let shared = |packed: &Packed, linear: &LinearWeights, scale: f32| match packed.format() {
            Format::Single => project(packed),
            _ => project(&self.head_projection(linear, scale)),
        };
        let pk = config.c2p.then(|| match &source.pos_key {
            Some(separate) => project(&self.head_projection(separate, 1.0)),
            None => shared(&layer.key, &source.key, 1.0),
        });
        let pq = config.p2c.then(|| match &source.pos_query {
            Some(separate) => project(&self.head_projection(separate, self.scale())),
            None => shared(&layer.query, &source.query, self.scale()),
        });
        SlotTables { pk, pq, bias: None }
    }
}

fn table_missing() -> Problem {
    Problem::new(Code::MODEL_CORRUPT, "the checkpoint has no table of relative embeddings of the right size")
}

//! Weights of a checkpoint in the form and precision that the kernels read.

use super::shape::Shape;
use super::weights::{Part, Source};
use crate::deberta::{DebertaConfig, LayerWeights, LinearWeights, NormWeights, Weights};
use crate::tensor::Tensor;
use groundline_types::{Code, Problem};
use half::f16;
use half::slice::HalfFloatSliceExt as _;

/// Sums that a dot product keeps apart, so that they are vector instructions.
const LANES: usize = 16;

/// Makes the tensors of a [`super::weights::WeightLayout`] one at a time.
#[derive(Debug)]
pub(super) struct Packer<'a> {
    config: &'a DebertaConfig,
    weights: &'a Weights,
    shape: &'a Shape,
    /// Relative embeddings, normed where the model says so: `[slots][hidden]`.
    relative: Vec<f32>,
}

impl<'a> Packer<'a> {
    /// # Errors
    /// [`Code::MODEL_CORRUPT`] without the tables that `config` asks for.
    pub(super) fn new(
        config: &'a DebertaConfig,
        weights: &'a Weights,
        shape: &'a Shape,
    ) -> Result<Self, Problem> {
        let relative = match &shape.relative {
            None => Vec::new(),
            Some(relative) => relative_rows(config, weights, relative.slots)?,
        };
        Ok(Self { config, weights, shape, relative })
    }

    /// The bytes of one tensor; those of a part that the model lacks are empty.
    pub(super) fn bytes(&self, source: Source) -> Vec<u8> {
        let weights = self.weights;
        let conv = weights.conv.as_ref();
        let norm = |norm: &NormWeights, gain: bool| numbers(if gain { &norm.weight } else { &norm.bias });
        let head = |index: usize| &weights.heads[index];
        let values = match source {
            Source::Lut => return self.lut(),
            Source::Layer(index, part) => return self.layer(&weights.layers[index], part),
            Source::Words => self.embedding(Some(&weights.word_embeddings)),
            Source::Positions => self.embedding(weights.position_embeddings.as_ref()),
            Source::Types => self.embedding(weights.token_type_embeddings.as_ref()),
            Source::EmbeddingGain => norm(&weights.embedding_norm, true),
            Source::EmbeddingOffset => norm(&weights.embedding_norm, false),
            Source::ConvWeight => self.conv_weight(),
            Source::ConvBias => conv.map(|conv| numbers(&conv.bias)).unwrap_or_default(),
            Source::ConvGain => conv.map(|conv| norm(&conv.norm, true)).unwrap_or_default(),
            Source::ConvOffset => conv.map(|conv| norm(&conv.norm, false)).unwrap_or_default(),
            Source::Identity => identity(self.shape.hidden),
            Source::Dense(index) => numbers(&head(index).dense.weight),
            Source::DenseBias(index) => bias_of(&head(index).dense),
            Source::Out(index) => numbers(&head(index).out.weight),
            Source::OutBias(index) => bias_of(&head(index).out),
        };
        halves(&values)
    }

    fn layer(&self, layer: &LayerWeights, part: Part) -> Vec<u8> {
        let (three, own) = ([&layer.query, &layer.key, &layer.value], !self.config.share_att_key);
        let values = match part {
            Part::Qkv => three.iter().flat_map(|linear| numbers(&linear.weight)).collect(),
            Part::QkvBias => three.iter().flat_map(|linear| bias_of(linear)).collect(),
            Part::PositionKeys => {
                self.table(self.config.c2p, layer.pos_key.as_ref().filter(|_| own).unwrap_or(&layer.key))
            }
            Part::PositionQueries => {
                self.table(self.config.p2c, layer.pos_query.as_ref().filter(|_| own).unwrap_or(&layer.query))
            }
            Part::AttentionOutput => numbers(&layer.attention_output.weight),
            Part::AttentionOutputBias => bias_of(&layer.attention_output),
            Part::AttentionOutputBiasWide => return singles(&bias_of(&layer.attention_output)),
            Part::AttentionGain => numbers(&layer.attention_norm.weight),
            Part::AttentionOffset => numbers(&layer.attention_norm.bias),
            Part::Intermediate => numbers(&layer.intermediate.weight),
            Part::IntermediateBias => bias_of(&layer.intermediate),
            Part::Output => numbers(&layer.output.weight),
            Part::OutputBias => bias_of(&layer.output),
            Part::OutputBiasWide => return singles(&bias_of(&layer.output)),
            Part::OutputGain => numbers(&layer.output_norm.weight),
            Part::OutputOffset => numbers(&layer.output_norm.bias),
        };
        halves(&values)
    }

    /// Relative embeddings projected by `linear`, `[heads][slots][d]`, scaled as scores are: small numbers, which halves hold well.
    fn table(&self, wanted: bool, linear: &LinearWeights) -> Vec<f32> {
        let (width, inner) = (self.shape.head_width, self.shape.inner());
        let slots = self.relative.len() / self.shape.hidden;
        if !wanted {
            return vec![0.0; slots * inner];
        }
        let weight = numbers(&linear.weight);
        let projected = product(&self.relative, &weight, &bias_of(linear), self.shape.hidden);
        let mut table = Vec::with_capacity(projected.len());
        for head in 0..self.shape.heads {
            for row in projected.chunks_exact(inner) {
                table.extend(row[head * width..][..width].iter().map(|number| number * self.shape.scale));
            }
        }
        table
    }

    fn embedding(&self, table: Option<&Tensor>) -> Vec<f32> {
        let rows = table.map(numbers).unwrap_or_default();
        match &self.weights.embedding_projection {
            None => rows,
            // Linear, so projecting the tables is as good as projecting their sum.
            Some(weight) => product(&rows, &numbers(weight), &[], self.config.embedding_size),
        }
    }

    fn lut(&self) -> Vec<u8> {
        let lut = self.shape.relative.as_ref().map(|relative| relative.lut.as_slice());
        lut.unwrap_or_default().iter().flat_map(|slot| slot.to_ne_bytes()).collect()
    }

    /// `[hidden][hidden / groups][taps]` becomes `[hidden][taps][hidden]`.
    fn conv_weight(&self) -> Vec<f32> {
        let Some(conv) = &self.weights.conv else { return Vec::new() };
        let shape = conv.weight.shape();
        let (outputs, channels, taps) = (shape[0], shape[1], shape[2]);
        let from = numbers(&conv.weight);
        let mut to = vec![0.0; outputs * taps * outputs];
        for (output, row) in from.chunks_exact(channels * taps).enumerate() {
            // As many outputs as channels in a group.
            let first = output / channels * channels;
            for (channel, values) in row.chunks_exact(taps).enumerate() {
                for (tap, &value) in values.iter().enumerate() {
                    to[(output * taps + tap) * outputs + first + channel] = value;
                }
            }
        }
        to
    }
}

fn relative_rows(config: &DebertaConfig, weights: &Weights, slots: usize) -> Result<Vec<f32>, Problem> {
    let table = weights.rel_embeddings.as_ref().filter(|table| table.shape()[0] >= slots);
    let table = table.ok_or_else(|| {
        Problem::new(
            Code::MODEL_CORRUPT,
            "the checkpoint has no table of relative embeddings of the right size",
        )
    })?;
    let width = config.hidden_size;
    let mut rows = numbers(table);
    rows.truncate(slots * width);
    if let Some(norm) = weights.rel_norm.as_ref().filter(|_| config.norm_rel_embeddings) {
        let (gain, offset) = (numbers(&norm.weight), numbers(&norm.bias));
        for row in rows.chunks_exact_mut(width) {
            layer_norm(row, &gain, &offset, config.layer_norm_eps);
        }
    }
    Ok(rows)
}

fn layer_norm(row: &mut [f32], gain: &[f32], offset: &[f32], eps: f32) {
    let count = row.len() as f64;
    let mean = row.iter().map(|&number| f64::from(number)).sum::<f64>() / count;
    let variance = row.iter().map(|&number| (f64::from(number) - mean).powi(2)).sum::<f64>() / count;
    let scale = 1.0 / (variance + f64::from(eps)).sqrt();
    for ((number, &gain), &offset) in row.iter_mut().zip(gain).zip(offset) {
        *number = ((f64::from(*number) - mean) * scale * f64::from(gain) + f64::from(offset)) as f32;
    }
}

fn numbers(tensor: &Tensor) -> Vec<f32> {
    tensor.to_f32()
}

fn bias_of(linear: &LinearWeights) -> Vec<f32> {
    linear.bias.as_ref().map_or_else(|| vec![0.0; linear.weight.shape()[0]], numbers)
}

fn identity(width: usize) -> Vec<f32> {
    let mut matrix = vec![0.0; width * width];
    matrix.iter_mut().step_by(width + 1).for_each(|number| *number = 1.0);
    matrix
}

fn halves(values: &[f32]) -> Vec<u8> {
    let mut halves = vec![f16::ZERO; values.len()];
    halves.convert_from_f32_slice(values);
    halves.iter().flat_map(|half| half.to_ne_bytes()).collect()
}

fn singles(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

/// `x weight^T + bias`, with `x` `[rows][inputs]` and `weight` `[outputs][inputs]`; no bias where it is empty. On all cores.
pub(super) fn product(x: &[f32], weight: &[f32], bias: &[f32], inputs: usize) -> Vec<f32> {
    let (rows, outputs) = (x.len() / inputs, weight.len() / inputs);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).clamp(1, rows.max(1));
    let mut out = vec![0.0; rows * outputs];
    let strip = rows.div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        for (x, out) in x.chunks(strip * inputs).zip(out.chunks_mut(strip * outputs)) {
            scope.spawn(move || product_rows(x, (weight, inputs), bias, out));
        }
    });
    out
}

/// The rows of one thread. A strip of outputs at a time, whose weights stay in the cache while the rows go by.
fn product_rows(x: &[f32], (weight, inputs): (&[f32], usize), bias: &[f32], out: &mut [f32]) {
    const STRIP: usize = 32;
    let outputs = weight.len() / inputs;
    for first in (0..outputs).step_by(STRIP) {
        let count = STRIP.min(outputs - first);
        for (row, out) in x.chunks_exact(inputs).zip(out.chunks_exact_mut(outputs)) {
            for output in first..first + count {
                let sum = dot(row, &weight[output * inputs..][..inputs]);
                out[output] = sum + bias.get(output).copied().unwrap_or(0.0);
            }
        }
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    let (a_lanes, b_lanes) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f32 = a_lanes.remainder().iter().zip(b_lanes.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a_lanes.zip(b_lanes) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * y[lane];
        }
    }
    sums.iter().sum::<f32>() + rest
}

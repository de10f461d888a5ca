//! The model in plain f64, written from its definition and not for speed: the oracle that engines are tested against.
//!
//! Everything an engine may rearrange is spelled out here as the published layer does it: the position terms are two
//! separate gathers (one of them transposed), nothing is hoisted, and every layer runs for every token.

use super::{Activation, ConvWeights, DebertaConfig, LayerWeights, LinearWeights, NormWeights, Weights};
use crate::tensor::Tensor;
use groundline_types::Head;

/// A model with its weights as f64.
pub(crate) struct Reference<'a> {
    config: &'a DebertaConfig,
    weights: &'a Weights,
}

/// What the oracle answers for one sequence.
pub(crate) struct ReferenceOutput {
    /// Last hidden state, one vector a token.
    pub(crate) hidden: Vec<Vec<f64>>,
    /// Logits of every head of the model.
    pub(crate) logits: Vec<(Head, Vec<f64>)>,
}

impl ReferenceOutput {
    /// Mean of the last hidden state over all tokens.
    pub(crate) fn mean_hidden(&self) -> Vec<f64> {
        let mut mean = vec![0.0; self.hidden[0].len()];
        for row in &self.hidden {
            for (sum, value) in mean.iter_mut().zip(row) {
                *sum += value / self.hidden.len() as f64;
            }
        }
        mean
    }

    /// The logits of `head`; panics where the model has no such head.
    pub(crate) fn logits_of(&self, head: Head) -> &[f64] {
        &self.logits.iter().find(|(name, _)| *name == head).expect("the model has this head").1
    }
}

type Rows = Vec<Vec<f64>>;

impl<'a> Reference<'a> {
    pub(crate) fn new(config: &'a DebertaConfig, weights: &'a Weights) -> Self {
        Self { config, weights }
    }

    /// The whole forward pass for one sequence.
    pub(crate) fn run(&self, ids: &[u32], type_ids: &[u8]) -> ReferenceOutput {
        let embedded = self.embed(ids, type_ids);
        let rel = self.relative_table();
        let mut hidden = embedded.clone();
        for (index, layer) in self.weights.layers.iter().enumerate() {
            hidden = self.layer(layer, &hidden, &rel);
            if let (0, Some(conv)) = (index, &self.weights.conv) {
                hidden = self.convolve(conv, &embedded, &hidden);
            }
        }
        let logits = self.weights.heads.iter().map(|head| {
            let mut pooled = linear(&head.dense, &hidden[..1]);
            activate(head.activation, &mut pooled);
            (head.head, linear(&head.out, &pooled).remove(0))
        });
        ReferenceOutput { logits: logits.collect(), hidden: hidden.clone() }
    }

    fn embed(&self, ids: &[u32], type_ids: &[u8]) -> Rows {
        let mut rows: Rows = ids
            .iter()
            .enumerate()
            .map(|(position, &id)| {
                let mut row = table_row(&self.weights.word_embeddings, id as usize);
                if let Some(table) = &self.weights.position_embeddings {
                    add(&mut row, &table_row(table, position));
                }
                if let Some(table) = &self.weights.token_type_embeddings {
                    add(&mut row, &table_row(table, type_ids[position].into()));
                }
                row
            })
            .collect();
        if let Some(projection) = &self.weights.embedding_projection {
            rows = linear(&LinearWeights { weight: projection.clone(), bias: None }, &rows);
        }
        self.norm(&self.weights.embedding_norm, &mut rows);
        rows
    }

    fn relative_table(&self) -> Rows {
        let Some(table) = &self.weights.rel_embeddings else { return Vec::new() };
        let mut rows: Rows = (0..table.shape()[0]).map(|row| table_row(table, row)).collect();
        if let Some(norm) = &self.weights.rel_norm {
            self.norm(norm, &mut rows);
        }
        rows
    }

    fn layer(&self, layer: &LayerWeights, x: &Rows, rel: &Rows) -> Rows {
        let context = self.attention(layer, x, rel);
        let mut attended = linear(&layer.attention_output, &context);
        attended.iter_mut().zip(x).for_each(|(row, residual)| add(row, residual));
        self.norm(&layer.attention_norm, &mut attended);
        let mut inner = linear(&layer.intermediate, &attended);
        activate(self.config.hidden_act, &mut inner);
        let mut out = linear(&layer.output, &inner);
        out.iter_mut().zip(&attended).for_each(|(row, residual)| add(row, residual));
        self.norm(&layer.output_norm, &mut out);
        out
    }

    fn attention(&self, layer: &LayerWeights, x: &Rows, rel: &Rows) -> Rows {
        let config = self.config;
        let (query, key, value) = (linear(&layer.query, x), linear(&layer.key, x), linear(&layer.value, x));
        let c2p = config.relative_attention && config.c2p;
        let p2c = config.relative_attention && config.p2c;
        let shared = config.share_att_key;
        let pos_key = c2p.then(|| linear(projection(shared, &layer.key, &layer.pos_key), rel));
        let pos_query = p2c.then(|| linear(projection(shared, &layer.query, &layer.pos_query), rel));
        let scale = {
            let terms = 1 + usize::from(config.c2p) + usize::from(config.p2c);
            ((config.head_size * terms) as f64).sqrt()
        };
        let mut context = vec![vec![0.0; config.heads * config.head_size]; x.len()];
        for head in 0..config.heads {
            let part = head * config.head_size..(head + 1) * config.head_size;
            for i in 0..x.len() {
                let mut scores: Vec<f64> = (0..x.len())
                    .map(|j| {
                        let mut score = dot(&query[i][part.clone()], &key[j][part.clone()]) / scale;
                        if let Some(pos_key) = &pos_key {
                            let row = self.clamped(self.bucket(i as i64 - j as i64));
                            score += dot(&query[i][part.clone()], &pos_key[row][part.clone()]) / scale;
                        }
                        if let Some(pos_query) = &pos_query {
                            // The published code gathers over (key, query) and transposes: note the double sign flip.
                            let row = self.clamped(-self.bucket(j as i64 - i as i64));
                            score += dot(&key[j][part.clone()], &pos_query[row][part.clone()]) / scale;
                        }
                        score
                    })
                    .collect();
                softmax(&mut scores);
                for (j, weight) in scores.iter().enumerate() {
                    for (sum, v) in context[i][part.clone()].iter_mut().zip(&value[j][part.clone()]) {
                        *sum += weight * v;
                    }
                }
            }
        }
        context
    }

    /// `make_log_bucket_position` of the authors' code for one distance.
    fn bucket(&self, distance: i64) -> i64 {
        let Some(buckets) = self.config.position_buckets else { return distance };
        let mid = (buckets / 2) as i64;
        let absolute = if distance < mid && distance > -mid { mid - 1 } else { distance.abs() };
        if absolute <= mid {
            return distance;
        }
        let top = ((self.config.max_relative_positions as f64 - 1.0) / mid as f64).ln();
        let log = ((absolute as f64 / mid as f64).ln() / top * (mid as f64 - 1.0)).ceil() as i64 + mid;
        log * distance.signum()
    }

    fn clamped(&self, bucket: i64) -> usize {
        let span = self.config.span() as i64;
        (bucket + span).clamp(0, 2 * span - 1) as usize
    }

    fn convolve(&self, conv: &ConvWeights, input: &Rows, residual: &Rows) -> Rows {
        let shape = conv.weight.shape();
        let (out_width, in_width, kernel) = (shape[0], shape[1], shape[2]);
        let settings = self.config.conv.as_ref().expect("weights of a convolution come with its settings");
        let per_group = out_width / settings.groups;
        let (weight, bias) = (numbers(&conv.weight), numbers(&conv.bias));
        let mut out: Rows = vec![vec![0.0; out_width]; input.len()];
        for (position, row) in out.iter_mut().enumerate() {
            for (channel, value) in row.iter_mut().enumerate() {
                let first_input = channel / per_group * in_width;
                *value = bias[channel];
                for tap in 0..kernel {
                    let Some(source) = (position + tap).checked_sub((kernel - 1) / 2) else { continue };
                    let Some(source) = input.get(source) else { continue };
                    for i in 0..in_width {
                        *value += weight[(channel * in_width + i) * kernel + tap] * source[first_input + i];
                    }
                }
            }
        }
        activate(settings.activation, &mut out);
        out.iter_mut().zip(residual).for_each(|(row, residual)| add(row, residual));
        self.norm(&conv.norm, &mut out);
        out
    }

    fn norm(&self, norm: &NormWeights, rows: &mut Rows) {
        let (gain, offset) = (numbers(&norm.weight), numbers(&norm.bias));
        for row in rows {
            let width = row.len() as f64;
            let mean = row.iter().sum::<f64>() / width;
            let variance = row.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / width;
            let scale = 1.0 / (variance + f64::from(self.config.layer_norm_eps)).sqrt();
            for (i, value) in row.iter_mut().enumerate() {
                *value = (*value - mean) * scale * gain[i] + offset[i];
            }
        }
    }
}

fn projection<'a>(
    shared: bool,
    content: &'a LinearWeights,
    own: &'a Option<LinearWeights>,
) -> &'a LinearWeights {
    if shared { content } else { own.as_ref().expect("a position projection where none is shared") }
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    tensor.to_f32().into_iter().map(f64::from).collect()
}

fn table_row(table: &Tensor, row: usize) -> Vec<f64> {
    let mut out = vec![0.0; table.shape()[1]];
    table.read_row(row, &mut out);
    out.into_iter().map(f64::from).collect()
}

fn add(to: &mut [f64], other: &[f64]) {
    to.iter_mut().zip(other).for_each(|(sum, value)| *sum += value);
}

/// Eight partial sums, so that the compiler may use vector registers: f64 leaves room enough for any order.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let tail: f64 = a8.remainder().iter().zip(b8.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a8.zip(b8) {
        for i in 0..8 {
            sums[i] += x[i] * y[i];
        }
    }
    sums.iter().sum::<f64>() + tail
}

fn linear(layer: &LinearWeights, x: &[Vec<f64>]) -> Rows {
    let weight = numbers(&layer.weight);
    let bias = layer.bias.as_ref().map(numbers);
    let width = layer.weight.shape()[1];
    x.iter()
        .map(|row| {
            let products = weight.chunks_exact(width).map(|w| dot(w, row));
            match &bias {
                Some(bias) => products.zip(bias).map(|(product, b)| product + b).collect(),
                None => products.collect(),
            }
        })
        .collect()
}

fn softmax(scores: &mut [f64]) {
    let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    scores.iter_mut().for_each(|score| *score = (*score - highest).exp());
    let sum: f64 = scores.iter().sum();
    scores.iter_mut().for_each(|score| *score /= sum);
}

fn activate(activation: Activation, rows: &mut Rows) {
    for value in rows.iter_mut().flatten() {
        *value = match activation {
            Activation::Gelu => *value * 0.5 * (1.0 + erf(*value / std::f64::consts::SQRT_2)),
            Activation::GeluTanh => {
                let inner = (2.0 / std::f64::consts::PI).sqrt() * (*value + 0.044_715 * value.powi(3));
                *value / 2.0 * (1.0 + inner.tanh())
            }
            Activation::Tanh => value.tanh(),
            Activation::Relu => value.max(0.0),
        };
    }
}

/// The error function by its series of positive terms, `2/√π · e^(-x²) · Σ 2ⁿ x^(2n+1) / (2n+1)!!`.
pub(crate) fn erf(x: f64) -> f64 {
    if x.abs() > 6.0 {
        return x.signum();
    }
    let (mut term, mut sum, mut n) = (x, x, 0.0);
    while term.abs() > sum.abs() * 1e-17 {
        n += 1.0;
        term *= 2.0 * x * x / (2.0 * n + 1.0);
        sum += term;
    }
    2.0 / std::f64::consts::PI.sqrt() * (-x * x).exp() * sum
}

#[cfg(test)]
mod tests;

//! A model as the kernels want it: everything that does not depend on the input is done here, once.

use super::buffer::{Buffer, Rows, RowsMut};
use super::kernels::Kernels;
use super::pack::Packed;
use super::pool::POOL;
use super::simd::LANES;
use super::tables::{RelativeTables, SlotTables};
use crate::deberta::{Activation, ClassifierHead, ConvConfig, ConvWeights, DebertaConfig};
use crate::deberta::{LayerWeights, LinearWeights, NormWeights, Weights};
use crate::tensor::Tensor;
use groundline_types::{Code, Head, Problem};
use std::sync::{Arc, Mutex, PoisonError};

/// A loaded model.
#[derive(Debug)]
pub(super) struct Model {
    pub config: DebertaConfig,
    pub kernels: &'static Kernels,
    pub widths: Widths,
    pub embedding: Embedding,
    pub layers: Vec<Layer>,
    pub conv: Option<Conv>,
    /// `None` where there is no relative attention.
    pub tables: Option<RelativeTables>,
    pub heads: Vec<HeadLayers>,
}

/// Numbers from row to row of each kind of activation: widths rounded up to whole vectors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Widths {
    pub embedding: usize,
    pub hidden: usize,
    /// One head; heads of other widths are filled up with zeros, which change no sum.
    pub head: usize,
    /// All heads side by side.
    pub inner: usize,
    pub intermediate: usize,
}

impl Widths {
    fn new(config: &DebertaConfig) -> Self {
        let round = |width: usize| width.next_multiple_of(LANES);
        Self {
            embedding: round(config.embedding_size),
            hidden: round(config.hidden_size),
            head: round(config.head_size),
            inner: config.heads * round(config.head_size),
            intermediate: round(config.intermediate_size),
        }
    }
}

/// Word embeddings stay in their file; rows are converted when they are read.
#[derive(Debug)]
pub(super) struct Embedding {
    pub words: Tensor,
    /// `[max_position_embeddings][embedding_size]`.
    pub positions: Option<Vec<f32>>,
    /// `[type_vocab_size][embedding_size]`.
    pub token_types: Option<Vec<f32>>,
    pub projection: Option<Packed>,
    pub norm: Norm,
}

/// LayerNorm parameters, zeros up to a whole vector.
#[derive(Debug)]
pub(super) struct Norm {
    gain: Buffer,
    offset: Buffer,
}

impl Norm {
    fn new(weights: &NormWeights) -> Self {
        Self {
            gain: Buffer::from_values(&weights.weight.to_f32()),
            offset: Buffer::from_values(&weights.bias.to_f32()),
        }
    }

    pub(super) fn parameters(&self) -> (&[f32], &[f32]) {
        (self.gain.as_slice(), self.offset.as_slice())
    }
}

#[derive(Debug)]
pub(super) struct Layer {
    /// Scale folded in, as for the position queries.
    pub query: Packed,
    pub key: Packed,
    pub value: Packed,
    pub attention_output: Packed,
    pub attention_norm: Norm,
    pub intermediate: Packed,
    pub output: Packed,
    pub output_norm: Norm,
}

#[derive(Debug)]
pub(super) struct Conv {
    pub config: ConvConfig,
    /// For each group of channels, a linear layer over `[kernel][channels of the group]`.
    pub groups: Vec<Packed>,
    pub norm: Norm,
}

#[derive(Debug)]
pub(super) struct HeadLayers {
    pub head: Head,
    pub dense: Packed,
    pub activation: Activation,
    pub out: Packed,
    pub labels: usize,
}

impl Model {
    /// Packs every layer, on at most `threads` threads of the pool.
    pub(super) fn load(
        config: &DebertaConfig,
        weights: &Weights,
        kernels: &'static Kernels,
        threads: usize,
    ) -> Result<Self, Problem> {
        let packer = Packer { config: config.clone(), kernels, widths: Widths::new(config) };
        let embedding = Embedding {
            words: weights.word_embeddings.clone(),
            positions: weights.position_embeddings.as_ref().map(Tensor::to_f32),
            token_types: weights.token_type_embeddings.as_ref().map(Tensor::to_f32),
            projection: weights
                .embedding_projection
                .as_ref()
                .map(|weight| packer.plain(&LinearWeights { weight: weight.clone(), bias: None })),
            norm: Norm::new(&weights.embedding_norm),
        };
        let conv = match (&config.conv, &weights.conv) {
            (Some(shape), Some(weights)) => Some(packer.conv(shape, weights)),
            _ => None,
        };
        let heads = weights.heads.iter().map(|head| packer.head(head)).collect();
        let relative = config.relative_attention && (config.c2p || config.p2c);
        let rel = if relative { Some(packer.relative_rows(weights)?) } else { None };
        let widths = packer.widths;
        let (layers, slots) = packer.all_layers(weights, rel, threads)?;
        let tables = relative.then(|| RelativeTables::new(config, widths.inner, slots));
        Ok(Self { config: config.clone(), kernels, widths, embedding, layers, conv, tables, heads })
    }
}

/// Turns checkpoint weights into packed ones, one tensor row at a time.
#[derive(Debug, Clone)]
struct Packer {
    config: DebertaConfig,
    kernels: &'static Kernels,
    widths: Widths,
}

impl Packer {
    /// A linear layer as it is.
    fn plain(&self, linear: &LinearWeights) -> Packed {
        let (outputs, inputs) = (linear.weight.shape()[0], linear.weight.shape()[1]);
        let mut packed = Packed::zeros(self.kernels, inputs, outputs);
        for_each_row(linear, |output, row, bias| packed.set_column(output, row, bias));
        packed
    }

    /// A projection to all heads, times `scale`; each head starts at a whole vector.
    fn head_projection(&self, linear: &LinearWeights, scale: f32) -> Packed {
        let mut packed = Packed::zeros(self.kernels, linear.weight.shape()[1], self.widths.inner);
        for_each_row(linear, |output, row, bias| {
            row.iter_mut().for_each(|weight| *weight *= scale);
            packed.set_column(self.head_column(output), row, bias * scale);
        });
        packed
    }

    /// A projection from all heads, laid out as [`Packer::head_projection`] leaves them.
    fn output_projection(&self, linear: &LinearWeights) -> Packed {
        let mut packed = Packed::zeros(self.kernels, self.widths.inner, linear.weight.shape()[0]);
        let mut spread = vec![0.0; self.widths.inner];
        for_each_row(linear, |output, row, bias| {
            for (input, &weight) in row.iter().enumerate() {
                spread[self.head_column(input)] = weight;
            }
            packed.set_column(output, &spread, bias);
        });
        packed
    }

    fn head_column(&self, number: usize) -> usize {
        number / self.config.head_size * self.widths.head + number % self.config.head_size
    }

    /// `[out][in / groups][kernel]` becomes `[kernel][in / groups]` for each output, so that an input row is a copy of
    /// neighbouring token rows.
    fn conv(&self, shape: &ConvConfig, weights: &ConvWeights) -> Conv {
        let outputs = weights.weight.shape()[0];
        let (channels, kernel) = (weights.weight.shape()[1], weights.weight.shape()[2]);
        let in_group = outputs / shape.groups;
        let new_group = |_| Packed::zeros(self.kernels, channels * kernel, in_group);
        let mut groups: Vec<Packed> = (0..shape.groups).map(new_group).collect();
        let linear = LinearWeights { weight: weights.weight.clone(), bias: Some(weights.bias.clone()) };
        let mut ordered = vec![0.0; channels * kernel];
        for_each_row(&linear, |output, row, bias| {
            for (channel, taps) in row.chunks_exact(kernel).enumerate() {
                for (tap, &weight) in taps.iter().enumerate() {
                    ordered[tap * channels + channel] = weight;
                }
            }
            groups[output / in_group].set_column(output % in_group, &ordered, bias);
        });
        Conv { config: shape.clone(), groups, norm: Norm::new(&weights.norm) }
    }

    fn head(&self, head: &ClassifierHead) -> HeadLayers {
        HeadLayers {
            head: head.head,
            dense: self.plain(&head.dense),
            activation: head.activation,
            out: self.plain(&head.out),
            labels: head.out.weight.shape()[0],
        }
    }

    /// The relative embeddings, normalised where the model says so.
    fn relative_rows(&self, weights: &Weights) -> Result<Buffer, Problem> {
        let (rows, stride) = (2 * self.config.span(), self.widths.hidden);
        let table =
            weights.rel_embeddings.as_ref().filter(|table| table.shape()[0] >= rows).ok_or_else(|| {
                Problem::new(
                    Code::MODEL_CORRUPT,
                    "the checkpoint has no table of relative embeddings of the right size",
                )
            })?;
        let mut rel = Buffer::zeros(rows * stride);
        for (index, row) in rel.as_mut_slice().chunks_exact_mut(stride).take(rows).enumerate() {
            table.read_row(index, &mut row[..self.config.hidden_size]);
        }
        if let Some(norm) = weights.rel_norm.as_ref().filter(|_| self.config.norm_rel_embeddings) {
            let (norm, x) = (Norm::new(norm), RowsMut::new(rel.as_mut_slice(), stride, rows));
            let width = self.config.hidden_size;
            self.kernels.layer_norm(x, width, norm.parameters(), self.config.layer_norm_eps);
        }
        Ok(rel)
    }

    /// All layers, each a job of the pool: packing and the position tables of a large model take seconds on one core.
    fn all_layers(
        self,
        weights: &Weights,
        rel: Option<Buffer>,
        threads: usize,
    ) -> Result<(Vec<Layer>, Vec<SlotTables>), Problem> {
        let sources = weights.layers.clone();
        let count = sources.len();
        let results: Arc<Mutex<Vec<_>>> = Arc::new(Mutex::new((0..count).map(|_| None).collect()));
        let shared = Arc::clone(&results);
        let job = move |index: usize| {
            let layer = self.layer(&sources[index]);
            let tables = rel.as_ref().map(|rel| self.slot_tables(&sources[index], &layer, rel));
            shared.lock().unwrap_or_else(PoisonError::into_inner)[index] =
                Some((layer, tables.unwrap_or_default()));
        };
        POOL.run(threads, count, Arc::new(job));
        let done = std::mem::take(&mut *results.lock().unwrap_or_else(PoisonError::into_inner));
        done.into_iter().collect::<Option<Vec<_>>>().map(|pairs| pairs.into_iter().unzip()).ok_or_else(|| {
            Problem::new(Code::INTERNAL, "packing a layer of the model panicked; this is a bug")
        })
    }

    fn scale(&self) -> f32 {
        self.config.attention_scale() as f32
    }

    fn layer(&self, source: &LayerWeights) -> Layer {
        Layer {
            query: self.head_projection(&source.query, self.scale()),
            key: self.head_projection(&source.key, 1.0),
            value: self.head_projection(&source.value, 1.0),
            attention_output: self.output_projection(&source.attention_output),
            attention_norm: Norm::new(&source.attention_norm),
            intermediate: self.plain(&source.intermediate),
            output: self.plain(&source.output),
            output_norm: Norm::new(&source.output_norm),
        }
    }

    /// PK and PQ of one layer; where they share the content projections, with the biases of those.
    fn slot_tables(&self, source: &LayerWeights, layer: &Layer, rel: &Buffer) -> SlotTables {
        let (rows, stride) = (2 * self.config.span(), self.widths.inner);
        let project = |weights: &Packed| {
            let input = Rows::new(rel.as_slice(), self.widths.hidden, rows);
            let mut out = Buffer::zeros(rows * stride);
            self.kernels.linear(weights, input, RowsMut::new(out.as_mut_slice(), stride, rows));
            out
        };
        let shared = self.config.share_att_key;
        let pk = self.config.c2p.then(|| match &source.pos_key {
            Some(separate) if !shared => project(&self.head_projection(separate, 1.0)),
            _ => project(&layer.key),
        });
        let pq = self.config.p2c.then(|| match &source.pos_query {
            Some(separate) if !shared => project(&self.head_projection(separate, self.scale())),
            _ => project(&layer.query),
        });
        SlotTables { pk, pq }
    }
}

/// Calls `visit` with each output's number, weights and bias.
fn for_each_row(linear: &LinearWeights, mut visit: impl FnMut(usize, &mut [f32], f32)) {
    let bias = linear.bias.as_ref().map(Tensor::to_f32);
    let mut row = vec![0.0; linear.weight.shape()[1..].iter().product()];
    for output in 0..linear.weight.shape()[0] {
        linear.weight.read_row(output, &mut row);
        visit(output, &mut row, bias.as_ref().map_or(0.0, |bias| bias[output]));
    }
}

//! A model as the kernels want it: everything that does not depend on the input is done here, once.

mod decoder;
mod positions;

pub(super) use decoder::{Decoder, DecoderStep};
pub(super) use positions::Rotation;

use super::buffer::Buffer;
use super::kernels::{Kernels, NormCall};
use super::pack::{Format, Packed};
use super::pool::POOL;
use super::precision::{Part, Precision};
use super::simd::LANES;
use super::tables::{RelativeTables, SlotTables};
use crate::deberta::{ConvConfig, ConvWeights};
use crate::encoder::{
    Activation, Distances, EncoderConfig, EncoderLayer, EncoderWeights, HeadInput, HeadWeights,
    LinearWeights, NormKind, NormWeights,
};
use crate::tensor::Tensor;
use groundline_types::{Code, Head, Problem};
use std::sync::{Arc, Mutex, PoisonError};

/// A loaded model.
#[derive(Debug)]
pub(super) struct Model {
    pub config: EncoderConfig,
    pub kernels: &'static Kernels,
    pub precision: Precision,
    pub widths: Widths,
    /// What attention's products are computed in.
    pub attention: Format,
    pub embedding: Embedding,
    pub layers: Vec<Layer>,
    pub conv: Option<Conv>,
    /// `None` where distances add nothing to scores.
    pub tables: Option<RelativeTables>,
    /// Rotations of queries and keys, one for each base that layers use.
    pub rotations: Vec<Rotation>,
    /// Norm of the last hidden state, where norms come first.
    pub final_norm: Option<Norm>,
    pub decoder: Option<Decoder>,
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
    fn new(config: &EncoderConfig) -> Self {
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
    /// `[positions][embedding_size]`, from the row of token 0 on.
    pub positions: Option<Vec<f32>>,
    /// `[type_vocab_size][embedding_size]`.
    pub token_types: Option<Vec<f32>>,
    pub projection: Option<Packed>,
    pub norm: Option<Norm>,
}

/// Parameters of a norm, zeros up to a whole vector.
#[derive(Debug)]
pub(super) struct Norm {
    gain: Buffer,
    offset: Buffer,
    eps: f32,
    kind: NormKind,
}

impl Norm {
    fn new(config: &EncoderConfig, weights: &NormWeights) -> Self {
        Self {
            gain: Buffer::from_values(&weights.weight.to_f32()),
            offset: Buffer::from_values(&weights.bias.to_f32()),
            eps: config.norm_eps,
            kind: config.norm,
        }
    }

    pub(super) fn call(&self) -> NormCall<'_> {
        let (gain, offset) = (self.gain.as_slice(), self.offset.as_slice());
        NormCall { gain, offset, eps: self.eps, kind: self.kind }
    }
}

#[derive(Debug)]
pub(super) struct Layer {
    /// Scale folded in, as for the position queries.
    pub query: Packed,
    pub key: Packed,
    pub value: Packed,
    pub attention_output: Packed,
    pub attention_norm: Option<Norm>,
    pub intermediate: Packed,
    /// Multiplied with the activated half.
    pub gate: Option<Packed>,
    pub output: Packed,
    pub output_norm: Norm,
    /// Its place in the tables of distances, where they apply to it.
    pub tables: Option<usize>,
    /// Keys farther than this are not looked at.
    pub reach: usize,
    /// Its rotation, by place.
    pub rotation: Option<usize>,
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
    pub input: HeadInput,
    pub dense: Option<(Packed, Activation)>,
    pub norm: Option<Norm>,
    pub out: Packed,
    pub labels: usize,
}

impl Model {
    /// Packs every layer, on at most `threads` threads of the pool.
    pub(super) fn load(
        config: &EncoderConfig,
        weights: &EncoderWeights,
        kernels: &'static Kernels,
        precision: Precision,
        threads: usize,
    ) -> Result<Self, Problem> {
        let packer = Packer { config: config.clone(), kernels, precision, widths: Widths::new(config) };
        let decoder = weights.decoder.as_ref().map(|decoder| packer.decoder(decoder)).transpose()?;
        let (embedding, conv) = (packer.embedding(weights), packer.convolution(weights));
        let final_norm = weights.final_norm.as_ref().map(|norm| packer.norm(norm));
        let heads = weights.heads.iter().map(|head| packer.head(head)).collect();
        let rel = match &config.distances {
            Distances::Disentangled(_) => Some(packer.relative_rows(weights)?),
            _ => None,
        };
        let (widths, rotations) = (packer.widths, packer.rotations());
        let shared = packer.shared_tables(weights)?;
        let (layers, of_layers) = packer.all_layers(weights, rel, threads)?;
        let attention = precision.attention(widths.head);
        let (bias_rows, of_layers) = match &config.distances {
            Distances::Bias { .. } => (config.heads, shared),
            Distances::Local { .. } => (1, shared),
            Distances::None | Distances::Disentangled(_) => (1, of_layers),
        };
        let tables = (config.distances != Distances::None)
            .then(|| RelativeTables::new(&config.distances, attention, (widths.inner, bias_rows), of_layers));
        let config = config.clone();
        Ok(Self {
            config,
            kernels,
            precision,
            widths,
            attention,
            embedding,
            layers,
            conv,
            tables,
            rotations,
            final_norm,
            decoder,
            heads,
        })
    }
}

impl Model {
    /// Whether a head's answer needs the last layer of token 0 alone.
    pub(super) fn reads_first_token(&self, head: Head) -> bool {
        let found = self.heads.iter().find(|layers| layers.head == head);
        found.is_none_or(|layers| layers.input == HeadInput::FirstToken)
    }
}

/// Turns checkpoint weights into packed ones, one tensor row at a time.
#[derive(Debug, Clone)]
struct Packer {
    config: EncoderConfig,
    kernels: &'static Kernels,
    precision: Precision,
    widths: Widths,
}

impl Packer {
    fn norm(&self, weights: &NormWeights) -> Norm {
        Norm::new(&self.config, weights)
    }

    fn embedding(&self, weights: &EncoderWeights) -> Embedding {
        let projection = weights.embedding_projection.as_ref();
        let first = self.config.first_position * self.config.embedding_size;
        let positions = weights.position_embeddings.as_ref().map(Tensor::to_f32);
        Embedding {
            words: weights.word_embeddings.clone(),
            positions: positions.map(|table| table[first.min(table.len())..].to_vec()),
            token_types: weights.token_type_embeddings.as_ref().map(Tensor::to_f32),
            projection: projection
                .map(|weight| self.plain(&LinearWeights { weight: weight.clone(), bias: None })),
            norm: weights.embedding_norm.as_ref().map(|norm| self.norm(norm)),
        }
    }

    fn convolution(&self, weights: &EncoderWeights) -> Option<Conv> {
        weights.conv.as_ref().map(|(shape, weights)| self.conv(shape, weights))
    }

    /// A linear layer as it is, in single precision.
    fn plain(&self, linear: &LinearWeights) -> Packed {
        self.plain_as(Format::Single, linear)
    }

    fn plain_as(&self, format: Format, linear: &LinearWeights) -> Packed {
        let (outputs, inputs) = (linear.weight.shape()[0], linear.weight.shape()[1]);
        let mut packed = Packed::zeros_as(format, self.kernels, inputs, outputs);
        for_each_row(linear, |output, row, bias| packed.set_column(output, row, bias));
        packed
    }

    /// A projection to all heads, times `scale`, in single precision; each head starts at a whole vector.
    fn head_projection(&self, linear: &LinearWeights, scale: f32) -> Packed {
        self.head_projection_as(Format::Single, linear, scale)
    }

    fn head_projection_as(&self, format: Format, linear: &LinearWeights, scale: f32) -> Packed {
        let inputs = linear.weight.shape()[1];
        let mut packed = Packed::zeros_as(format, self.kernels, inputs, self.widths.inner);
        for_each_row(linear, |output, row, bias| {
            row.iter_mut().for_each(|weight| *weight *= scale);
            packed.set_column(self.head_column(output), row, bias * scale);
        });
        packed
    }

    /// A projection from all heads, laid out as [`Packer::head_projection`] leaves them.
    fn output_projection(&self, linear: &LinearWeights) -> Packed {
        let (format, outputs) = (self.precision.format(Part::Projection), linear.weight.shape()[0]);
        let mut packed = Packed::zeros_as(format, self.kernels, self.widths.inner, outputs);
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
        Conv { config: shape.clone(), groups, norm: self.norm(&weights.norm) }
    }

    fn head(&self, head: &HeadWeights) -> HeadLayers {
        HeadLayers {
            head: head.head,
            input: head.input,
            dense: head.dense.as_ref().map(|(dense, activation)| (self.plain(dense), *activation)),
            norm: head.norm.as_ref().map(|norm| self.norm(norm)),
            out: self.plain(&head.out),
            labels: head.out.weight.shape()[0],
        }
    }

    /// All layers, each a job of the pool: packing and the position tables of a large model take seconds on one core.
    fn all_layers(
        self,
        weights: &EncoderWeights,
        rel: Option<Buffer>,
        threads: usize,
    ) -> Result<(Vec<Layer>, Vec<SlotTables>), Problem> {
        let sources = weights.layers.clone();
        let count = sources.len();
        let results: Arc<Mutex<Vec<_>>> = Arc::new(Mutex::new((0..count).map(|_| None).collect()));
        let shared = Arc::clone(&results);
        let job = move |index: usize| {
            let layer = self.layer(index, &sources[index]);
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
        self.config.attention_scale as f32
    }

    fn layer(&self, index: usize, source: &EncoderLayer) -> Layer {
        let (tables, reach) = match &self.config.distances {
            Distances::Disentangled(_) => (Some(index), usize::MAX),
            Distances::Bias { .. } => (Some(0), usize::MAX),
            Distances::Local { reach } if source.uses_distances => (Some(0), *reach),
            Distances::None | Distances::Local { .. } => (None, usize::MAX),
        };
        let [projection, intermediate, output] =
            [Part::Projection, Part::Intermediate, Part::Output].map(|part| self.precision.format(part));
        Layer {
            query: self.head_projection_as(projection, &source.query, self.scale()),
            key: self.head_projection_as(projection, &source.key, 1.0),
            value: self.head_projection_as(projection, &source.value, 1.0),
            attention_output: self.output_projection(&source.attention_output),
            attention_norm: source.attention_norm.as_ref().map(|norm| self.norm(norm)),
            intermediate: self.plain_as(intermediate, &source.intermediate),
            gate: source.gate.as_ref().map(|gate| self.plain_as(intermediate, gate)),
            output: self.plain_as(output, &source.output),
            output_norm: self.norm(&source.output_norm),
            tables,
            reach,
            rotation: self.rotation_of(index),
        }
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

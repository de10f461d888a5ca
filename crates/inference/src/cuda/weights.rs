//! The weights as the kernels read them: what lies where, decided once.

use super::arguments::Ptr;
use super::memory::ALIGNMENT_BYTES;
use super::shape::{NormAt, Shape};

/// What a tensor on the device is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// `[vocabulary][hidden]`, projected where the checkpoint's are narrower.
    Words,
    Positions,
    Types,
    EmbeddingGain,
    EmbeddingOffset,
    /// Slots of distances, `u16`.
    Lut,
    Layer(usize, Part),
    /// `[hidden][taps][hidden]`, zeros between groups.
    ConvWeight,
    ConvBias,
    ConvGain,
    ConvOffset,
    /// `[hidden][hidden]`, which makes f32 of halves in the f32 variant.
    Identity,
    /// Of the head of that number.
    Dense(usize),
    DenseBias(usize),
    Out(usize),
    OutBias(usize),
}

/// A tensor of one layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// `[3 * inner][hidden]`: queries, keys, values.
    Qkv,
    QkvBias,
    /// `[heads][slots][d]`, times the scale; zeros where the model has no such term.
    PositionKeys,
    PositionQueries,
    /// `[hidden][inner]`.
    AttentionOutput,
    AttentionOutputBias,
    /// The same in f32.
    AttentionOutputBiasWide,
    AttentionGain,
    AttentionOffset,
    /// `[intermediate][hidden]`.
    Intermediate,
    IntermediateBias,
    /// `[hidden][intermediate]`.
    Output,
    OutputBias,
    OutputBiasWide,
    OutputGain,
    OutputOffset,
}

/// Where the tensors of a layer lie.
#[derive(Debug, Clone, Copy)]
pub(super) struct LayerAt {
    pub qkv: Ptr,
    pub qkv_bias: Ptr,
    pub position_keys: Ptr,
    pub position_queries: Ptr,
    pub attention_output: ProductAt,
    pub attention_norm: NormAt,
    pub intermediate: Ptr,
    pub intermediate_bias: Ptr,
    pub output: ProductAt,
    pub output_norm: NormAt,
}

/// A product that the residual stream takes in, so that it is also wanted in f32.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProductAt {
    pub weight: Ptr,
    pub bias: Ptr,
    pub bias_wide: Ptr,
}

/// Where the convolution's lie.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConvAt {
    pub weight: Ptr,
    pub bias: Ptr,
    pub norm: NormAt,
    pub identity: Ptr,
}

/// Where a head's lie.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClassifierAt {
    pub dense: Ptr,
    pub dense_bias: Ptr,
    pub out: Ptr,
    pub out_bias: Ptr,
}

/// Everything, and where it lies.
#[derive(Debug, Clone)]
pub(super) struct WeightLayout {
    /// What to make, in order of the offsets.
    pub tensors: Vec<TensorAt>,
    pub bytes: usize,
    pub words: Ptr,
    pub positions: Ptr,
    pub types: Ptr,
    pub embedding_norm: NormAt,
    /// The slot of distance 0.
    pub lut: Ptr,
    pub layers: Vec<LayerAt>,
    pub conv: Option<ConvAt>,
    pub classifiers: Vec<ClassifierAt>,
}

/// One tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TensorAt {
    pub source: Source,
    pub offset: usize,
    pub bytes: usize,
}

const HALF_BYTES: usize = 2;

/// Hands out offsets.
#[derive(Default)]
struct Shelf {
    tensors: Vec<TensorAt>,
    bytes: usize,
}

impl Shelf {
    fn take(&mut self, source: Source, bytes: usize) -> Ptr {
        let offset = self.bytes;
        self.tensors.push(TensorAt { source, offset, bytes });
        self.bytes = (offset + bytes).next_multiple_of(ALIGNMENT_BYTES);
        Ptr::Weights(offset)
    }

    fn halves(&mut self, source: Source, numbers: usize) -> Ptr {
        self.take(source, numbers * HALF_BYTES)
    }

    fn optional(&mut self, wanted: bool, source: Source, numbers: usize) -> Ptr {
        if wanted { self.halves(source, numbers) } else { Ptr::Null }
    }

    fn product(&mut self, layer: usize, parts: [Part; 3], numbers: usize, outputs: usize) -> ProductAt {
        let [weight, bias, bias_wide] = parts.map(|part| Source::Layer(layer, part));
        ProductAt {
            weight: self.halves(weight, numbers),
            bias: self.halves(bias, outputs),
            bias_wide: self.take(bias_wide, outputs * size_of::<f32>()),
        }
    }

    fn layer(&mut self, shape: &Shape, layer: usize) -> LayerAt {
        let (hidden, inner, wide) = (shape.hidden, shape.inner(), shape.intermediate);
        let part = |part: Part| Source::Layer(layer, part);
        let table = shape.relative.as_ref().map_or(0, |relative| relative.slots * inner);
        LayerAt {
            qkv: self.halves(part(Part::Qkv), 3 * inner * hidden),
            qkv_bias: self.halves(part(Part::QkvBias), 3 * inner),
            position_keys: self.optional(table > 0, part(Part::PositionKeys), table),
            position_queries: self.optional(table > 0, part(Part::PositionQueries), table),
            attention_output: self.product(
                layer,
                [Part::AttentionOutput, Part::AttentionOutputBias, Part::AttentionOutputBiasWide],
                hidden * inner,
                hidden,
            ),
            attention_norm: NormAt {
                gain: self.halves(part(Part::AttentionGain), hidden),
                offset: self.halves(part(Part::AttentionOffset), hidden),
            },
            intermediate: self.halves(part(Part::Intermediate), wide * hidden),
            intermediate_bias: self.halves(part(Part::IntermediateBias), wide),
            output: self.product(
                layer,
                [Part::Output, Part::OutputBias, Part::OutputBiasWide],
                hidden * wide,
                hidden,
            ),
            output_norm: NormAt {
                gain: self.halves(part(Part::OutputGain), hidden),
                offset: self.halves(part(Part::OutputOffset), hidden),
            },
        }
    }
}

impl WeightLayout {
    /// The layout of a model.
    pub(super) fn of(shape: &Shape) -> Self {
        let mut shelf = Shelf::default();
        let hidden = shape.hidden;
        let words = shelf.halves(Source::Words, shape.vocabulary * hidden);
        let positions = shelf.optional(shape.positions, Source::Positions, shape.longest * hidden);
        let types = shelf.optional(shape.types, Source::Types, shape.type_rows * hidden);
        let embedding_norm = NormAt {
            gain: shelf.halves(Source::EmbeddingGain, hidden),
            offset: shelf.halves(Source::EmbeddingOffset, hidden),
        };
        let lut = shape.relative.as_ref().map_or(Ptr::Null, |relative| {
            shelf.halves(Source::Lut, relative.lut.len()).after((relative.reach - 1) * HALF_BYTES)
        });
        let layers = (0..shape.layers).map(|layer| shelf.layer(shape, layer)).collect();
        let conv = shape.conv.as_ref().map(|conv| ConvAt {
            weight: shelf.halves(Source::ConvWeight, hidden * conv.taps * hidden),
            bias: shelf.halves(Source::ConvBias, hidden),
            norm: NormAt {
                gain: shelf.halves(Source::ConvGain, hidden),
                offset: shelf.halves(Source::ConvOffset, hidden),
            },
            identity: shelf.halves(Source::Identity, hidden * hidden),
        });
        let classifier = |(head, it): (usize, &super::shape::ClassifierShape)| ClassifierAt {
            dense: shelf.halves(Source::Dense(head), hidden * hidden),
            dense_bias: shelf.halves(Source::DenseBias(head), hidden),
            out: shelf.halves(Source::Out(head), it.labels * hidden),
            out_bias: shelf.halves(Source::OutBias(head), it.labels),
        };
        let classifiers = shape.classifiers.iter().enumerate().map(classifier).collect();
        let Shelf { tensors, bytes } = shelf;
        Self { tensors, bytes, words, positions, types, embedding_norm, lut, layers, conv, classifiers }
    }
}

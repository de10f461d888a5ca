//! Models with random weights in the shapes of public ones: speed does not depend on what the weights are.

use groundline_inference::deberta::{
    Activation, ClassifierHead, ConvConfig, ConvWeights, DebertaConfig, LayerWeights, LinearWeights,
    NormWeights, Weights,
};
use groundline_inference::{Encoded, Task, Tensor};
use groundline_types::Head;

/// Few, for a row of a table is a row of a table.
const VOCABULARY: usize = 4096;
const LABELS: usize = 3;

/// A shape by name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) name: &'static str,
    pub(crate) hidden: usize,
    pub(crate) heads: usize,
    pub(crate) layers: usize,
    /// Absolute positions and token types at the input, as groundline-mini has them.
    pub(crate) has_positions: bool,
    pub(crate) has_conv: bool,
}

const fn size(name: &'static str, hidden: usize, heads: usize, layers: usize) -> Size {
    Size { name, hidden, heads, layers, has_positions: false, has_conv: false }
}

/// Public shapes, and ours.
pub(crate) const SIZES: [Size; 5] = [
    size("large", 1024, 16, 24),
    size("base", 768, 12, 12),
    size("small", 768, 12, 6),
    size("xsmall", 384, 6, 12),
    Size { has_positions: true, ..size("mini", 384, 12, 6) },
];

impl Size {
    /// A layer of the same kind that a processor can compute: for a rehearsal.
    pub(crate) fn tiny(self) -> Self {
        let width = self.hidden / self.heads;
        Self { hidden: 128, heads: 128 / width, layers: self.layers.min(2), ..self }
    }

    pub(crate) fn config(&self) -> DebertaConfig {
        DebertaConfig {
            hidden_size: self.hidden,
            embedding_size: self.hidden,
            heads: self.heads,
            head_size: self.hidden / self.heads,
            intermediate_size: 4 * self.hidden,
            layers: self.layers,
            vocab_size: VOCABULARY,
            max_position_embeddings: 512,
            max_relative_positions: 512,
            position_buckets: Some(256),
            position_biased_input: self.has_positions,
            type_vocab_size: if self.has_positions { 2 } else { 0 },
            relative_attention: true,
            c2p: true,
            p2c: true,
            share_att_key: true,
            norm_rel_embeddings: true,
            conv: self.has_conv.then_some(ConvConfig {
                kernel_size: 3,
                groups: 1,
                activation: Activation::Gelu,
            }),
            layer_norm_eps: 1e-7,
            hidden_act: Activation::Gelu,
            pooler_act: Activation::Gelu,
            label_names: Vec::new(),
            pad_token_id: 0,
        }
    }

    /// The same layer again and again: it takes a layer's memory.
    pub(crate) fn weights(&self) -> Weights {
        let mut random = Random(1);
        let hidden = self.hidden;
        let layer = random.layer(hidden);
        Weights {
            word_embeddings: random.tensor(&[VOCABULARY, hidden], 1.0),
            position_embeddings: self.has_positions.then(|| random.tensor(&[512, hidden], 0.2)),
            token_type_embeddings: self.has_positions.then(|| random.tensor(&[2, hidden], 0.2)),
            embedding_projection: None,
            embedding_norm: random.norm(hidden),
            rel_embeddings: Some(random.tensor(&[512, hidden], 1.0)),
            rel_norm: Some(random.norm(hidden)),
            conv: self.has_conv.then(|| ConvWeights {
                weight: random.tensor(&[hidden, hidden, 3], 1.0 / (3.0 * hidden as f32).sqrt()),
                bias: random.tensor(&[hidden], 0.1),
                norm: random.norm(hidden),
            }),
            layers: vec![layer; self.layers],
            heads: vec![ClassifierHead {
                head: Head::Nli,
                dense: random.linear(hidden, hidden),
                activation: Activation::Gelu,
                out: random.linear(LABELS, hidden),
            }],
        }
    }
}

/// Pairs of these lengths, of random tokens.
pub(crate) fn pairs(lengths: &[usize]) -> Vec<Encoded> {
    let mut random = Random(2);
    let pair = |&length: &usize| Encoded {
        ids: (0..length).map(|_| random.next() % VOCABULARY as u32).collect(),
        type_ids: (0..length).map(|place| u8::from(place > length * 3 / 4)).collect(),
        task: Task::Classify(Head::Nli),
        asked: Vec::new(),
    };
    lengths.iter().map(pair).collect()
}

/// Lengths of a real mixture: most pairs are a window and a short claim, some are long.
pub(crate) fn mixed_lengths(count: usize) -> Vec<usize> {
    let mut random = Random(3);
    let length = |_| {
        if random.next().is_multiple_of(8) { 200 + random.next() % 300 } else { 40 + random.next() % 100 }
    };
    (0..count).map(length).map(|length| length as usize).collect()
}

/// A linear congruential generator: the numbers need only be spread.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32
    }

    /// Uniform, of this deviation.
    fn tensor(&mut self, shape: &[usize], deviation: f32) -> Tensor {
        let spread = deviation * 12.0_f32.sqrt();
        let count = shape.iter().product();
        let values: Vec<f32> =
            (0..count).map(|_| (self.next() as f32 / 2_147_483_648.0 - 0.5) * spread).collect();
        // As many values as the shape has, as just counted.
        Tensor::from_f32(&values, shape.to_vec()).unwrap_or_else(|| unreachable!("values fill the shape"))
    }

    fn linear(&mut self, outputs: usize, inputs: usize) -> LinearWeights {
        let weight = self.tensor(&[outputs, inputs], 1.0 / (inputs as f32).sqrt());
        LinearWeights { weight, bias: Some(self.tensor(&[outputs], 0.1)) }
    }

    fn norm(&mut self, width: usize) -> NormWeights {
        let ones = Tensor::from_f32(&vec![1.0; width], vec![width]);
        let weight = ones.unwrap_or_else(|| unreachable!("values fill the shape"));
        NormWeights { weight, bias: self.tensor(&[width], 0.1) }
    }

    fn layer(&mut self, hidden: usize) -> LayerWeights {
        LayerWeights {
            query: self.linear(hidden, hidden),
            key: self.linear(hidden, hidden),
            value: self.linear(hidden, hidden),
            pos_key: None,
            pos_query: None,
            attention_output: self.linear(hidden, hidden),
            attention_norm: self.norm(hidden),
            intermediate: self.linear(4 * hidden, hidden),
            output: self.linear(hidden, 4 * hidden),
            output_norm: self.norm(hidden),
        }
    }
}

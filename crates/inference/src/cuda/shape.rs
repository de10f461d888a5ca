//! A model's shape as the kernels want it, and what of the family they cannot compute.

use super::arguments::Ptr;
use crate::deberta::{Activation, ClassifierHead, ConvConfig, DebertaConfig, Weights};
use groundline_types::{Code, Head, Problem};

/// Widest hidden state that `embed_norm` and `add_norm` take.
const MOST_HIDDEN: usize = 2048;

/// Numbers that a launch needs of a model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape {
    /// H.
    pub hidden: usize,
    /// A.
    pub heads: usize,
    /// d, 32 or 64.
    pub head_width: usize,
    /// Width between the two feed-forward products.
    pub intermediate: usize,
    pub layers: usize,
    pub vocabulary: usize,
    /// Longest sequence in tokens.
    pub longest: usize,
    /// Absolute positions are added at the input.
    pub positions: bool,
    /// Token types are added at the input.
    pub types: bool,
    /// Rows of their table.
    pub type_rows: usize,
    /// `None` for attention without relative terms.
    pub relative: Option<Relative>,
    /// What a score is multiplied with before a softmax in base 2.
    pub scale: f32,
    pub conv: Option<ConvShape>,
    pub activation: Function,
    pub eps: f32,
    pub classifiers: Vec<ClassifierShape>,
}

/// Slots of distances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Relative {
    /// Rows of the tables.
    pub slots: usize,
    /// Up to here a distance has its slot alone.
    pub linear: usize,
    /// Slots of the distances from `-(reach - 1)` to `reach - 1`; from `reach` on, they no longer change, or nothing is so long.
    pub lut: Vec<u16>,
    pub reach: usize,
}

/// The convolution beside layer 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConvShape {
    pub taps: usize,
    pub activation: Function,
}

/// A head over token 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClassifierShape {
    pub head: Head,
    pub labels: usize,
    pub activation: Function,
}

impl Shape {
    /// The shape of a model, where the kernels can compute it.
    ///
    /// # Errors
    /// [`Code::MODEL_UNSUPPORTED`] with what they cannot, for example a head width that is neither 32 nor 64.
    pub(super) fn of(config: &DebertaConfig, weights: &Weights) -> Result<Self, Problem> {
        check(config)?;
        let longest = config.max_position_embeddings;
        let has_terms = config.relative_attention && (config.c2p || config.p2c);
        let relative = has_terms.then(|| Relative::of(config, longest)).transpose()?;
        let classifier = |head: &ClassifierHead| -> Result<ClassifierShape, Problem> {
            let (labels, activation) = (head.out.weight.shape()[0], Function::of(head.activation)?);
            Ok(ClassifierShape { head: head.head, labels, activation })
        };
        let conv = |conv: &ConvConfig| -> Result<ConvShape, Problem> {
            Ok(ConvShape { taps: conv.kernel_size, activation: Function::of(conv.activation)? })
        };
        Ok(Self {
            hidden: config.hidden_size,
            heads: config.heads,
            head_width: config.head_size,
            intermediate: config.intermediate_size,
            layers: config.layers,
            vocabulary: config.vocab_size,
            longest,
            positions: weights.position_embeddings.is_some(),
            types: weights.token_type_embeddings.is_some(),
            type_rows: config.type_vocab_size,
            relative,
            scale: (config.attention_scale() * std::f64::consts::LOG2_E) as f32,
            conv: config.conv.as_ref().map(conv).transpose()?,
            activation: Function::of(config.hidden_act)?,
            eps: config.layer_norm_eps,
            classifiers: weights.heads.iter().map(classifier).collect::<Result<_, _>>()?,
        })
    }

    /// Width of all heads side by side.
    pub(super) fn inner(&self) -> usize {
        self.heads * self.head_width
    }
}

fn refused<T>(what: String) -> Result<T, Problem> {
    Err(Problem::new(
        Code::MODEL_UNSUPPORTED,
        format!("the CUDA engine cannot compute this model: {what}; use the CPU engine (device \"cpu\")"),
    ))
}

fn check(config: &DebertaConfig) -> Result<(), Problem> {
    let (hidden, inner) = (config.hidden_size, config.heads * config.head_size);
    if ![32, 64].contains(&config.head_size) {
        return refused(format!("its heads are {} wide, and the kernels take 32 or 64", config.head_size));
    }
    if hidden > MOST_HIDDEN {
        return refused(format!("its hidden state is {hidden} wide, and the kernels take {MOST_HIDDEN}"));
    }
    for width in [hidden, config.intermediate_size, inner] {
        if !width.is_multiple_of(8) {
            return refused(format!("a width of {width} is no multiple of 8"));
        }
    }
    Ok(())
}

impl Relative {
    /// The slots, where a band of the fused kernel holds them: they grow by at most one from distance to distance.
    pub(super) fn of(config: &DebertaConfig, longest: usize) -> Result<Self, Problem> {
        let reach = longest.next_multiple_of(64).min(config.max_relative_positions + 1);
        let far = reach as isize - 1;
        let lut: Vec<usize> = (-far..=far).map(|distance| config.slot(distance)).collect();
        if lut.windows(2).any(|pair| pair[1] < pair[0] || pair[1] - pair[0] > 1) {
            return refused("its buckets of distances skip slots".to_owned());
        }
        let slots = 2 * config.span();
        let linear = config.position_buckets.map_or(config.max_relative_positions - 1, |buckets| buckets / 2);
        let lut = lut.into_iter().map(|slot| u16::try_from(slot).unwrap_or(u16::MAX)).collect();
        Ok(Self { slots, linear, lut, reach })
    }

    /// The slot of a distance.
    pub(super) fn slot(&self, distance: isize) -> usize {
        let far = self.reach as isize - 1;
        usize::from(self.lut[(distance.clamp(-far, far) + far) as usize])
    }
}

/// A function between layers that there are kernels for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Gelu,
    Tanh,
    Relu,
}

impl Function {
    fn of(activation: Activation) -> Result<Self, Problem> {
        match activation {
            Activation::Gelu => Ok(Self::Gelu),
            Activation::Tanh => Ok(Self::Tanh),
            Activation::Relu => Ok(Self::Relu),
            Activation::GeluTanh => refused("its activation is GELU by tanh, which has no kernel".to_owned()),
        }
    }

    /// The number that the kernels know it by.
    pub(super) fn code(self) -> i32 {
        match self {
            Self::Gelu => 1,
            Self::Tanh => 2,
            Self::Relu => 3,
        }
    }

    /// The kernel that adds a bias and applies it.
    pub(super) fn kernel(self) -> &'static str {
        match self {
            Self::Gelu => "bias_gelu",
            Self::Tanh => "bias_tanh",
            Self::Relu => "bias_relu",
        }
    }
}

/// Where the parameters of a LayerNorm lie.
#[derive(Debug, Clone, Copy)]
pub(super) struct NormAt {
    pub gain: Ptr,
    pub offset: Ptr,
}

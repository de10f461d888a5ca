//! Weights of a checkpoint by name, each with the shape that its configuration asks for.

use super::load_v1::MARK;
use super::{
    Activation, ClassifierHead, ConvWeights, DebertaConfig, LayerWeights, LinearWeights, NormWeights, Weights,
};
use crate::checkpoint::TensorMap;
use crate::tensor::Tensor;
use groundline_types::{Code, Head, Problem};

/// Outputs of a support head: not supported, supported.
const SUPPORT_LABELS: usize = 2;

/// Finds every weight that `config` asks for. Tensors of no use (position ids, heads for pre-training) are left alone.
pub(crate) fn load_weights(
    config: &DebertaConfig,
    tensors: &TensorMap,
    support: Option<&TensorMap>,
) -> Result<Weights, Problem> {
    // An encoder saved alone has no prefix.
    let prefix = if tensors.contains("deberta.embeddings.word_embeddings.weight") { "deberta." } else { "" };
    let loader = Loader { config, tensors, prefix };
    let mut heads = vec![loader.nli_head()?];
    if let Some(support) = support {
        heads.push(Loader { config, tensors: support, prefix: "" }.support_head()?);
    }
    let (width, embedding) = (config.hidden_size, config.embedding_size);
    let optional = |wanted: bool, name: &str, rows: usize, columns: usize| {
        wanted.then(|| loader.encoder(name, &[rows, columns])).transpose()
    };
    Ok(Weights {
        word_embeddings: loader
            .encoder("embeddings.word_embeddings.weight", &[config.vocab_size, embedding])?,
        position_embeddings: optional(
            config.position_biased_input,
            "embeddings.position_embeddings.weight",
            config.max_position_embeddings,
            embedding,
        )?,
        token_type_embeddings: optional(
            config.type_vocab_size > 0,
            "embeddings.token_type_embeddings.weight",
            config.type_vocab_size,
            embedding,
        )?,
        embedding_projection: optional(embedding != width, "embeddings.embed_proj.weight", width, embedding)?,
        embedding_norm: loader.norm("embeddings.LayerNorm")?,
        rel_embeddings: optional(
            config.relative_attention,
            "encoder.rel_embeddings.weight",
            2 * config.span(),
            width,
        )?,
        rel_norm: (config.relative_attention && config.norm_rel_embeddings)
            .then(|| loader.norm("encoder.LayerNorm"))
            .transpose()?,
        conv: loader.conv()?,
        layers: (0..config.layers).map(|index| loader.any_layer(index)).collect::<Result<_, _>>()?,
        heads,
    })
}

pub(super) struct Loader<'a> {
    pub(super) config: &'a DebertaConfig,
    tensors: &'a TensorMap,
    prefix: &'static str,
}

impl Loader<'_> {
    pub(super) fn encoder(&self, name: &str, shape: &[usize]) -> Result<Tensor, Problem> {
        self.tensors.tensor(&format!("{}{name}", self.prefix), shape)
    }

    pub(super) fn norm(&self, name: &str) -> Result<NormWeights, Problem> {
        let width = [self.config.hidden_size];
        Ok(NormWeights {
            weight: self.encoder(&format!("{name}.weight"), &width)?,
            bias: self.encoder(&format!("{name}.bias"), &width)?,
        })
    }

    /// `[out, in]` with its bias.
    pub(super) fn linear(&self, name: &str, out: usize, input: usize) -> Result<LinearWeights, Problem> {
        Ok(LinearWeights {
            weight: self.encoder(&format!("{name}.weight"), &[out, input])?,
            bias: Some(self.encoder(&format!("{name}.bias"), &[out])?),
        })
    }

    fn conv(&self) -> Result<Option<ConvWeights>, Problem> {
        let Some(conv) = &self.config.conv else { return Ok(None) };
        let width = self.config.hidden_size;
        Ok(Some(ConvWeights {
            weight: self
                .encoder("encoder.conv.conv.weight", &[width, width / conv.groups, conv.kernel_size])?,
            bias: self.encoder("encoder.conv.conv.bias", &[width])?,
            norm: self.norm("encoder.conv.LayerNorm")?,
        }))
    }

    /// A layer of whichever version the tensors are.
    fn any_layer(&self, index: usize) -> Result<LayerWeights, Problem> {
        let is_v1 = self.tensors.contains(&format!("{}{MARK}", self.prefix));
        if is_v1 { self.layer_v1(index) } else { self.layer(index) }
    }

    fn layer(&self, index: usize) -> Result<LayerWeights, Problem> {
        let config = self.config;
        let (width, inner, attended) =
            (config.hidden_size, config.intermediate_size, config.heads * config.head_size);
        let name = |part: &str| format!("encoder.layer.{index}.{part}");
        let projection = |part: &str| self.linear(&name(&format!("attention.self.{part}")), attended, width);
        let own = config.relative_attention && !config.share_att_key;
        Ok(LayerWeights {
            query: projection("query_proj")?,
            key: projection("key_proj")?,
            value: projection("value_proj")?,
            pos_key: (own && config.c2p).then(|| projection("pos_key_proj")).transpose()?,
            pos_query: (own && config.p2c).then(|| projection("pos_query_proj")).transpose()?,
            attention_output: self.linear(&name("attention.output.dense"), width, attended)?,
            attention_norm: self.norm(&name("attention.output.LayerNorm"))?,
            intermediate: self.linear(&name("intermediate.dense"), inner, width)?,
            output: self.linear(&name("output.dense"), width, inner)?,
            output_norm: self.norm(&name("output.LayerNorm"))?,
        })
    }

    /// Pooler and classifier, which never carry the encoder's prefix.
    fn nli_head(&self) -> Result<ClassifierHead, Problem> {
        let Some(found) = self.tensors.shape("classifier.weight").and_then(|shape| shape.first().copied())
        else {
            return Err(Problem::new(
                Code::MODEL_UNSUPPORTED,
                "the checkpoint has no classifier.weight: it is an encoder or language model without an NLI head; take \
                 one that was fine-tuned on NLI",
            ));
        };
        let named = self.config.label_names.len();
        if named != 0 && named != found {
            return Err(Problem::new(
                Code::MODEL_CORRUPT,
                format!("tensor classifier.weight has {found} rows, and there are {named} label names"),
            ));
        }
        let head = Loader { config: self.config, tensors: self.tensors, prefix: "" };
        let width = self.config.hidden_size;
        Ok(ClassifierHead {
            head: Head::Nli,
            dense: head.linear("pooler.dense", width, width)?,
            activation: self.config.pooler_act,
            out: head.linear("classifier", found, width)?,
        })
    }

    fn support_head(&self) -> Result<ClassifierHead, Problem> {
        let width = self.config.hidden_size;
        Ok(ClassifierHead {
            head: Head::Support,
            dense: self.linear("dense", width, width)?,
            activation: Activation::Gelu,
            out: self.linear("out_proj", SUPPORT_LABELS, width)?,
        })
    }
}

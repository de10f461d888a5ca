//! DeBERTa in the terms of [`crate::encoder`].

use super::{ClassifierHead, DebertaConfig, LayerWeights, Weights};
use crate::encoder::{
    Distances, EncoderConfig, EncoderLayer, EncoderWeights, HeadInput, HeadWeights, NormKind,
};

pub(crate) fn describe_config(config: &DebertaConfig) -> EncoderConfig {
    let relative = config.relative_attention && (config.c2p || config.p2c);
    EncoderConfig {
        hidden_size: config.hidden_size,
        embedding_size: config.embedding_size,
        heads: config.heads,
        head_size: config.head_size,
        intermediate_size: config.intermediate_size,
        type_vocab_size: config.type_vocab_size,
        first_position: 0,
        longest_sequence: config.position_biased_input.then_some(config.max_position_embeddings),
        norm: NormKind::Layer,
        norm_eps: config.layer_norm_eps,
        norm_first: false,
        activation: config.hidden_act,
        attention_scale: config.attention_scale(),
        distances: if relative { Distances::Disentangled(Box::new(config.clone())) } else { Distances::None },
        rotary_bases: Vec::new(),
    }
}

pub(crate) fn describe(config: &DebertaConfig, weights: &Weights) -> EncoderWeights {
    EncoderWeights {
        word_embeddings: weights.word_embeddings.clone(),
        position_embeddings: weights.position_embeddings.clone(),
        token_type_embeddings: weights.token_type_embeddings.clone(),
        embedding_projection: weights.embedding_projection.clone(),
        embedding_norm: Some(weights.embedding_norm.clone()),
        distance_table: weights.rel_embeddings.clone(),
        distance_norm: weights.rel_norm.clone().filter(|_| config.norm_rel_embeddings),
        conv: config.conv.clone().zip(weights.conv.clone()),
        layers: weights.layers.iter().map(|layer| describe_layer(config, layer)).collect(),
        final_norm: None,
        decoder: None,
        heads: weights.heads.iter().map(describe_head).collect(),
    }
}

fn describe_layer(config: &DebertaConfig, layer: &LayerWeights) -> EncoderLayer {
    let own = !config.share_att_key;
    EncoderLayer {
        query: layer.query.clone(),
        key: layer.key.clone(),
        value: layer.value.clone(),
        pos_key: layer.pos_key.clone().filter(|_| own),
        pos_query: layer.pos_query.clone().filter(|_| own),
        attention_output: layer.attention_output.clone(),
        attention_norm: Some(layer.attention_norm.clone()),
        intermediate: layer.intermediate.clone(),
        gate: None,
        output: layer.output.clone(),
        output_norm: layer.output_norm.clone(),
        uses_distances: true,
    }
}

fn describe_head(head: &ClassifierHead) -> HeadWeights {
    HeadWeights {
        head: head.head,
        input: HeadInput::FirstToken,
        dense: Some((head.dense.clone(), head.activation)),
        norm: None,
        out: head.out.clone(),
    }
}

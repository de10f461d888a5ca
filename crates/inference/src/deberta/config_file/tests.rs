use super::*;
use crate::encoder::Activation;

fn parse(fields: serde_json::Value) -> DebertaConfig {
    let mut config = serde_json::json!({ "model_type": "deberta-v2" });
    config.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    parse_config(config).unwrap()
}

#[test]
fn what_is_left_out_has_the_layouts_defaults() {
    let config = parse(serde_json::json!({}));
    assert_eq!((config.hidden_size, config.heads, config.head_size, config.layers), (1536, 24, 64, 24));
    assert_eq!((config.intermediate_size, config.vocab_size), (6144, 128_100));
    assert_eq!((config.max_position_embeddings, config.max_relative_positions), (512, 512));
    assert_eq!((config.position_buckets, config.type_vocab_size), (None, 0));
    assert!(config.position_biased_input && !config.relative_attention && !config.share_att_key);
    assert!(!config.c2p && !config.p2c && !config.norm_rel_embeddings && config.conv.is_none());
    assert_eq!((config.hidden_act, config.pooler_act), (Activation::Gelu, Activation::Gelu));
    assert!(config.label_names.is_empty());
}

#[test]
fn null_means_the_same_as_left_out() {
    let config = parse(serde_json::json!({
        "position_buckets": null, "pos_att_type": null, "max_relative_positions": null, "conv_kernel_size": null
    }));
    assert_eq!(config, parse(serde_json::json!({})));
}

#[test]
fn older_and_newer_forms_of_a_field_read_the_same() {
    let old = parse(serde_json::json!({ "pos_att_type": "p2c|C2P", "norm_rel_ebd": "layer_norm|none" }));
    let new = parse(serde_json::json!({ "pos_att_type": ["c2p", "p2c"], "norm_rel_ebd": "layer_norm" }));
    assert_eq!(old, new);
    assert!(old.c2p && old.p2c && old.norm_rel_embeddings);
    let one = parse(serde_json::json!({ "pos_att_type": ["p2c"] }));
    assert!(one.p2c && !one.c2p);
}

#[test]
fn derived_numbers_follow_the_file() {
    let config = parse(serde_json::json!({
        "hidden_size": 384, "num_attention_heads": 12, "max_position_embeddings": 1680,
        "max_relative_positions": -1, "position_buckets": 256, "embedding_size": 128
    }));
    assert_eq!((config.head_size, config.max_relative_positions, config.span()), (32, 1680, 256));
    assert_eq!(config.embedding_size, 128);
    // M = 1680 widens the buckets from the first logarithmic one on.
    assert_eq!(config.slot(1679), 256 + 255);
    let wide =
        parse(serde_json::json!({ "hidden_size": 100, "num_attention_heads": 3, "attention_head_size": 40 }));
    assert_eq!(wide.head_size, 40);
}

#[test]
fn a_convolution_has_its_own_defaults() {
    let config = parse(serde_json::json!({ "conv_kernel_size": 3 }));
    let expected = ConvConfig { kernel_size: 3, groups: 1, activation: Activation::Tanh };
    assert_eq!(config.conv, Some(expected));
    assert_eq!(parse(serde_json::json!({ "conv_kernel_size": 0, "conv_act": "gelu" })).conv, None);
}

#[test]
fn labels_come_in_the_order_of_their_numbers() {
    let mut names = serde_json::Map::new();
    for index in (0..12).rev() {
        names.insert(index.to_string(), format!("name-{index}").into());
    }
    let config = parse(serde_json::json!({ "id2label": names }));
    assert_eq!(config.label_names[2], "name-2");
    assert_eq!(config.label_names[11], "name-11");
}

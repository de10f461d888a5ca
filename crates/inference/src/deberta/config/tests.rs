use super::*;

pub(crate) fn v3_base_like() -> DebertaConfig {
    DebertaConfig {
        hidden_size: 768,
        embedding_size: 768,
        heads: 12,
        head_size: 64,
        intermediate_size: 3072,
        layers: 12,
        vocab_size: 128_100,
        max_position_embeddings: 512,
        max_relative_positions: 512,
        position_buckets: Some(256),
        position_biased_input: false,
        type_vocab_size: 0,
        relative_attention: true,
        c2p: true,
        p2c: true,
        share_att_key: true,
        norm_rel_embeddings: true,
        conv: None,
        layer_norm_eps: 1e-7,
        hidden_act: Activation::Gelu,
        pooler_act: Activation::Gelu,
        label_names: vec!["entailment".into(), "neutral".into(), "contradiction".into()],
        pad_token_id: 0,
    }
}

#[test]
fn log_buckets_match_the_authors_table() {
    let config = v3_base_like();
    let golden = [
        (0, 0),
        (127, 127),
        (128, 128),
        (129, 129),
        (130, 130),
        (160, 149),
        (200, 169),
        (255, 192),
        (300, 207),
        (383, 229),
        (400, 233),
        (511, 255),
    ];
    for (distance, bucket) in golden {
        assert_eq!(config.slot(distance), (256 + bucket) as usize, "distance {distance}");
        if distance > 0 {
            assert_eq!(config.slot(-distance), (256 - bucket) as usize, "distance -{distance}");
        }
    }
    assert_eq!(config.slot(-600), 0);
    assert_eq!(config.slot(600), 511);
}

#[test]
fn scale_counts_the_terms_in_use() {
    let mut config = v3_base_like();
    assert!((config.attention_scale() - 1.0 / 192f64.sqrt()).abs() < 1e-12);
    config.p2c = false;
    assert!((config.attention_scale() - 1.0 / 128f64.sqrt()).abs() < 1e-12);
}

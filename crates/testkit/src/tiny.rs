//! A tiny DeBERTa-v2 checkpoint with random weights, written as a Hugging Face folder.

use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Error, Result};
use std::path::Path;

const HIDDEN: usize = 32;
const INNER: usize = 64;
const LAYERS: usize = 2;
const HEADS: usize = 2;
const BUCKETS: usize = 16;
const POSITIONS: usize = 128;
const LABELS: [&str; 3] = ["entailment", "neutral", "contradiction"];
const MARKERS: [&str; 5] = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"];
/// Tokens of the tiny model: markers, then letters, digits and punctuation at the start of a word and within one.
pub const TINY_VOCAB_SIZE: usize = MARKERS.len() + 2 * (26 + 10 + 32);

/// A temporary folder with a tiny model that loads in milliseconds; removed when dropped.
///
/// # Errors
/// Where the folder cannot be made or written.
pub fn tiny_model_dir() -> Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    write_tiny_model(folder.path(), 0)?;
    Ok(folder)
}

/// Writes `config.json`, `tokenizer.json` and `model.safetensors` of a tiny model into `folder`. Equal seeds give equal weights.
///
/// # Errors
/// Where a file cannot be written.
pub fn write_tiny_model(folder: &Path, seed: u64) -> Result<()> {
    std::fs::write(folder.join("config.json"), config().to_string())?;
    std::fs::write(folder.join("tokenizer.json"), tokenizer().to_string())?;
    let mut weights = BTreeMap::new();
    let mut numbers = Numbers(seed);
    for (name, shape) in shapes() {
        let bytes: Vec<u8> = match name.as_str() {
            // A gain of one and offsets of zero leave the random matrices to decide the scores.
            name if name.ends_with("LayerNorm.weight") => filled(&shape, || 1.0),
            name if name.ends_with(".bias") => filled(&shape, || 0.0),
            _ => filled(&shape, || numbers.next() * 0.4),
        };
        weights.insert(name, (shape, bytes));
    }
    let views = weights.iter().map(|(name, (shape, bytes))| {
        TensorView::new(Dtype::F32, shape.clone(), bytes).map(|view| (name.as_str(), view))
    });
    let views: Vec<_> = views.collect::<std::result::Result<_, _>>().map_err(Error::other)?;
    safetensors::serialize_to_file(views, None, &folder.join("model.safetensors")).map_err(Error::other)
}

/// Uniform numbers in -1..1 by SplitMix64.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}

fn filled(shape: &[usize], mut number: impl FnMut() -> f32) -> Vec<u8> {
    (0..shape.iter().product()).flat_map(|_| number().to_le_bytes()).collect()
}

fn shapes() -> Vec<(String, Vec<usize>)> {
    let norm =
        |name: &str| [(format!("{name}.weight"), vec![HIDDEN]), (format!("{name}.bias"), vec![HIDDEN])];
    let linear = |name: &str, out: usize, input: usize| {
        [(format!("{name}.weight"), vec![out, input]), (format!("{name}.bias"), vec![out])]
    };
    let table = |name: &str, rows: usize| (name.to_owned(), vec![rows, HIDDEN]);
    let mut shapes = vec![
        table("deberta.embeddings.word_embeddings.weight", TINY_VOCAB_SIZE),
        table("deberta.encoder.rel_embeddings.weight", 2 * BUCKETS),
    ];
    shapes.extend(norm("deberta.embeddings.LayerNorm"));
    shapes.extend(norm("deberta.encoder.LayerNorm"));
    for layer in 0..LAYERS {
        let name = |part: &str| format!("deberta.encoder.layer.{layer}.{part}");
        for projection in ["query_proj", "key_proj", "value_proj"] {
            shapes.extend(linear(&name(&format!("attention.self.{projection}")), HIDDEN, HIDDEN));
        }
        shapes.extend(linear(&name("attention.output.dense"), HIDDEN, HIDDEN));
        shapes.extend(norm(&name("attention.output.LayerNorm")));
        shapes.extend(linear(&name("intermediate.dense"), INNER, HIDDEN));
        shapes.extend(linear(&name("output.dense"), HIDDEN, INNER));
        shapes.extend(norm(&name("output.LayerNorm")));
    }
    shapes.extend(linear("pooler.dense", HIDDEN, HIDDEN));
    shapes.extend(linear("classifier", LABELS.len(), HIDDEN));
    shapes
}

fn config() -> Value {
    json!({
        "model_type": "deberta-v2",
        "architectures": ["DebertaV2ForSequenceClassification"],
        "vocab_size": TINY_VOCAB_SIZE, "hidden_size": HIDDEN, "intermediate_size": INNER,
        "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
        "max_position_embeddings": POSITIONS, "type_vocab_size": 0, "position_biased_input": false,
        "relative_attention": true, "position_buckets": BUCKETS, "pos_att_type": ["c2p", "p2c"],
        "share_att_key": true, "norm_rel_ebd": "layer_norm",
        "id2label": { "0": LABELS[0], "1": LABELS[1], "2": LABELS[2] }
    })
}

/// One token a letter, so that every English text has tokens and none is unknown.
fn tokenizer() -> Value {
    let symbols: Vec<char> = ('!'..='~').filter(|symbol| !symbol.is_ascii_uppercase()).collect();
    let words = symbols.iter().map(char::to_string).chain(symbols.iter().map(|symbol| format!("##{symbol}")));
    let vocab: serde_json::Map<String, Value> =
        MARKERS.iter().map(|marker| (*marker).to_owned()).chain(words).zip((0..).map(Value::from)).collect();
    let added: Vec<Value> = MARKERS
        .iter()
        .zip(0..)
        .map(|(content, id)| {
            json!({ "id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
                    "normalized": false, "special": true })
        })
        .collect();
    let marker = |id: &str, kind: u8| json!({ "SpecialToken": { "id": id, "type_id": kind } });
    let text = |id: &str, kind: u8| json!({ "Sequence": { "id": id, "type_id": kind } });
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": added,
        "normalizer": { "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                        "strip_accents": null, "lowercase": true },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [marker("[CLS]", 0), text("A", 0), marker("[SEP]", 0)],
            "pair": [marker("[CLS]", 0), text("A", 0), marker("[SEP]", 0), text("B", 1), marker("[SEP]", 1)],
            "special_tokens": {
                "[CLS]": { "id": "[CLS]", "ids": [1], "tokens": ["[CLS]"] },
                "[SEP]": { "id": "[SEP]", "ids": [2], "tokens": ["[SEP]"] }
            }
        },
        "decoder": { "type": "WordPiece", "prefix": "##", "cleanup": true },
        "model": { "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                   "max_input_chars_per_word": 100, "vocab": vocab }
    })
}

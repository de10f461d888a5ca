//! Folders that must be refused: each with its code, what was found and what to do.

use super::*;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::BTreeMap;

type Tensors = BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>;

/// Rewrites `model.safetensors` of `folder`.
pub(super) fn edit(folder: &Path, change: impl FnOnce(&mut Tensors)) {
    let path = folder.join("model.safetensors");
    let bytes = std::fs::read(&path).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let mut tensors: Tensors = file
        .tensors()
        .into_iter()
        .map(|(name, view)| (name, (view.dtype(), view.shape().to_vec(), view.data().to_vec())))
        .collect();
    change(&mut tensors);
    let views = tensors.iter().map(|(name, (dtype, shape, bytes))| {
        (name.as_str(), TensorView::new(*dtype, shape.clone(), bytes).unwrap())
    });
    let out = safetensors::serialize(views, None).unwrap();
    std::fs::write(&path, out).unwrap();
}

/// A copy of the v3-like checkpoint, changed by `change`.
fn damaged(change: impl FnOnce(&Path)) -> tempfile::TempDir {
    let folder = copy_of(&golden_folder("deberta-v3-like"));
    change(folder.path());
    folder
}

pub(super) fn change_config(folder: &Path, change: impl FnOnce(&mut serde_json::Value)) {
    let path = folder.join("config.json");
    let mut config = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut config);
    std::fs::write(&path, config.to_string()).unwrap();
}

#[track_caller]
fn refused(folder: &Path, code: Code, says: &[&str]) {
    refused_with(folder, &LoadOptions::default(), code, says);
}

#[track_caller]
fn refused_with(folder: &Path, options: &LoadOptions, code: Code, says: &[&str]) {
    let problem = Model::load(folder, options).unwrap_err();
    assert_eq!(problem.code, code, "{problem}");
    for word in says {
        assert!(problem.message.contains(word), "{word:?} is not in: {problem}");
    }
}

#[test]
fn a_folder_that_is_not_there_or_holds_no_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    refused(&folder.path().join("nowhere"), Code::MODEL_NOT_FOUND, &["nowhere", "config.json"]);
    refused(folder.path(), Code::MODEL_NOT_FOUND, &["no config.json", "tokenizer.json"]);
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    refused(&file, Code::MODEL_NOT_FOUND, &["a file, not a folder"]);
}

#[test]
fn a_config_that_is_not_json_or_has_wrong_fields() {
    let folder = damaged(|folder| std::fs::write(folder.join("config.json"), "{\"model_ty").unwrap());
    refused(folder.path(), Code::MODEL_CORRUPT, &["config.json is not JSON"]);
    let folder = damaged(|folder| change_config(folder, |config| config["hidden_size"] = "big".into()));
    refused(folder.path(), Code::MODEL_CORRUPT, &["config.json", "big"]);
}

#[test]
fn a_file_that_cannot_be_read() {
    for name in ["config.json", "tokenizer.json", "model.safetensors"] {
        // A folder in its place cannot be read as a file, for root neither.
        let folder = damaged(|folder| {
            std::fs::remove_file(folder.join(name)).unwrap();
            std::fs::create_dir(folder.join(name)).unwrap();
        });
        refused(folder.path(), Code::UNREADABLE_FILE, &[name, "permissions"]);
    }
}

#[test]
fn another_kind_of_model() {
    let folder = damaged(|folder| change_config(folder, |config| config["model_type"] = "distilbert".into()));
    refused(
        folder.path(),
        Code::MODEL_UNSUPPORTED,
        &["\"distilbert\"", "deberta-v2", "xlm-roberta", "modernbert"],
    );
    // The weights of one family under the name of another.
    let folder = damaged(|folder| change_config(folder, |config| config["model_type"] = "bert".into()));
    refused(folder.path(), Code::MODEL_CORRUPT, &["embeddings.word_embeddings.weight", "missing"]);
    let folder = damaged(|folder| {
        change_config(folder, |config| drop(config.as_object_mut().unwrap().remove("model_type")));
    });
    refused(folder.path(), Code::MODEL_UNSUPPORTED, &["no model_type"]);
}

#[test]
fn weights_in_pickle_only_or_not_at_all() {
    let remove = |folder: &Path| std::fs::remove_file(folder.join("model.safetensors")).unwrap();
    let folder = damaged(|folder| {
        remove(folder);
        std::fs::write(folder.join("pytorch_model.bin"), "x").unwrap();
    });
    refused(folder.path(), Code::MODEL_UNSUPPORTED, &["pytorch_model.bin", "safe_serialization=True"]);
    let folder = damaged(remove);
    refused(folder.path(), Code::MODEL_CORRUPT, &["model.safetensors", "download"]);
}

#[test]
fn truncated_weights_and_files_that_are_something_else() {
    let folder = damaged(|folder| {
        let path = folder.join("model.safetensors");
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    });
    refused(folder.path(), Code::MODEL_CORRUPT, &["model.safetensors", "truncated", "download it again"]);
    for (content, says) in
        [("", "truncated"), ("version https://git-lfs.github.com/spec/v1\n", "git lfs pull")]
    {
        let folder = damaged(|folder| std::fs::write(folder.join("model.safetensors"), content).unwrap());
        refused(folder.path(), Code::MODEL_CORRUPT, &["model.safetensors", says]);
    }
}

#[test]
fn a_shard_that_is_missing_or_leads_elsewhere() {
    let folder = copy_of(&golden_folder("deberta-v2-conv"));
    std::fs::remove_file(folder.path().join("model-00002-of-00002.safetensors")).unwrap();
    refused(folder.path(), Code::MODEL_CORRUPT, &["model-00002-of-00002.safetensors", "download"]);
    let index = folder.path().join("model.safetensors.index.json");
    std::fs::write(&index, r#"{"weight_map": {"a": "../elsewhere.safetensors"}}"#).unwrap();
    refused(folder.path(), Code::MODEL_CORRUPT, &["../elsewhere.safetensors", "same folder"]);
    std::fs::write(&index, "[]").unwrap();
    refused(folder.path(), Code::MODEL_CORRUPT, &["model.safetensors.index.json is malformed"]);
}

#[test]
fn a_tensor_that_is_missing_or_has_another_shape_or_type() {
    const KEY: &str = "deberta.encoder.layer.1.attention.self.key_proj.weight";
    let folder = damaged(|folder| edit(folder, |tensors| drop(tensors.remove(KEY))));
    refused(folder.path(), Code::MODEL_CORRUPT, &[KEY, "missing", "model.safetensors"]);
    let folder = damaged(|folder| {
        edit(folder, |tensors| tensors.get_mut(KEY).unwrap().1 = vec![64, 256]);
    });
    refused(folder.path(), Code::MODEL_CORRUPT, &[KEY, "[64, 256]", "[128, 128]"]);
    let folder = damaged(|folder| {
        edit(folder, |tensors| tensors.get_mut(KEY).unwrap().0 = Dtype::I32);
    });
    refused(folder.path(), Code::MODEL_UNSUPPORTED, &[KEY, "I32", "BF16"]);
}

#[test]
fn a_checkpoint_without_an_nli_head() {
    let folder = damaged(|folder| {
        edit(folder, |tensors| tensors.retain(|name, _| name.starts_with("deberta.")));
    });
    refused(folder.path(), Code::MODEL_UNSUPPORTED, &["classifier.weight", "fine-tuned on NLI"]);
}

#[test]
fn labels_that_do_not_say_which_logit_means_what() {
    let folder = damaged(|folder| {
        change_config(folder, |config| {
            config["id2label"] = serde_json::json!({"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"});
        });
    });
    refused(folder.path(), Code::UNKNOWN_LABELS, &["LABEL_2", "--labels"]);
    let labels = |names: &[&str]| LoadOptions {
        labels: Some(names.iter().map(|&name| name.to_owned()).collect()),
        ..LoadOptions::default()
    };
    let given = labels(&["entailment", "neutral", "contradiction"]);
    assert_eq!(Model::load(folder.path(), &given).unwrap().facts().labels.entailment, 0);
    refused_with(
        folder.path(),
        &labels(&["entailment", "neutral"]),
        Code::MODEL_CORRUPT,
        &["3 rows", "2 label"],
    );
}

#[test]
fn a_tokenizer_that_is_missing_malformed_or_another_models() {
    let remove = |folder: &Path| std::fs::remove_file(folder.join("tokenizer.json")).unwrap();
    let folder = damaged(remove);
    refused(folder.path(), Code::TOKENIZER_CORRUPT, &["no tokenizer.json", "AutoTokenizer"]);
    let folder = damaged(|folder| {
        remove(folder);
        std::fs::write(folder.join("spm.model"), "x").unwrap();
    });
    refused(folder.path(), Code::TOKENIZER_CORRUPT, &["only spm.model", "AutoTokenizer"]);
    let folder = damaged(|folder| std::fs::write(folder.join("tokenizer.json"), "{}").unwrap());
    refused(folder.path(), Code::TOKENIZER_CORRUPT, &["malformed"]);
    let folder = damaged(|folder| {
        std::fs::copy(mini_folder().join("tokenizer.json"), folder.join("tokenizer.json")).unwrap();
    });
    refused(folder.path(), Code::TOKENIZER_CORRUPT, &["30522", "800"]);
}

#[test]
fn settings_that_no_model_of_the_family_has() {
    let cases = [
        ("hidden_act", "mish".into(), Code::MODEL_UNSUPPORTED, "mish"),
        ("pooler_hidden_act", "swish".into(), Code::MODEL_UNSUPPORTED, "swish"),
        ("pos_att_type", "c2p|p2p".into(), Code::MODEL_UNSUPPORTED, "p2p"),
        ("num_attention_heads", 7.into(), Code::MODEL_CORRUPT, "num_attention_heads 7"),
        ("num_hidden_layers", 0.into(), Code::MODEL_CORRUPT, "num_hidden_layers 0"),
        ("position_buckets", 1.into(), Code::MODEL_CORRUPT, "position_buckets 1"),
        ("position_buckets", 2000.into(), Code::MODEL_CORRUPT, "position_buckets 2000"),
        ("layer_norm_eps", (-1.0).into(), Code::MODEL_CORRUPT, "layer_norm_eps -1"),
        ("conv_kernel_size", 4.into(), Code::MODEL_CORRUPT, "conv_kernel_size 4"),
        ("id2label", serde_json::json!({"0": "a", "2": "b"}), Code::MODEL_CORRUPT, "index 1"),
    ];
    for (field, value, code, says) in cases {
        let value: serde_json::Value = value;
        let folder = damaged(|folder| change_config(folder, |config| config[field] = value));
        refused(folder.path(), code, &[says]);
    }
}

#[test]
fn a_groundline_json_that_is_malformed_or_asks_for_too_much() {
    let cases = [
        ("{\"window_token\": 3}", Code::MODEL_CORRUPT, "window_token"),
        ("{\"embedding\": \"max\"}", Code::MODEL_UNSUPPORTED, "\"max\""),
        ("{\"window_tokens\": 500}", Code::INVALID_CONFIG, "1 to 384"),
        ("{\"heads\": {\"support\": \"/etc/passwd\"}}", Code::MODEL_CORRUPT, "same folder"),
    ];
    for (content, code, says) in cases {
        let folder = damaged(|folder| std::fs::write(folder.join("groundline.json"), content).unwrap());
        refused(folder.path(), code, &[says]);
    }
}

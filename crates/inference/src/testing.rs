//! Model folders for tests.

use crate::checkpoint::Checkpoint;
use crate::cpu::{CpuEncoder, CpuOptions, Isa};
use crate::deberta::{DebertaConfig, Weights, load_weights};
use crate::family::{Family, Loaded};
use crate::tokenizer::{PairTokenizer, TokenizerShape};
use groundline_types::PairInput;
use std::path::{Path, PathBuf};

/// Golden checkpoints of the DeBERTa family: random weights in every layout.
pub(crate) const GOLDEN_CHECKPOINTS: [&str; 5] = [
    "deberta-v1",
    "deberta-v2-conv",
    "deberta-v2-separate-pos",
    "deberta-v3-like",
    "deberta-v3-small-buckets",
];

/// Folder of a golden checkpoint.
pub(crate) fn golden_folder(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/checkpoints")).join(name)
}

/// Folder of the model that is shipped.
pub(crate) fn mini_folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/groundline-mini"))
}

/// A DeBERTa checkpoint taken apart.
pub(crate) struct Opened {
    pub(crate) config: DebertaConfig,
    pub(crate) weights: Weights,
    pub(crate) tokenizer: PairTokenizer,
    pub(crate) golden: Vec<u8>,
}

/// A checkpoint of any family taken apart; `answers` as for [`Family::load`].
pub(crate) fn open_any(folder: &Path, answers: &[u32], max_tokens: usize) -> (Family, Loaded, PairTokenizer) {
    let checkpoint = Checkpoint::open(folder).unwrap();
    let family = Family::parse(&checkpoint.config).unwrap();
    let loaded = family.load(&checkpoint.weights, checkpoint.support.as_ref(), answers).unwrap();
    let (vocab_size, type_vocab_size) = family.vocabulary();
    let shape = TokenizerShape { vocab_size, type_vocab_size, max_tokens, input: PairInput::Pair };
    let tokenizer = PairTokenizer::from_bytes(&checkpoint.tokenizer, shape).unwrap();
    (family, loaded, tokenizer)
}

/// The CPU engine of a checkpoint taken apart.
pub(crate) fn encoder_of(loaded: &Loaded, isa: Isa, threads: usize, group_tokens: usize) -> CpuEncoder {
    let options =
        CpuOptions { threads: Some(threads), isa: Some(isa), group_tokens, ..CpuOptions::default() };
    CpuEncoder::of_any(&loaded.config, &loaded.weights, &options).unwrap()
}

impl Opened {
    pub(crate) fn open(folder: &Path) -> Self {
        let (family, _, tokenizer) = open_any(folder, &[], 512);
        let Family::Deberta(config) = family else { panic!("{} is not a DeBERTa", folder.display()) };
        let checkpoint = Checkpoint::open(folder).unwrap();
        let weights = load_weights(&config, &checkpoint.weights, checkpoint.support.as_ref()).unwrap();
        let golden = std::fs::read(folder.join("golden.json")).unwrap();
        Self { config: *config, weights, tokenizer, golden }
    }

    pub(crate) fn golden(name: &str) -> Self {
        Self::open(&golden_folder(name))
    }
}

/// The model that is shipped.
pub(crate) fn mini() -> Opened {
    Opened::open(&mini_folder())
}

/// A copy of a model folder that a test may damage.
pub(crate) fn copy_of(folder: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    copy
}

//! Model folders for tests.

use crate::checkpoint::Checkpoint;
use crate::deberta::{DebertaConfig, Weights, load_weights, parse_config};
use crate::tokenizer::PairTokenizer;
use std::path::{Path, PathBuf};

/// Golden checkpoints that load: random weights in every layout of the family.
pub(crate) const GOLDEN_CHECKPOINTS: [&str; 4] =
    ["deberta-v2-conv", "deberta-v2-separate-pos", "deberta-v3-like", "deberta-v3-small-buckets"];

/// Folder of a golden checkpoint.
pub(crate) fn golden_folder(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/checkpoints")).join(name)
}

/// Folder of the model that is shipped.
pub(crate) fn mini_folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/groundline-mini"))
}

/// A checkpoint taken apart.
pub(crate) struct Opened {
    pub(crate) config: DebertaConfig,
    pub(crate) weights: Weights,
    pub(crate) tokenizer: PairTokenizer,
    pub(crate) golden: Vec<u8>,
}

impl Opened {
    pub(crate) fn open(folder: &Path) -> Self {
        let checkpoint = Checkpoint::open(folder).unwrap();
        let config = parse_config(&checkpoint.config).unwrap();
        let weights = load_weights(&config, &checkpoint.weights, checkpoint.support.as_ref()).unwrap();
        let tokenizer =
            PairTokenizer::from_bytes(&checkpoint.tokenizer, &config, config.max_position_embeddings);
        let golden = std::fs::read(folder.join("golden.json")).unwrap();
        Self { config, weights, tokenizer: tokenizer.unwrap(), golden }
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

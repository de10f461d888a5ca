//! The similarity that unrelated sentences have with a model.

use crate::beside;
use groundline_types::Problem;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The file that a model's baseline lies in, in its folder.
pub const SIMILARITY_BASELINE_FILE: &str = "similarity_baseline.json";

/// What unrelated sentences come to, and how that was measured. It is not among the files that a model's revision is made of: it
/// changes how a number is read, not what the model answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimilarityBaseline {
    /// The revision of the model that it was measured with. With another one it says nothing, and is not used.
    pub revision: String,
    /// Mean F1 of the pairs, 0 to below 1.
    pub f1: f64,
    /// Pairs of sentences, each of two passages.
    pub pairs: usize,
    /// Sentences that they were drawn from.
    pub sentences: usize,
    /// What the draw began with.
    pub seed: u64,
    /// Where the sentences are from, for people.
    pub text: String,
}

impl SimilarityBaseline {
    /// Reads it from a model's folder; `None` where there is none.
    ///
    /// # Errors
    /// [`groundline_types::Code::MODEL_CORRUPT`] where the file cannot be read, is malformed, or has a number that cannot be.
    pub fn read(folder: &Path) -> Result<Option<Self>, Problem> {
        let fault = |read: &Self| {
            (!(0.0..1.0).contains(&read.f1)).then_some("has an f1 that is not from 0 to below 1")
        };
        beside::read(folder, SIMILARITY_BASELINE_FILE, "groundline models baseline", fault)
    }

    /// Writes it into a model's folder.
    ///
    /// # Errors
    /// [`groundline_types::Code::UNWRITABLE_OUTPUT`] where the file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), Problem> {
        beside::write(self, folder, SIMILARITY_BASELINE_FILE)
    }

    /// Its number, where it was measured with the model of this revision.
    pub(crate) fn of_revision(self, revision: &str) -> Option<f64> {
        (self.revision == revision).then_some(self.f1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groundline_types::Code;

    fn baseline(f1: f64) -> SimilarityBaseline {
        let revision = "0123456789abcdef".to_owned();
        SimilarityBaseline { revision, f1, pairs: 10, sentences: 9, seed: 1, text: "a text".to_owned() }
    }

    #[test]
    fn it_is_read_as_it_was_written_and_counts_for_its_model_alone() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(SimilarityBaseline::read(folder.path()), Ok(None));
        baseline(0.25).write(folder.path()).unwrap();
        let read = SimilarityBaseline::read(folder.path()).unwrap().unwrap();
        assert_eq!(read, baseline(0.25));
        assert_eq!(read.clone().of_revision("0123456789abcdef"), Some(0.25));
        assert_eq!(read.of_revision("0123456789abcdee"), None);
    }

    #[test]
    fn a_damaged_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = || SimilarityBaseline::read(folder.path()).unwrap_err().code == Code::MODEL_CORRUPT;
        for f1 in [1.0, -0.1, 7.0] {
            baseline(f1).write(folder.path()).unwrap();
            assert!(refused(), "{f1}");
        }
        std::fs::write(folder.path().join(SIMILARITY_BASELINE_FILE), "{}").unwrap();
        assert!(refused());
    }
}

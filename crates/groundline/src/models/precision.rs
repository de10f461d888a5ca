//! How exactly a model answers in each precision, measured on pairs of the user's.

use super::find_model;
use super::load::load_options;
use super::texts::{name_of, read_text};
use crate::Config;
use groundline_inference::{Precision, PrecisionRecord, measure_precision as measure};
use groundline_types::{Code, Head, Problem, Work};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// A model that was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredModel {
    /// The model's folder, where the record belongs ([`PrecisionRecord::write`]).
    pub folder: PathBuf,
    /// What it is.
    pub record: PrecisionRecord,
}

#[derive(Debug, Deserialize)]
struct Pair {
    premise: String,
    claim: String,
}

/// Scores the pairs in `file` with the model that `config` names in every precision, and tells how far each is from single precision.
/// `progress` is told which precision runs, how many of its pairs are done, and of how many. The processor
/// computes. Blocks, for as long as the pairs take five times.
///
/// The file has an object with `premise` and `claim` on each line. Empty lines are left out. At least 500 pairs, of the kind that will
/// be checked; 2,000 tell a share of equal decisions to half a per cent.
///
/// # Errors
/// As [`crate::load_model`]; [`Code::UNREADABLE_FILE`], [`Code::INVALID_UTF8`] and [`Code::MALFORMED_JSON`] about the file;
/// [`Code::INVALID_FIELD`] without a pair.
pub fn measure_precision(
    config: &Config,
    file: &Path,
    mut progress: impl FnMut(Precision, usize, usize),
) -> Result<MeasuredModel, Problem> {
    let pairs = read_pairs(file)?;
    let folder = find_model(config)?;
    let count = pairs.len();
    let record = measure(&folder, &load_options(config), &pairs, &name_of(file), |precision, done| {
        progress(precision, done, count);
    })?;
    Ok(MeasuredModel { folder, record })
}

fn read_pairs(path: &Path) -> Result<Vec<Work>, Problem> {
    let shown = path.display();
    let text = read_text(path)?;
    let pair = |(number, line): (usize, &str)| {
        let pair = serde_json::from_str::<Pair>(line).map_err(|_| {
            let message = format!("line {} of {shown} is no object with `premise` and `claim`", number + 1);
            Problem::new(Code::MALFORMED_JSON, message)
        })?;
        Ok(Work::Pair { premise: pair.premise.into(), hypothesis: pair.claim.into(), head: Head::Nli })
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let copy = tempfile::tempdir().unwrap();
        let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/checkpoints/deberta-v3-like");
        for entry in std::fs::read_dir(golden).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
        copy
    }

    fn measured(text: &str) -> (tempfile::TempDir, Result<MeasuredModel, Problem>) {
        let (model, mut config) = (folder(), Config::default());
        config.model.name = model.path().display().to_string();
        let file = model.path().join("pairs.jsonl");
        std::fs::write(&file, text).unwrap();
        let measured = measure_precision(&config, &file, |_, _, _| {});
        (model, measured)
    }

    #[test]
    fn every_precision_is_measured_on_every_pair() {
        let (_model, measured) =
            measured("{\"premise\":\"a b\",\"claim\":\"b\"}\n\n{\"premise\":\"c\",\"claim\":\"d\"}\n");
        let measured = measured.unwrap();
        assert_eq!((measured.record.pairs, measured.record.measured.len()), (2, 4));
        assert_eq!(measured.record.text, "pairs.jsonl");
    }

    #[test]
    fn a_file_without_pairs_is_refused() {
        let code = |text: &str| measured(text).1.unwrap_err().code;
        assert_eq!(code(""), Code::INVALID_FIELD);
        assert_eq!(code("{\"premise\":\"a\"}"), Code::MALFORMED_JSON);
    }
}

//! How exactly a model answers in each precision, measured on pairs of the user's.

use super::find_model;
use super::load::load_options;
use crate::Config;
use groundline_inference::{Precision, PrecisionRecord, measure_precision as measure};
use groundline_types::{Code, Head, Problem, Work};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// A model that was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredModel {
    /// The model's folder, where the record lies.
    pub folder: PathBuf,
    /// What it is.
    pub record: PrecisionRecord,
}

#[derive(Debug, Deserialize)]
struct Pair {
    premise: String,
    claim: String,
}

/// Scores the pairs in `file` with the model that `config` names in every precision, and writes beside the model how far each is
/// from single precision. `progress` is told which precision runs, how many of its pairs are done, and of how many. The processor
/// computes. Blocks, for as long as the pairs take five times.
///
/// The file has an object with `premise` and `claim` on each line. Empty lines are left out. At least 500 pairs, of the kind that will
/// be checked; 2,000 tell a share of equal decisions to half a per cent.
///
/// # Errors
/// As [`crate::load_model`]; [`Code::UNREADABLE_FILE`], [`Code::INVALID_UTF8`] and [`Code::MALFORMED_JSON`] about the file;
/// [`Code::INVALID_FIELD`] without a pair; [`Code::UNWRITABLE_OUTPUT`].
pub fn measure_precision(
    config: &Config,
    file: &Path,
    mut progress: impl FnMut(Precision, usize, usize),
) -> Result<MeasuredModel, Problem> {
    let pairs = read_pairs(file)?;
    let folder = find_model(config)?;
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let count = pairs.len();
    let record = measure(&folder, &load_options(config), &pairs, &name, |precision, done| {
        progress(precision, done, count);
    })?;
    record.write(&folder)?;
    Ok(MeasuredModel { folder, record })
}

fn read_pairs(path: &Path) -> Result<Vec<Work>, Problem> {
    let shown = path.display();
    let bytes = std::fs::read(path)
        .map_err(|error| Problem::new(Code::UNREADABLE_FILE, format!("cannot read {shown}: {error}")))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Problem::new(Code::INVALID_UTF8, format!("{shown} is not valid UTF-8")))?;
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
    fn what_was_measured_lies_beside_the_model() {
        let (model, measured) =
            measured("{\"premise\":\"a b\",\"claim\":\"b\"}\n\n{\"premise\":\"c\",\"claim\":\"d\"}\n");
        let measured = measured.unwrap();
        assert_eq!((measured.record.pairs, measured.record.measured.len()), (2, 4));
        assert_eq!(PrecisionRecord::read(model.path()).unwrap(), Some(measured.record));
    }

    #[test]
    fn a_file_without_pairs_is_refused() {
        let code = |text: &str| measured(text).1.unwrap_err().code;
        assert_eq!(code(""), Code::INVALID_FIELD);
        assert_eq!(code("{\"premise\":\"a\"}"), Code::MALFORMED_JSON);
    }
}

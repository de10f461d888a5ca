//! What measurements share: the pairs that they score.

#![forbid(unsafe_code)]

use anyhow::Context as _;
use flate2::read::GzDecoder;
use groundline_types::{Head, Work};
use serde::Deserialize;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;

#[derive(Debug, Deserialize)]
struct Pair {
    premise: String,
    claim: String,
}

/// The first `limit` pairs of a JSONL file with `premise` and `claim` on each line, or of one compressed by gzip, whose name ends in `.gz`.
///
/// # Errors
/// A file that cannot be read, and a line that is no pair.
pub fn read_pairs(path: &Path, limit: usize) -> anyhow::Result<Vec<Work>> {
    let cannot_read = || format!("cannot read {}", path.display());
    let file = File::open(path).with_context(cannot_read)?;
    let is_compressed = path.extension().is_some_and(|extension| extension == "gz");
    let file: Box<dyn Read> = if is_compressed { Box::new(GzDecoder::new(file)) } else { Box::new(file) };
    let mut pairs = Vec::new();
    for (index, line) in BufReader::new(file).lines().take(limit).enumerate() {
        let line = line.with_context(cannot_read)?;
        let Pair { premise, claim } =
            serde_json::from_str(&line).with_context(|| format!("line {} is no pair", index + 1))?;
        pairs.push(Work::Pair { premise: premise.into(), hypothesis: claim.into(), head: Head::Nli });
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_pairs_are_read_compressed_or_not() {
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/pairs.jsonl.gz");
        let pairs = read_pairs(&shipped, usize::MAX).unwrap();
        assert_eq!(pairs.len(), 2400);
        let mut text = String::new();
        GzDecoder::new(File::open(&shipped).unwrap()).read_to_string(&mut text).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let plain = dir.path().join("pairs.jsonl");
        std::fs::write(&plain, &text).unwrap();
        assert_eq!(read_pairs(&plain, 7).unwrap(), pairs[..7]);
        std::fs::write(&plain, "{\"premise\": \"a\", \"claim\": \"b\"}\n{}\n").unwrap();
        assert_eq!(read_pairs(&plain, 9).unwrap_err().to_string(), "line 2 is no pair");
    }
}

/// How exactly the shipped model answers in short formats, on the shipped pairs.
#[cfg(test)]
mod precision {
    use super::*;
    use groundline_inference::{
        Engine as _, LoadOptions, Model, Precision, PrecisionChoice, PrecisionRecord, measure_precision,
    };
    use groundline_types::Code;

    /// Enough for a record to count.
    const PAIRS: usize = 500;

    fn root() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
    }

    fn measured(model: &Path) -> PrecisionRecord {
        let pairs = read_pairs(&root().join("benches/data/pairs.jsonl.gz"), usize::MAX).unwrap();
        // From all sets: they lie one after another.
        let pairs = pairs.into_iter().step_by(2400 / PAIRS).take(PAIRS).collect::<Vec<_>>();
        measure_precision(model, &LoadOptions::default(), &pairs, "pairs", |_, _| {}).unwrap()
    }

    fn passes(record: &PrecisionRecord, precision: Precision) -> bool {
        record.measured.iter().find(|one| one.precision == precision).unwrap().passes()
    }

    #[test]
    fn the_shipped_record_is_what_the_shipped_model_does() {
        let folder = root().join("models/groundline-mini");
        let shipped = PrecisionRecord::read(&folder).unwrap().unwrap();
        let record = measured(&folder);
        assert_eq!(shipped.revision, record.revision);
        assert_eq!(shipped.fastest(), Some(Precision::Int8BeforeOutput));
        for precision in [Precision::Bf16, Precision::Int8Projections, Precision::Int8BeforeOutput] {
            assert!(passes(&record, precision), "{precision}: {record:?}");
        }
        for (shipped, here) in shipped.measured.iter().zip(&record.measured) {
            assert_eq!(shipped.precision, here.precision);
            // Other pairs, and on other processors bf16 in other steps.
            let ratio = here.mean_drift / shipped.mean_drift;
            assert!((0.7..1.4).contains(&ratio), "{}: {ratio}", here.precision);
        }
    }

    /// A number in half precision times a power of two; 0 where it would be too small.
    fn scaled(bits: [u8; 2], exponent: i32) -> [u8; 2] {
        let bits = u16::from_le_bytes(bits);
        let scaled = i32::from(bits >> 10 & 31) + exponent;
        assert!(scaled < 31);
        let kept = if scaled > 0 { bits & 0x83FF | (scaled as u16) << 10 } else { bits & 0x8000 };
        kept.to_le_bytes()
    }

    /// A copy of the shipped model that computes the same, with an outlier among the numbers that each layer's attention gives: a
    /// channel of the values is 128 times as large, and read with weights that are as much smaller.
    fn worse_on_purpose() -> tempfile::TempDir {
        const CHANNEL: usize = 7;
        const WIDTH: usize = 384;
        let copy = tempfile::tempdir().unwrap();
        for entry in std::fs::read_dir(root().join("models/groundline-mini")).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
        let path = copy.path().join("model.safetensors");
        let mut bytes = std::fs::read(&path).unwrap();
        let header = usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap())).unwrap();
        let tensors: serde_json::Value = serde_json::from_slice(&bytes[8..8 + header]).unwrap();
        let mut scale = |name: &str, numbers: &mut dyn Iterator<Item = usize>, exponent: i32| {
            assert_eq!(tensors[name]["dtype"], "F16", "{name}");
            let start = usize::try_from(tensors[name]["data_offsets"][0].as_u64().unwrap()).unwrap();
            for number in numbers {
                let at = 8 + header + start + 2 * number;
                let old = [bytes[at], bytes[at + 1]];
                bytes[at..at + 2].copy_from_slice(&scaled(old, exponent));
            }
        };
        for layer in 0..6 {
            let of = |name: &str| format!("deberta.encoder.layer.{layer}.attention.{name}");
            scale(&of("self.value_proj.weight"), &mut (CHANNEL * WIDTH..(CHANNEL + 1) * WIDTH), 7);
            scale(&of("self.value_proj.bias"), &mut std::iter::once(CHANNEL), 7);
            scale(&of("output.dense.weight"), &mut (CHANNEL..WIDTH * WIDTH).step_by(WIDTH), -7);
        }
        std::fs::write(&path, bytes).unwrap();
        copy
    }

    #[test]
    fn a_model_with_outliers_falls_back_and_says_so() {
        let model = worse_on_purpose();
        let load = |choice| {
            let options = LoadOptions { precision: choice, ..LoadOptions::default() };
            Model::load(model.path(), &options)
        };
        // The record of the sound model says nothing about this one.
        assert_eq!(load(PrecisionChoice::Int8).unwrap_err().code, Code::PRECISION_REFUSED);
        assert!(load(PrecisionChoice::Auto).unwrap().name().ends_with("-f32"));
        let record = measured(model.path());
        assert!(!passes(&record, Precision::Int8) && passes(&record, Precision::Bf16), "{record:?}");
        record.write(model.path()).unwrap();
        let loaded = load(PrecisionChoice::Int8).unwrap();
        assert!(!loaded.name().ends_with("-int8"), "{}", loaded.name());
        let why = loaded.fallback().unwrap();
        assert_eq!(why.code, Code::PRECISION_REFUSED);
        let instead = record.fastest().unwrap_or_default();
        assert!(why.message.contains(instead.name()) && loaded.name().ends_with(instead.name()), "{why}");
    }
}

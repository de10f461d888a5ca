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

//! `groundline check` as a user starts it, timed from the start of its process to its end.

use anyhow::{Context as _, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// One way to ask.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    pub(super) name: &'static str,
    arguments: &'static [&'static str],
    /// Whether `detectors.summac.parity` is on.
    parity: bool,
}

/// What is compared with the peer: its method alone, with its cuts, in single precision.
pub(super) const PARITY: Way =
    Way { name: "groundline", arguments: &["--methods", "summac", "--precision", "f32"], parity: true };
/// The same in the fastest format that was measured to be exact enough, and all default methods.
pub(super) const OTHERS: [Way; 3] = [
    Way {
        name: "groundline, auto",
        arguments: &["--methods", "summac", "--precision", "auto"],
        parity: true,
    },
    Way {
        name: "default methods",
        arguments: &["--methods", "default", "--precision", "f32"],
        parity: false,
    },
    Way {
        name: "default methods, auto",
        arguments: &["--methods", "default", "--precision", "auto"],
        parity: false,
    },
];
/// Lists every sentence of the sources and of the response.
pub(super) const SENTENCES: Way = Way {
    name: "sentences",
    arguments: &["--methods", "summac", "--precision", "auto", "--matrix"],
    parity: false,
};

/// The command and what it needs.
#[derive(Debug)]
pub(super) struct Ours {
    pub(super) program: PathBuf,
    pub(super) model: PathBuf,
    pub(super) threads: usize,
    /// For results, which are read after the time is taken.
    pub(super) folder: PathBuf,
}

/// A process from start to end.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) seconds: f64,
    /// One for each request, in order; an error object for a refused one.
    pub(super) results: Vec<Value>,
}

impl Ours {
    /// Checks a file of requests.
    pub(super) fn check(&self, way: Way, requests: &Path) -> anyhow::Result<Run> {
        let output = self.folder.join("results.jsonl");
        let mut command = Command::new(&self.program);
        // What the caller has set for itself must not decide what is measured.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("GROUNDLINE_") {
                command.env_remove(name);
            }
        }
        command.env("GROUNDLINE_DETECTORS_SUMMAC_PARITY", way.parity.to_string());
        command.arg("check").arg(requests).args(["--json", "--quiet"]).args(way.arguments);
        command.arg("--model").arg(&self.model).arg("--threads").arg(self.threads.to_string());
        command.arg("--output").arg(&output).stdin(Stdio::null());
        let started = Instant::now();
        let status = command.status().context("cannot start groundline")?;
        let seconds = started.elapsed().as_secs_f64();
        // 2: some requests were refused; they have their error in their place.
        if !status.success() && status.code() != Some(2) {
            bail!("groundline check failed: {status}");
        }
        let text = std::fs::read_to_string(&output).context("groundline check wrote no results")?;
        let results = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        Ok(Run { seconds, results })
    }

    /// Such as `groundline 0.1.0`.
    pub(super) fn version(&self) -> anyhow::Result<String> {
        let output =
            Command::new(&self.program).arg("--version").output().context("cannot start groundline")?;
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }
}

/// What computed, such as `cpu-avx2-f32`, as the first result that has it says.
pub(super) fn engine(results: &[Value]) -> &str {
    results.iter().find_map(|result| result["model"]["engine"].as_str()).unwrap_or("unknown")
}

/// The instruction set in an engine's name.
pub(super) fn instruction_set(engine: &str) -> &str {
    engine.split('-').nth(1).unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_engine_is_that_of_the_first_result_that_is_one() {
        let results =
            [json!({ "code": "GL1001" }), json!({ "model": { "engine": "cpu-avx512-int8-bf16-output" } })];
        assert_eq!(engine(&results), "cpu-avx512-int8-bf16-output");
        assert_eq!(instruction_set(engine(&results)), "avx512");
        assert_eq!(instruction_set(engine(&[])), "unknown");
    }
}

//! One line of JSON for each thing that happens, on standard output and in a file.

use serde_json::{Value, json};
use std::fs::File;
use std::io::{Result, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

/// Where the lines go.
#[derive(Debug)]
pub(super) struct Events {
    file: File,
    began: Instant,
}

impl Events {
    pub(super) fn new(folder: &Path) -> Result<Self> {
        Ok(Self { file: File::create(folder.join("events.jsonl"))?, began: Instant::now() })
    }

    /// Time since the run began.
    pub(super) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// When the run began.
    pub(super) fn began(&self) -> Instant {
        self.began
    }

    /// Writes a line: what happens, when, and what else `details`, an object, says.
    pub(super) fn tell(&mut self, event: &str, details: Value) {
        let mut line = json!({"at_ms": self.now().as_millis() as u64, "event": event});
        if let (Some(line), Value::Object(details)) = (line.as_object_mut(), details) {
            line.extend(details);
        }
        println!("{line}");
        // A full disk must not end the run before its processes are ended.
        let _ = writeln!(self.file, "{line}");
    }
}

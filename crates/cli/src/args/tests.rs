use super::*;
use clap::CommandFactory;

#[test]
fn the_definition_is_consistent_and_every_option_has_help() {
    Cli::command().debug_assert();
    for command in Cli::command().get_subcommands() {
        assert!(command.get_about().is_some(), "{}", command.get_name());
        for argument in command.get_arguments() {
            assert!(argument.get_help().is_some(), "{} {}", command.get_name(), argument.get_id());
        }
    }
}

fn refused(line: &str) -> String {
    Cli::try_parse_from(line.split(' ')).unwrap_err().to_string()
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    assert!(refused("groundline check a.jsonl --source s.txt").contains("cannot be used with"));
    assert!(refused("groundline check --source s --response r --claim c").contains("cannot be used with"));
    assert!(refused("groundline check a.jsonl --fail-under 3").contains("must be 0 to 1"));
    assert!(refused("groundline check a.jsonl --fail-under -1").contains("must be 0 to 1"));
    assert!(refused("groundline check a.jsonl --fail-under -0.5").contains("must be 0 to 1"));
    assert!(refused("groundline check a.jsonl --fail-under nan").contains("must be 0 to 1"));
    assert!(refused("groundline check a.jsonl --threads -1").contains("from 1 to 1024"));
    assert!(refused("groundline check a.jsonl --threads 99999999").contains("from 1 to 1024"));
    assert!(refused("groundline check a.jsonl -j -2").contains("from 1 to 256"));
    assert!(refused("groundline check a.jsonl --deadline -3").contains("above 0"));
    assert!(refused("groundline check a.jsonl --jobs 0").contains("from 1 to 256"));
    assert!(refused("groundline check a.jsonl --deadline=-3").contains("above 0"));
}

#[test]
fn lists_are_split_at_commas() {
    let cli = Cli::try_parse_from("groundline check - --methods entailment,numeric -q".split(' ')).unwrap();
    let Command::Check(args) = cli.command else { panic!("another command") };
    assert_eq!(args.methods, ["entailment", "numeric"]);
    assert!(cli.global.quiet);
}

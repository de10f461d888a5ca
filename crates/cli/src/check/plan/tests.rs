use super::*;
use crate::args::{Cli, Command};
use clap::Parser;
use groundline_types::{Code, OffsetUnit, PolicyChoice};
use std::fs;
use std::path::Path;

fn args(line: &[&str]) -> CheckArgs {
    let cli = Cli::try_parse_from(["groundline", "check"].iter().chain(line)).unwrap();
    let Command::Check(args) = cli.command else { panic!("another command") };
    *args
}

fn input_of(args: &CheckArgs) -> Result<Input, Failure> {
    input(args, &input_limits(&Config::default()))
}

fn record(line: &[&str]) -> Record {
    match input_of(&args(line)) {
        Ok(Input::One(record)) => *record,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_missing_is_named() {
    let message = |line: &[&str]| match input_of(&args(line)) {
        Err(Failure::Usage(message, _)) => message,
        other => panic!("{other:?}"),
    };
    assert_eq!(message(&[]), "nothing to check");
    assert_eq!(message(&["--source-text", "S"]), "there is a source and no response");
    assert_eq!(message(&["--claim", "R"]), "there is a response and no source");
    assert_eq!(message(&["--source", "-", "--response", "-"]), "standard input (-) is given twice");
}

#[test]
fn sources_are_named_after_their_files_and_kept_apart() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (one, two, response) = (write("a/s.txt", "A."), write("b/s.txt", "B."), write("r.txt", "R."));
    let record =
        record(&["--source", &one, "--source", &two, "--source-text", "C.", "--response", &response]);
    assert_eq!(record.id.as_deref(), Some("r.txt"));
    let sources = record.request.unwrap().sources;
    let ids = sources.iter().map(|source| source.id.as_deref()).collect::<Vec<_>>();
    assert_eq!(ids, [Some("s.txt"), Some("s.txt (2)"), None]);
    assert_eq!(&*sources[1].text, "B.");
}

#[test]
fn bad_texts_are_the_error_of_the_response() {
    let code = |line: &[&str]| record(line).request.unwrap_err().code;
    assert_eq!(code(&["--source-text", " ", "--claim", "R"]), Code::EMPTY_SOURCE);
    assert_eq!(code(&["--source-text", "S", "--claim", "\n"]), Code::EMPTY_RESPONSE);
    let missing = Path::new("/nonexistent/response.txt").display().to_string();
    assert_eq!(code(&["--source-text", "S", "--response", &missing]), Code::UNREADABLE_FILE);
}

#[test]
fn options_win_over_the_request_and_defaults_fill_in() {
    let line = ["-", "--methods", "numeric", "--facts", "--deadline", "1.5", "--question", "Q"];
    let mut config = Config::default();
    let request = complete(CheckRequest::new("R", "S"), "x", &args(&line), &config);
    assert_eq!((request.id.as_deref(), request.facts, request.matrix), (Some("x"), true, false));
    assert_eq!((request.methods, request.deadline_ms), (vec!["numeric".to_owned()], Some(1500)));
    assert_eq!((request.question.as_deref(), request.lane), (Some("Q"), Some(Lane::Bulk)));

    config.output.offsets = OffsetUnit::Chars;
    let mut own = CheckRequest::new("R", "S");
    (own.deadline_ms, own.offsets) = (Some(7), Some(OffsetUnit::Utf16));
    let request = complete(own, "x", &args(&["-"]), &config);
    assert_eq!((request.deadline_ms, request.offsets), (Some(7), Some(OffsetUnit::Utf16)));
    let request = complete(CheckRequest::new("R", "S"), "x", &args(&["-"]), &config);
    assert_eq!((request.deadline_ms, request.offsets), (Some(NO_DEADLINE_MS), Some(OffsetUnit::Chars)));
}

#[test]
fn what_a_request_says_of_itself_holds_also_where_it_is_the_default() {
    let mut config = Config::default();
    config.output.offsets = OffsetUnit::Chars;
    let own = r#"{"source":"S","response":"R","offsets":"bytes","lane":"online"}"#;
    let own = CheckRequest::from_json(own).unwrap();
    let request = complete(own.clone(), "x", &args(&["-"]), &config);
    assert_eq!((request.offsets, request.lane), (Some(OffsetUnit::Bytes), Some(Lane::Online)));
    let request = complete(own, "x", &args(&["-", "--offsets", "chars"]), &config);
    assert_eq!(request.offsets, Some(OffsetUnit::Chars), "an option wins");
}

#[test]
fn an_option_for_methods_or_a_policy_takes_the_place_of_the_requests_own() {
    let config = Config::default();
    let own = CheckRequest::from_json(r#"{"source":"S","response":"R","policy":"slow"}"#).unwrap();
    let request = complete(own.clone(), "x", &args(&["-"]), &config);
    assert_eq!(request.policy, Some(PolicyChoice::Named("slow".to_owned())));
    let request = complete(own.clone(), "x", &args(&["-", "--policy", "fast"]), &config);
    assert_eq!(request.policy, Some(PolicyChoice::Named("fast".to_owned())));
    let request = complete(own, "x", &args(&["-", "--methods", "numeric"]), &config);
    assert_eq!((request.policy, request.methods), (None, vec!["numeric".to_owned()]));
    let object = args(&["-", "--policy", r#"{"always": ["entailment"]}"#]).policy;
    assert!(matches!(object, Some(PolicyChoice::Own(policy)) if policy.always == ["entailment"]));
}

#[test]
fn a_file_that_is_called_like_a_numbered_one_keeps_its_name() {
    let source = |id: &str| Source { id: Some(id.to_owned()), title: None, text: "S.".into() };
    let mut sources = ["s (2)", "s", "s", "s"].map(source);
    distinguish(&mut sources);
    let ids = sources.iter().map(|source| source.id.as_deref().unwrap()).collect::<Vec<_>>();
    assert_eq!(ids, ["s (2)", "s", "s (3)", "s (4)"]);
}

#[test]
fn an_output_that_is_an_input_is_refused_and_the_input_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (input, other) = (path("a.jsonl"), path("b.jsonl"));
    fs::write(&input, "{}").unwrap();
    fs::write(&other, "{}").unwrap();
    let refused = |line: &[&str], config: Option<&str>| {
        refuse_overwriting(&args(line), config.map(Path::new)).map_err(|failure| failure.exit_status())
    };
    assert_eq!(refused(&[&input, "-o", &input], None), Err(2));
    assert_eq!(
        refused(&[&other, &input, "-o", &format!("{}/./a.jsonl", folder.path().display())], None),
        Err(2)
    );
    assert_eq!(refused(&["--source", &input, "--claim", "R", "-o", &input], None), Err(2));
    assert_eq!(refused(&["--source-text", "S", "--response", &input, "-o", &input], None), Err(2));
    assert_eq!(refused(&["-", "-o", &input], Some(&input)), Err(2));
    assert_eq!(refused(&[&input, "-o", &other], None), Ok(()));
    assert_eq!(refused(&[&input, "-o", &path("new.jsonl")], None), Ok(()));
    assert_eq!(refused(&[&path("none"), "-o", &input], None), Ok(()));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&input, path("soft")).unwrap();
        fs::hard_link(&input, path("hard")).unwrap();
        assert_eq!(refused(&[&input, "-o", &path("soft")], None), Err(2));
        assert_eq!(refused(&[&path("hard"), "-o", &input], None), Err(2));
    }
    assert_eq!(fs::read_to_string(&input).unwrap(), "{}");
}

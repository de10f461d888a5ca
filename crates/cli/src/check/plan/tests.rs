use super::*;
use crate::args::{Cli, Command};
use clap::Parser;
use groundline_types::{Code, OffsetUnit};
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
    assert_eq!(record.id, "r.txt");
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
    assert_eq!((request.question.as_deref(), request.lane), (Some("Q"), Lane::Bulk));

    config.output.offsets = OffsetUnit::Chars;
    let mut own = CheckRequest::new("R", "S");
    (own.deadline_ms, own.offsets) = (Some(7), OffsetUnit::Utf16);
    let request = complete(own, "x", &args(&["-"]), &config);
    assert_eq!((request.deadline_ms, request.offsets), (Some(7), OffsetUnit::Utf16));
    let request = complete(CheckRequest::new("R", "S"), "x", &args(&["-"]), &config);
    assert_eq!((request.deadline_ms, request.offsets), (Some(NO_DEADLINE_MS), OffsetUnit::Chars));
}

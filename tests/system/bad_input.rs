//! Bad input: each has a stable code and a sentence that helps.

use system_tests::{Ran, file, groundline, run, run_with_input};

/// Runs a check of two files and expects exit status 2 and `code` on standard error.
fn refused(source: &[u8], response: &[u8], code: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let (source, response) = (file(dir.path(), "s.txt", source), file(dir.path(), "r.txt", response));
    let ran = run(&["check", "--source", &source, "--response", &response]);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.stderr.contains(code), "{code} is missing: {ran:?}");
    assert!(ran.stdout.is_empty(), "{ran:?}");
    ran.stderr
}

#[test]
fn an_empty_response_is_refused() {
    refused(b"A cat sat.", b"", "GL1001");
    refused(b"A cat sat.", b" \r\n\t\n", "GL1001");
}

#[test]
fn an_empty_source_is_refused() {
    refused(b"", b"A cat sat.", "GL1002");
    refused(b"\n\n  ", b"A cat sat.", "GL1002");
}

#[test]
fn only_punctuation_is_no_claim_and_no_source() {
    let request = |source: &str, response: &str| {
        let request = serde_json::json!({"source": source, "response": response}).to_string();
        run_with_input(&["check", "-", "--json"], request.as_bytes())
    };
    let ran = request("A cat sat.", "?! ... --- !!!");
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!((ran.json()["status"].as_str(), ran.json()["verdict"].as_str()), (Some("abstained"), None));
    let ran = request("... --- !!!", "A cat sat.");
    assert!(ran.stdout.contains("GL1002"), "a source without a word is no source: {ran:?}");
}

#[test]
fn invalid_utf8_is_refused_with_the_place() {
    let message = refused(b"A cat \xff sat.", b"A cat sat.", "GL1003");
    assert!(message.contains('6'), "the byte is named: {message}");
}

#[test]
fn nul_bytes_are_refused() {
    refused(b"A cat\0sat.", b"A cat sat.", "GL1004");
    refused(b"A cat sat.", b"A cat\0sat.", "GL1004");
}

#[test]
fn a_missing_file_is_refused_by_name() {
    let ran = run(&["check", "--source", "no-such-file.txt", "--response", "examples/curie/response.txt"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("GL1010") && ran.stderr.contains("no-such-file.txt"), "{ran:?}");
}

/// The command, as somebody who may not read what root owns. Root may read everything, so root becomes somebody else first, with
/// a copy of the command in a folder that everybody may enter.
fn as_somebody_else(dir: &std::path::Path) -> std::process::Command {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    if std::fs::metadata(dir).unwrap().uid() != 0 {
        return std::process::Command::new(system_tests::groundline_bin());
    }
    let copy = dir.join("groundline");
    std::fs::copy(system_tests::groundline_bin(), &copy).unwrap();
    for path in [dir, &copy] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = std::process::Command::new(copy);
    command.uid(NOBODY).gid(NOBODY).current_dir(dir);
    command
}

#[test]
fn a_file_that_may_not_be_read_is_refused_by_name() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let (source, response) =
        (file(dir.path(), "s.txt", "A cat sat."), file(dir.path(), "locked.txt", "A cat sat."));
    std::fs::set_permissions(&response, std::fs::Permissions::from_mode(0o000)).unwrap();
    let mut command = as_somebody_else(dir.path());
    let ran: Ran =
        command.args(["check", "--source", &source, "--response", &response]).output().unwrap().into();
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.stderr.contains("GL1010") && ran.stderr.contains("locked.txt"), "{ran:?}");
    assert!(ran.stdout.is_empty(), "{ran:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn an_input_that_fails_while_it_is_read_takes_nothing_from_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let line = |id: &str| {
        serde_json::json!({"id": id, "source": "A cat sat.", "response": "A cat sat."}).to_string() + "\n"
    };
    let (first, last) =
        (file(dir.path(), "first.jsonl", line("first")), file(dir.path(), "last.jsonl", line("last")));
    // It exists and opens, and every read of it is an error, for root too.
    let ran = run(&["check", &first, "/proc/self/mem", &last, "--json"]);
    assert_eq!(ran.status, 2, "{ran:?}");
    let answered: Vec<_> = ran
        .json_lines()
        .iter()
        .filter(|line| line["status"] == "scored")
        .map(|line| line["id"].clone())
        .collect();
    assert_eq!(answered, ["first", "last"], "{ran:?}");
    assert!(ran.stdout.contains("GL1010") || ran.stderr.contains("GL1010"), "{ran:?}");
}

#[test]
fn json_with_wrong_fields_says_which() {
    let ran = run_with_input(&["check", "-"], br#"{"sorce": "A cat sat.", "response": "A cat sat."}"#);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("GL1007") && ran.stderr.contains("`source`"), "{ran:?}");
}

#[test]
fn a_source_in_another_language_is_never_held_against_the_response() {
    let request = serde_json::json!({
        "source": "Die Stadt liegt an der Donau und hat zwei Millionen Einwohner. Sie ist die Hauptstadt von Österreich \
                   und wurde im ersten Jahrhundert von den Römern gegründet.",
        "response": "The city was founded by the Romans. It is the capital of a country that is not in Europe.",
    });
    let result = run_with_input(&["check", "-", "--json"], request.to_string().as_bytes()).json();
    let codes: Vec<_> = result["notes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|note| note["code"].as_str().unwrap().to_owned())
        .collect();
    assert!(codes.contains(&"GL1009".to_owned()), "{result}");
    for sentence in result["sentences"].as_array().unwrap() {
        assert_ne!(sentence["verdict"], "contradicted", "{sentence}");
    }
}

#[test]
fn an_unknown_method_names_the_known_ones() {
    let ran = run(&[
        "check",
        "--source",
        "examples/curie/source.txt",
        "--response",
        "examples/curie/response.txt",
        "--methods",
        "entailmnt",
    ]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("GL1012") && ran.stderr.contains("entailment"), "{ran:?}");
}

#[test]
fn an_unknown_setting_names_the_nearest() {
    let dir = tempfile::tempdir().unwrap();
    let config = file(dir.path(), "c.toml", "[engine]\nthreds = 2\n");
    let ran = run(&["config", "check", &config]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("GL1013") && ran.stderr.contains("threads"), "{ran:?}");
}

#[test]
fn a_full_disk_is_said_and_not_ignored() {
    let ran = run(&[
        "check",
        "--source",
        "examples/curie/source.txt",
        "--response",
        "examples/curie/response.txt",
        "--json",
        "--output",
        "/dev/full",
    ]);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.stderr.contains("GL1011"), "{ran:?}");
}

#[test]
fn control_characters_of_a_response_never_reach_the_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let source = file(dir.path(), "s.txt", "A cat sat on the mat.");
    let response = file(dir.path(), "r.txt", "A cat \u{1b}[31msat\u{1b}]0;title\u{7} on the mat.");
    let ran = run(&["check", "--source", &source, "--response", &response]);
    assert!(!ran.stdout.contains('\u{1b}') && !ran.stdout.contains('\u{7}'), "{:?}", ran.stdout);
}

#[test]
fn usage_errors_exit_with_2() {
    assert_eq!(run(&["check"]).status, 2);
    assert_eq!(run(&["check", "--no-such-option"]).status, 2);
    assert_eq!(run(&["check", "--source", "-", "--response", "-"]).status, 2);
    let help = groundline(&["check", "--help"]).output().unwrap();
    assert!(help.status.success() && String::from_utf8_lossy(&help.stdout).contains("--source"));
}

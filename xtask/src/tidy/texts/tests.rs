use super::super::tests::{brief, file};
use super::*;

const MODULE: &str = "crates/bus/src/memory.rs";

fn rules(text: &str) -> Vec<String> {
    brief(&check(&[file(MODULE, text)]))
}

#[test]
fn error_texts_start_small_and_end_without_a_full_stop() {
    let bad = "#[error(\"Cannot read {0}\")]\nfn f() { Problem::new(Code::X, format!(\"it broke.\")) }\n";
    assert_eq!(rules(bad), [format!("{MODULE}:1: error-text"), format!("{MODULE}:2: error-text")]);
    let good = "#[error(\"cannot read {0}\")]\nfn f() { Problem::new(Code::X, \"JSON is malformed\") }\n";
    assert!(rules(good).is_empty());
    assert!(rules("fn f() { Problem::new(Code::X, \"Groundline needs more time\") }\n").is_empty());
}

#[test]
fn log_texts_follow_the_same_rule() {
    assert_eq!(
        rules("fn f() { tracing::warn!(job = \"A\", \"Job was lost\"); }\n"),
        [format!("{MODULE}:1: error-text")]
    );
    assert!(rules("fn f() { warn!(kind = \"Big\", \"job was lost (see above)\"); }\n").is_empty());
    assert!(rules("#[cfg(test)]\nmod tests { fn f() { warn!(\"Loud.\"); } }\n").is_empty());
}

#[test]
fn em_dashes_are_found_in_comments_only() {
    assert_eq!(rules("/// One — two.\nfn f() {}\n"), [format!("{MODULE}:1: em-dash")]);
    assert!(rules("/// One: two.\nfn f() { g(\"—\") }\n").is_empty());
}

#[test]
fn paths_of_one_machine_are_found_in_any_text() {
    let path = ["see /wo", "rk/main\n"].concat();
    let root = ["home=/ro", "ot/x\n"].concat();
    let beside = ["cp ../sh", "ared/x .\n"].concat();
    let files = [file("a.md", &path), file("b.toml", &root), file("c.py", &beside)];
    assert_eq!(
        brief(&check(&files)),
        ["a.md:1: machine-path", "b.toml:1: machine-path", "c.py:1: machine-path"]
    );
    let good = [
        file("a.md", &["https://example.org/wo", "rk/\n"].concat()),
        file("b.md", "shared/ and work/ are fine\n"),
        file("c.json", &path),
    ];
    assert!(check(&good).is_empty());
}

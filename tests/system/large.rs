//! Large inputs in bounded memory. Times are no test: they belong to `cargo xtask bench-cpu`, on an idle machine.

use groundline::{Checker, Config};
use groundline_testkit::ToyEngine;
use groundline_types::{CheckRequest, Lane, Status};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use system_tests::{file, spawn};

/// Peak resident memory of a running process in MiB, or `None` once it is gone.
fn peak_mib(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}

fn sentence(i: usize) -> String {
    format!(
        "In {} the town council of Ellis voted {} to {} for the new bridge over the river. ",
        1800 + i % 200,
        i,
        i / 2
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_megabyte_of_source_and_200_sentences_go_through_uncut() {
    let source: String = (0..12_000).map(sentence).collect();
    assert!(source.len() > 1_000_000);
    let response: String = (0..200).map(sentence).collect();
    let engine = Arc::new(ToyEngine::default());
    let checker = Checker::with_engine(engine, Config::default()).unwrap();
    let mut request = CheckRequest::new(response, source);
    request.lane = Some(Lane::Bulk);
    let before = peak_mib(std::process::id()).unwrap();
    let result = checker.check(request).await.unwrap();
    let grown = peak_mib(std::process::id()).unwrap() - before;
    let unscored: BTreeSet<_> =
        result.sentences.iter().filter_map(|sentence| sentence.detail.clone()).collect();
    assert_eq!(
        (result.status, result.sentences.len()),
        (Status::Scored, 200),
        "{unscored:?} {:?}",
        result.notes
    );
    assert_eq!(result.coverage, Some(1.0));
    assert!(grown < 1024, "memory grew by {grown} MiB");
    checker.shutdown().await;
}

#[test]
fn forty_source_sentences_and_ten_response_sentences_stay_within_400_mib() {
    let dir = tempfile::tempdir().unwrap();
    let source = file(dir.path(), "s.txt", (0..40).map(sentence).collect::<String>());
    let response = file(dir.path(), "r.txt", (20..30).map(sentence).collect::<String>());
    let mut child = spawn(&["check", "--source", &source, "--response", &response, "--json"]);
    drop(child.stdin.take());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        peak = peak.max(peak_mib(child.id()).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(child.wait().unwrap().success());
    assert!(peak > 0 && peak < 400, "peak memory {peak} MiB");
}

use super::*;

fn ours() -> Measured {
    Measured {
        name: "groundline",
        version: "groundline 0.1.0 (cpu-avx2-f32)".to_owned(),
        seconds: vec![2.0, 9.0, 2.5],
        starts: vec![0.5, 0.5, 0.5],
        responses: 50,
        pairs: Some(1000),
        ..Measured::default()
    }
}

fn peer(name: &'static str, seconds: &[f64]) -> Measured {
    Measured {
        name,
        peer: true,
        seconds: seconds.to_vec(),
        starts: vec![10.0],
        responses: 50,
        pairs: Some(1000),
        ..Measured::default()
    }
}

fn report() -> Report {
    Report {
        machine: json!({ "date": "2026-12-01", "cpu": "AMD EPYC 9R14 (96-Core)", "isa": "avx2" }),
        model: "groundline-mini".to_owned(),
        threads: 2,
        requests: "requests.jsonl".to_owned(),
        load: None,
        measured: vec![ours(), peer("score", &[50.0, 30.0, 40.0]), peer("score_one", &[60.0])],
        all: Some(Measured { responses: 1000, pairs: Some(20_000), seconds: vec![40.0], ..ours() }),
        agreement: Agreement { compared: 48, empty: 2, largest_difference: 3e-7 },
    }
}

#[test]
fn ours_pays_for_its_start_and_the_peer_does_not() {
    let report = report();
    let (ours, peer) = (&report.measured[0], &report.measured[1]);
    assert_eq!((ours.seconds_with_start(), ours.seconds_without_start()), (2.5, 2.0));
    assert_eq!((peer.seconds_with_start(), peer.seconds_without_start()), (50.0, 40.0));
    // The median of ours, and the faster of the peer's two ways.
    assert_eq!(report.ratio(), 16.0);
}

#[test]
fn a_run_no_longer_than_its_start_has_no_rate_without_it() {
    let mut report = report();
    report.measured[0].starts = vec![3.0];
    let json = report.json();
    assert!(json["contenders"][0]["responses_per_second_without_start"].is_null(), "{json}");
    assert_eq!(json["contenders"][0]["responses_per_second"], 20.0);
}

#[test]
fn below_ten_times_the_figure_is_missed() {
    let mut report = report();
    report.measured[2].seconds = vec![24.9];
    assert!(!report.holds() && report.table().contains("MISSED 9.96 times"), "{}", report.table());
    assert_eq!(report.json()["targets"][0]["holds"], false);
    report.measured[2].seconds = vec![25.0];
    assert!(report.holds() && report.table().contains("ok     10.00 times"), "{}", report.table());
}

#[test]
fn the_table_has_the_rates_and_no_ratio_for_other_work() {
    let table = report().table();
    let row = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    let cells = |name: &str| row(name).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(cells("groundline ")[1..], ["20.00", "(5.56–25.00)", "25.00", "0.50", "500.0", "1.00"]);
    assert_eq!(cells("score ")[1..], ["1.25", "(1.00–1.67)", "1.25", "10.00", "25.0", "16.00"]);
    let all = cells("groundline, all 1000");
    assert_eq!(all[3..], ["25.00", "(25.00–25.00)", "25.32", "0.50", "506.3"], "{table}");
    assert!(table.contains("48 scores agree within 3.0e-7, 2 responses have nothing to score"), "{table}");
}

#[test]
fn a_result_file_says_how_many_agree_and_how_closely() {
    let folder = tempfile::tempdir().unwrap();
    let path = report().write(folder.path()).unwrap();
    assert_eq!(path, "benches/results/2026-12-01-amd-epyc-9r14-96-core-avx2-check-groundline-mini.json");
    let written: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join(&path)).unwrap()).unwrap();
    assert_eq!(written["scores"]["compared"], 48);
    assert_eq!(written["contenders"][1]["ours_divided_by_this"], 16.0);
    assert_eq!(written["all_requests"]["responses_per_second"], 25.0);
}

use super::*;

fn measured(name: &'static str, seconds: &[f64], gemm_gflop: Option<f64>) -> Measured {
    let round =
        |&seconds: &f64| Round { seconds, tokenising_seconds: seconds, pairs: 100, tokens: 1000, gemm_gflop };
    let batch = (name != "groundline").then(|| json!({ "batch": 16 }));
    Measured {
        name,
        version: json!("1.0"),
        batch,
        rounds: seconds.iter().map(round).collect(),
        agreement: None,
    }
}

fn report() -> Report {
    Report {
        machine: json!({ "date": "2026-11-29", "cpu": "AMD EPYC 9R14 (96-Core)", "isa": "avx2" }),
        model: "random-bert-mini".to_owned(),
        threads: 2,
        pairs: "pairs.jsonl".to_owned(),
        load: None,
        measured: vec![
            measured("groundline", &[1.0, 9.0, 2.0], Some(100.0)),
            measured("onnxruntime", &[4.0, 4.0, 4.0], None),
        ],
        own: 1,
        difference: 1e-5,
        peak: Some(200.0),
    }
}

#[test]
fn one_slow_round_does_not_change_the_figure() {
    let report = report();
    assert_eq!(report.measured[0].median(Round::pairs_per_second), 50.0);
    assert_eq!(report.ratio(&report.measured[1]), 2.0);
    assert_eq!(report.gemm_gflops(), 50.0);
}

#[test]
fn the_table_names_the_machine_the_ratio_and_the_share_of_the_peak() {
    let table = report().table();
    assert!(table.contains("random-bert-mini: AMD EPYC") && table.contains("avx2"), "{table}");
    assert!(table.contains("2.00") && table.contains("50 of 200 GFLOP/s (25 %"), "{table}");
    assert!(table.contains("packed") && table.contains("16"), "{table}");
}

#[test]
fn a_result_file_is_named_by_day_processor_and_model() {
    let folder = std::env::temp_dir().join(format!("groundline-bench-{}", std::process::id()));
    let path = report().write(&folder).unwrap();
    assert_eq!(path, "benches/results/2026-11-29-amd-epyc-9r14-96-core-avx2-random-bert-mini.json");
    let written: Value = serde_json::from_str(&std::fs::read_to_string(folder.join(&path)).unwrap()).unwrap();
    assert_eq!(written["contenders"][1]["ours_divided_by_this"], 2.0);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn short_formats_are_divided_by_every_peer_and_say_how_often_they_agree() {
    let mut report = report();
    report.measured.insert(1, Measured { agreement: Some(0.995), ..measured("int8", &[0.5], None) });
    report.own = 2;
    let table = report.table();
    assert!(table.contains("int8: 8.00 × onnxruntime; 99.50 % of the decisions as in f32"), "{table}");
    assert_eq!(report.json()["short_formats_divided_by"]["int8"]["onnxruntime"], 8.0);
    let (ours, theirs) = ([vec![0.0, 1.0], vec![2.0, 1.0]], [vec![0.5, 0.9], vec![1.0, 1.5]]);
    assert_eq!(agreement(&ours, &theirs), 0.5);
}

#[test]
fn logits_are_compared_pair_by_pair() {
    let ours = logits(&json!({ "logits": [[0.0, 1.0], [2.0, 3.0]] })).unwrap();
    let theirs = logits(&json!({ "logits": [[0.0, 1.5], [2.0, 2.75]] })).unwrap();
    assert_eq!(largest_difference(&ours, &theirs).unwrap(), 0.5);
    assert!(largest_difference(&ours, &theirs[..1]).is_err());
    assert!(largest_difference(&[], &[]).is_err());
}

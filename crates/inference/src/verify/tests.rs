use super::*;
use crate::cpu::Isa;
use crate::model::LoadOptions;
use crate::testing::{GOLDEN_CHECKPOINTS, copy_of, golden_folder, mini_folder};
use std::path::Path;

fn verify(folder: &Path, isa: Isa) -> VerifyReport {
    let options = LoadOptions { isa: Some(isa), ..LoadOptions::default() };
    Model::load(folder, &options).unwrap().verify().unwrap()
}

#[test]
fn every_golden_checkpoint_agrees_with_transformers_on_every_instruction_set() {
    for isa in Isa::available() {
        for name in GOLDEN_CHECKPOINTS {
            let report = verify(&golden_folder(name), isa);
            assert!(report.has_golden && report.has_passed(), "{name} on {isa}: {report:?}");
            let cases: Vec<_> = report.comparisons.iter().map(|found| (found.what, found.cases)).collect();
            assert_eq!(cases, [("nli logits", 8), ("mean hidden", 8)]);
        }
    }
}

/// Far below the tolerance of 1e-3: both sides compute in f32, so that all there is to differ is rounding over six layers.
const MINI_TOLERANCE: f32 = 1e-4;

#[test]
fn groundline_mini_agrees_with_transformers_on_every_instruction_set() {
    let best = Isa::choose(None).unwrap();
    for isa in Isa::available() {
        let options = LoadOptions { isa: Some(isa), ..LoadOptions::default() };
        let model = Model::load(&mini_folder(), &options).unwrap();
        let bytes = std::fs::read(mini_folder().join("golden.json")).unwrap();
        let mut golden = Golden::parse(&bytes).unwrap();
        assert_eq!(golden.cases.len(), 54);
        // The slower instruction sets answer the shorter half, so that the test stays short.
        golden.cases.retain(|case| isa == best || case.tokens.unwrap() < 100);
        let expected = golden.cases.len();
        assert!(expected >= 25);
        let report = model.verify_against(&golden).unwrap();
        assert_eq!(report.token_mismatches, 0);
        let cases: Vec<_> = report.comparisons.iter().map(|found| (found.what, found.cases)).collect();
        assert_eq!(cases, [("nli logits", expected), ("support logits", expected), ("embeddings", 4)]);
        for found in &report.comparisons {
            assert!(found.largest_difference < MINI_TOLERANCE, "{isa}: {found:?}");
        }
    }
}

#[test]
fn a_model_without_reference_results_says_so() {
    let folder = copy_of(&golden_folder("deberta-v3-like"));
    std::fs::remove_file(folder.path().join("golden.json")).unwrap();
    let report = verify(folder.path(), Isa::Portable);
    assert!(!report.has_golden && report.comparisons.is_empty());
}

#[test]
fn other_weights_or_tokens_than_the_reference_had_fail() {
    let folder = copy_of(&golden_folder("deberta-v3-like"));
    let path = folder.path().join("golden.json");
    let mut golden: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    golden["cases"][0]["logits"][1] = 9.0.into();
    golden["cases"][1]["input_ids"][3] = 7.into();
    golden["cases"][2]["support_logits"] = serde_json::json!([0.0, 0.0]);
    std::fs::write(&path, golden.to_string()).unwrap();
    let report = verify(folder.path(), Isa::Portable);
    assert!(!report.has_passed());
    assert_eq!(report.token_mismatches, 1);
    assert!(report.comparisons[0].largest_difference > 1.0);
    assert_eq!(report.comparisons[1].largest_difference, f32::INFINITY);
}

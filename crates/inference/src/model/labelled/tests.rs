use crate::engine::{Encoded, Engine};
use crate::model::{LoadOptions, Model};
use crate::model_set::ModelSet;
use crate::testing::{copy_of, golden_folder};
use groundline_types::{Code, Head, Preset, Problem, Score, TokenScore, Work};
use std::path::Path;
use std::sync::Arc;

fn options() -> LoadOptions {
    LoadOptions { preset: Some(Preset::Lettucedetect), threads: Some(1), ..LoadOptions::default() }
}

fn load() -> Model {
    Model::load(&golden_folder("modernbert-token"), &options()).unwrap()
}

fn tokens_work(context: &str, text: &str, head: Head) -> Work {
    Work::Tokens { context: context.into(), text: text.into(), head }
}

fn encode(model: &dyn Engine, context: &str, text: &str, head: Head) -> Encoded {
    model.encode(&tokens_work(context, text, head)).unwrap()
}

fn scores(score: &Result<Score, Problem>) -> Vec<TokenScore> {
    score.as_ref().unwrap().tokens().unwrap().to_vec()
}

fn edit_config(folder: &Path, change: impl FnOnce(&mut serde_json::Value)) {
    let path = folder.join("config.json");
    let mut config = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut config);
    std::fs::write(&path, config.to_string()).unwrap();
}

#[test]
fn every_token_of_the_text_has_the_reference_probability_of_the_second_label() {
    let model = load();
    let bytes = std::fs::read(golden_folder("modernbert-token").join("golden.json")).unwrap();
    let golden: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let mut compared = 0;
    for case in golden["cases"].as_array().unwrap() {
        let text = |key: &str| case[key].as_str().unwrap().to_owned();
        let Ok(encoded) = model.encode(&tokens_work(&text("premise"), &text("hypothesis"), Head::Nli)) else {
            continue;
        };
        let ids: Vec<u32> = serde_json::from_value(case["input_ids"].clone()).unwrap();
        if ids != encoded.ids {
            // The reference was cut.
            continue;
        }
        let logits: Vec<[f32; 2]> = serde_json::from_value(case["logits"].clone()).unwrap();
        let found = scores(&model.run(std::slice::from_ref(&encoded))[0]);
        assert_eq!(found.len(), encoded.asked.len());
        for (asked, found) in encoded.asked.iter().zip(&found) {
            // The reference has the first tokens alone.
            let Some([supported, hallucinated]) = logits.get(asked.index as usize).copied() else { break };
            let expected = 1.0 / (1.0 + (supported - hallucinated).exp());
            assert!((found.hallucination_probability - expected).abs() < 1e-3);
            compared += 1;
        }
    }
    assert!(compared > 3, "{compared} tokens were compared");
}

#[test]
fn places_are_bytes_of_the_text_and_each_repeated_word_has_its_own() {
    let model = load();
    let text = "Rain 1903 and 1903, 東京 🙂 rain.";
    for context in ["", "Rain fell in Paris."] {
        let encoded = encode(&model, context, text, Head::Nli);
        let mut covered = vec![false; text.len()];
        let mut last = 0;
        for asked in &encoded.asked {
            let (start, end) = (asked.start as usize, asked.end as usize);
            assert!(start >= last && start < end && end <= text.len(), "{asked:?}");
            last = start;
            covered[start..end].fill(true);
        }
        for (at, c) in text.char_indices().filter(|(_, c)| !c.is_whitespace()) {
            assert!(covered[at], "{c} has no token");
        }
        let found = scores(&model.run(std::slice::from_ref(&encoded))[0]);
        let places: Vec<(u32, u32)> = found.iter().map(|token| (token.start, token.end)).collect();
        let asked: Vec<(u32, u32)> = encoded.asked.iter().map(|asked| (asked.start, asked.end)).collect();
        assert_eq!(places, asked);
    }
}

#[test]
fn in_a_set_its_work_goes_to_it_in_any_mixture_and_pairs_do_not() {
    let primary = Model::load(&golden_folder("deberta-v3-like"), &LoadOptions::default()).unwrap();
    let set =
        ModelSet::new(Arc::new(primary), vec![(Preset::Lettucedetect, Arc::new(load()) as Arc<dyn Engine>)]);
    let head = Head::Learned(Preset::Lettucedetect);
    let pair = |head| Work::Pair { premise: "Rain fell.".into(), hypothesis: "It rained.".into(), head };
    let batch = [
        encode(&set, "Rain fell.", "It rained.", head),
        set.encode(&pair(Head::Nli)).unwrap(),
        encode(&set, "Rain fell in Paris.", "It rained a lot.", head),
    ];
    let answers = set.run(&batch);
    assert_eq!(answers[1].as_ref().unwrap().logits().unwrap().len(), 3);
    let alone = load();
    let expected = encode(&alone, "Rain fell in Paris.", "It rained a lot.", Head::Support);
    assert_eq!(scores(&answers[2]), scores(&alone.run(&[expected])[0]));
    assert_ne!(scores(&answers[0]), scores(&answers[2]));
    let problem = set.encode(&pair(head)).unwrap_err();
    assert_eq!(problem.code, Code::HEAD_MISSING);
    let problem = set.encode(&tokens_work("a", "b", Head::Learned(Preset::Factcc))).unwrap_err();
    assert!(problem.code == Code::HEAD_MISSING && problem.message.contains("[models.factcc]"), "{problem}");
}

#[test]
fn a_model_without_a_head_for_tokens_refuses_to_label_them() {
    let model = Model::load(&golden_folder("deberta-v3-like"), &LoadOptions::default()).unwrap();
    for head in [Head::Nli, Head::Support, Head::Learned(Preset::Lettucedetect)] {
        let problem = model.encode(&tokens_work("a", "b", head)).unwrap_err();
        assert_eq!(problem.code, Code::HEAD_MISSING, "{problem}");
    }
    assert!(!load().facts().has_support_head);
}

#[test]
fn a_checkpoint_that_labels_whole_texts_is_refused_under_the_preset() {
    let refused = |folder: &Path| {
        let problem = Model::load(folder, &options()).unwrap_err();
        assert_eq!(problem.code, Code::MODEL_UNSUPPORTED, "{problem}");
        assert!(problem.message.contains("ForTokenClassification"), "{problem}");
    };
    refused(&golden_folder("bert"));
    let folder = copy_of(&golden_folder("modernbert-token"));
    edit_config(folder.path(), |config| {
        config["architectures"] = serde_json::json!(["ModernBertForSequenceClassification"]);
    });
    refused(folder.path());
}

#[test]
fn a_text_and_a_context_that_are_too_long_together_are_refused_and_not_cut() {
    let problem = load().encode(&tokens_work(&"word ".repeat(200), "b", Head::Nli)).unwrap_err();
    assert_eq!(problem.code, Code::TEXT_TOO_LONG);
}

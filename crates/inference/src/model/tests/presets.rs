//! Learned detectors: what is put before each, and which of its outputs means support.

use super::*;
use groundline_types::PRESETS;

fn with_preset(name: &str, preset: Preset) -> LoadOptions {
    LoadOptions { preset: Some(preset), name: Some(name.to_owned()), ..LoadOptions::default() }
}

fn preset_model(checkpoint: &str, preset: Preset) -> Model {
    Model::load(&golden_folder(checkpoint), &with_preset(checkpoint, preset)).unwrap()
}

fn support(model: &Model, premise: &str, hypothesis: &str, head: Head) -> f32 {
    let encoded = model.encode(&pair(premise, hypothesis, head)).unwrap();
    let logits = numbers(&model.run(&[encoded])[0]);
    assert_eq!(logits.len(), 2, "not supported, supported");
    1.0 / (1.0 + (logits[0] - logits[1]).exp())
}

/// The first pair of a golden checkpoint with its logits.
fn first_case(checkpoint: &str) -> (String, String, Vec<f32>) {
    let bytes = std::fs::read(golden_folder(checkpoint).join("golden.json")).unwrap();
    let golden: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let case = &golden["cases"][0];
    let text = |key: &str| case[key].as_str().unwrap().to_owned();
    (text("premise"), text("hypothesis"), serde_json::from_value(case["logits"].clone()).unwrap())
}

fn softmax(logits: &[f32], label: usize) -> f32 {
    logits[label].exp() / logits.iter().map(|logit| logit.exp()).sum::<f32>()
}

#[test]
fn factcc_calls_its_first_label_supported_and_alignscore_the_first_of_three() {
    for (checkpoint, preset) in [("bert", Preset::Factcc), ("roberta", Preset::Alignscore)] {
        let model = preset_model(checkpoint, preset);
        let (premise, hypothesis, logits) = first_case(checkpoint);
        for head in [Head::Nli, Head::Support] {
            let found = support(&model, &premise, &hypothesis, head);
            assert!((found - softmax(&logits, 0)).abs() < 1e-3, "{checkpoint}: {found}");
        }
        let facts = model.facts();
        assert_eq!((facts.labels.count, facts.labels.entailment, facts.has_support_head), (2, 1, true));
    }
}

#[test]
fn a_t5_answers_with_the_first_tokens_of_its_words() {
    let model = preset_model("t5-gated", Preset::True);
    let found = support(&model, "Rain fell in Paris.", "It rained.", Head::Support);
    assert!(found > 0.0 && found < 1.0);
    let text = "premise: Rain fell in Paris. hypothesis: It rained.";
    let whole = model.tokenizer.encode_text(text).unwrap();
    let pair = model.encode(&pair("Rain fell in Paris.", "It rained.", Head::Support)).unwrap();
    assert_eq!(pair.ids, whole.ids);
    let without = Model::load(&golden_folder("t5-gated"), &LoadOptions::default()).unwrap_err();
    assert_eq!(without.code, Code::MODEL_UNSUPPORTED);
    assert!(without.message.contains("minicheck-flan-t5"), "{without}");
}

#[test]
fn minicheck_reads_source_one_separator_and_claim() {
    let tokens = |checkpoint: &str, preset: Preset| {
        let model = preset_model(checkpoint, preset);
        let alone = |text: &str| model.tokenizer.encode_text(text).unwrap().ids;
        let pair = model.encode(&pair("Rain fell.", "It rained.", Head::Support)).unwrap();
        assert!(pair.type_ids.iter().all(|&kind| kind == 0));
        (pair.ids, alone("Rain fell."), alone("predict: Rain fell."), alone("It rained."))
    };
    let (ids, source, _, claim) = tokens("deberta-v3-small-buckets", Preset::MinicheckDeberta);
    assert_eq!(ids, [&source[..], &claim[1..]].concat(), "[CLS] source [SEP] claim [SEP]");
    let (ids, _, source, claim) = tokens("t5-gated", Preset::MinicheckFlanT5);
    assert_eq!(ids, [source, claim].concat(), "predict: source </s> claim </s>");
    assert_eq!(preset_model("deberta-v3-small-buckets", Preset::MinicheckDeberta).facts().max_tokens, 2048);
}

#[test]
fn hhem_reads_its_prompt_after_a_padding_token() {
    let model = preset_model("t5-token", Preset::Hhem);
    let encoded = model.encode(&pair("Rain fell.", "It rained.", Head::Support)).unwrap();
    let prompt = "Determine if the hypothesis is true given the premise?\n\nPremise: Rain fell.\n\nHypothesis: It rained.";
    assert_eq!(encoded.ids[0], 0);
    assert_eq!(encoded.ids[1..], model.tokenizer.encode_text(prompt).unwrap().ids);
    support(&model, "Rain fell.", "It rained.", Head::Nli);
}

#[test]
fn a_claim_is_never_cut_away() {
    for (checkpoint, preset) in
        [("t5-gated", Preset::MinicheckFlanT5), ("t5-token", Preset::Hhem), ("t5-gated", Preset::True)]
    {
        let model = preset_model(checkpoint, preset);
        let (long, claim) = ("word ".repeat(2500), "The claim stands at the end.");
        let problem = model.encode(&pair(&long, claim, Head::Support)).unwrap_err();
        assert_eq!(problem.code, Code::TEXT_TOO_LONG, "{preset:?}");
        let cut = model.tokenizer.encode_pair_cut(&long, claim, Head::Support).unwrap();
        let end = model.tokenizer.encode_text(claim).unwrap().ids;
        assert!(cut.ids.len() <= model.facts().max_tokens);
        // The first token may join what stands before it.
        assert!(cut.ids.ends_with(&end[1..]), "{preset:?}");
        let problem = model.tokenizer.encode_pair_cut("short", &long, Head::Support).unwrap_err();
        assert_eq!(problem.code, Code::TEXT_TOO_LONG, "{preset:?}");
    }
}

#[test]
fn the_tokens_around_a_pair_are_never_more_than_planned() {
    for (checkpoint, preset) in [
        ("bert", Preset::Factcc),
        ("deberta-v3-small-buckets", Preset::MinicheckDeberta),
        ("t5-gated", Preset::MinicheckFlanT5),
        ("t5-gated", Preset::True),
        ("t5-token", Preset::Hhem),
    ] {
        let model = preset_model(checkpoint, preset);
        let facts = model.facts();
        for (premise, claim) in
            [("", ""), ("Rain fell in Paris.", "It rained."), ("x", " y "), ("1903", "1903")]
        {
            let count = |text: &str| facts.counter.count_tokens(text);
            let encoded = model.encode(&pair(premise, claim, Head::Support)).unwrap();
            assert!(
                encoded.ids.len() <= count(premise) + count(claim) + facts.pair_overhead_tokens,
                "{preset:?} {premise:?} {claim:?}"
            );
        }
    }
}

#[test]
fn a_single_output_is_the_logit_of_support() {
    let folder = copy_of(&golden_folder("bert"));
    refusals::edit(folder.path(), |tensors| {
        for name in ["classifier.weight", "classifier.bias"] {
            let (_, shape, bytes) = tensors.get_mut(name).unwrap();
            bytes.truncate(bytes.len() / 2);
            shape[0] = 1;
        }
    });
    refusals::change_config(folder.path(), |config| {
        config["id2label"] = serde_json::json!({"0": "LABEL_0"});
    });
    let model = Model::load(folder.path(), &LoadOptions::default()).unwrap();
    let (premise, hypothesis, logits) = first_case("bert");
    let found = support(&model, &premise, &hypothesis, Head::Nli);
    assert!((found - 1.0 / (1.0 + (-logits[0]).exp())).abs() < 1e-3, "{found}");
}

#[test]
fn a_model_folder_names_its_own_preset() {
    let folder = copy_of(&golden_folder("bert"));
    let write = |text: &str| std::fs::write(folder.path().join("groundline.json"), text).unwrap();
    write(r#"{"preset": "factcc"}"#);
    assert!(Model::load(folder.path(), &LoadOptions::default()).unwrap().facts().has_support_head);
    write(r#"{"preset": "fact-cc"}"#);
    let problem = Model::load(folder.path(), &LoadOptions::default()).unwrap_err();
    assert_eq!(problem.code, Code::MODEL_UNSUPPORTED);
    assert!(PRESETS.iter().all(|info| problem.message.contains(info.name)), "{problem}");
}

#[test]
fn a_checkpoint_with_another_number_of_outputs_than_its_preset_is_refused() {
    let options = with_preset("roberta", Preset::MinicheckRoberta);
    let problem = Model::load(&golden_folder("roberta"), &options).unwrap_err();
    assert_eq!(problem.code, Code::MODEL_UNSUPPORTED);
    assert!(problem.message.contains("3 outputs") && problem.message.contains("reads 2"), "{problem}");
}

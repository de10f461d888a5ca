use super::*;
use crate::cpu::Isa;
use crate::testing::{GOLDEN_CHECKPOINTS, copy_of, golden_folder, mini_folder};

mod presets;
mod refusals;

fn load(folder: &Path) -> Model {
    Model::load(folder, &LoadOptions::default()).unwrap()
}

fn pair(premise: &str, hypothesis: &str, head: Head) -> Work {
    Work::Pair { premise: premise.into(), hypothesis: hypothesis.into(), head }
}

/// Pairs, support pairs and embeddings of many lengths.
fn mixed_work() -> Vec<Work> {
    let sentences = [
        "Marie Curie was born in Warsaw in 1867.",
        "She won the Nobel Prize in Physics in 1903 and in Chemistry in 1911.",
        "",
        "Tokyo 🙂 is the capital of Japan, and 東京 is its name.",
        "Short.",
    ];
    let long = sentences.join(" ").repeat(2);
    let mut work = Vec::new();
    for premise in sentences.iter().copied().chain([long.as_str()]) {
        for hypothesis in sentences {
            work.push(pair(premise, hypothesis, Head::Nli));
            work.push(pair(premise, hypothesis, Head::Support));
        }
        work.push(Work::Embed { text: premise.into() });
    }
    work
}

fn numbers(score: &Result<Score, Problem>) -> Vec<f32> {
    let score = score.as_ref().unwrap();
    score.logits().or(score.embedding()).unwrap().to_vec()
}

#[test]
fn results_do_not_depend_on_how_requests_were_batched() {
    let model = load(&mini_folder());
    let batch: Vec<Encoded> = mixed_work().iter().map(|work| model.encode(work).unwrap()).collect();
    let together: Vec<Vec<f32>> = model.run(&batch).iter().map(numbers).collect();
    for (item, expected) in batch.iter().zip(&together) {
        let alone = numbers(&model.run(std::slice::from_ref(item))[0]);
        assert_eq!(&alone, expected, "alone, {} tokens", item.ids.len());
    }
    // A fixed shuffle: 29 has no factor in common with the number of items.
    let order: Vec<usize> = (0..batch.len()).map(|place| place * 29 % batch.len()).collect();
    let mut seen = order.clone();
    seen.sort_unstable();
    assert_eq!(seen, (0..batch.len()).collect::<Vec<_>>());
    for chunk in order.chunks(7) {
        let shuffled: Vec<Encoded> = chunk.iter().map(|&index| batch[index].clone()).collect();
        for (&index, score) in chunk.iter().zip(model.run(&shuffled)) {
            assert_eq!(numbers(&score), together[index]);
        }
    }
}

#[test]
fn embeddings_have_length_one_and_equal_texts_are_close() {
    let model = load(&mini_folder());
    let embed = |text: &str| {
        let encoded = model.encode(&Work::Embed { text: text.into() }).unwrap();
        numbers(&model.run(&[encoded])[0])
    };
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
    let (born, birth) =
        (embed("Marie Curie was born in Warsaw."), embed("Warsaw is where Marie Curie was born."));
    let rain = embed("It rained all week in the valley.");
    assert!((dot(&born, &born) - 1.0).abs() < 1e-5);
    assert!(dot(&born, &birth) > dot(&born, &rain) + 0.3);
}

#[test]
fn facts_and_description_say_what_the_model_is() {
    let model = load(&mini_folder());
    let facts = model.facts();
    assert_eq!(facts.id.name, "groundline-mini");
    assert_eq!(facts.id.revision.len(), 16);
    assert!(facts.id.revision.chars().all(|digit| digit.is_ascii_hexdigit()));
    assert_eq!((facts.max_tokens, facts.window_tokens, facts.pair_overhead_tokens), (512, 96, 3));
    assert_eq!((facts.labels.entailment, facts.labels.contradiction), (0, Some(2)));
    assert!(facts.has_support_head);
    assert_eq!(facts.counter.count_tokens("Marie Curie was born in Warsaw."), 8);
    let description = model.describe();
    assert_eq!((description.layers, description.hidden_size), (6, 384));
    assert_eq!(description.parameters, 23_060_357);
    assert_eq!(description.dtypes, ["F16"]);
    assert_eq!(description.heads, [Head::Nli, Head::Support]);
    let names: Vec<&str> = description.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(
        names,
        ["config.json", "groundline.json", "model.safetensors", "support_head.safetensors", "tokenizer.json"]
    );
    assert!(description.engine.starts_with("cpu-") && description.engine.ends_with("-f32"));
    assert_eq!(model.name(), description.engine);
}

#[test]
fn a_folder_without_groundline_json_has_defaults() {
    let model = load(&golden_folder("deberta-v3-like"));
    assert_eq!(model.facts().id.name, "deberta-v3-like");
    assert_eq!(model.facts().window_tokens, DEFAULT_WINDOW_TOKENS);
    assert!(!model.facts().has_support_head);
    let problem = model.encode(&pair("a", "b", Head::Support)).unwrap_err();
    assert_eq!(problem.code, Code::HEAD_MISSING);
}

#[test]
fn two_label_models_have_no_contradiction() {
    let labels = load(&golden_folder("deberta-v3-small-buckets")).facts().labels;
    assert_eq!((labels.count, labels.entailment, labels.contradiction), (2, 0, None));
}

#[test]
fn every_file_that_scores_depend_on_changes_the_revision() {
    let folder = copy_of(&golden_folder("deberta-v3-like"));
    let revision = || load(folder.path()).facts().id.revision.clone();
    let first = revision();
    assert_eq!(first, revision());
    let mut seen = vec![first];
    std::fs::write(folder.path().join("groundline.json"), r#"{"window_tokens": 64}"#).unwrap();
    seen.push(revision());
    for name in ["config.json", "tokenizer.json"] {
        let mut text = std::fs::read_to_string(folder.path().join(name)).unwrap();
        text.push('\n');
        std::fs::write(folder.path().join(name), text).unwrap();
        seen.push(revision());
    }
    let path = folder.path().join("model.safetensors");
    let mut weights = std::fs::read(&path).unwrap();
    *weights.last_mut().unwrap() ^= 1;
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, weights).unwrap();
    seen.push(revision());
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 5);
}

#[test]
fn options_win_over_the_folder() {
    let options = LoadOptions {
        threads: Some(1),
        isa: Some(Isa::Portable),
        precision: PrecisionChoice::F32,
        device: DeviceChoice::Cpu,
        window_tokens: Some(120),
        name: Some("mine".into()),
        labels: Some(vec!["contradiction".into(), "neutral".into(), "entailment".into()]),
        preset: None,
    };
    let model = Model::load(&golden_folder("deberta-v3-like"), &options).unwrap();
    assert_eq!((model.facts().id.name.as_str(), model.facts().window_tokens), ("mine", 120));
    assert_eq!(model.facts().labels.entailment, 2);
    assert_eq!(model.name(), "cpu-portable-f32");
}

#[test]
fn a_text_longer_than_the_model_reads_is_refused_and_not_cut() {
    let model = load(&mini_folder());
    let long = "word ".repeat(600);
    for work in [pair(&long, "Short.", Head::Nli), Work::Embed { text: long.as_str().into() }] {
        let problem = model.encode(&work).unwrap_err();
        assert_eq!(problem.code, Code::TEXT_TOO_LONG);
        assert!(problem.message.contains("60") && problem.message.contains("512"), "{}", problem.message);
    }
}

#[test]
fn a_number_that_is_not_finite_fails_its_item_alone() {
    let folder = copy_of(&golden_folder("deberta-v3-like"));
    let poisoned = 700_u32;
    refusals::edit(folder.path(), |tensors| {
        let (_, shape, bytes) = tensors.get_mut("deberta.embeddings.word_embeddings.weight").unwrap();
        let row = shape[1] * 4;
        bytes[poisoned as usize * row..][..4].copy_from_slice(&f32::NAN.to_le_bytes());
    });
    let model = load(folder.path());
    let sequence = |ids: &[u32]| Encoded {
        ids: ids.to_vec(),
        type_ids: vec![0; ids.len()],
        task: Task::Classify(Head::Nli),
        asked: Vec::new(),
    };
    let answers = model.run(&[sequence(&[1, 10, 2]), sequence(&[1, poisoned, 2]), sequence(&[1, 11, 2])]);
    assert!(answers[0].is_ok() && answers[2].is_ok());
    assert_eq!(answers[1].as_ref().unwrap_err().code, Code::NON_FINITE);
}

#[test]
fn a_sequence_of_another_model_fails_alone() {
    let model = load(&golden_folder("deberta-v3-like"));
    let own = model.encode(&pair("a", "b", Head::Nli)).unwrap();
    let foreign = Encoded { ids: vec![1, 30_000, 2], type_ids: vec![0; 3], ..own.clone() };
    let answers = model.run(&[foreign, own]);
    assert_eq!(answers[0].as_ref().unwrap_err().code, Code::INTERNAL);
    assert!(answers[1].is_ok());
}

#[test]
fn every_layout_loads_with_every_instruction_set() {
    for isa in Isa::available() {
        for name in GOLDEN_CHECKPOINTS {
            let options = LoadOptions { isa: Some(isa), ..LoadOptions::default() };
            let model = Model::load(&golden_folder(name), &options).unwrap();
            assert!(model.batch_tokens() > 0);
        }
    }
}

#[test]
fn facts_read_without_an_engine_are_those_of_the_model() {
    let options =
        LoadOptions { window_tokens: Some(50), name: Some("other".into()), ..LoadOptions::default() };
    let (facts, model) =
        (read_facts(&mini_folder(), &options).unwrap(), Model::load(&mini_folder(), &options).unwrap());
    assert_eq!(format!("{facts:?}"), format!("{:?}", model.facts()));
    assert_eq!(facts.counter.count_tokens("a fact"), model.facts().counter.count_tokens("a fact"));
    let refused = read_facts(std::path::Path::new("/nonexistent"), &options).unwrap_err();
    assert_eq!(refused.code, Code::MODEL_NOT_FOUND);
}

use super::*;
use crate::engine::Engine;
use crate::model::LoadOptions;
use crate::testing::{copy_of, golden_folder, mini_folder};
use groundline_types::{Preset, Similarity, Work};

const TEXTS: [&str; 4] = [
    "Marie Curie was born in Warsaw in 1867.",
    "Warsaw is where Marie Curie was born.",
    "It rained all week in the valley.",
    "Tokyo 🙂 is the capital of Japan, and 東京 is its name.",
];

fn load(name: &str) -> Model {
    let preset = match name {
        "bert" => Some(Preset::Factcc),
        "t5-gated" => Some(Preset::True),
        "t5-token" => Some(Preset::Hhem),
        _ => None,
    };
    let labels =
        (name == "modernbert-token").then(|| ["entailment", "not_entailment"].map(String::from).to_vec());
    let options = LoadOptions { preset, labels, ..LoadOptions::default() };
    Model::load(&golden_folder(name), &options).unwrap()
}

fn mini() -> Model {
    Model::load(&mini_folder(), &LoadOptions::default()).unwrap()
}

fn encode(model: &Model, candidate: &str, reference: &str) -> Encoded {
    model.encode(&Work::Similarity { candidate: candidate.into(), reference: reference.into() }).unwrap()
}

fn run(model: &Model, batch: &[Encoded]) -> Vec<Similarity> {
    model.run(batch).into_iter().map(|score| score.unwrap().similarity().unwrap()).collect()
}

/// The last hidden states of a text, and how many markers stand before and behind it.
fn states(model: &Model, text: &str) -> (Vec<Vec<f64>>, usize) {
    let encoded = Encoded { task: Task::Hidden, ..model.encode_alone(text).unwrap() };
    let Output::Hidden(numbers) = model.encoder.run(&[encoded]).remove(0) else { panic!("no states") };
    let width = model.description.hidden_size;
    (
        numbers.chunks(width).map(|state| state.iter().map(|&number| f64::from(number)).collect()).collect(),
        width,
    )
}

/// Greedy matching by its definition, in f64.
fn by_definition(model: &Model, candidate: &str, reference: &str) -> (f64, f64) {
    let cosine = |a: &[f64], b: &[f64]| {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        dot(a, b) / (dot(a, a).sqrt() * dot(b, b).sqrt())
    };
    let (leading, trailing) = model.tokenizer.markers();
    let mean = |of: &[Vec<f64>], with: &[Vec<f64>]| {
        let content = &of[leading..of.len() - trailing];
        let best = |state: &Vec<f64>| {
            with.iter().map(|other| cosine(state, other)).fold(f64::NEG_INFINITY, |best, now| best.max(now))
        };
        content.iter().map(best).sum::<f64>() / content.len() as f64
    };
    let (candidate, reference) = (states(model, candidate).0, states(model, reference).0);
    (mean(&candidate, &reference), mean(&reference, &candidate))
}

#[test]
fn every_family_matches_tokens_by_the_definition() {
    let families =
        ["bert", "roberta", "deberta-v1", "deberta-v2-conv", "t5-gated", "t5-token", "modernbert-token"];
    for name in families {
        let model = load(name);
        for (candidate, reference) in [(TEXTS[0], TEXTS[1]), (TEXTS[2], TEXTS[3]), ("A", TEXTS[3])] {
            let found = run(&model, &[encode(&model, candidate, reference)])[0];
            let (precision, recall) = by_definition(&model, candidate, reference);
            for (found, wanted) in [(found.precision, precision), (found.recall, recall)] {
                assert!((f64::from(found) - wanted).abs() < 1e-4, "{name}: {found} is not {wanted}");
            }
        }
        let own = run(&model, &[encode(&model, TEXTS[0], TEXTS[0])])[0];
        assert!((own.f1() - 1.0).abs() < 1e-5, "{name}");
    }
}

#[test]
fn hidden_states_are_those_whose_mean_is_the_embedding() {
    let model = mini();
    let embed = model.encode(&Work::Embed { text: TEXTS[0].into() }).unwrap();
    let score = model.run(&[embed]).remove(0).unwrap();
    let (states, width) = states(&model, TEXTS[0]);
    let mean: Vec<f64> = (0..width).map(|at| states.iter().map(|state| state[at]).sum::<f64>()).collect();
    let length = mean.iter().map(|number| number * number).sum::<f64>().sqrt();
    for (found, wanted) in score.embedding().unwrap().iter().zip(&mean) {
        assert!((f64::from(*found) - wanted / length).abs() < 1e-5);
    }
}

#[test]
fn what_says_the_same_is_nearer_than_what_does_not() {
    let model = mini();
    let [near, far] = [TEXTS[1], TEXTS[2]].map(|text| run(&model, &[encode(&model, text, TEXTS[0])])[0].f1());
    assert!(near > far + 0.2, "{near} and {far}");
}

#[test]
fn results_do_not_depend_on_the_batch_nor_on_what_came_before() {
    let work = |model: &Model| -> Vec<Encoded> {
        let mut items = vec![model.encode(&Work::Embed { text: TEXTS[3].into() }).unwrap()];
        for candidate in TEXTS {
            items.extend(TEXTS.map(|reference| encode(model, candidate, reference)));
        }
        let pair = Work::Pair {
            premise: TEXTS[0].into(),
            hypothesis: TEXTS[1].into(),
            head: groundline_types::Head::Nli,
        };
        items.insert(7, model.encode(&pair).unwrap());
        items
    };
    let (warm, items) = (mini(), work(&mini()));
    let together = warm.run(&items);
    assert_eq!(warm.run(&items), together, "the second time all texts are remembered");
    for (item, wanted) in items.iter().zip(&together) {
        assert_eq!(&warm.run(std::slice::from_ref(item))[0], wanted);
    }
    let cold = mini();
    for (item, wanted) in items.iter().zip(&together).rev() {
        assert_eq!(&cold.run(std::slice::from_ref(item))[0], wanted);
    }
    assert!(matches!(together[0], Ok(Score::Embedding(_))) && matches!(together[7], Ok(Score::Logits(_))));
}

#[test]
fn a_text_without_a_token_matches_nothing_and_white_space_around_a_text_is_no_matter() {
    for model in [mini(), load("roberta")] {
        for (candidate, reference) in [("", TEXTS[0]), (TEXTS[0], " \n"), ("", "")] {
            let found = run(&model, &[encode(&model, candidate, reference)])[0];
            assert_eq!(found, Similarity { precision: 0.0, recall: 0.0 });
        }
        let padded = format!("\n  {} ", TEXTS[0]);
        assert_eq!(encode(&model, &padded, TEXTS[1]), encode(&model, TEXTS[0], TEXTS[1]));
    }
}

#[test]
fn the_first_word_of_a_text_has_the_tokens_of_one_after_a_space_where_these_differ() {
    let model = load("roberta");
    let item = encode(&model, "born", "born");
    let [first, second] = texts(&item).unwrap();
    assert_eq!(first, second);
    assert_eq!(first, model.tokenizer.encode_text(" born").unwrap().ids);
    assert_ne!(first, model.tokenizer.encode_text("born").unwrap().ids);
}

#[test]
fn a_text_that_is_too_long_is_refused_and_not_cut() {
    let model = mini();
    let long = "word ".repeat(600);
    for (candidate, reference) in [(&*long, "Short."), ("Short.", &*long)] {
        let work = Work::Similarity { candidate: candidate.into(), reference: reference.into() };
        assert_eq!(model.encode(&work).unwrap_err().code, Code::TEXT_TOO_LONG);
    }
    let half = "word ".repeat(500);
    assert!(encode(&model, &half, &half).ids.len() > model.facts.max_tokens, "each is read alone");
}

#[test]
fn a_text_of_another_model_fails_its_pairs_alone() {
    let model = mini();
    let mut foreign = encode(&model, TEXTS[0], TEXTS[1]);
    foreign.ids[1] = u32::MAX;
    let cut = Encoded { task: Task::Similarity { second: 9999 }, ..encode(&model, TEXTS[0], TEXTS[1]) };
    let answers = model.run(&[foreign, cut, encode(&model, TEXTS[0], TEXTS[1])]);
    assert_eq!(answers[0].as_ref().unwrap_err().code, Code::INTERNAL);
    assert_eq!(answers[1].as_ref().unwrap_err().code, Code::INTERNAL);
    assert!(answers[2].is_ok());
}

#[test]
fn a_baseline_is_read_with_the_model_it_was_made_with_and_changes_no_revision() {
    use crate::similarity::SimilarityBaseline;
    let folder = copy_of(&golden_folder("deberta-v3-like"));
    let load = || Model::load(folder.path(), &LoadOptions::default()).unwrap();
    let without = load();
    assert_eq!(without.facts.similarity_baseline, None);
    let revision = without.facts.id.revision;
    let mut baseline = SimilarityBaseline {
        revision: revision.clone(),
        f1: 0.5,
        pairs: 1,
        sentences: 2,
        seed: 1,
        text: "a text".to_owned(),
    };
    baseline.write(folder.path()).unwrap();
    let with = load();
    assert_eq!((with.facts.similarity_baseline, &with.facts.id.revision), (Some(0.5), &revision));
    baseline.revision = "0".repeat(16);
    baseline.write(folder.path()).unwrap();
    assert_eq!(load().facts.similarity_baseline, None);
}

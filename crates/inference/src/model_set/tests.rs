use super::*;
use crate::model::{LoadOptions, Model};
use crate::testing::golden_folder;

fn model(name: &str, preset: Option<Preset>) -> Arc<dyn Engine> {
    let options = LoadOptions { preset, threads: Some(1), ..LoadOptions::default() };
    Arc::new(Model::load(&golden_folder(name), &options).unwrap())
}

fn pair(head: Head) -> Work {
    Work::Pair { premise: "Rain fell in Paris.".into(), hypothesis: "It rained.".into(), head }
}

fn set() -> ModelSet {
    let learned =
        [Preset::True, Preset::Factcc].map(|preset| (preset, model(checkpoint(preset), Some(preset))));
    ModelSet::new(model("deberta-v3-like", None), learned.to_vec())
}

fn checkpoint(preset: Preset) -> &'static str {
    if preset == Preset::True { "t5-gated" } else { "bert" }
}

fn numbers(score: &Result<Score, Problem>) -> Vec<f32> {
    score.as_ref().unwrap().logits().unwrap().to_vec()
}

#[test]
fn each_piece_of_work_is_answered_by_its_own_model_in_any_mixture() {
    let set = set();
    let heads = [
        Head::Learned(Preset::Factcc),
        Head::Nli,
        Head::Learned(Preset::True),
        Head::Learned(Preset::Factcc),
    ];
    let batch: Vec<Encoded> = heads.iter().map(|&head| set.encode(&pair(head)).unwrap()).collect();
    let together: Vec<Vec<f32>> = set.run(&batch).iter().map(numbers).collect();
    for (head, found) in heads.into_iter().zip(&together) {
        let alone = match head {
            Head::Learned(preset) => model(checkpoint(preset), Some(preset)),
            _ => model("deberta-v3-like", None),
        };
        let asked = if head == Head::Nli { Head::Nli } else { Head::Support };
        let encoded = alone.encode(&pair(asked)).unwrap();
        assert_eq!(found, &numbers(&alone.run(&[encoded])[0]), "{head:?}");
    }
    assert_eq!((together[0].len(), together[1].len(), together[2].len()), (2, 3, 2));
    assert_eq!(together[0], together[3]);
}

#[test]
fn a_set_has_a_revision_of_its_own_and_says_what_each_model_reads() {
    let (set, primary) = (set(), model("deberta-v3-like", None));
    assert_ne!(set.facts().id.revision, primary.facts().id.revision);
    assert_eq!(set.facts().id.name, primary.facts().id.name);
    let presets: Vec<Preset> = set.facts().learned.iter().map(|learned| learned.preset).collect();
    assert_eq!(presets, [Preset::Factcc, Preset::True], "in the order of presets");
    assert_eq!(set.facts().learned[0].id.name, "bert");
    assert_eq!(ModelSet::new(primary.clone(), Vec::new()).facts().id, primary.facts().id);
    let other = ModelSet::new(primary, vec![(Preset::Factcc, model("bert", Some(Preset::Factcc)))]);
    assert_ne!(other.facts().id.revision, set.facts().id.revision);
}

#[test]
fn work_for_a_detector_that_is_not_there_fails_alone() {
    let set = set();
    let problem = set.encode(&pair(Head::Learned(Preset::Hhem))).unwrap_err();
    assert_eq!(problem.code, Code::HEAD_MISSING);
    assert!(problem.message.contains("[models.hhem]"), "{problem}");
    let own = set.encode(&pair(Head::Nli)).unwrap();
    let foreign = Encoded { task: Task::Classify(Head::Learned(Preset::Hhem)), ..own.clone() };
    let answers = set.run(&[foreign, own]);
    assert_eq!(answers[0].as_ref().unwrap_err().code, Code::HEAD_MISSING);
    assert!(answers[1].is_ok());
    // A model alone has none beside it.
    let problem = model("bert", Some(Preset::Factcc)).encode(&pair(Head::Learned(Preset::Hhem))).unwrap_err();
    assert_eq!(problem.code, Code::HEAD_MISSING);
}

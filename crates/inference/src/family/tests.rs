//! Every family against reference results of its own golden checkpoint, and against itself in other batches.

use crate::cpu::{CpuEncoder, Isa, Output};
use crate::engine::{Encoded, Task};
use crate::family::Family;
use crate::testing::{encoder_of, golden_folder, open_any};
use crate::tokenizer::PairTokenizer;
use groundline_types::{Code, Head};
use serde::Deserialize;

/// What any number may differ from the reference's.
const TOLERANCE: f32 = 1e-3;

#[derive(Deserialize)]
struct Golden {
    max_length: usize,
    cases: Vec<Case>,
}

/// A pair with the logits of the whole text, or of its first tokens and its last one.
#[derive(Deserialize)]
struct Case {
    premise: String,
    hypothesis: String,
    input_ids: Vec<u32>,
    token_type_ids: Option<Vec<u8>>,
    logits: serde_json::Value,
    last: Option<Vec<f32>>,
    mean_hidden: Option<Vec<f32>>,
}

/// A golden checkpoint: what its head is asked, and how many answers of its vocabulary the reference gives.
struct Checkpoint {
    name: &'static str,
    task: Task,
    answers: u32,
}

const WHOLE: Task = Task::Classify(Head::Nli);
const TOKENS: Task = Task::Tokens(Head::Nli);

const CHECKPOINTS: [Checkpoint; 6] = [
    Checkpoint { name: "bert", task: WHOLE, answers: 0 },
    Checkpoint { name: "roberta", task: WHOLE, answers: 0 },
    Checkpoint { name: "deberta-v1", task: WHOLE, answers: 0 },
    Checkpoint { name: "t5-gated", task: WHOLE, answers: 16 },
    Checkpoint { name: "t5-token", task: TOKENS, answers: 0 },
    Checkpoint { name: "modernbert-token", task: TOKENS, answers: 0 },
];

struct Opened {
    golden: Golden,
    tokenizer: PairTokenizer,
    encoder: CpuEncoder,
}

impl Checkpoint {
    fn open(&self, isa: Isa, threads: usize, group_tokens: usize) -> Opened {
        let folder = golden_folder(self.name);
        let golden: Golden =
            serde_json::from_slice(&std::fs::read(folder.join("golden.json")).unwrap()).unwrap();
        let answers: Vec<u32> = (0..self.answers).collect();
        let (_, loaded, tokenizer) = open_any(&folder, &answers, golden.max_length);
        let encoder = encoder_of(&loaded, isa, threads, group_tokens);
        Opened { golden, tokenizer, encoder }
    }

    /// Every case as its own task, and as a text to embed.
    fn batch(&self, opened: &Opened) -> Vec<Encoded> {
        let encode = |case: &Case| {
            let pair = opened.tokenizer.encode_pair_cut(&case.premise, &case.hypothesis, Head::Nli).unwrap();
            [Encoded { task: self.task, ..pair.clone() }, Encoded { task: Task::Embed, ..pair }]
        };
        opened.golden.cases.iter().flat_map(encode).collect()
    }
}

fn numbers(output: &Output) -> &[f32] {
    match output {
        Output::Logits(numbers) | Output::Mean(numbers) | Output::TokenLogits(numbers) => numbers,
        other => panic!("no numbers but {other:?}"),
    }
}

#[track_caller]
fn assert_close(found: &[f32], wanted: &[f32], what: &str) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    for (found, wanted) in found.iter().zip(wanted) {
        assert!((found - wanted).abs() <= TOLERANCE, "{what}: {found} for {wanted}");
    }
}

/// Compares the answer to a case; returns how many numbers there were.
fn compare(case: &Case, output: &Output, what: &str) -> usize {
    if matches!(output, Output::TokenLogits(_)) {
        let rows: Vec<Vec<f32>> = serde_json::from_value(case.logits.clone()).unwrap();
        let last = case.last.as_ref().unwrap();
        let (found, labels) = (numbers(output), last.len());
        assert_eq!(found.len(), case.input_ids.len() * labels, "{what}: logits for every token");
        let wanted = rows.concat();
        assert_close(&found[..wanted.len()], &wanted, what);
        assert_close(&found[found.len() - labels..], last, what);
        return wanted.len() + labels;
    }
    let wanted: Vec<f32> = serde_json::from_value(case.logits.clone()).unwrap();
    assert_close(numbers(output), &wanted, what);
    wanted.len()
}

#[test]
fn every_family_agrees_with_its_reference_on_every_instruction_set() {
    for checkpoint in &CHECKPOINTS {
        for isa in Isa::available() {
            let opened = checkpoint.open(isa, 2, 256);
            let batch = checkpoint.batch(&opened);
            let outputs = opened.encoder.run(&batch);
            assert!(opened.golden.cases.len() >= 6, "{}", checkpoint.name);
            for ((case, pair), encoded) in
                opened.golden.cases.iter().zip(outputs.chunks_exact(2)).zip(batch.chunks_exact(2))
            {
                let what = format!("{} on {isa}, {} tokens", checkpoint.name, case.input_ids.len());
                assert_eq!(encoded[0].ids, case.input_ids, "{what}");
                if let Some(types) = &case.token_type_ids {
                    assert_eq!(&encoded[0].type_ids, types, "{what}");
                }
                assert!(compare(case, &pair[0], &what) >= 2);
                if let Some(mean) = &case.mean_hidden {
                    assert_close(&numbers(&pair[1])[..mean.len()], mean, &what);
                }
            }
        }
    }
}

#[test]
fn every_family_answers_alike_in_every_batch_to_the_last_bit() {
    for checkpoint in &CHECKPOINTS {
        for isa in Isa::available() {
            let opened = checkpoint.open(isa, 2, 300);
            let mut batch = checkpoint.batch(&opened);
            // A single answer about the whole text lets the last layer skip rows; the answer must not change.
            batch.extend(opened.golden.cases.iter().map(|case| {
                let pair =
                    opened.tokenizer.encode_pair_cut(&case.premise, &case.hypothesis, Head::Nli).unwrap();
                Encoded { task: WHOLE, ..pair }
            }));
            let together = opened.encoder.run(&batch);
            for (item, wanted) in batch.iter().zip(&together) {
                let alone = opened.encoder.run(std::slice::from_ref(item));
                assert_eq!(
                    &alone[0],
                    wanted,
                    "{} on {isa}, alone, {} tokens",
                    checkpoint.name,
                    item.ids.len()
                );
            }
            let (reversed, one_group) = (checkpoint.open(isa, 1, 100_000), batch.iter().rev().cloned());
            let mut again = reversed.encoder.run(&one_group.collect::<Vec<_>>());
            again.reverse();
            assert_eq!(again, together, "{} on {isa}, in one group", checkpoint.name);
        }
    }
}

#[test]
fn the_first_token_of_a_token_classifier_answers_for_the_whole_text() {
    let checkpoint = &CHECKPOINTS[4];
    let opened = checkpoint.open(Isa::Portable, 1, 512);
    for case in &opened.golden.cases {
        let pair = opened.tokenizer.encode_pair_cut(&case.premise, &case.hypothesis, Head::Nli).unwrap();
        let tokens = Encoded { task: TOKENS, ..pair.clone() };
        let outputs = opened.encoder.run(&[pair, tokens]);
        assert_eq!(numbers(&outputs[0]), &numbers(&outputs[1])[..2]);
    }
}

#[test]
fn a_sequence_longer_than_the_positions_of_a_checkpoint_is_refused() {
    for (name, longest) in [("bert", 0), ("roberta", 2)] {
        let folder = golden_folder(name);
        let (family, loaded, _) = open_any(&folder, &[], 512);
        let encoder = encoder_of(&loaded, Isa::Portable, 1, 512);
        let config: serde_json::Value =
            serde_json::from_slice(&std::fs::read(folder.join("config.json")).unwrap()).unwrap();
        let positions = config["max_position_embeddings"].as_u64().unwrap() as usize;
        assert_eq!(family.longest(), positions - longest, "{name}");
        let sequence = |length: usize| Encoded {
            ids: vec![5; length],
            type_ids: vec![0; length],
            task: WHOLE,
            asked: Vec::new(),
        };
        let outputs = encoder.run(&[sequence(family.longest()), sequence(family.longest() + 1)]);
        assert!(matches!(outputs[0], Output::Logits(_)), "{name}");
        assert_eq!(outputs[1], Output::Invalid, "{name}");
    }
}

#[test]
fn positions_that_begin_behind_the_end_of_their_table_are_refused() {
    for padding in ["511", "18446744073709551615"] {
        let config = format!(
            r#"{{"model_type": "roberta", "max_position_embeddings": 512, "pad_token_id": {padding}}}"#
        );
        let problem = Family::parse(config.as_bytes()).unwrap_err();
        assert_eq!(problem.code, Code::MODEL_CORRUPT, "{padding}: {problem}");
    }
}

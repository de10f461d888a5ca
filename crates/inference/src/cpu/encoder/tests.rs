use super::*;
use crate::cpu::tests::Random;
use crate::deberta::reference::Reference;
use crate::deberta::{
    Activation, ClassifierHead, ConvConfig, ConvWeights, LayerWeights, LinearWeights, NormWeights,
};
use crate::tensor::Tensor;
use groundline_types::Head;
use proptest::prelude::*;
use std::sync::LazyLock;

fn base() -> DebertaConfig {
    DebertaConfig {
        hidden_size: 64,
        embedding_size: 64,
        heads: 2,
        head_size: 32,
        intermediate_size: 112,
        layers: 3,
        vocab_size: 50,
        max_position_embeddings: 160,
        max_relative_positions: 160,
        position_buckets: Some(16),
        position_biased_input: false,
        type_vocab_size: 0,
        relative_attention: true,
        c2p: true,
        p2c: true,
        share_att_key: true,
        norm_rel_embeddings: true,
        conv: None,
        layer_norm_eps: 1e-7,
        hidden_act: Activation::Gelu,
        pooler_act: Activation::Gelu,
        label_names: Vec::new(),
        pad_token_id: 0,
    }
}

struct Maker(Random);

impl Maker {
    fn tensor(&mut self, shape: &[usize], size: f32) -> Tensor {
        let numbers: Vec<f32> = (0..shape.iter().product()).map(|_| self.0.number() * size).collect();
        Tensor::from_f32(&numbers, shape.to_vec()).unwrap()
    }

    fn linear(&mut self, outputs: usize, inputs: usize) -> LinearWeights {
        let size = 1.5 / (inputs as f32).sqrt();
        LinearWeights {
            weight: self.tensor(&[outputs, inputs], size),
            bias: Some(self.tensor(&[outputs], 0.2)),
        }
    }

    fn norm(&mut self, width: usize) -> NormWeights {
        let gain: Vec<f32> = (0..width).map(|_| 1.0 + 0.3 * self.0.number()).collect();
        NormWeights {
            weight: Tensor::from_f32(&gain, vec![width]).unwrap(),
            bias: self.tensor(&[width], 0.2),
        }
    }

    fn layer(&mut self, config: &DebertaConfig) -> LayerWeights {
        let (hidden, inner) = (config.hidden_size, config.heads * config.head_size);
        let separate = config.relative_attention && !config.share_att_key;
        LayerWeights {
            query: self.linear(inner, hidden),
            key: self.linear(inner, hidden),
            value: self.linear(inner, hidden),
            pos_key: (separate && config.c2p).then(|| self.linear(inner, hidden)),
            pos_query: (separate && config.p2c).then(|| self.linear(inner, hidden)),
            attention_output: self.linear(hidden, inner),
            attention_norm: self.norm(hidden),
            intermediate: self.linear(config.intermediate_size, hidden),
            output: self.linear(hidden, config.intermediate_size),
            output_norm: self.norm(hidden),
        }
    }

    fn head(&mut self, head: Head, activation: Activation, labels: usize, hidden: usize) -> ClassifierHead {
        ClassifierHead {
            head,
            dense: self.linear(hidden, hidden),
            activation,
            out: self.linear(labels, hidden),
        }
    }

    fn weights(config: &DebertaConfig) -> Weights {
        let mut make = Maker(Random::new(42));
        let (hidden, embedding) = (config.hidden_size, config.embedding_size);
        Weights {
            word_embeddings: make.tensor(&[config.vocab_size, embedding], 1.0),
            position_embeddings: config
                .position_biased_input
                .then(|| make.tensor(&[config.max_position_embeddings, embedding], 0.5)),
            token_type_embeddings: (config.type_vocab_size > 0)
                .then(|| make.tensor(&[config.type_vocab_size, embedding], 0.5)),
            embedding_projection: (hidden != embedding).then(|| make.tensor(&[hidden, embedding], 0.3)),
            embedding_norm: make.norm(hidden),
            rel_embeddings: config.relative_attention.then(|| make.tensor(&[2 * config.span(), hidden], 1.0)),
            rel_norm: config.norm_rel_embeddings.then(|| make.norm(hidden)),
            conv: config.conv.as_ref().map(|conv| ConvWeights {
                weight: make.tensor(&[hidden, hidden / conv.groups, conv.kernel_size], 0.2),
                bias: make.tensor(&[hidden], 0.2),
                norm: make.norm(hidden),
            }),
            layers: (0..config.layers).map(|_| make.layer(config)).collect(),
            heads: vec![
                make.head(Head::Nli, config.pooler_act, 3, hidden),
                make.head(Head::Support, Activation::Tanh, 1, hidden),
            ],
        }
    }
}

fn sequence(random: &mut Random, length: usize, task: Task) -> Encoded {
    Encoded {
        ids: (0..length).map(|_| random.below(50) as u32).collect(),
        type_ids: (0..length).map(|_| random.below(2) as u8).collect(),
        task,
        asked: Vec::new(),
    }
}

const TASKS: [Task; 3] = [Task::Classify(Head::Nli), Task::Embed, Task::Classify(Head::Support)];

fn mixed_batch(seed: u64, lengths: &[usize]) -> Vec<Encoded> {
    let mut random = Random::new(seed);
    lengths.iter().enumerate().map(|(i, &length)| sequence(&mut random, length, TASKS[i % 3])).collect()
}

fn encoder(config: &DebertaConfig, isa: Isa, threads: usize, group_tokens: usize) -> CpuEncoder {
    let options =
        CpuOptions { threads: Some(threads), isa: Some(isa), group_tokens, ..CpuOptions::default() };
    CpuEncoder::new(config, &Maker::weights(config), &options).unwrap()
}

fn numbers(output: &Output) -> &[f32] {
    match output {
        Output::Logits(numbers) | Output::Mean(numbers) => numbers,
        other => panic!("no numbers but {other:?}"),
    }
}

fn assert_agrees_with_reference(config: &DebertaConfig) {
    let weights = Maker::weights(config);
    let batch = mixed_batch(7, &[1, 2, 31, 40, 70, 3, 16, 17, 100, 5]);
    let reference = Reference::new(config, &weights);
    let wanted: Vec<Vec<f64>> = batch
        .iter()
        .map(|work| {
            let answer = reference.run(&work.ids, &work.type_ids);
            match work.task {
                Task::Embed => answer.mean_hidden(),
                Task::Similarity { .. } | Task::Hidden => panic!("the batch has no such item"),
                Task::Classify(head) | Task::Tokens(head) => answer.logits_of(head).to_vec(),
            }
        })
        .collect();
    for isa in Isa::available() {
        let outputs = encoder(config, isa, 2, 128).run(&batch);
        for ((work, output), wanted) in batch.iter().zip(&outputs).zip(&wanted) {
            assert_eq!(matches!(output, Output::Mean(_)), work.task == Task::Embed);
            assert_eq!(numbers(output).len(), wanted.len());
            for (number, wanted) in numbers(output).iter().zip(wanted) {
                let error = (f64::from(*number) - wanted).abs();
                assert!(
                    error < 1e-4,
                    "{isa} {:?} of {} tokens: {error:e}\n{config:?}",
                    work.task,
                    work.ids.len()
                );
            }
        }
    }
}

#[test]
fn the_encoder_agrees_with_f64_in_every_layout() {
    let conv = |groups| Some(ConvConfig { kernel_size: 3, groups, activation: Activation::Tanh });
    let layouts = [
        base(),
        DebertaConfig { position_biased_input: true, type_vocab_size: 2, ..base() },
        DebertaConfig { share_att_key: false, norm_rel_embeddings: false, position_buckets: None, ..base() },
        DebertaConfig { p2c: false, ..base() },
        DebertaConfig { c2p: false, share_att_key: false, ..base() },
        DebertaConfig { c2p: false, p2c: false, ..base() },
        DebertaConfig {
            relative_attention: false,
            norm_rel_embeddings: false,
            position_biased_input: true,
            ..base()
        },
        DebertaConfig { conv: conv(1), ..base() },
        DebertaConfig { conv: conv(4), hidden_act: Activation::Relu, ..base() },
        DebertaConfig { conv: conv(1), layers: 1, ..base() },
        DebertaConfig { embedding_size: 24, pooler_act: Activation::Tanh, type_vocab_size: 2, ..base() },
        DebertaConfig { heads: 1, head_size: 64, position_buckets: Some(4), ..base() },
        // Nothing is a whole number of vectors, and the heads together are wider than the hidden state.
        DebertaConfig {
            hidden_size: 44,
            embedding_size: 44,
            heads: 3,
            head_size: 20,
            intermediate_size: 50,
            ..base()
        },
        DebertaConfig {
            conv: conv(2),
            hidden_size: 44,
            embedding_size: 10,
            heads: 4,
            head_size: 11,
            ..base()
        },
    ];
    for config in layouts {
        assert_agrees_with_reference(&config);
    }
}

static ENCODERS: LazyLock<Vec<CpuEncoder>> = LazyLock::new(|| {
    let config = DebertaConfig { position_biased_input: true, type_vocab_size: 2, ..base() };
    Isa::available().into_iter().map(|isa| encoder(&config, isa, 3, 100)).collect()
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_sequence_is_answered_alike_in_every_batch_to_the_last_bit(
        lengths in prop::collection::vec(1_usize..90, 1..24),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        seed in any::<u64>(),
    ) {
        let batch = mixed_batch(seed, &lengths);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(batch.len())).collect();
        cuts.sort_unstable();
        for encoder in ENCODERS.iter() {
            let together = encoder.run(&batch);
            let mut split = Vec::new();
            let mut from = 0;
            for cut in cuts.iter().copied().chain([batch.len()]) {
                split.extend(encoder.run(&batch[from..cut]));
                from = cut;
            }
            prop_assert_eq!(&together, &split);
        }
    }
}

#[test]
fn threads_and_group_size_do_not_change_a_bit() {
    let lengths: Vec<usize> = (0..40).map(|i| 1 + (i * 29) % 97).collect();
    let batch = mixed_batch(3, &lengths);
    for isa in Isa::available() {
        let wanted = encoder(&base(), isa, 1, 100_000).run(&batch);
        for (threads, group_tokens) in [(1, 1), (2, 64), (5, 512), (3, 100_000)] {
            assert_eq!(
                encoder(&base(), isa, threads, group_tokens).run(&batch),
                wanted,
                "{isa} {threads} threads"
            );
        }
    }
}

#[test]
fn a_classified_sequence_gets_the_logits_it_would_get_with_all_rows_computed() {
    let mut random = Random::new(11);
    for encoder in ENCODERS.iter() {
        // Alone, only token 0 goes through the last layer; a sequence of one token is computed whole.
        for length in [1, 2, 50] {
            let work = sequence(&mut random, length, TASKS[0]);
            let alone = encoder.run(std::slice::from_ref(&work));
            let embedded = Encoded { task: Task::Embed, ..work.clone() };
            assert_eq!(encoder.run(&[embedded, work])[1], alone[0]);
        }
    }
}

#[test]
fn instruction_sets_agree() {
    let lengths: Vec<usize> = (0..30).map(|i| 1 + (i * 31) % 97).collect();
    let batch = mixed_batch(9, &lengths);
    let answers: Vec<(Isa, Vec<Output>)> =
        ENCODERS.iter().map(|encoder| (encoder.isa(), encoder.run(&batch))).collect();
    for (isa, outputs) in &answers {
        for (output, wanted) in outputs.iter().zip(&answers[0].1) {
            for (a, b) in numbers(output).iter().zip(numbers(wanted)) {
                assert!((a - b).abs() < 1e-4, "{isa}: {a} for {b}");
            }
        }
    }
    let fused: Vec<_> = answers.iter().filter(|(isa, _)| *isa != Isa::Portable).collect();
    assert!(fused.windows(2).all(|pair| pair[0].1 == pair[1].1), "AVX2 and AVX-512 differ");
}

#[test]
fn a_sequence_that_overflows_is_flagged_and_the_others_are_not_touched() {
    let config = base();
    let mut weights = Maker::weights(&config);
    let mut table = weights.word_embeddings.to_f32();
    table[7 * 64..8 * 64].fill(f32::INFINITY);
    weights.word_embeddings = Tensor::from_f32(&table, vec![50, 64]).unwrap();
    let encoder = CpuEncoder::new(&config, &weights, &CpuOptions::default()).unwrap();
    let mut batch = mixed_batch(5, &[20, 21, 22, 23, 24, 25]);
    for work in &mut batch {
        work.ids.iter_mut().filter(|id| **id == 7).for_each(|id| *id = 8);
    }
    let wanted = encoder.run(&batch);
    batch[1].ids[20] = 7;
    batch[3].ids[5] = 7;
    for (index, (output, wanted)) in encoder.run(&batch).into_iter().zip(wanted).enumerate() {
        assert_eq!(
            output,
            if index == 1 || index == 3 { Output::NonFinite } else { wanted },
            "sequence {index}"
        );
    }
}

#[test]
fn a_sequence_that_does_not_fit_the_model_is_answered_so_and_the_others_are_computed() {
    let config = DebertaConfig { position_biased_input: true, type_vocab_size: 2, ..base() };
    let mut weights = Maker::weights(&config);
    weights.heads.truncate(1);
    let encoder = CpuEncoder::new(&config, &weights, &CpuOptions::default()).unwrap();
    let good = || sequence(&mut Random::new(1), 10, TASKS[0]);
    let batch = [
        good(),
        Encoded { ids: vec![], type_ids: vec![], ..good() },
        Encoded { ids: vec![50; 10], ..good() },
        Encoded { type_ids: vec![2; 10], ..good() },
        Encoded { type_ids: vec![0; 9], ..good() },
        sequence(&mut Random::new(1), 161, TASKS[0]),
        Encoded { task: Task::Classify(Head::Support), ..good() },
        good(),
    ];
    let outputs = encoder.run(&batch);
    assert!(matches!(&outputs[0], Output::Logits(logits) if logits.len() == 3));
    assert!(outputs[1..6].iter().all(|output| *output == Output::Invalid), "{outputs:?}");
    assert_eq!(outputs[6], Output::HeadMissing);
    assert_eq!(outputs[7], outputs[0]);
    assert!(encoder.run(&[]).is_empty());
}

#[test]
fn a_model_without_absolute_positions_reads_beyond_its_longest_position() {
    let config = DebertaConfig { layers: 1, ..base() };
    let weights = Maker::weights(&config);
    let work = sequence(&mut Random::new(4), 300, TASKS[0]);
    let wanted = Reference::new(&config, &weights).run(&work.ids, &work.type_ids);
    for isa in Isa::available() {
        let output = encoder(&config, isa, 1, 512).run(std::slice::from_ref(&work)).remove(0);
        for (number, wanted) in numbers(&output).iter().zip(wanted.logits_of(Head::Nli)) {
            assert!((f64::from(*number) - wanted).abs() < 1e-4, "{isa}");
        }
    }
}

#[test]
fn a_missing_relative_table_is_a_problem_not_a_panic() {
    let mut weights = Maker::weights(&base());
    weights.rel_embeddings = None;
    let problem = CpuEncoder::new(&base(), &weights, &CpuOptions::default()).unwrap_err();
    assert_eq!(problem.code, Code::MODEL_CORRUPT);
}

#[test]
fn a_panic_while_computing_fails_its_sequences_and_leaves_the_engine_usable() {
    let config = base();
    let mut weights = Maker::weights(&config);
    // Rows narrower than the configuration says: reading one panics.
    weights.word_embeddings = Tensor::from_f32(&[0.5; 50 * 63], vec![50, 63]).unwrap();
    let broken = CpuEncoder::new(&config, &weights, &CpuOptions::default()).unwrap();
    let batch = mixed_batch(2, &[4, 5, 6]);
    for _ in 0..3 {
        assert_eq!(broken.run(&batch), vec![Output::Failed; 3]);
    }
    let sound = encoder(&config, Isa::Portable, 2, 512).run(&batch);
    assert!(sound.iter().all(|output| matches!(output, Output::Logits(_) | Output::Mean(_))));
}

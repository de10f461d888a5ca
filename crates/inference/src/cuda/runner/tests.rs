use super::*;
use crate::cuda::plan::tests::large;
use groundline_types::Head;
use std::collections::{BTreeMap, BTreeSet};

/// The id of the first token says what a sequence is answered: its own number, so that answers can be told apart.
const LABELS: usize = 3;

/// A device that fails on demand.
#[derive(Debug, Default)]
pub(in crate::cuda) struct FakeDevice {
    /// First ids of sequences that leave the range of halves, and of those that f32 does not help either.
    pub hot: BTreeSet<u32>,
    pub hopeless: BTreeSet<u32>,
    /// A pass of more tokens than this does not fit.
    pub memory_tokens: Option<usize>,
    /// The number of the pass that loses the device.
    pub lost_at: Option<usize>,
    pub refused_at: Option<usize>,
    /// The number of the pass that memory runs out in while it computes.
    pub exhausted_at: Option<usize>,
    /// Taking memory fails this often; until it succeeds, there is none.
    pub stubborn: usize,
    pub is_bare: bool,
    pub answers: VecDeque<Result<Vec<u8>, Fault>>,
    pub passes: Vec<Bucket>,
    pub reserved: Vec<usize>,
    pub most_in_flight: usize,
}

impl FakeDevice {
    fn answer(&self, packed: &Packed) -> Vec<u8> {
        let bucket = packed.bucket;
        let (input, layout) = (bucket.input(), bucket.output(&shape()));
        let number = |at: usize| i32::from_ne_bytes(packed.bytes[at..at + 4].try_into().unwrap()) as usize;
        let mut bytes = vec![0xff; layout.bytes];
        let mut counted = 0_u32;
        for sequence in 0..bucket.sequences {
            let first = number(input.firsts + 4 * sequence);
            let id = number(input.ids + 4 * first) as u32;
            let bad = self.hopeless.contains(&id) || (self.hot.contains(&id) && !bucket.wide);
            let value = if bad { f32::INFINITY } else { id as f32 };
            counted += u32::from(bad);
            let width = if bucket.ask == Ask::Mean { shape().hidden } else { LABELS };
            for column in 0..width {
                let at = layout.numbers[0] + 4 * (sequence * width + column);
                bytes[at..at + 4].copy_from_slice(&(value + column as f32).to_ne_bytes());
            }
        }
        bytes[..4].copy_from_slice(&counted.to_ne_bytes());
        bytes
    }
}

impl Device for FakeDevice {
    fn submit(&mut self, packed: &Packed) -> Result<(), Fault> {
        if self.is_bare || self.memory_tokens.is_some_and(|most| packed.bucket.tokens > most) {
            return Err(Fault::OutOfMemory);
        }
        let number = self.passes.len();
        self.passes.push(packed.bucket);
        if self.refused_at == Some(number) {
            return Err(Fault::Refused("invalid argument".into()));
        }
        let answer = match number {
            _ if self.lost_at == Some(number) => Err(Fault::Lost("illegal address".into())),
            _ if self.exhausted_at == Some(number) => Err(Fault::OutOfMemory),
            _ => Ok(self.answer(packed)),
        };
        self.answers.push_back(answer);
        self.most_in_flight = self.most_in_flight.max(self.answers.len());
        Ok(())
    }

    fn collect(&mut self) -> Result<Vec<u8>, Fault> {
        self.answers.pop_front().unwrap()
    }

    fn reserve(&mut self, tokens: usize) -> Result<(), Fault> {
        assert!(self.answers.is_empty(), "memory changes while nothing runs");
        self.reserved.push(tokens);
        self.is_bare = self.stubborn > 0;
        if self.is_bare {
            self.stubborn -= 1;
            return Err(Fault::OutOfMemory);
        }
        Ok(())
    }
}

pub(in crate::cuda) fn shape() -> Shape {
    Shape { hidden: 8, ..large() }
}

fn runner(device: FakeDevice, budget: usize) -> Runner<FakeDevice> {
    Runner::new(device, shape(), budget)
}

pub(in crate::cuda) fn pair(id: u32, length: usize) -> Encoded {
    Encoded {
        ids: vec![id; length],
        type_ids: vec![0; length],
        task: Task::Classify(Head::Nli),
        asked: Vec::new(),
    }
}

fn embed(id: u32, length: usize) -> Encoded {
    Encoded { task: Task::Embed, ..pair(id, length) }
}

/// What the fake device answers.
pub(in crate::cuda) fn logits(id: u32) -> Output {
    Output::Logits((0..LABELS).map(|column| (id + column as u32) as f32).collect())
}

#[test]
fn answers_come_in_the_order_of_the_batch_whatever_passes_it_took() {
    let batch: Vec<Encoded> = (0..200).map(|id| pair(id, 1 + (id as usize * 37) % 300)).collect();
    let mut runner = runner(FakeDevice::default(), 1024);
    let outputs = runner.run(&batch);
    assert!(outputs.iter().enumerate().all(|(id, output)| *output == logits(id as u32)));
    let device = runner.device;
    assert!(device.passes.len() > 20 && device.passes.iter().all(|bucket| bucket.tokens <= 1024));
    assert_eq!(device.most_in_flight, IN_FLIGHT);
}

#[test]
fn pairs_and_texts_take_passes_of_their_own_and_what_does_not_fit_the_model_takes_none() {
    let mut strange = pair(7, 3);
    strange.ids[1] = 200_000;
    let support = Encoded { task: Task::Classify(Head::Support), ..pair(1, 2) };
    let batch = [pair(1, 9), embed(2, 5), strange, support, pair(3, 600), pair(4, 0)];
    let outputs = runner(FakeDevice::default(), 512).run(&batch);
    assert_eq!(outputs[0], logits(1));
    assert_eq!(outputs[1], Output::Mean((0..8).map(|column| 2.0 + column as f32).collect()));
    assert_eq!(outputs[2..], [Output::Invalid, Output::HeadMissing, Output::Invalid, Output::Invalid]);
}

#[test]
fn a_sequence_that_left_the_range_of_halves_is_computed_again_in_f32_and_its_neighbours_are_not() {
    let device = FakeDevice { hot: [3, 5].into(), hopeless: [5].into(), ..FakeDevice::default() };
    let mut runner = runner(device, 4096);
    let outputs = runner.run(&(0..8).map(|id| pair(id, 20)).collect::<Vec<_>>());
    for (id, output) in outputs.iter().enumerate() {
        let expected = if id == 5 { Output::NonFinite } else { logits(id as u32) };
        assert_eq!(*output, expected);
    }
    let passes: Vec<_> = runner.device.passes.iter().map(|bucket| (bucket.wide, bucket.sequences)).collect();
    assert_eq!(passes, [(false, 8), (true, 4)]);
    assert_eq!(runner.tally(), Tally { repeated: 2, halved: 0 });
}

#[test]
fn out_of_memory_halves_the_budget_until_passes_fit_and_everything_is_still_answered() {
    let device = FakeDevice { memory_tokens: Some(1024), stubborn: 1, ..FakeDevice::default() };
    let mut runner = runner(device, 8192);
    let batch: Vec<Encoded> = (0..300).map(|id| pair(id, 40)).collect();
    let outputs = runner.run(&batch);
    assert!(outputs.iter().enumerate().all(|(id, output)| *output == logits(id as u32)));
    assert_eq!(runner.device.reserved, [4096, 2048, 1024]);
    assert_eq!((runner.budget(), runner.tally().halved), (1024, 3));
    // From now on nothing is tried that did not fit.
    let before = runner.device.passes.len();
    runner.run(&batch);
    assert!(runner.device.passes[before..].iter().all(|bucket| bucket.tokens <= 1024));
    assert_eq!(runner.tally().halved, 3);
}

#[test]
fn memory_that_runs_out_while_a_pass_computes_waits_for_the_passes_behind_it() {
    let device = FakeDevice { exhausted_at: Some(0), ..FakeDevice::default() };
    let mut runner = runner(device, 1024);
    let batch: Vec<Encoded> = (0..30).map(|id| pair(id, 100)).collect();
    let outputs = runner.run(&batch);
    assert!(outputs.iter().enumerate().all(|(id, output)| *output == logits(id as u32)));
    assert_eq!((runner.device.reserved.as_slice(), runner.budget()), ([512].as_slice(), 512));
}

#[test]
fn memory_that_was_lost_to_others_is_asked_for_again_with_the_next_batch() {
    let device = FakeDevice { memory_tokens: Some(1024), stubborn: 3, ..FakeDevice::default() };
    let mut runner = runner(device, 2048);
    let batch: Vec<Encoded> = (0..60).map(|id| pair(id, 30)).collect();
    // Neither for 1,024 tokens nor for 512 is there any, nor with the next batch.
    for _ in 0..2 {
        assert!(runner.run(&batch).iter().all(|output| *output == Output::OutOfMemory));
    }
    let outputs = runner.run(&batch);
    assert!(outputs.iter().enumerate().all(|(id, output)| *output == logits(id as u32)), "{outputs:?}");
    assert_eq!(runner.device.reserved, [1024, 512, 512, 512]);
    runner.run(&batch);
    assert_eq!(runner.device.reserved.len(), 4, "what there is is kept");
}

#[test]
fn a_sequence_that_does_not_fit_alone_fails_alone() {
    let device = FakeDevice { memory_tokens: Some(256), ..FakeDevice::default() };
    let mut runner = runner(device, 2048);
    let outputs = runner.run(&[pair(1, 400), pair(2, 10)]);
    assert_eq!(outputs, [Output::OutOfMemory, logits(2)]);
    assert_eq!(runner.budget(), 512);
}

#[test]
fn after_the_device_is_lost_nothing_is_run_and_what_was_answered_before_stays() {
    let device = FakeDevice { lost_at: Some(1), ..FakeDevice::default() };
    let mut runner = runner(device, 512);
    let batch: Vec<Encoded> = (0..8).map(|id| pair(id, 250)).collect();
    let outputs = runner.run(&batch);
    let answered = outputs.iter().filter(|output| matches!(output, Output::Logits(_))).count();
    assert_eq!(answered, 2);
    assert_eq!(outputs.iter().filter(|output| **output == Output::Lost).count(), 6);
    assert_eq!(runner.lost(), Some("illegal address"));
    let passes = runner.device.passes.len();
    assert_eq!(runner.run(&[pair(1, 3)]), [Output::Lost]);
    assert_eq!(runner.device.passes.len(), passes);
}

#[test]
fn a_pass_that_is_refused_fails_and_the_next_ones_run() {
    let device = FakeDevice { refused_at: Some(0), ..FakeDevice::default() };
    let mut runner = runner(device, 512);
    let outputs = runner.run(&[pair(1, 400), pair(2, 300)]);
    assert_eq!(outputs, [Output::Failed, logits(2)]);
    assert_eq!(runner.refused(), Some("invalid argument"));
}

#[test]
fn every_mixture_of_faults_gives_every_sequence_one_answer_of_its_own() {
    for seed in 0..200_u32 {
        let chosen = |salt: u32| (0..40).filter(|id| (id * 7 + seed * salt).is_multiple_of(11)).collect();
        let device = FakeDevice {
            hot: chosen(3),
            hopeless: chosen(5),
            memory_tokens: seed.is_multiple_of(3).then_some(512 << (seed % 2)),
            lost_at: seed.is_multiple_of(5).then_some(seed as usize % 9),
            refused_at: seed.is_multiple_of(4).then_some(seed as usize % 7),
            exhausted_at: seed.is_multiple_of(7).then_some(seed as usize % 5),
            stubborn: seed as usize % 3,
            ..FakeDevice::default()
        };
        let hopeless = device.hopeless.clone();
        let lengths = |id: u32| 1 + (id * (seed + 3)) as usize % 200;
        let batch: Vec<Encoded> = (0..40).map(|id| pair(id, lengths(id))).collect();
        let mut runner = runner(device, 4096);
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for (id, output) in runner.run(&batch).into_iter().enumerate() {
            let id = id as u32;
            match &output {
                Output::Logits(_) => assert!(output == logits(id) && !hopeless.contains(&id)),
                Output::NonFinite => assert!(hopeless.contains(&id)),
                Output::Lost => assert!(runner.lost().is_some()),
                Output::Failed => assert_eq!(seed % 4, 0),
                // Of a pass with one sequence.
                Output::OutOfMemory => assert_eq!(seed % 7, 0),
                other => panic!("seed {seed}: {other:?}"),
            }
            *counts.entry(format!("{output:?}").split('(').next().unwrap().to_owned()).or_default() += 1;
        }
        assert_eq!(counts.values().sum::<usize>(), 40);
    }
}

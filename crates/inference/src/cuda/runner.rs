//! What becomes of a batch: passes within a budget of tokens, repeats in f32, less memory, a lost device. Pure but for the
//! device behind [`Device`], so all of it is tested with one that fails on demand.

use super::batch::{Ask, Bucket, NOT_FINITE_BYTES, Packed, pack};
use super::shape::Shape;
use crate::cpu::Output;
use crate::engine::{Encoded, Task};
use std::collections::VecDeque;

/// Why a pass did not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// Not enough memory on the device. It can be used further.
    OutOfMemory,
    /// This pass cannot be run; others can.
    Refused(String),
    /// Nothing can be run on the device by this process any more.
    Lost(String),
}

/// Something that runs packed batches, one after another. What it answers are the bytes of [`Bucket::output`].
pub(super) trait Device {
    /// Takes a batch, at most [`IN_FLIGHT`] before the first is collected.
    fn submit(&mut self, packed: &Packed) -> Result<(), Fault>;

    /// Waits for the oldest batch that was taken.
    fn collect(&mut self) -> Result<Vec<u8>, Fault>;

    /// Takes the memory for passes of up to `tokens`, in place of what there was: after an error there is none. Nothing is in flight.
    fn reserve(&mut self, tokens: usize) -> Result<(), Fault>;
}

/// Batches that a device may have: one computes while the next is being packed and copied.
pub(super) const IN_FLIGHT: usize = 2;

/// Sequences to compute together.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pass {
    /// Their numbers in the batch, the longest first.
    members: Vec<usize>,
    ask: Ask,
    wide: bool,
}

/// What happened besides answers; only grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Sequences computed again in f32.
    pub repeated: u64,
    /// Times that the budget was halved.
    pub halved: u64,
}

/// Runs batches on a device.
#[derive(Debug)]
pub(super) struct Runner<D> {
    device: D,
    shape: Shape,
    /// Tokens of a pass.
    budget: usize,
    /// The budget is not made smaller than this.
    floor: usize,
    /// The device has memory for passes of the budget.
    has_memory: bool,
    lost: Option<String>,
    refused: Option<String>,
    tally: Tally,
}

impl<D: Device> Runner<D> {
    /// `budget` is at least as long as the model's longest sequence.
    pub(super) fn new(device: D, shape: Shape, budget: usize) -> Self {
        let floor = super::batch::bucket_tokens(shape.longest);
        let budget = budget.max(floor);
        Self {
            device,
            shape,
            budget,
            floor,
            has_memory: true,
            lost: None,
            refused: None,
            tally: Tally::default(),
        }
    }

    /// Tokens of a pass at present.
    pub(super) fn budget(&self) -> usize {
        self.budget
    }

    pub(super) fn tally(&self) -> Tally {
        self.tally
    }

    /// Why the device is lost, once it is.
    pub(super) fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// Why the device refused the last pass that it refused.
    pub(super) fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// Answers every sequence of a batch, in order.
    pub(super) fn run(&mut self, batch: &[Encoded]) -> Vec<Output> {
        let mut outputs: Vec<Option<Output>> = batch.iter().map(|work| self.refusal(work)).collect();
        let mut waiting = VecDeque::new();
        if !self.has_memory && self.lost.is_none() {
            // Others may have given some back since.
            self.reserve();
        }
        for ask in [Ask::Logits, Ask::Mean] {
            let asked = |index: &usize| outputs[*index].is_none() && ask_of(batch[*index].task) == ask;
            let mut members: Vec<usize> = (0..batch.len()).filter(asked).collect();
            members.sort_by_key(|&index| (std::cmp::Reverse(batch[index].ids.len()), index));
            waiting.extend(self.split(batch, &Pass { members, ask, wide: false }));
        }
        self.run_passes(batch, waiting, &mut outputs);
        let rest = || if self.lost.is_some() { Output::Lost } else { Output::Failed };
        outputs.into_iter().map(|output| output.unwrap_or_else(rest)).collect()
    }

    fn run_passes(&mut self, batch: &[Encoded], mut waiting: VecDeque<Pass>, outputs: &mut [Option<Output>]) {
        let mut running: VecDeque<(Pass, Bucket)> = VecDeque::new();
        while self.lost.is_none() {
            let next = if running.len() < IN_FLIGHT { waiting.pop_front() } else { None };
            if let Some(pass) = next {
                let members: Vec<&Encoded> = pass.members.iter().map(|&index| &batch[index]).collect();
                let packed = pack(&members, pass.ask, pass.wide);
                match self.device.submit(&packed) {
                    Ok(()) => running.push_back((pass, packed.bucket)),
                    // What runs is not disturbed by a change of memory: first that, then this pass again.
                    Err(Fault::OutOfMemory) if !running.is_empty() => {
                        waiting.push_front(pass);
                        self.collect(batch, &mut running, &mut waiting, outputs);
                    }
                    Err(fault) => self.fail(batch, pass, fault, (&mut waiting, outputs)),
                }
            } else if running.is_empty() {
                return;
            } else {
                self.collect(batch, &mut running, &mut waiting, outputs);
            }
        }
    }

    /// Waits for the oldest pass and reads its answers.
    fn collect(
        &mut self,
        batch: &[Encoded],
        running: &mut VecDeque<(Pass, Bucket)>,
        waiting: &mut VecDeque<Pass>,
        outputs: &mut [Option<Output>],
    ) {
        let Some((pass, bucket)) = running.pop_front() else { return };
        match self.device.collect() {
            Ok(bytes) => {
                let again = self.read(batch, &pass, &Answer { bucket, bytes: &bytes }, outputs);
                waiting.extend(self.split(batch, &again));
            }
            Err(Fault::OutOfMemory) => {
                // Memory may change only while nothing runs.
                while self.lost.is_none() && !running.is_empty() {
                    self.collect(batch, running, waiting, outputs);
                }
                self.fail(batch, pass, Fault::OutOfMemory, (waiting, outputs));
            }
            Err(fault) => self.fail(batch, pass, fault, (waiting, outputs)),
        }
    }

    /// Reads the answers of a pass; those that are not finite come back, to be computed in f32.
    ///
    /// Only they, not their whole batch: what a sequence is answered must not depend on what was computed beside it.
    fn read(
        &mut self,
        batch: &[Encoded],
        pass: &Pass,
        answer: &Answer<'_>,
        outputs: &mut [Option<Output>],
    ) -> Pass {
        let mut again = Pass { members: Vec::new(), ask: pass.ask, wide: true };
        for (place, &index) in pass.members.iter().enumerate() {
            let numbers = answer.numbers(&self.shape, place, batch[index].task);
            let output = match numbers {
                Some(numbers) if numbers.iter().all(|number| number.is_finite()) => match pass.ask {
                    Ask::Logits => Output::Logits(numbers),
                    Ask::Mean => Output::Mean(numbers),
                },
                Some(_) if !pass.wide => {
                    again.members.push(index);
                    continue;
                }
                Some(_) => Output::NonFinite,
                None => Output::Failed,
            };
            outputs[index] = Some(output);
        }
        if !again.members.is_empty() {
            self.tally.repeated += again.members.len() as u64;
            let counted = answer.not_finite();
            tracing::warn!(
                sequences = again.members.len(),
                counted,
                "numbers left the range of halves; computed again with an f32 residual stream"
            );
        }
        again
    }

    fn fail(
        &mut self,
        batch: &[Encoded],
        pass: Pass,
        fault: Fault,
        (waiting, outputs): (&mut VecDeque<Pass>, &mut [Option<Output>]),
    ) {
        match fault {
            Fault::Lost(why) => self.lost = Some(why),
            Fault::Refused(why) => {
                tracing::error!(sequences = pass.members.len(), why, "the device refused a pass");
                pass.members.iter().for_each(|&index| outputs[index] = Some(Output::Failed));
                self.refused = Some(why);
            }
            Fault::OutOfMemory if self.budget > self.floor => {
                self.halve();
                // Smaller passes, also those that wait.
                let all: Vec<Pass> = std::iter::once(pass).chain(waiting.drain(..)).collect();
                waiting.extend(all.iter().flat_map(|pass| self.split(batch, pass)));
            }
            Fault::OutOfMemory if pass.members.len() > 1 => {
                let (longer, shorter) = pass.members.split_at(pass.members.len() / 2);
                let half = |members: &[usize]| Pass { members: members.to_vec(), ..pass.clone() };
                waiting.extend([half(longer), half(shorter)]);
            }
            Fault::OutOfMemory => {
                pass.members.iter().for_each(|&index| outputs[index] = Some(Output::OutOfMemory));
            }
        }
    }

    /// Halves the budget, once or until there is memory for it.
    fn halve(&mut self) {
        while self.budget > self.floor && self.lost.is_none() {
            self.budget = (self.budget / 2).max(self.floor);
            self.tally.halved += 1;
            tracing::warn!(budget_tokens = self.budget, "the device is out of memory; batches are halved");
            self.reserve();
            if self.has_memory {
                return;
            }
        }
    }

    /// Takes the memory for passes of the budget, where there is enough.
    fn reserve(&mut self) {
        let reserved = self.device.reserve(self.budget);
        self.has_memory = reserved.is_ok();
        match reserved {
            Ok(()) | Err(Fault::OutOfMemory) => {}
            Err(Fault::Refused(why)) => tracing::error!(why, "the device refused memory"),
            Err(Fault::Lost(why)) => self.lost = Some(why),
        }
    }

    /// Tokens of a pass of this kind. The f32 variant needs about twice the memory, and gets half the tokens.
    fn budget_of(&self, wide: bool) -> usize {
        if wide { wide_budget(self.budget, self.floor) } else { self.budget }
    }

    /// Passes within the budget.
    fn split(&self, batch: &[Encoded], pass: &Pass) -> Vec<Pass> {
        let budget = self.budget_of(pass.wide);
        let mut passes: Vec<Pass> = Vec::new();
        let mut tokens = 0;
        for &index in &pass.members {
            let length = batch[index].ids.len();
            match passes.last_mut().filter(|_| tokens + length <= budget) {
                Some(last) => last.members.push(index),
                None => {
                    passes.push(Pass { members: vec![index], ..pass.clone() });
                    tokens = 0;
                }
            }
            tokens += length;
        }
        passes
    }

    /// The answer to a sequence that does not fit the model.
    fn refusal(&self, work: &Encoded) -> Option<Output> {
        let (shape, length) = (&self.shape, work.ids.len());
        match work.task {
            // Heads read the first token alone.
            Task::Tokens(_) | Task::Hidden => return Some(Output::HeadMissing),
            Task::Similarity { .. } => return Some(Output::Invalid),
            Task::Classify(wanted) if !shape.classifiers.iter().any(|it| it.head == wanted) => {
                return Some(Output::HeadMissing);
            }
            Task::Classify(_) | Task::Embed => {}
        }
        let has_types = work.type_ids.len() == length
            && work.type_ids.iter().all(|&kind| usize::from(kind) < shape.type_rows);
        let fits = (1..=shape.longest).contains(&length)
            && (!shape.types || has_types)
            && work.ids.iter().all(|&id| (id as usize) < shape.vocabulary);
        (!fits).then_some(Output::Invalid)
    }
}

/// Tokens of a pass in f32, where others have `budget`.
pub(super) fn wide_budget(budget: usize, floor: usize) -> usize {
    (budget / 2).max(floor)
}

fn ask_of(task: Task) -> Ask {
    match task {
        Task::Classify(_) | Task::Tokens(_) => Ask::Logits,
        Task::Embed | Task::Similarity { .. } | Task::Hidden => Ask::Mean,
    }
}

/// What a device answered.
struct Answer<'a> {
    bucket: Bucket,
    bytes: &'a [u8],
}

impl Answer<'_> {
    fn not_finite(&self) -> u32 {
        let bytes = self.bytes.get(..NOT_FINITE_BYTES).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_ne_bytes)
    }

    /// The numbers of the sequence at `place`; `None` where the answer is shorter than it should be.
    fn numbers(&self, shape: &Shape, place: usize, task: Task) -> Option<Vec<f32>> {
        let layout = self.bucket.output(shape);
        let (section, width) = match task {
            Task::Embed => (*layout.numbers.first()?, shape.hidden),
            Task::Similarity { .. } | Task::Hidden => return None,
            Task::Classify(head) | Task::Tokens(head) => {
                let found = shape.classifiers.iter().position(|it| it.head == head)?;
                (layout.numbers[found], shape.classifiers[found].labels)
            }
        };
        let start = section + place * width * size_of::<f32>();
        let bytes = self.bytes.get(start..start + width * size_of::<f32>())?;
        let number = |raw: &[u8]| f32::from_ne_bytes([raw[0], raw[1], raw[2], raw[3]]);
        Some(bytes.chunks_exact(4).map(number).collect())
    }
}

#[cfg(test)]
pub(super) mod tests;

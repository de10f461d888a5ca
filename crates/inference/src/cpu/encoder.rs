//! The engine's face: options, outputs, and running a batch over the pool.

use super::forward::{run_group, time_group};
use super::isa::Isa;
use super::kernels::Kernels;
use super::model::Model;
use super::phases::{PhaseTimes, fastest};
use super::pool::POOL;
use super::precision::Precision;
use super::schedule::groups;
use super::tables::LONGEST_SEQUENCE;
use crate::deberta::{DebertaConfig, Weights, describe, describe_config};
use crate::encoder::{EncoderConfig, EncoderWeights};
use crate::engine::{Encoded, Task};
use groundline_types::{Code, Problem};
use std::sync::{Arc, Mutex, PoisonError};

/// How the CPU engine runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuOptions {
    /// Threads that one batch may use; `None` for as many as the process may run at once (affinity and cgroup quota count).
    /// All engines of a process share one set of threads, as many as the largest number asked for.
    pub threads: Option<usize>,
    /// The best instruction set to use; `None` for whatever the machine has. See also [`super::ISA_VARIABLE`].
    pub isa: Option<Isa>,
    /// About how many tokens are computed together on one thread. More use memory bandwidth better, fewer spread small
    /// batches better; 512 to 1024 for single precision.
    pub group_tokens: usize,
    /// How exactly linear layers are computed.
    pub precision: Precision,
}

impl Default for CpuOptions {
    fn default() -> Self {
        Self { threads: None, isa: None, group_tokens: 512, precision: Precision::F32 }
    }
}

/// The answer to one sequence.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// One number for each label of the head asked for, in the checkpoint's order.
    Logits(Vec<f32>),
    /// The mean of the last hidden state over all tokens, `hidden_size` numbers, not normalised.
    Mean(Vec<f32>),
    /// The logits of a head for every token, one token after the other: `[tokens][labels]`.
    TokenLogits(Vec<f32>),
    /// The last hidden state of every token, one token after the other: `[tokens][hidden_size]`.
    Hidden(Vec<f32>),
    /// A number of the answer is infinite or not a number.
    NonFinite,
    /// The model has no head of that name.
    HeadMissing,
    /// The sequence does not fit the model: empty, an unknown token id or type, or longer than its positions.
    Invalid,
    /// Computing it panicked, or the device refused it.
    Failed,
    /// The device has not enough memory for this sequence.
    OutOfMemory,
    /// The device is lost for this process.
    Lost,
}

impl Output {
    /// `kind(numbers)` where all of them are finite.
    pub(super) fn finite(numbers: Vec<f32>, kind: fn(Vec<f32>) -> Output) -> Output {
        if numbers.iter().all(|number| number.is_finite()) { kind(numbers) } else { Output::NonFinite }
    }
}

/// An encoder on the CPU, of any family that [`crate::encoder`] describes.
///
/// A sequence's answer depends on that sequence alone: not on the batch, the grouping or the number of threads, to the last
/// bit on one instruction set. AVX2 and AVX-512 agree to the last bit too, but in
/// bf16, where only some machines have the products as one instruction.
pub struct CpuEncoder {
    model: Arc<Model>,
    threads: usize,
    group_tokens: usize,
}

impl std::fmt::Debug for CpuEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CpuEncoder")
            .field("isa", &self.isa())
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

impl CpuEncoder {
    /// A DeBERTa encoder; see [`CpuEncoder::of_any`].
    ///
    /// # Errors
    /// As [`CpuEncoder::of_any`].
    pub fn new(config: &DebertaConfig, weights: &Weights, options: &CpuOptions) -> Result<Self, Problem> {
        Self::of_any(&describe_config(config), &describe(config, weights), options)
    }

    /// Packs the weights and computes everything that does not depend on the input. Shapes must be those of `config`.
    ///
    /// # Errors
    /// [`Code::INVALID_CONFIG`] for an unknown word in [`super::ISA_VARIABLE`], [`Code::MODEL_CORRUPT`] without the tables
    /// that `config` asks for, [`Code::INTERNAL`] where threads cannot be started.
    pub fn of_any(
        config: &EncoderConfig,
        weights: &EncoderWeights,
        options: &CpuOptions,
    ) -> Result<Self, Problem> {
        let isa = Isa::choose(options.isa)?;
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = options.threads.unwrap_or_else(available).max(1);
        POOL.grow(threads).map_err(|error| {
            Problem::new(Code::INTERNAL, format!("start {threads} inference threads: {error}"))
        })?;
        let model = Model::load(config, weights, Kernels::of(isa), options.precision, threads)?;
        Ok(Self { model: Arc::new(model), threads, group_tokens: options.group_tokens.max(1) })
    }

    /// Answers every sequence of a batch, in order. Blocks until all are done; several callers may run at once and share
    /// the threads.
    pub fn run(&self, batch: &[Encoded]) -> Vec<Output> {
        let mut outputs: Vec<Option<Output>> = batch.iter().map(|work| self.check(work).err()).collect();
        let runnable: Vec<usize> = (0..batch.len()).filter(|&index| outputs[index].is_none()).collect();
        let lengths: Vec<usize> = runnable.iter().map(|&index| batch[index].ids.len()).collect();
        let groups: Vec<Vec<usize>> = groups(&lengths, self.threads, self.group_tokens)
            .into_iter()
            .map(|group| group.into_iter().map(|place| runnable[place]).collect())
            .collect();
        let count = groups.len();
        let answered = Arc::new(Mutex::new(Vec::with_capacity(count)));
        let job = {
            // Jobs own what they read: a thread may still hold its job for a moment after this call has its answers.
            let (model, batch, answered) = (Arc::clone(&self.model), batch.to_vec(), Arc::clone(&answered));
            move |group: usize| {
                let members = &groups[group];
                let group_outputs = run_group(&model, &batch, members);
                let pairs: Vec<_> = members.iter().copied().zip(group_outputs).collect();
                answered.lock().unwrap_or_else(PoisonError::into_inner).push(pairs);
            }
        };
        let panicked = POOL.run(self.threads, count, Arc::new(job));
        if panicked > 0 {
            tracing::error!(panicked, groups = count, "inference panicked");
        }
        for (index, output) in answered.lock().unwrap_or_else(PoisonError::into_inner).drain(..).flatten() {
            outputs[index] = Some(output);
        }
        outputs.into_iter().map(|output| output.unwrap_or(Output::Failed)).collect()
    }

    /// Time that a batch takes on the calling thread, by phase. Every group is computed `rounds` times and each stretch of
    /// work counts with its shortest time, so that other load on the machine shows little.
    pub fn profile(&self, batch: &[Encoded], rounds: usize) -> PhaseTimes {
        let runnable: Vec<usize> = (0..batch.len()).filter(|&n| self.check(&batch[n]).is_ok()).collect();
        let lengths: Vec<usize> = runnable.iter().map(|&index| batch[index].ids.len()).collect();
        let mut total = PhaseTimes::default();
        for group in groups(&lengths, 1, self.group_tokens) {
            let members: Vec<usize> = group.into_iter().map(|place| runnable[place]).collect();
            let runs: Vec<_> = (0..rounds).map(|_| time_group(&self.model, batch, &members)).collect();
            for (total, time) in total.iter_mut().zip(fastest(&runs)) {
                *total += time;
            }
        }
        total
    }

    /// What computes.
    pub fn isa(&self) -> Isa {
        self.model.kernels.isa
    }

    /// How exactly.
    pub fn precision(&self) -> Precision {
        self.model.precision
    }

    /// What computes, for people and results: `cpu-avx512-f32`, `cpu-avx2-bf16`, `cpu-avx512-int8-bf16-output`.
    pub fn name(&self) -> String {
        // In single precision they change nothing, and in the others the precision says it.
        format!("cpu-{}-{}", self.isa().without_short_products(), self.precision())
    }

    /// Threads that a batch may use.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// How many tokens a batch should hold so that every thread has a full group.
    pub fn batch_tokens(&self) -> usize {
        self.threads * self.group_tokens
    }

    /// Whether a sequence fits the model; if not, its answer.
    fn check(&self, work: &Encoded) -> Result<(), Output> {
        let (config, length) = (&self.model.config, work.ids.len());
        if matches!(work.task, Task::Similarity { .. }) {
            // It is made of the states of two sequences.
            return Err(Output::Invalid);
        }
        if let Task::Classify(wanted) | Task::Tokens(wanted) = work.task
            && !self.model.heads.iter().any(|head| head.head == wanted)
        {
            return Err(Output::HeadMissing);
        }
        let vocabulary = self.model.embedding.words.shape()[0];
        let fits_length = (1..=LONGEST_SEQUENCE).contains(&length)
            && config.longest_sequence.is_none_or(|longest| length <= longest);
        let known_types = self.model.embedding.token_types.is_none()
            || (work.type_ids.len() == length
                && work.type_ids.iter().all(|&kind| usize::from(kind) < config.type_vocab_size));
        let known_ids = work.ids.iter().all(|&id| (id as usize) < vocabulary);
        if fits_length && known_types && known_ids { Ok(()) } else { Err(Output::Invalid) }
    }
}

#[cfg(test)]
mod tests;

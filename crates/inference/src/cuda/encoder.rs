//! The engine's face: a thread that owns the device, and a handle to it.

use super::device::CudaDevice;
use super::runner::{Device, Runner};
use super::shape::Shape;
use crate::cpu::Output;
use crate::deberta::{DebertaConfig, Weights};
use crate::engine::{Encoded, Task};
use groundline_types::{Code, Problem};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};

/// Batches that may wait for the thread: a caller waits for its answer, so this is how many callers there may be at once.
const MOST_WAITING: usize = 64;

struct Job {
    batch: Vec<Encoded>,
    reply: Sender<Vec<Output>>,
}

/// A DeBERTa encoder on a GPU.
///
/// One thread owns the device's context and does everything with it; the handle sends it batches. A sequence's answer is that of half
/// precision: within 2e-2 of the CPU engine's logits. The kernels give the same bits whatever the batch; the library's products may sum in
/// another order where a batch has another size, which shows in the last digits.
pub struct CudaEncoder {
    jobs: Mutex<SyncSender<Job>>,
    device: String,
    target: &'static str,
    batch_tokens: usize,
}

impl std::fmt::Debug for CudaEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CudaEncoder")
            .field("device", &self.device)
            .field("batch_tokens", &self.batch_tokens)
            .finish_non_exhaustive()
    }
}

/// A device that is ready, and what it is called.
pub(super) struct Started<D> {
    pub device: D,
    pub shape: Shape,
    /// Such as `NVIDIA H200`.
    pub name: String,
    /// Such as `sm_90a`.
    pub target: &'static str,
    /// Tokens of a pass.
    pub budget: usize,
}

impl CudaEncoder {
    /// Opens the GPU with number `ordinal`, copies the weights there, and computes one small sequence. Shapes must be those of
    /// `config`.
    ///
    /// # Errors
    /// [`Code::DEVICE_UNAVAILABLE`] where CUDA or the device cannot be used, with what is missing;
    /// [`Code::MODEL_UNSUPPORTED`] where the kernels cannot compute the model; [`Code::DEVICE_MEMORY`] where it does not fit.
    pub fn open(ordinal: usize, config: &DebertaConfig, weights: &Weights) -> Result<Self, Problem> {
        let (config, weights) = (config.clone(), weights.clone());
        Self::start(move || CudaDevice::start(ordinal, &config, &weights))
    }

    /// Starts the thread; `start` runs on it, for a context belongs to a thread.
    pub(super) fn start<D: Device>(
        start: impl FnOnce() -> Result<Started<D>, Problem> + Send + 'static,
    ) -> Result<Self, Problem> {
        let (jobs, inbox) = sync_channel(MOST_WAITING);
        let (told, started) = channel();
        let run = move || match start() {
            Ok(Started { device, shape, name, target, budget }) => {
                let probe = probe(&shape);
                let mut runner = Runner::new(device, shape, budget);
                let is_well = probed(&mut runner, probe, &name);
                let goes_on = is_well.is_ok();
                let _ = told.send(is_well.map(|()| (name, target, runner.budget())));
                if goes_on {
                    work(&mut runner, &inbox);
                }
            }
            Err(problem) => drop(told.send(Err(problem))),
        };
        std::thread::Builder::new()
            .name("groundline-cuda".to_owned())
            .spawn(run)
            .map_err(|error| Problem::new(Code::INTERNAL, format!("start the device's thread: {error}")))?;
        let (device, target, batch_tokens) = started
            .recv()
            .map_err(|_| Problem::new(Code::DEVICE_UNAVAILABLE, "preparing the device panicked"))??;
        Ok(Self { jobs: Mutex::new(jobs), device, target, batch_tokens })
    }

    /// Answers every sequence of a batch, in order. Blocks until all are done; several callers take turns.
    pub fn run(&self, batch: &[Encoded]) -> Vec<Output> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (reply, answer) = channel();
        let sent = jobs.send(Job { batch: batch.to_vec(), reply });
        // A thread that is gone has left the context as it was: only a new process can use the device.
        let answers = sent.ok().and_then(|()| answer.recv().ok());
        answers.unwrap_or_else(|| vec![Output::Lost; batch.len()])
    }

    /// What computes, such as `NVIDIA H200`.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Which of the kernels' code it runs, such as `sm_90a`.
    pub fn target(&self) -> &'static str {
        self.target
    }

    /// Tokens that fill the device.
    pub fn batch_tokens(&self) -> usize {
        self.batch_tokens
    }
}

/// A sequence of two tokens: what the first batch would find broken is found before there is one.
fn probe(shape: &Shape) -> Encoded {
    let task = shape.classifiers.first().map_or(Task::Embed, |it| Task::Classify(it.head));
    let length = 2.min(shape.longest);
    Encoded { ids: vec![0; length], type_ids: vec![0; length], task, asked: Vec::new() }
}

fn probed<D: Device>(runner: &mut Runner<D>, probe: Encoded, name: &str) -> Result<(), Problem> {
    let (code, why) = match runner.run(&[probe]).pop() {
        Some(Output::Logits(_) | Output::Mean(_)) => return Ok(()),
        Some(Output::OutOfMemory) => (Code::DEVICE_MEMORY, "there is no memory for two tokens"),
        Some(Output::NonFinite) => (Code::DEVICE_UNAVAILABLE, "its first answer is not finite"),
        _ => {
            let why = runner.lost().or(runner.refused());
            (Code::DEVICE_UNAVAILABLE, why.unwrap_or("it did not answer a first small batch"))
        }
    };
    Err(Problem::new(code, format!("{name} cannot be used: {why}")))
}

fn work<D: Device>(runner: &mut Runner<D>, inbox: &Receiver<Job>) {
    while let Ok(Job { batch, reply }) = inbox.recv() {
        let was_lost = runner.lost().is_some();
        let answers = runner.run(&batch);
        if let (false, Some(why)) = (was_lost, runner.lost()) {
            tracing::error!(why, "the device is lost for this process");
        }
        let tally = runner.tally();
        if tally != Default::default() {
            tracing::debug!(repeated = tally.repeated, halved = tally.halved, "batches that went otherwise");
        }
        // The caller may have gone.
        let _ = reply.send(answers);
    }
}

#[cfg(test)]
mod tests;

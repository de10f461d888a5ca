//! A model opened from its folder, ready to score.

mod facts;
mod labelled;
mod similar;

pub use facts::read_facts;

use crate::backend::{Backend, DeviceChoice};
use crate::checkpoint::{Checkpoint, ModelFile};
use crate::cpu::{CpuEncoder, CpuOptions, Isa, Output, PhaseTimes};
use crate::deberta::{DebertaConfig, Weights, load_weights};
use crate::engine::{Encoded, Engine, Task};
use crate::family::Family;
use crate::precision::{Chosen, PrecisionChoice, PrecisionRecord};
use crate::similarity::Remembered;
use crate::tokenizer::PairTokenizer;
use facts::Reading;
use groundline_types::{Code, Head, ModelFacts, ModelId, Preset, Problem, Score, Work, support_logits};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Premise tokens of a window where neither options nor the model folder say another number.
pub const DEFAULT_WINDOW_TOKENS: usize = 350;

/// How a model is opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// Threads that a batch may use; `None` for all cores.
    pub threads: Option<usize>,
    /// Highest instruction set to use; `None` for the best there is.
    pub isa: Option<Isa>,
    /// What computes.
    pub device: DeviceChoice,
    /// Label names in logit order, for a checkpoint whose own names say nothing (`LABEL_0`, …).
    pub labels: Option<Vec<String>>,
    /// Premise tokens of a window; `None` for what the model folder says, else [`DEFAULT_WINDOW_TOKENS`].
    pub window_tokens: Option<usize>,
    /// Name for people; `None` for what the model folder says, else the folder's name.
    pub name: Option<String>,
    /// How exactly the processor computes.
    pub precision: PrecisionChoice,
    /// The learned detector that the checkpoint is; `None` for what the model folder says, else an NLI model.
    pub preset: Option<Preset>,
}

/// An NLI model or a learned detector on its device: an [`Engine`].
#[derive(Debug)]
pub struct Model {
    facts: ModelFacts,
    engine_name: String,
    pub(crate) tokenizer: Arc<PairTokenizer>,
    pub(crate) encoder: Backend,
    fallback: Option<Problem>,
    reading: Reading,
    description: ModelDescription,
    /// Texts that were compared lately.
    remembered: Remembered,
    pub(crate) folder: PathBuf,
}

/// What a model is, for a listing.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ModelDescription {
    /// Name and revision.
    pub id: ModelId,
    /// Kind of model, such as `deberta-v2`.
    pub architecture: &'static str,
    /// Numbers in all weights, heads included.
    pub parameters: u64,
    /// Names of the labels of the NLI head, in logit order.
    pub labels: Vec<String>,
    /// Heads that are loaded.
    pub heads: Vec<Head>,
    /// Number of layers.
    pub layers: usize,
    /// Width of the hidden state, which is that of an embedding.
    pub hidden_size: usize,
    /// Longest input in tokens, special tokens included.
    pub max_tokens: usize,
    /// Premise tokens of a window.
    pub window_tokens: usize,
    /// Kinds of numbers that the weights are stored as, such as `F16`.
    pub dtypes: Vec<String>,
    /// Files in use.
    pub files: Vec<ModelFile>,
    /// What computes, such as `cpu-avx512-f32`.
    pub engine: String,
}

impl Model {
    /// Opens the Hugging Face folder `folder`: `config.json`, `tokenizer.json`, `model.safetensors` (or shards with an index), and
    /// where they are there `groundline.json` and `support_head.safetensors`.
    ///
    /// # Errors
    /// A checkpoint that is something else or is damaged is refused with a code of its own (GL4001 to GL4005, GL1010) and a
    /// message that says what was found and what to do.
    pub fn load(folder: &Path, options: &LoadOptions) -> Result<Self, Problem> {
        let checkpoint = Checkpoint::open(folder)?;
        let mut family = Family::parse(&checkpoint.config)?;
        if let Some(labels) = &options.labels {
            family.set_label_names(labels.clone());
        }
        let reading = facts::reading(&checkpoint, options, &family)?;
        let read_tokenizer = || {
            PairTokenizer::from_bytes(
                &checkpoint.tokenizer,
                facts::tokenizer_shape(&checkpoint, &family, &reading),
            )
        };
        // A model that answers in words is read with the ids of those words.
        let answers = reading.preset.map_or(&[] as &[&str], |info| info.answers);
        let (early, answers) = if answers.is_empty() {
            (None, Vec::new())
        } else {
            let tokenizer = read_tokenizer()?;
            let ids = tokenizer.first_tokens(answers)?;
            (Some(tokenizer), ids)
        };
        let loaded = family.load(&checkpoint.weights, checkpoint.support.as_ref(), &answers)?;
        reading.check_rows(&loaded.weights.heads)?;
        // Reading the tokenizer, hashing the files and packing the weights take about as long as each other.
        let mut instead = None;
        let (tokenizer, revision, encoder) = std::thread::scope(|scope| {
            let tokenizer = scope.spawn(|| early.map_or_else(read_tokenizer, Ok));
            let revision = scope.spawn(|| checkpoint.revision());
            // A GPU has a precision of its own, and no record is asked about it.
            let on_cpu = || {
                let chosen = precision_of(&checkpoint, options)?;
                instead = chosen.instead;
                let cpu = CpuOptions {
                    threads: options.threads,
                    isa: options.isa,
                    precision: chosen.precision,
                    ..CpuOptions::default()
                };
                CpuEncoder::of_any(&loaded.config, &loaded.weights, &cpu)
            };
            let for_gpu = || deberta_of(&family, &checkpoint, &reading);
            let encoder = Backend::open(options.device, for_gpu, on_cpu);
            (joined(tokenizer.join()), joined(revision.join()), encoder)
        });
        let (tokenizer, (encoder, fallback)) = (Arc::new(tokenizer??), encoder?);
        let facts = facts::gather(&checkpoint, options, &reading, &tokenizer, revision?)?;
        let fallback = fallback.or(instead);
        let engine_name = encoder.name();
        let description = describe(&checkpoint, &family, &facts, &engine_name);
        let folder = folder.to_owned();
        let remembered = Remembered::default();
        Ok(Self {
            facts,
            engine_name,
            tokenizer,
            encoder,
            fallback,
            reading,
            description,
            remembered,
            folder,
        })
    }

    /// What the model is.
    pub fn describe(&self) -> &ModelDescription {
        &self.description
    }

    /// Time that a batch takes on one thread, by phase; see [`CpuEncoder::profile`]. Nothing on a GPU.
    pub fn profile(&self, batch: &[Encoded], rounds: usize) -> PhaseTimes {
        self.encoder.profile(batch, rounds)
    }

    /// Logits as everyone reads them: of a learned detector, those of not supported and supported.
    fn read_logits(&self, logits: Vec<f32>) -> Result<Score, Problem> {
        let Some(label) = self.reading.supported_label else { return Ok(Score::Logits(logits.into())) };
        let read = support_logits(&logits, label).map(|read| Score::Logits(read.into()));
        read.ok_or_else(|| Problem::new(Code::INTERNAL, "the model gave fewer logits than its preset reads"))
    }

    /// The output, computed once more where a number was not finite: alone, a neighbour's fault cannot be its own.
    fn again_alone(&self, item: &Encoded, output: Output) -> Output {
        match output {
            Output::NonFinite => self.encoder.run(std::slice::from_ref(item)).pop().unwrap_or(Output::Failed),
            other => other,
        }
    }

    fn score(&self, item: &Encoded, output: Output) -> Result<Score, Problem> {
        match self.again_alone(item, output) {
            Output::Logits(logits) => self.read_logits(logits),
            Output::TokenLogits(logits) if !item.asked.is_empty() => self.read_tokens(item, &logits),
            Output::Mean(mean) => match normalised(&mean) {
                Some(embedding) => Ok(Score::Embedding(embedding.into())),
                None => Err(Problem::new(Code::NON_FINITE, "the embedding of a text has no length")),
            },
            other => Err(self.problem(item, &other)),
        }
    }

    /// Why an output is no score.
    fn problem(&self, item: &Encoded, output: &Output) -> Problem {
        let tokens = item.ids.len();
        let problem = |code: Code, message: String| Problem::new(code, message);
        match output {
            Output::Logits(_) | Output::Mean(_) | Output::TokenLogits(_) | Output::Hidden(_) => {
                problem(Code::INTERNAL, "the model gave another kind of numbers than was asked for".into())
            }
            Output::NonFinite => problem(
                Code::NON_FINITE,
                format!("the model gave a number that is not finite for a text of {tokens} tokens, twice"),
            ),
            Output::HeadMissing => head_missing(&self.facts, item.task),
            Output::Invalid => problem(
                Code::INTERNAL,
                format!(
                    "a text of {tokens} tokens was encoded for another model than {}",
                    self.facts.id.name
                ),
            ),
            Output::Failed => problem(Code::INTERNAL, format!("computing a text of {tokens} tokens failed")),
            Output::OutOfMemory => problem(
                Code::DEVICE_MEMORY,
                format!("the device has not enough memory for a text of {tokens} tokens, also alone"),
            ),
            Output::Lost => {
                problem(Code::DEVICE_LOST, "the device is lost for this process; start a new one".to_owned())
            }
        }
    }
}

impl Engine for Model {
    fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    fn name(&self) -> &str {
        &self.engine_name
    }

    fn fallback(&self) -> Option<&Problem> {
        self.fallback.as_ref()
    }

    fn encode(&self, work: &Work) -> Result<Encoded, Problem> {
        match work {
            Work::Pair { head: Head::Learned(preset), .. } => {
                Err(head_missing(&self.facts, Task::Classify(Head::Learned(*preset))))
            }
            Work::Pair { head: Head::Support, .. } if !self.facts.has_support_head => {
                Err(head_missing(&self.facts, Task::Classify(Head::Support)))
            }
            Work::Pair { .. } if self.reading.labels_tokens() => Err(self.labels_tokens_alone()),
            Work::Pair { premise, hypothesis, head } => {
                // A learned detector has one head, which answers for either.
                let head = if self.reading.supported_label.is_some() { Head::Nli } else { *head };
                self.tokenizer.encode_pair(premise, hypothesis, head)
            }
            Work::Embed { text } => self.tokenizer.encode_text(text),
            Work::Similarity { candidate, reference } => self.encode_similarity(candidate, reference),
            Work::Tokens { context, text, head } => self.encode_labelled(context, text, *head),
        }
    }

    fn run(&self, batch: &[Encoded]) -> Vec<Result<Score, Problem>> {
        if batch.iter().any(|item| matches!(item.task, Task::Similarity { .. })) {
            return self.run_similar(batch);
        }
        let outputs = self.encoder.run(batch);
        batch.iter().zip(outputs).map(|(item, output)| self.score(item, output)).collect()
    }

    fn batch_tokens(&self) -> usize {
        self.encoder.batch_tokens()
    }
}

/// The embedding with length 1; `None` where it has no length.
pub(crate) fn normalised(mean: &[f32]) -> Option<Vec<f32>> {
    let length = mean.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt();
    let scale = 1.0 / length;
    scale.is_finite().then(|| mean.iter().map(|&value| (f64::from(value) * scale) as f32).collect())
}

fn head_missing(facts: &ModelFacts, task: Task) -> Problem {
    let head = match task {
        Task::Classify(head) | Task::Tokens(head) => head.name(),
        Task::Embed => "embedding",
        Task::Similarity { .. } | Task::Hidden => "states of tokens",
    };
    Problem::new(
        Code::HEAD_MISSING,
        format!(
            "model {} has no head {head:?}; add support_head.safetensors or use another method",
            facts.id.name
        ),
    )
}

/// The precision that is asked for and that the model's record allows.
fn precision_of(checkpoint: &Checkpoint, options: &LoadOptions) -> Result<Chosen, Problem> {
    let recorded =
        if options.precision.wants_record() { PrecisionRecord::read(&checkpoint.folder)? } else { None };
    let record = match recorded {
        Some(record) => record.of_revision(&checkpoint.revision()),
        None => None,
    };
    options.precision.choose(Isa::choose(options.isa)?, record.as_ref())
}

/// A DeBERTa as GPUs compute it: its own shape and weights, and as long as it is read.
fn deberta_of(
    family: &Family,
    checkpoint: &Checkpoint,
    reading: &Reading,
) -> Result<(DebertaConfig, Weights), Problem> {
    let Family::Deberta(config) = family else {
        return Err(Problem::new(
            Code::MODEL_UNSUPPORTED,
            "GPUs compute models of the DeBERTa family, and this is of another; use the CPU (device \"cpu\")",
        ));
    };
    let weights = load_weights(config, &checkpoint.weights, checkpoint.support.as_ref())?;
    let mut config = DebertaConfig::clone(config);
    if !config.position_biased_input {
        // A preset may name a length of its own where no table of positions bounds it.
        let longest = facts::tokenizer_shape(checkpoint, family, reading).max_tokens;
        config.max_position_embeddings = config.max_position_embeddings.max(longest);
    }
    Ok((config, weights))
}

fn joined<T>(result: std::thread::Result<T>) -> Result<T, Problem> {
    result.map_err(|_| Problem::new(Code::INTERNAL, "reading a model panicked"))
}

fn describe(checkpoint: &Checkpoint, family: &Family, facts: &ModelFacts, engine: &str) -> ModelDescription {
    let maps = || [Some(&checkpoint.weights), checkpoint.support.as_ref()].into_iter().flatten();
    let mut dtypes: Vec<String> = maps().flat_map(|tensors| tensors.dtypes()).collect();
    dtypes.sort();
    dtypes.dedup();
    let (layers, hidden_size) = family.layers_and_width();
    let mut heads = vec![Head::Nli];
    heads.extend(facts.has_support_head.then_some(Head::Support));
    ModelDescription {
        id: facts.id.clone(),
        architecture: family.architecture(),
        parameters: maps().map(|tensors| tensors.parameters()).sum(),
        labels: family.label_names().to_vec(),
        heads,
        layers,
        hidden_size,
        max_tokens: facts.max_tokens,
        window_tokens: facts.window_tokens,
        dtypes,
        files: checkpoint.files(),
        engine: engine.to_owned(),
    }
}

#[cfg(test)]
mod tests;

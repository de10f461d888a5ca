//! What planning needs of a model, also without its engine.

use super::{DEFAULT_WINDOW_TOKENS, LoadOptions};
use crate::checkpoint::Checkpoint;
use crate::encoder::HeadWeights;
use crate::family::Family;
use crate::similarity::SimilarityBaseline;
use crate::tokenizer::{PairTokenizer, TokenizerShape};
use groundline_types::{
    Code, ModelFacts, ModelId, NliLabels, PRESETS, PairInput, Preset, PresetInfo, PresetWindows, Problem,
};
use std::path::Path;
use std::sync::Arc;

/// Reads what planning needs of the model in `folder`, without preparing its weights: for a process that plans and leaves
/// the computing to others. The revision is a hash over all files, so those who plan and those who compute must have the same
/// folder to meet. The options are those of [`super::Model::load`]; `threads` and `isa` mean nothing here.
///
/// # Errors
/// As [`super::Model::load`], but for what is wrong with single tensors.
pub fn read_facts(folder: &Path, options: &LoadOptions) -> Result<ModelFacts, Problem> {
    let checkpoint = Checkpoint::open(folder)?;
    let mut family = Family::parse(&checkpoint.config)?;
    if let Some(labels) = &options.labels {
        family.set_label_names(labels.clone());
    }
    let reading = reading(&checkpoint, options, &family)?;
    let shape = tokenizer_shape(&checkpoint, &family, &reading);
    let tokenizer = Arc::new(PairTokenizer::from_bytes(&checkpoint.tokenizer, shape)?);
    gather(&checkpoint, options, &reading, &tokenizer, checkpoint.revision())
}

/// How a model's logits are read.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    /// The learned detector that it is.
    pub(super) preset: Option<&'static PresetInfo>,
    /// The output that means support, where the model's outputs are read as not supported and supported.
    pub(super) supported_label: Option<usize>,
    labels: NliLabels,
}

/// Outputs of a model that tells supported from not supported, as [`groundline_types::support_logits`] orders them.
const BINARY: NliLabels = NliLabels { count: 2, entailment: 1, contradiction: None, neutral: Some(0) };

/// Names of the only label of a checkpoint with a single output, which is read by its sigmoid.
const SINGLE_LABELS: [&str; 7] =
    ["entailment", "entail", "entailed", "supported", "consistent", "correct", "label_0"];

/// How the model is read: by its preset, by its only label, or by the names of its labels.
pub(super) fn reading(
    checkpoint: &Checkpoint,
    options: &LoadOptions,
    family: &Family,
) -> Result<Reading, Problem> {
    if let Some(info) = preset_of(checkpoint, options)? {
        if info.labels_tokens && !family.labels_tokens() {
            return Err(Problem::new(
                Code::MODEL_UNSUPPORTED,
                format!(
                    "the checkpoint labels whole texts, and preset {} reads single tokens; it is another model \
                     (config.json of a token classifier names an architecture such as ModernBertForTokenClassification)",
                    info.name
                ),
            ));
        }
        return Ok(Reading {
            preset: Some(info),
            supported_label: Some(info.supported_label),
            labels: BINARY,
        });
    }
    if family.answers_in_words() {
        return Err(Problem::new(
            Code::MODEL_UNSUPPORTED,
            "this T5 checkpoint answers in words, and nothing says which words are meant; name its preset in groundline.json, such \
             as minicheck-flan-t5 or true",
        ));
    }
    let names = family.label_names();
    if let [single] = names
        && SINGLE_LABELS.contains(&single.trim().to_lowercase().as_str())
    {
        return Ok(Reading { preset: None, supported_label: Some(0), labels: BINARY });
    }
    let labels = NliLabels::from_names(names)
        .map_err(|error| Problem::new(Code::UNKNOWN_LABELS, error.to_string()))?;
    Ok(Reading { preset: None, supported_label: None, labels })
}

fn preset_of(checkpoint: &Checkpoint, options: &LoadOptions) -> Result<Option<&'static PresetInfo>, Problem> {
    if let Some(preset) = options.preset {
        return Ok(Some(preset.info()));
    }
    let Some(name) = &checkpoint.groundline.preset else { return Ok(None) };
    match Preset::from_name(name) {
        Some(preset) => Ok(Some(preset.info())),
        None => Err(Problem::new(
            Code::MODEL_UNSUPPORTED,
            format!(
                "groundline.json asks for preset {name:?}; those there are: {}",
                PRESETS.map(|info| info.name).join(", ")
            ),
        )),
    }
}

impl Reading {
    /// Whether the model answers for single tokens and not for whole texts.
    pub(super) fn labels_tokens(&self) -> bool {
        self.preset.is_some_and(|info| info.labels_tokens)
    }

    /// Refuses a checkpoint whose head has another number of outputs than its preset reads.
    pub(super) fn check_rows(&self, heads: &[HeadWeights]) -> Result<(), Problem> {
        let Some(info) = self.preset else { return Ok(()) };
        let rows = heads.first().map_or(0, |head| head.out.weight.shape()[0]);
        if rows == info.labels || rows == 1 {
            return Ok(());
        }
        Err(Problem::new(
            Code::MODEL_UNSUPPORTED,
            format!(
                "the checkpoint has {rows} outputs, and preset {} reads {}; it is another model",
                info.name, info.labels
            ),
        ))
    }
}

pub(super) fn tokenizer_shape(checkpoint: &Checkpoint, family: &Family, reading: &Reading) -> TokenizerShape {
    let (vocab_size, type_vocab_size) = family.vocabulary();
    TokenizerShape {
        vocab_size,
        type_vocab_size,
        max_tokens: max_tokens_of(checkpoint, family, reading),
        input: reading.preset.map_or(PairInput::Pair, |info| info.input),
    }
}

/// What the checkpoint says; a preset may say more where nothing in the layout bounds the length, and less anywhere.
fn max_tokens_of(checkpoint: &Checkpoint, family: &Family, reading: &Reading) -> usize {
    let of_checkpoint = family.longest().min(checkpoint.tokenizer_max_tokens.unwrap_or(usize::MAX));
    match reading.preset.and_then(|info| info.max_tokens) {
        Some(tokens) if family.reads_any_length() => tokens,
        Some(tokens) => tokens.min(of_checkpoint),
        None => of_checkpoint,
    }
}

pub(super) fn gather(
    checkpoint: &Checkpoint,
    options: &LoadOptions,
    reading: &Reading,
    tokenizer: &Arc<PairTokenizer>,
    revision: String,
) -> Result<ModelFacts, Problem> {
    let max_tokens = tokenizer.max_tokens();
    let baseline = SimilarityBaseline::read(&checkpoint.folder)?;
    let similarity_baseline = baseline.and_then(|baseline| baseline.of_revision(&revision));
    Ok(ModelFacts {
        id: ModelId { name: name_of(checkpoint, options)?, revision },
        labels: reading.labels,
        max_tokens,
        pair_overhead_tokens: tokenizer.pair_overhead_tokens(),
        window_tokens: window_tokens(checkpoint, options, reading, max_tokens)?,
        has_support_head: checkpoint.support.is_some()
            || (reading.supported_label.is_some() && !reading.labels_tokens()),
        summac_conv_fitted: false,
        similarity_baseline,
        counter: Arc::clone(tokenizer) as _,
        learned: Vec::new(),
    })
}

fn name_of(checkpoint: &Checkpoint, options: &LoadOptions) -> Result<String, Problem> {
    let given = options.name.clone().or_else(|| checkpoint.groundline.name.clone());
    let folder = || {
        let path = std::path::absolute(&checkpoint.folder).unwrap_or_else(|_| checkpoint.folder.clone());
        path.file_name().map(|name| name.to_string_lossy().into_owned())
    };
    let name = given.or_else(folder).unwrap_or_else(|| "model".to_owned());
    if name.trim().is_empty() {
        return Err(Problem::new(Code::INVALID_CONFIG, "the name of the model is empty; give it one"));
    }
    Ok(name)
}

/// A window may fill three quarters of what the model reads, so that a claim fits beside it.
fn window_tokens(
    checkpoint: &Checkpoint,
    options: &LoadOptions,
    reading: &Reading,
    max_tokens: usize,
) -> Result<usize, Problem> {
    let most = (max_tokens * 3 / 4).max(1);
    let Some(asked) = options.window_tokens.or(checkpoint.groundline.window_tokens) else {
        let of_preset = reading.preset.map_or(DEFAULT_WINDOW_TOKENS, preset_window_tokens);
        return Ok(of_preset.min(most));
    };
    if (1..=most).contains(&asked) {
        return Ok(asked);
    }
    Err(Problem::new(
        Code::INVALID_CONFIG,
        format!(
            "window_tokens is {asked}, and with {max_tokens} tokens at once the model takes windows of 1 to {most}"
        ),
    ))
}

/// The tokens of a preset's windows. A word has a good third more tokens than one.
fn preset_window_tokens(info: &PresetInfo) -> usize {
    match info.windows {
        PresetWindows::Tokens(tokens) => tokens,
        PresetWindows::Words(words) | PresetWindows::EqualGroups { words } => words * 4 / 3,
        PresetWindows::Longest => usize::MAX,
    }
}

//! Every setting there is, in one struct.
//!
//! Layers, later ones win: built-in defaults, a TOML file, environment variables, overrides (command-line options). An
//! unknown key is an error that names the nearest known one. [`OPTIONS`] is the inventory: each option with its unit and
//! its reason; [`default_toml`] prints it.

mod gateway;
mod inventory;
mod layers;
mod learned;
mod limits;
mod render;
mod scoring;

pub use gateway::{
    GatewayAdmissionConfig, GatewayConfig, GatewayHttpConfig, GatewayJwtConfig, GatewayRewardConfig,
    GatewayTlsConfig,
};
pub use inventory::{MODEL_OPTIONS, OPTIONS, OptionInfo, POLICY_OPTIONS, SECTIONS, UNSET_OPTIONS};
pub use layers::ConfigLayers;
pub use learned::LearnedModelConfig;
pub use limits::LimitsConfig;
pub use render::default_toml;
pub use scoring::{CacheConfig, CoordinatorConfig, WorkerConfig};

use groundline_bus::NatsOptions;
use groundline_coordinator::{CoordinatorOptions, validate_policies};
use groundline_detectors::{DetectorOptions, Need, methods};
use groundline_inference::cpu::Isa;
use groundline_inference::{DeviceChoice, PrecisionChoice};
use groundline_judge::JudgeOptions;
use groundline_telemetry::TelemetryOptions;
use groundline_types::{CascadePolicy, Code, OffsetUnit, Problem};
use groundline_verdict::VerdictPolicy;
use groundline_verdict::ensemble::EnsembleUse;
use groundline_verdict::reward::RewardProfile;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Every setting. Meanings, units and reasons are in [`OPTIONS`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Which model answers.
    pub model: ModelConfig,
    /// Learned detectors beside it: sections `[models.NAME]`.
    pub models: BTreeMap<String, LearnedModelConfig>,
    /// How it computes.
    pub engine: EngineConfig,
    /// What is refused as too large.
    pub limits: LimitsConfig,
    /// How methods work.
    pub detectors: DetectorOptions,
    /// How reports become verdicts.
    pub verdict: VerdictPolicy,
    /// How methods' numbers become one.
    pub ensemble: EnsembleConfig,
    /// Policies that requests may name: sections `[policies.NAME]`.
    pub policies: BTreeMap<String, CascadePolicy>,
    /// How results become rewards.
    pub reward: RewardProfile,
    /// The language model that methods may ask.
    pub judge: JudgeOptions,
    /// The pair-score cache.
    pub cache: CacheConfig,
    /// The part that takes a response from text to verdict.
    pub coordinator: CoordinatorConfig,
    /// The part that forms batches.
    pub worker: WorkerConfig,
    /// The broker of a cluster.
    pub nats: NatsOptions,
    /// What the process tells of itself.
    pub telemetry: TelemetryOptions,
    /// HTTP and gRPC.
    pub gateway: GatewayConfig,
    /// How results are shown.
    pub output: OutputConfig,
}

/// Which model answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelConfig {
    /// A name looked up in the model folders, or a path to a folder.
    pub name: String,
    /// Folders to look in before the standard ones.
    pub dirs: Vec<PathBuf>,
    /// Label names in logit order, where the checkpoint's own say nothing; empty: the checkpoint's.
    pub labels: Vec<String>,
    /// Premise tokens of a window of a source; 0: what the model folder says, else 350.
    pub window_tokens: usize,
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self { name: "groundline-mini".to_owned(), dirs: Vec::new(), labels: Vec::new(), window_tokens: 0 }
    }
}

/// How the model computes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EngineConfig {
    /// Threads that compute; 0: one for each core.
    pub threads: usize,
    /// Instruction set.
    pub isa: IsaChoice,
    /// Processor or GPU.
    pub device: DeviceChoice,
    /// How exactly the processor computes.
    pub precision: PrecisionChoice,
}

/// Which instruction set the kernels use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IsaChoice {
    /// The best that the processor has.
    #[default]
    Auto,
    /// At most AVX-512 with VNNI and BF16.
    Avx512Bf16,
    /// At most AVX-512.
    Avx512,
    /// At most AVX2 with FMA.
    Avx2,
    /// At most NEON with I8MM and BF16.
    NeonBf16,
    /// At most NEON.
    Neon,
    /// Whatever the compiler makes of plain Rust.
    Portable,
}

impl IsaChoice {
    /// The highest instruction set to use.
    pub(crate) fn cap(self) -> Option<Isa> {
        match self {
            IsaChoice::Auto => None,
            IsaChoice::Avx512Bf16 => Some(Isa::Avx512Bf16),
            IsaChoice::Avx512 => Some(Isa::Avx512),
            IsaChoice::NeonBf16 => Some(Isa::NeonBf16),
            IsaChoice::Neon => Some(Isa::Neon),
            IsaChoice::Avx2 => Some(Isa::Avx2),
            IsaChoice::Portable => Some(Isa::Portable),
        }
    }
}

impl EngineConfig {
    /// Threads that compute.
    pub fn thread_count(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            threads => threads,
        }
    }
}

/// How methods' numbers become one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EnsembleConfig {
    /// Where the weights are: [`PROFILE_AUTO`], [`PROFILE_OFF`] or a file.
    pub profile: String,
}

/// The weights in the model's folder, where there are some. Not the default: `docs/ensemble.md` has the comparison with the best single
/// number that decides it.
pub const PROFILE_AUTO: &str = "auto";
/// No ensemble.
pub const PROFILE_OFF: &str = "off";

impl Default for EnsembleConfig {
    fn default() -> Self {
        Self { profile: PROFILE_OFF.to_owned() }
    }
}

/// How results are shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OutputConfig {
    /// When to colour.
    pub color: ColorMode,
    /// Unit of offsets.
    pub offsets: OffsetUnit,
    /// Width of the text; 0: the terminal's, at most 120.
    pub width_columns: usize,
    /// Pieces of evidence shown under a sentence, 0 to 3.
    pub evidence: usize,
}

impl Default for OutputConfig {
    fn default() -> Self {
        Self { color: ColorMode::Auto, offsets: OffsetUnit::Bytes, width_columns: 0, evidence: 1 }
    }
}

/// When to colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColorMode {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl ColorMode {
    /// As it is written in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            ColorMode::Auto => "auto",
            ColorMode::Always => "always",
            ColorMode::Never => "never",
        }
    }
}

impl Config {
    /// As the coordinator takes it.
    pub(crate) fn coordinator_options(&self, config_hash: &str, engine_name: &str) -> CoordinatorOptions {
        CoordinatorOptions {
            detectors: self.detectors.clone(),
            verdict: self.verdict.clone(),
            ensemble: EnsembleUse::Off,
            policies: self.policies.clone(),
            limits: self.limits.request(),
            cache_bytes: self.cache.bytes,
            max_checks: self.coordinator.max_checks,
            window_jobs: self.coordinator.window_jobs,
            credit_tokens: self.coordinator.credit_tokens,
            target_queue: Duration::from_millis(self.coordinator.target_queue_ms),
            no_worker_timeout: Some(self.coordinator.no_worker_timeout_ms)
                .filter(|timeout_ms| *timeout_ms > 0)
                .map(Duration::from_millis),
            resend_after: Duration::from_millis(self.coordinator.resend_after_ms),
            max_attempts: self.coordinator.max_attempts,
            stop_timeout: Duration::from_millis(self.coordinator.stop_timeout_ms),
            config_hash: config_hash.to_owned(),
            engine_name: engine_name.to_owned(),
        }
    }

    /// Checks what types cannot: that numbers are in range and names known.
    ///
    /// # Errors
    /// [`Code::INVALID_CONFIG`] naming the option.
    pub fn validate(&self) -> Result<(), Problem> {
        let refuse = |message: String| Err(Problem::new(Code::INVALID_CONFIG, message));
        if self.model.name.trim().is_empty() {
            return refuse("model.name is empty; give a name or a folder".to_owned());
        }
        if self.ensemble.profile.trim().is_empty() {
            return refuse("ensemble.profile is empty; give auto, off or a file".to_owned());
        }
        if self.output.evidence > MAX_EVIDENCE {
            return refuse(format!(
                "output.evidence is {}, at most {MAX_EVIDENCE} are kept",
                self.output.evidence
            ));
        }
        if self.engine.threads > MAX_THREADS {
            let threads = self.engine.threads;
            return refuse(format!(
                "engine.threads is {threads}, at most {MAX_THREADS} are started; 0 is one for each core"
            ));
        }
        let at_least_one = [
            ("limits.response_bytes", self.limits.response_bytes),
            ("limits.source_bytes", self.limits.source_bytes),
            ("limits.sources", self.limits.sources),
            ("limits.sample_bytes", self.limits.sample_bytes),
            ("limits.samples", self.limits.samples),
            ("limits.line_bytes", self.limits.line_bytes),
            ("coordinator.max_checks", self.coordinator.max_checks),
            ("coordinator.window_jobs", self.coordinator.window_jobs),
            ("coordinator.credit_tokens", self.coordinator.credit_tokens),
            ("coordinator.max_attempts", self.coordinator.max_attempts as usize),
            ("coordinator.queued_checks", self.coordinator.queued_checks as usize),
            ("worker.held_batches", self.worker.held_batches),
        ];
        if let Some((name, _)) = at_least_one.iter().find(|(_, value)| *value == 0) {
            return refuse(format!("{name} is 0: nothing could be checked"));
        }
        let inside = |section: &'static str| {
            move |problem: Problem| Problem::new(problem.code, format!("{section}.{}", problem.message))
        };
        self.gateway.validate()?;
        self.nats.validate()?;
        self.detectors.validate().map_err(inside("detectors"))?;
        self.verdict.validate().map_err(inside("verdict"))?;
        self.telemetry.validate().map_err(inside("telemetry"))?;
        self.reward.validate().map_err(inside("reward"))?;
        if self.judge.is_on() {
            self.judge.validate().map_err(inside("judge"))?;
        }
        learned::validate(&self.models)?;
        validate_policies(&self.policies)?;
        self.validate_need_of_judge()
    }
}

impl Config {
    /// A policy that needs a judge cannot be carried out without one.
    fn validate_need_of_judge(&self) -> Result<(), Problem> {
        if self.judge.is_on() {
            return Ok(());
        }
        for (name, policy) in &self.policies {
            let grey = policy.grey_zone.iter().flat_map(|zone| &zone.methods);
            let audit = policy.audit.iter().flat_map(|audit| &audit.methods);
            let mut asked = policy.always.iter().chain(grey).chain(audit);
            let needs = |name: &&String| {
                methods().iter().any(|info| info.name == **name && info.needs.contains(&Need::Judge))
            };
            if let Some(method) = asked.find(needs) {
                let message = format!(
                    "policies.{name} asks {method}, which needs a judge, and none is configured; set judge.base_url and \
                     judge.model"
                );
                return Err(Problem::new(Code::INVALID_CONFIG, message));
            }
        }
        Ok(())
    }
}

/// Most threads that compute: more than any machine has cores for, and few enough that each can be started.
pub const MAX_THREADS: usize = 1024;

/// Pieces of evidence in a result for each sentence.
const MAX_EVIDENCE: usize = 3;

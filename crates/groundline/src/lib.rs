//! Groundline as a library: check what a language model says against its sources.
//!
//! One call goes from a request to a result. The response is split into sentences, each is compared with the sources by a
//! model for natural-language inference, and each gets a verdict: supported, contradicted or not mentioned, with its
//! probability and its evidence.
//!
//! ```
//! use groundline::{CheckRequest, Checker, Config, Verdict};
//!
//! #[tokio::main]
//! async fn main() -> Result<(), groundline::Problem> {
//!     let source = "Marie Curie was born in Warsaw. She won the Nobel Prize in Physics in 1903.";
//!     let response = "Marie Curie was born in Warsaw. She won the Nobel Prize in Physics in 1905.";
//!
//!     let checker = Checker::embedded(Config::default())?;
//!     let result = checker.check(CheckRequest::new(response, source)).await?;
//!
//!     assert_eq!(result.sentences[0].verdict, Some(Verdict::Supported));
//!     assert_eq!(result.sentences[1].verdict, Some(Verdict::Contradicted));
//!     assert_eq!(result.verdict, Some(Verdict::Contradicted));
//!     assert!(result.alert);
//!     for sentence in &result.sentences {
//!         println!("{:?} {}", sentence.verdict, &response[sentence.start..sentence.end]);
//!     }
//!     Ok(())
//! }
//! ```
//!
//! - [`Checker`] loads the model once and may be cloned and shared; checks that run at once share batches.
//! - [`CheckRequest`] has more than texts: several sources, methods, facts, a deadline; [`CheckResult`] is also the JSON that
//!   the command line and the services give (schema `groundline.check/1`).
//! - [`Config`] has every setting; [`ConfigLayers`] puts it together from a file, the environment and overrides.
//! - Every error is a [`Problem`]: a stable [`Code`] and a sentence that says what was found and what to do.
//!
//! What could not be scored is never called supported: a deadline or a failure leaves sentences without a verdict, and the
//! result says so with `status`, `coverage` and a reason.
//!
//! Invariant of absence: this crate knows no HTTP and no terminal.

#![forbid(unsafe_code)]

mod any_bus;
mod async_checks;
mod candidates;
mod checker;
mod config;
#[cfg(feature = "cluster")]
mod dead_letters;
#[cfg(feature = "cluster")]
mod doctor;
mod ensemble;
mod fingerprint;
mod judge;
mod models;
mod readiness;
#[cfg(feature = "cluster")]
mod worker_node;

pub use async_checks::{AsyncChecks, AsyncRunner, AsyncStatus};
pub use candidates::{CandidateReport, MeasuredCandidates, ScoredWork, VerdictChange, measure_candidates};
pub use checker::{Checker, StreamEvents};
pub use config::{
    CacheConfig, ColorMode, Config, ConfigLayers, CoordinatorConfig, EngineConfig, EnsembleConfig,
    GatewayAdmissionConfig, GatewayConfig, GatewayHttpConfig, GatewayJwtConfig, GatewayRewardConfig,
    GatewayTlsConfig, IsaChoice, LearnedModelConfig, LimitsConfig, MAX_THREADS, MODEL_OPTIONS, ModelConfig,
    OPTIONS, OptionInfo, OutputConfig, POLICY_OPTIONS, PROFILE_AUTO, PROFILE_OFF, SECTIONS, UNSET_OPTIONS,
    WorkerConfig, default_toml,
};
#[cfg(feature = "cluster")]
pub use dead_letters::{DeadLetter, DeadLetters};
#[cfg(feature = "cluster")]
pub use doctor::{Finding, Health, diagnose};
pub use ensemble::{EnsembleScene, ensemble_scene};
pub use groundline_actors::{ComponentHealth, Condition};
pub use groundline_bus::{NatsOptions, NatsStorage, Secret};
pub use groundline_coordinator::{
    CancelToken, CheckObserver, Progress, Stage, StreamEvent, StreamInput, resolve_policy,
};
pub use groundline_detectors::{DetectorOptions, MethodInfo, Need, methods, resolve as resolve_methods};
pub use groundline_inference::{
    Comparison, DeviceChoice, Engine, MeasuredPrecision, ModelDescription, PRECISION_FILE, Precision,
    PrecisionChoice, PrecisionRecord, SIMILARITY_BASELINE_FILE, SimilarityBaseline, VERIFY_TOLERANCE,
    VerifyReport,
};
pub use groundline_judge::{
    AnswerFormat, Capabilities as JudgeCapabilities, JudgeOptions, JudgeUsage, TokenLimitField,
};
pub use groundline_telemetry::{LogFormat, TelemetryOptions};
pub use groundline_types::{
    Audit, CascadePolicy, CheckRequest, CheckResult, Code, GreyZone, Lane, ModelFacts, OffsetUnit,
    PolicyChoice, Problem, SentenceResult, Source, Status, StopAt, StreamRequest, Verdict,
};
pub use groundline_verdict::VerdictPolicy;
pub use groundline_verdict::ensemble::Ensemble;
pub use groundline_verdict::reward::{
    self, Reward, RewardComponents, RewardProfile, RewardShape, RewardStatus, SentenceReward,
};
pub use judge::{JudgeProbe, probe_judge};
pub use models::{
    BaselineOptions, FoundModel, MeasuredBaseline, MeasuredModel, ModelDetails, Verification, describe_model,
    find_model, list_models, load_engine, load_model, measure_baseline, measure_precision, model_folders,
    verify_model,
};
pub use readiness::{NotReady, PROGRESS_PATIENCE, Remark};
#[cfg(feature = "cluster")]
pub use worker_node::WorkerNode;

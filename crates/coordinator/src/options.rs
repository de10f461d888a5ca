//! Settings of a coordinator.

use groundline_detectors::DetectorOptions;
use groundline_types::{CascadePolicy, Limits};
use groundline_verdict::VerdictPolicy;
use groundline_verdict::ensemble::EnsembleUse;
use std::collections::BTreeMap;
use std::time::Duration;

/// Settings of a [`crate::Coordinator`].
#[derive(Debug, Clone, PartialEq)]
pub struct CoordinatorOptions {
    /// Settings of the methods.
    pub detectors: DetectorOptions,
    /// How reports become verdicts.
    pub verdict: VerdictPolicy,
    /// The weights by which methods' numbers become one.
    pub ensemble: EnsembleUse,
    /// Policies that requests may name.
    pub policies: BTreeMap<String, CascadePolicy>,
    /// What a request may hold.
    pub limits: Limits,
    /// Memory for scores of pairs; 0 turns the cache off, but equal pairs that are asked for at once are still scored once.
    pub cache_bytes: u64,
    /// Checks that run at once; more are refused with [`groundline_types::Code::OVERLOADED`].
    pub max_checks: usize,
    /// Jobs of one check under way at once.
    pub window_jobs: usize,
    /// Estimated tokens of all checks' jobs under way at once. Workers' queues stay short, so that the order of work is decided
    /// here, where fairness is.
    ///
    /// This bound holds while no worker says how fast it is; then it is what all of them hold at most, or get done in
    /// [`CoordinatorOptions::target_queue`], whichever is more.
    pub credit_tokens: usize,
    /// How long a job may wait behind others that are under way, when workers are as fast as they say. Long enough to outlast
    /// a slow answer of the broker; whoever comes next waits as long.
    pub target_queue: Duration,
    /// How long jobs wait for any worker to be there before they are given up with
    /// [`groundline_types::Code::NO_WORKER`]; `None`: until their deadline.
    pub no_worker_timeout: Option<Duration>,
    /// How long nothing at all may be answered before what is under way is sent again.
    pub resend_after: Duration,
    /// How often a job is sent, with nothing answered in between, before it is given up.
    pub max_attempts: u32,
    /// How long a stop waits for running checks before it makes them finish with what they have.
    pub stop_timeout: Duration,
    /// Hash of every setting that can change a result; goes into results as it is.
    pub config_hash: String,
    /// What computes, for results, such as `cpu-avx512-f32`.
    pub engine_name: String,
}

impl Default for CoordinatorOptions {
    fn default() -> Self {
        Self {
            detectors: DetectorOptions::default(),
            verdict: VerdictPolicy::default(),
            ensemble: EnsembleUse::default(),
            policies: BTreeMap::new(),
            limits: Limits::default(),
            cache_bytes: 64 << 20,
            max_checks: 64,
            window_jobs: 32,
            credit_tokens: 65_536,
            target_queue: Duration::from_millis(20),
            no_worker_timeout: None,
            resend_after: Duration::from_secs(10),
            max_attempts: 18,
            stop_timeout: Duration::from_secs(30),
            config_hash: String::new(),
            engine_name: String::new(),
        }
    }
}

//! Everything that can be set about the broker: plain data, also in a build without NATS, so that one configuration file serves
//! every build.

use crate::{MAX_CHECK_BYTES, MAX_JOB_BYTES};
#[cfg(feature = "nats")]
use groundline_types::Lane;
use groundline_types::{Code, Problem};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
#[cfg(feature = "nats")]
use std::time::Duration;

/// A text that no log and no debug print shows; empty: none.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Hides a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text, where there is one.
    #[cfg(feature = "nats")]
    pub(crate) fn reveal(&self) -> Option<String> {
        Some(self.0.clone()).filter(|text| !text.is_empty())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "none" } else { "***" })
    }
}

impl Serialize for Secret {
    /// Hidden as well: whoever writes a configuration out shows it to somebody.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(if self.is_empty() { "" } else { "***" })
    }
}

/// Where the broker keeps jobs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NatsStorage {
    /// On disk: an accepted job survives a restart of the broker. Users' texts are on that disk until they are scored.
    #[default]
    File,
    /// In memory: no text touches a disk; jobs are lost with the broker, and their coordinators send them again.
    Memory,
}

/// How to reach the broker, and what the streams on it look like.
///
/// Every process of a cluster must be given the same streams: a process that finds a difference sets it right where the broker
/// allows it, so two that disagree would take turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NatsOptions {
    /// Servers of the broker, such as `nats://127.0.0.1:4222` or `tls://…`. The client learns of further ones from the first.
    pub urls: Vec<String>,
    /// What the broker calls this connection in its listings.
    pub name: String,
    /// A file with a user's JWT and seed, as `nsc` writes it; empty: none.
    pub credentials_file: PathBuf,
    /// Seed of an nkey; empty: none.
    pub nkey_seed: Secret,
    /// A token; empty: none.
    pub token: Secret,
    /// A user's name, with `password`; empty: none.
    pub user: String,
    /// Password of `user`; empty: none.
    pub password: Secret,
    /// PEM file of the authorities that may have signed the broker's certificate; empty: the system's.
    pub tls_ca_file: PathBuf,
    /// PEM file of this client's certificate, with `tls_key_file`; empty: none.
    pub tls_cert_file: PathBuf,
    /// PEM file of its key; empty: none.
    pub tls_key_file: PathBuf,
    /// Whether to refuse a connection without TLS.
    pub tls_required: bool,
    /// How long to try to reach the broker at the start.
    pub start_patience_ms: u64,
    /// How long one attempt to connect may take.
    pub connect_timeout_ms: u64,
    /// How long the broker may take to answer a request or to confirm that a job is stored.
    pub request_timeout_ms: u64,
    /// How often the connection is tried. The client's own default of a minute hides a partition for two.
    pub ping_interval_ms: u64,
    /// Longest pause between two attempts to connect again; half of it is random.
    pub max_reconnect_delay_ms: u64,
    /// Most messages on their way to the socket before senders wait.
    pub client_capacity: usize,
    /// Most messages of one subscription that wait for its reader before the client drops some: results are many at once.
    pub subscription_capacity: usize,
    /// Most jobs that are sent and not confirmed yet; further publishers wait.
    pub max_unconfirmed_jobs: usize,
    /// Whether this process may create and change streams. Where not, a difference is an error at the start.
    pub manages_streams: bool,
    /// Whether this process looks after jobs that were delivered as often as is allowed. Any number may.
    pub runs_janitor: bool,
    /// Where jobs are kept.
    pub storage: NatsStorage,
    /// On how many servers of a cluster each stream is kept: 1, 3 or 5.
    pub replicas: usize,
    /// How long a delivery of the online lane may stay undecided.
    pub ack_wait_online_ms: u64,
    /// The same for the bulk lane.
    pub ack_wait_bulk_ms: u64,
    /// The same for a check of the durable queue.
    pub ack_wait_check_ms: u64,
    /// How often a job or a check is delivered before it is dead.
    pub max_deliver: u32,
    /// Most undecided deliveries of one queue, of all its workers together.
    pub max_undecided: u32,
    /// How long an attempt is remembered, so that publishing it twice stores it once.
    pub duplicate_window_ms: u64,
    /// How long a job may wait before the broker drops it. Longer than the longest deadline.
    pub max_job_age_ms: u64,
    /// Most jobs of all tenants.
    pub max_jobs: u64,
    /// Most jobs of one tenant, lane and model.
    pub max_jobs_per_tenant: u64,
    /// Most bytes of all jobs. The broker sets these bytes aside, and those of each further stream, when it makes the stream.
    pub max_job_bytes_total: u64,
    /// How long a dead job is kept.
    pub max_dead_age_ms: u64,
    /// Most bytes of dead jobs; the oldest go first.
    pub max_dead_bytes_total: u64,
    /// How long a check of the durable queue may wait.
    pub max_check_age_ms: u64,
    /// Most checks of one tenant and lane that wait or run.
    pub max_checks_per_tenant: u64,
    /// Most bytes of all checks, without the bodies that lie in the object store.
    pub max_check_bytes_total: u64,
    /// Most bytes in the object store.
    pub max_body_bytes_total: u64,
    /// How long an answer to a check is kept after it was last set.
    pub answer_ttl_ms: u64,
    /// Most bytes of all answers.
    pub max_answer_bytes_total: u64,
}

const SECOND_MS: u64 = 1000;
const DAY_MS: u64 = 24 * 3600 * SECOND_MS;

impl Default for NatsOptions {
    fn default() -> Self {
        Self {
            urls: vec!["nats://127.0.0.1:4222".into()],
            name: "groundline".into(),
            credentials_file: PathBuf::new(),
            nkey_seed: Secret::default(),
            token: Secret::default(),
            user: String::new(),
            password: Secret::default(),
            tls_ca_file: PathBuf::new(),
            tls_cert_file: PathBuf::new(),
            tls_key_file: PathBuf::new(),
            tls_required: false,
            start_patience_ms: 30 * SECOND_MS,
            connect_timeout_ms: 5 * SECOND_MS,
            request_timeout_ms: 2 * SECOND_MS,
            ping_interval_ms: 2 * SECOND_MS,
            max_reconnect_delay_ms: 2 * SECOND_MS,
            client_capacity: 8192,
            subscription_capacity: 65_536,
            max_unconfirmed_jobs: 256,
            manages_streams: true,
            runs_janitor: true,
            storage: NatsStorage::File,
            replicas: 1,
            ack_wait_online_ms: 6 * SECOND_MS,
            ack_wait_bulk_ms: 30 * SECOND_MS,
            ack_wait_check_ms: 30 * SECOND_MS,
            max_deliver: 4,
            max_undecided: 8192,
            duplicate_window_ms: 120 * SECOND_MS,
            max_job_age_ms: 3600 * SECOND_MS,
            max_jobs: 1 << 20,
            max_jobs_per_tenant: 4096,
            max_job_bytes_total: 1 << 30,
            max_dead_age_ms: 7 * DAY_MS,
            max_dead_bytes_total: 256 << 20,
            max_check_age_ms: DAY_MS,
            max_checks_per_tenant: 4096,
            max_check_bytes_total: 512 << 20,
            max_body_bytes_total: 1 << 30,
            answer_ttl_ms: DAY_MS,
            max_answer_bytes_total: 512 << 20,
        }
    }
}

impl NatsOptions {
    /// Options for a broker at one address, with everything else as it is by default.
    pub fn at(url: impl Into<String>) -> Self {
        Self { urls: vec![url.into()], ..Self::default() }
    }

    /// Refuses what cannot work.
    ///
    /// # Errors
    ///
    /// `GL1013`, naming the option.
    pub fn validate(&self) -> Result<(), Problem> {
        let wrong = |what: &str| Err(Problem::new(Code::INVALID_CONFIG, format!("nats: {what}")));
        if self.urls.is_empty() {
            return wrong("urls is empty");
        }
        // The client would not use them, and an address is shown in logs.
        if self.urls.iter().any(|url| url.contains('@')) {
            return wrong("urls must hold no user or password; give them as user and password, or as token");
        }
        if !matches!(self.replicas, 1 | 3 | 5) {
            return wrong("replicas must be 1, 3 or 5");
        }
        if self.user.is_empty() != self.password.is_empty() {
            return wrong("user and password go together");
        }
        let is_set = |file: &PathBuf| !file.as_os_str().is_empty();
        if is_set(&self.tls_cert_file) != is_set(&self.tls_key_file) {
            return wrong("tls_cert_file and tls_key_file go together");
        }
        let ways = [
            is_set(&self.credentials_file),
            !self.nkey_seed.is_empty(),
            !self.token.is_empty(),
            !self.user.is_empty(),
        ];
        if ways.into_iter().filter(|way| *way).count() > 1 {
            return wrong("give one of credentials_file, nkey_seed, token and user");
        }
        for (name, value) in self.counts() {
            if value == 0 || value > i64::MAX as u64 {
                return wrong(&format!("{name} must be at least 1"));
            }
        }
        if self.max_job_bytes_total < MAX_JOB_BYTES as u64
            || self.max_body_bytes_total < MAX_CHECK_BYTES as u64
        {
            return wrong("max_job_bytes_total or max_body_bytes_total has no room for the largest one");
        }
        if self.duplicate_window_ms > self.max_job_age_ms {
            return wrong("duplicate_window_ms must not be longer than max_job_age_ms");
        }
        Ok(())
    }

    fn counts(&self) -> [(&'static str, u64); 23] {
        [
            ("start_patience_ms", self.start_patience_ms),
            ("connect_timeout_ms", self.connect_timeout_ms),
            ("request_timeout_ms", self.request_timeout_ms),
            ("ping_interval_ms", self.ping_interval_ms),
            ("max_reconnect_delay_ms", self.max_reconnect_delay_ms),
            ("client_capacity", self.client_capacity as u64),
            ("subscription_capacity", self.subscription_capacity as u64),
            ("max_unconfirmed_jobs", self.max_unconfirmed_jobs as u64),
            ("ack_wait_online_ms", self.ack_wait_online_ms),
            ("ack_wait_bulk_ms", self.ack_wait_bulk_ms),
            ("ack_wait_check_ms", self.ack_wait_check_ms),
            ("max_deliver", self.max_deliver.into()),
            ("max_undecided", self.max_undecided.into()),
            ("duplicate_window_ms", self.duplicate_window_ms),
            ("max_job_age_ms", self.max_job_age_ms),
            ("max_jobs", self.max_jobs),
            ("max_jobs_per_tenant", self.max_jobs_per_tenant),
            ("max_dead_age_ms", self.max_dead_age_ms),
            ("max_dead_bytes_total", self.max_dead_bytes_total),
            ("max_check_age_ms", self.max_check_age_ms),
            ("max_checks_per_tenant", self.max_checks_per_tenant),
            ("answer_ttl_ms", self.answer_ttl_ms),
            ("max_answer_bytes_total", self.max_answer_bytes_total),
        ]
    }

    #[cfg(feature = "nats")]
    pub(crate) fn ack_wait(&self, lane: Lane) -> Duration {
        Duration::from_millis(match lane {
            Lane::Online => self.ack_wait_online_ms,
            Lane::Bulk => self.ack_wait_bulk_ms,
        })
    }

    #[cfg(feature = "nats")]
    pub(crate) fn request_timeout(&self) -> Duration {
        Duration::from_millis(self.request_timeout_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid_and_survive_a_round_trip() {
        let options = NatsOptions::default();
        options.validate().unwrap();
        let json = serde_json::to_string(&options).unwrap();
        assert_eq!(serde_json::from_str::<NatsOptions>(&json).unwrap(), options);
        assert!(serde_json::from_str::<NatsOptions>(r#"{"replica": 3}"#).is_err());
    }

    #[test]
    fn what_cannot_work_is_refused_with_its_name() {
        let refused = |options: NatsOptions| options.validate().unwrap_err().message;
        let base = NatsOptions::default;
        assert!(refused(NatsOptions { urls: Vec::new(), ..base() }).contains("urls"));
        let with_password = refused(NatsOptions::at("nats://me:hidden-word@127.0.0.1:4222"));
        assert!(with_password.contains("user and password") && !with_password.contains("hidden-word"));
        assert!(refused(NatsOptions { replicas: 2, ..base() }).contains("replicas"));
        assert!(refused(NatsOptions { user: "me".into(), ..base() }).contains("password"));
        assert!(refused(NatsOptions { max_deliver: 0, ..base() }).contains("max_deliver"));
        assert!(refused(NatsOptions { max_job_age_ms: 1, ..base() }).contains("duplicate_window_ms"));
        let two = NatsOptions { token: Secret::new("a"), nkey_seed: Secret::new("b"), ..base() };
        assert!(refused(two).contains("one of"));
    }

    #[test]
    fn secrets_are_shown_nowhere() {
        let options = NatsOptions { token: Secret::new("hidden-word"), ..NatsOptions::default() };
        assert!(!format!("{options:?}").contains("hidden-word"));
        assert!(!serde_json::to_string(&options).unwrap().contains("hidden-word"));
    }
}

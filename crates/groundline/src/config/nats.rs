//! The section `[nats]`: the broker of a cluster.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// How to reach the broker, and what the streams on it look like. Meanings, units and reasons are in
/// [`OPTIONS`](super::OPTIONS). Plain data, also in a build without the roles of a cluster, so that one file serves both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NatsConfig {
    /// Servers of the broker, such as `nats://127.0.0.1:4222` or `tls://…`. The client learns of further ones from the first.
    pub urls: Vec<String>,
    /// What the broker calls this connection in its listings.
    pub name: String,
    /// A file with a user's JWT and seed, as `nsc` writes it; empty: none.
    pub credentials_file: PathBuf,
    /// Seed of an nkey; empty: none.
    pub nkey_seed: HiddenText,
    /// A token; empty: none.
    pub token: HiddenText,
    /// A user's name, with `password`; empty: none.
    pub user: String,
    /// Password of `user`; empty: none.
    pub password: HiddenText,
    /// PEM file of the authorities that may have signed the broker's certificate, besides the system's; empty: none.
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
    pub storage: StorageChoice,
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
    /// Most bytes of all jobs.
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

/// Where the broker keeps jobs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StorageChoice {
    /// On disk.
    #[default]
    File,
    /// In memory.
    Memory,
}

/// A text that no debug print shows and that is never written out again; empty: none.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct HiddenText(String);

impl HiddenText {
    /// Hides a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for HiddenText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "none" } else { "***" })
    }
}

impl Serialize for HiddenText {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(if self.0.is_empty() { "" } else { "***" })
    }
}

const SECOND_MS: u64 = 1000;
const DAY_MS: u64 = 24 * 3600 * SECOND_MS;

impl Default for NatsConfig {
    fn default() -> Self {
        Self {
            urls: vec!["nats://127.0.0.1:4222".to_owned()],
            name: "groundline".to_owned(),
            credentials_file: PathBuf::new(),
            nkey_seed: HiddenText::default(),
            token: HiddenText::default(),
            user: String::new(),
            password: HiddenText::default(),
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
            storage: StorageChoice::File,
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
            max_job_bytes_total: 4 << 30,
            max_dead_age_ms: 7 * DAY_MS,
            max_dead_bytes_total: 1 << 30,
            max_check_age_ms: DAY_MS,
            max_checks_per_tenant: 4096,
            max_check_bytes_total: 1 << 30,
            max_body_bytes_total: 4 << 30,
            answer_ttl_ms: DAY_MS,
            max_answer_bytes_total: 1 << 30,
        }
    }
}

#[cfg(feature = "cluster")]
mod options {
    use super::{HiddenText, NatsConfig, StorageChoice};
    use groundline_bus::{NatsOptions, NatsStorage, Secret};
    use std::path::{Path, PathBuf};

    impl NatsConfig {
        /// As the bus takes it.
        pub(crate) fn options(&self) -> NatsOptions {
            let file = |path: &Path| (!path.as_os_str().is_empty()).then(|| PathBuf::from(path));
            let secret = |text: &HiddenText| (!text.0.is_empty()).then(|| Secret::new(text.0.clone()));
            NatsOptions {
                urls: self.urls.clone(),
                name: self.name.clone(),
                credentials_file: file(&self.credentials_file),
                nkey_seed: secret(&self.nkey_seed),
                token: secret(&self.token),
                user: Some(self.user.clone()).filter(|text| !text.is_empty()),
                password: secret(&self.password),
                tls_ca_file: file(&self.tls_ca_file),
                tls_cert_file: file(&self.tls_cert_file),
                tls_key_file: file(&self.tls_key_file),
                tls_required: self.tls_required,
                start_patience_ms: self.start_patience_ms,
                connect_timeout_ms: self.connect_timeout_ms,
                request_timeout_ms: self.request_timeout_ms,
                ping_interval_ms: self.ping_interval_ms,
                max_reconnect_delay_ms: self.max_reconnect_delay_ms,
                client_capacity: self.client_capacity,
                subscription_capacity: self.subscription_capacity,
                max_unconfirmed_jobs: self.max_unconfirmed_jobs,
                manages_streams: self.manages_streams,
                runs_janitor: self.runs_janitor,
                storage: match self.storage {
                    StorageChoice::File => NatsStorage::File,
                    StorageChoice::Memory => NatsStorage::Memory,
                },
                replicas: self.replicas,
                ack_wait_online_ms: self.ack_wait_online_ms,
                ack_wait_bulk_ms: self.ack_wait_bulk_ms,
                ack_wait_check_ms: self.ack_wait_check_ms,
                max_deliver: self.max_deliver,
                max_undecided: self.max_undecided,
                duplicate_window_ms: self.duplicate_window_ms,
                max_job_age_ms: self.max_job_age_ms,
                max_jobs: self.max_jobs,
                max_jobs_per_tenant: self.max_jobs_per_tenant,
                max_job_bytes_total: self.max_job_bytes_total,
                max_dead_age_ms: self.max_dead_age_ms,
                max_dead_bytes_total: self.max_dead_bytes_total,
                max_check_age_ms: self.max_check_age_ms,
                max_checks_per_tenant: self.max_checks_per_tenant,
                max_check_bytes_total: self.max_check_bytes_total,
                max_body_bytes_total: self.max_body_bytes_total,
                answer_ttl_ms: self.answer_ttl_ms,
                max_answer_bytes_total: self.max_answer_bytes_total,
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_defaults_are_those_of_the_bus_and_secrets_stay_hidden() {
            assert_eq!(NatsConfig::default().options(), NatsOptions::default());
            let config = NatsConfig {
                token: HiddenText::new("hidden-word"),
                credentials_file: "a.creds".into(),
                ..NatsConfig::default()
            };
            assert_eq!(config.options().token, Some(Secret::new("hidden-word")));
            assert_eq!(config.options().credentials_file, Some("a.creds".into()));
            assert!(!format!("{config:?}").contains("hidden-word"));
            assert!(!toml::to_string(&config).unwrap().contains("hidden-word"));
        }
    }
}

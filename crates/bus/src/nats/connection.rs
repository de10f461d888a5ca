//! The connection to the broker: made, watched, closed.

use super::api::Api;
use super::topology::{MIN_PAYLOAD_BYTES, OLDEST, Version};
use crate::{BusState, Incarnation, NatsOptions};
use async_nats::connection::State;
use async_nats::jetstream::Context;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::{ConnectError, ConnectErrorKind, ConnectOptions, Event};
use groundline_telemetry::record;
use groundline_types::{Code, Problem};
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

/// The first pause between two attempts to connect; each further one is twice as long.
const FIRST_DELAY: Duration = Duration::from_millis(50);

/// What has happened on a connection so far.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) slow_consumers: AtomicU64,
    pub(super) disconnects: AtomicU64,
    pub(super) refusals: AtomicU64,
    pub(super) stalls: AtomicU64,
    pub(super) malformed: AtomicU64,
    pub(super) buried: AtomicU64,
    pub(super) handed_back: AtomicU64,
    pub(super) lost_news: AtomicU64,
}

pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// A connection and what is known of it.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) api: Api,
    /// The client's own view of JetStream, for its tables and objects.
    pub(super) jetstream: Context,
    pub(super) version: Version,
    pub(super) state: Arc<watch::Sender<BusState>>,
    pub(super) counters: Arc<Counters>,
    is_closed: watch::Receiver<bool>,
}

impl Connection {
    /// Connects, trying again while it makes sense and patience lasts, and looks whether the broker will do.
    pub(super) async fn open(options: &NatsOptions) -> Result<Self, Problem> {
        options.validate()?;
        let state = Arc::new(watch::Sender::new(BusState { connected: false, generation: 0 }));
        let counters = Arc::new(Counters::default());
        let (closed, is_closed) = watch::channel(false);
        let give_up = Instant::now() + Duration::from_millis(options.start_patience_ms);
        let mut attempt = 0;
        let client = loop {
            let (state, counters, closed) = (Arc::clone(&state), Arc::clone(&counters), closed.clone());
            let on_event = move |event| on_event(&event, &state, &counters, &closed);
            let connecting = client_options(options).await?.event_callback(move |event| {
                on_event(event);
                std::future::ready(())
            });
            let error = match connecting.connect(options.urls.as_slice()).await {
                Ok(client) => break client,
                Err(error) => error,
            };
            attempt += 1;
            let pause = delay(attempt, options.max_reconnect_delay_ms);
            match lasting(&error) {
                Some(problem) => return Err(problem),
                None if Instant::now() + pause < give_up => sleep(pause).await,
                None => {
                    let message = format!("the broker cannot be reached after {attempt} attempts: {error}");
                    return Err(Problem::new(Code::BUS_UNAVAILABLE, message));
                }
            }
        };
        let api = Api { client, timeout: options.request_timeout() };
        let version = suitable(&api.client)?;
        let jetstream = ContextBuilder::new()
            .timeout(options.request_timeout())
            .max_ack_inflight(options.max_unconfirmed_jobs)
            .backpressure_on_inflight(true)
            .build(api.client.clone());
        Ok(Self { api, jetstream, version, state, counters, is_closed })
    }

    /// How many connections there have been; `None` while there is none. Unlike the events, which come a little later, this is as
    /// of now.
    pub(super) fn number(&self) -> Option<u64> {
        let client = &self.api.client;
        // A client that was closed keeps its last state.
        let is_open = client.connection_state() == State::Connected && !*self.is_closed.borrow();
        is_open.then(|| client.statistics().connects.load(Ordering::Relaxed))
    }

    /// Sends what is under way and closes. Bounded: a broker that is gone takes nothing any more.
    pub(super) async fn close(&self, patience: Duration) {
        let mut is_closed = self.is_closed.clone();
        let closing = async {
            if self.api.client.drain().await.is_ok() {
                // `drain` returns before it is done.
                let _ = is_closed.wait_for(|closed| *closed).await;
            }
        };
        if timeout(patience, closing).await.is_err() {
            tracing::warn!("the connection to the broker did not close in time");
        }
    }
}

/// What is wrong with a connection that no further attempt makes better.
fn lasting(error: &ConnectError) -> Option<Problem> {
    // What the TLS layer says comes as one of several kinds; its words are the same.
    let says = |words: &str| error.to_string().contains(words);
    // With TLS 1.3, a server says only after the handshake that it wants another certificate.
    let refuses_certificate = says("received fatal alert");
    let has_no_trusted_certificate = says("invalid peer certificate");
    let speaks_no_tls = says("received corrupt message");
    match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
            let message = format!("the broker refuses these credentials: {error}");
            Some(Problem::new(Code::BROKER_DENIED, message))
        }
        _ if refuses_certificate => {
            let message = format!("the broker refuses this client's certificate: {error}");
            Some(Problem::new(Code::BROKER_DENIED, message))
        }
        _ if has_no_trusted_certificate || error.kind() == ConnectErrorKind::Tls => {
            Some(Problem::new(Code::BROKER_UNTRUSTED, format!("the broker cannot be trusted: {error}")))
        }
        _ if speaks_no_tls => {
            let message = format!("the broker cannot be trusted, it speaks no TLS: {error}");
            Some(Problem::new(Code::BROKER_UNTRUSTED, message))
        }
        _ => None,
    }
}

/// Reads a PEM file as the client will, so that what is wrong with it is said by its option's name.
fn check_pem(option: &str, file: &Path, tag: &str) -> Result<(), Problem> {
    let refuse = |what: String| Err(Problem::new(Code::INVALID_CONFIG, format!("nats: {option} {what}")));
    match std::fs::read_to_string(file) {
        Ok(text) if text.contains("-----BEGIN ") && text.contains(tag) => Ok(()),
        Ok(_) => refuse(format!("holds no {}", tag.trim_matches('-').to_lowercase())),
        Err(error) => refuse(format!("cannot be read: {error}")),
    }
}

async fn client_options(options: &NatsOptions) -> Result<ConnectOptions, Problem> {
    let max_delay_ms = options.max_reconnect_delay_ms;
    let mut client = ConnectOptions::new()
        .name(&options.name)
        .ping_interval(Duration::from_millis(options.ping_interval_ms))
        .connection_timeout(Duration::from_millis(options.connect_timeout_ms))
        .request_timeout(Some(options.request_timeout()))
        .max_reconnects(None)
        .reconnect_delay_callback(move |attempt| delay(attempt, max_delay_ms))
        .client_capacity(options.client_capacity)
        .subscription_capacity(options.subscription_capacity)
        // One's own answers only: a broker can allow each process its own inboxes and no others.
        .custom_inbox_prefix(format!("_INBOX.gl.{}", Incarnation::random()))
        .require_tls(options.tls_required);
    let given = |file: &PathBuf| !file.as_os_str().is_empty();
    if given(&options.tls_ca_file) {
        check_pem("tls_ca_file", &options.tls_ca_file, "CERTIFICATE-----")?;
        client = client.add_root_certificates(options.tls_ca_file.clone());
    }
    if given(&options.tls_cert_file) {
        let (certificate, key) = (options.tls_cert_file.clone(), options.tls_key_file.clone());
        check_pem("tls_cert_file", &certificate, "CERTIFICATE-----")?;
        check_pem("tls_key_file", &key, "PRIVATE KEY-----")?;
        client = client.add_client_certificate(certificate, key);
    }
    if let Some(seed) = options.nkey_seed.reveal() {
        client = client.nkey(seed);
    }
    if let Some(token) = options.token.reveal() {
        client = client.token(token);
    }
    if let Some(password) = options.password.reveal() {
        client = client.user_and_password(options.user.clone(), password);
    }
    if given(&options.credentials_file) {
        client = client.credentials_file(&options.credentials_file).await.map_err(|error| {
            Problem::new(Code::INVALID_CONFIG, format!("nats: credentials_file cannot be read: {error}"))
        })?;
    }
    Ok(client)
}

/// Doubles up to the longest, and half of it is random, so that a restarted broker is not met by everybody at once.
fn delay(attempt: usize, max_delay_ms: u64) -> Duration {
    let doubled = FIRST_DELAY.saturating_mul(1 << attempt.saturating_sub(1).min(16));
    let half = doubled.min(Duration::from_millis(max_delay_ms)) / 2;
    let random = RandomState::new().hash_one(attempt) % half.as_micros().max(1) as u64;
    half + Duration::from_micros(random)
}

fn on_event(
    event: &Event,
    state: &watch::Sender<BusState>,
    counters: &Counters,
    closed: &watch::Sender<bool>,
) {
    match event {
        Event::Connected => {
            record::bus_connected(true);
            state.send_modify(|state| {
                *state = BusState { connected: true, generation: state.generation + 1 };
            });
            tracing::info!("connected to the broker");
        }
        Event::Disconnected => {
            record::bus_connected(false);
            record::bus_disconnected();
            count(&counters.disconnects);
            state.send_modify(|state| state.connected = false);
            tracing::warn!("the connection to the broker is lost");
        }
        Event::Closed => {
            state.send_modify(|state| state.connected = false);
            closed.send_replace(true);
        }
        // One event for every message that is dropped: a line for each would be a second flood.
        Event::SlowConsumer(_) => {
            record::bus_slow_consumer();
            let before = counters.slow_consumers.fetch_add(1, Ordering::Relaxed);
            if (before + 1).is_power_of_two() {
                tracing::warn!(dropped = before + 1, "a reader is too slow, and the client drops messages");
            }
        }
        Event::ServerError(error) => {
            count(&counters.refusals);
            tracing::warn!(%error, "the broker reports an error");
        }
        Event::ClientError(error) => tracing::warn!(%error, "the client of the broker reports an error"),
        Event::LameDuckMode => tracing::info!("the broker is about to stop; the client moves on"),
        Event::Draining => {}
    }
}

/// The broker's version, where it will do.
fn suitable(client: &async_nats::Client) -> Result<Version, Problem> {
    let info = client.server_info();
    let unsuitable = |message: String| Problem::new(Code::BROKER_UNSUITABLE, message);
    let version = Version::parse(&info.version)
        .ok_or_else(|| unsuitable("the broker does not say which version it is".into()))?;
    if version < OLDEST {
        return Err(unsuitable(format!("the broker is of version {version}; {OLDEST} or later is needed")));
    }
    if info.max_payload < MIN_PAYLOAD_BYTES {
        let found = info.max_payload;
        return Err(unsuitable(format!(
            "the broker carries messages of {found} bytes; set its max_payload to {MIN_PAYLOAD_BYTES} or more"
        )));
    }
    Ok(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_are_random_and_have_a_bound() {
        let at = |attempt| delay(attempt, 2000);
        assert!(at(1) >= Duration::from_millis(25) && at(1) <= Duration::from_millis(50));
        assert!((4..60).map(at).all(|pause| pause <= Duration::from_secs(2)));
        assert!((0..20).map(|_| at(10)).collect::<std::collections::BTreeSet<_>>().len() > 1);
    }
}

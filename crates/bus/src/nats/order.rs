//! Keeps the broker as it should be, and tells everybody else whether it is.
//!
//! One task looks at the streams: after every new connection, and whenever somebody doubts that they are there. Everybody else
//! waits for it, so that a broker that comes back empty is set right once and not by every publisher.

use super::Shared;
use super::ensure::{Wrong, ensure, stream_info};
use super::subjects;
use super::topology::Wanted;
use crate::BusState;
use crate::clock::{parse_utc_ms, wall_clock_ms};
use groundline_types::Problem;
use serde_json::Value;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep};

/// Pause between two attempts to set the broker right.
const PAUSE: Duration = Duration::from_millis(500);
/// Pause before a doubt is looked into: doubts come many at a time.
const DOUBT_PAUSE: Duration = Duration::from_millis(50);
/// How often the same trouble is worth a line in the log.
const SAY_AGAIN_AFTER: Duration = Duration::from_secs(60);
/// From which difference on a wrong clock is worth a line in the log.
const NOTABLE_CLOCK_DIFFERENCE_MS: u64 = 1000;

const NOT_CONNECTED: &str = "it is not connected";
pub(super) const NO_STREAMS: &str = "it lacks the streams, which a gateway or coordinator makes";
const NO_ANSWER: &str = "it does not answer";

/// How the broker is.
#[derive(Debug, Clone, Copy)]
struct Standing {
    /// Why jobs do not go in and out.
    trouble: Option<&'static str>,
    /// The connection in which the streams were seen last.
    connection: u64,
    /// Grows when the streams are other ones than before: then numbers of messages are worth nothing.
    life: u64,
}

/// What is known of the broker, and who is told.
#[derive(Debug)]
pub(super) struct Order {
    standing: watch::Sender<Standing>,
    /// The same for everybody outside.
    state: watch::Sender<BusState>,
    /// When the streams that are known were made.
    birth: Mutex<Option<String>>,
    doubts: Arc<Notify>,
}

impl Default for Order {
    fn default() -> Self {
        let standing = Standing { trouble: Some(NOT_CONNECTED), connection: 0, life: 0 };
        Self {
            standing: watch::Sender::new(standing),
            state: watch::Sender::new(BusState { connected: false, generation: 0 }),
            birth: Mutex::default(),
            doubts: Arc::default(),
        }
    }
}

impl Order {
    pub(super) fn state(&self) -> watch::Receiver<BusState> {
        self.state.subscribe()
    }

    pub(super) fn trouble(&self) -> Option<&'static str> {
        self.standing.borrow().trouble
    }

    fn is_troubled_by(&self, trouble: &'static str) {
        self.standing.send_if_modified(|standing| standing.trouble.replace(trouble) != Some(trouble));
        self.state.send_if_modified(|state| std::mem::replace(&mut state.connected, false));
    }

    /// Whether streams that were made at `birth` are other ones than before.
    fn are_others(&self, birth: &str) -> bool {
        let known = self.birth.lock().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().is_some_and(|known| known != birth)
    }

    /// The streams are right, and were made at `birth`.
    fn are_right(&self, connection: u64, birth: String) {
        let are_others = self.are_others(&birth);
        *self.birth.lock().unwrap_or_else(PoisonError::into_inner) = Some(birth);
        let is_new = are_others || self.standing.borrow().connection != connection;
        self.standing.send_if_modified(|standing| {
            let had_trouble = standing.trouble.take().is_some();
            standing.connection = connection;
            standing.life += u64::from(are_others);
            is_new || had_trouble
        });
        self.state.send_if_modified(|state| {
            state.generation += u64::from(is_new);
            !std::mem::replace(&mut state.connected, true) || is_new
        });
    }
}

impl Shared {
    /// Which life of the streams this is; `None` while that is not known.
    pub(super) fn life(&self) -> Option<u64> {
        let standing = *self.order.standing.borrow();
        let is_known = standing.trouble.is_none() && self.connection.number() == Some(standing.connection);
        is_known.then_some(standing.life)
    }

    /// The same as soon as it is known.
    pub(super) async fn settled_life(&self) -> u64 {
        let mut standing = self.order.standing.subscribe();
        loop {
            if let Some(life) = self.life() {
                return life;
            }
            // Its sender lives as long as this.
            let _ = standing.changed().await;
        }
    }

    /// Somebody found no stream where there should be one.
    pub(super) fn doubt(&self) {
        self.order.doubts.notify_one();
    }

    /// Makes sure of a consumer, now and after every reconnect, unless that was done before.
    pub(super) async fn ensure_once(&self, wanted: Wanted) -> Result<(), Wrong> {
        let name = wanted.name();
        let is_known = self.ensured.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&name);
        if is_known {
            return Ok(());
        }
        ensure(&self.connection.api, &wanted, self.options.manages_streams).await?;
        self.ensured.lock().unwrap_or_else(PoisonError::into_inner).insert(name, wanted);
        Ok(())
    }

    /// The first look. Streams that others have to make are waited for, and a broker that does not answer yet is asked again while
    /// patience lasts; anything else that is wrong is an error.
    pub(super) async fn set_right_at_start(&self) -> Result<(), Problem> {
        let give_up = Instant::now() + Duration::from_millis(self.options.start_patience_ms);
        loop {
            let connection = self.connection.number().unwrap_or_default();
            let set_right = async {
                self.set_right().await?;
                self.birth_of_streams().await
            };
            match set_right.await {
                Ok(birth) => {
                    self.order.are_right(connection, birth);
                    return Ok(());
                }
                Err(Wrong::Missing(problem)) => {
                    tracing::warn!(code = %problem.code, "waiting for the broker: {NO_STREAMS}: {}", problem.message);
                    self.order.is_troubled_by(NO_STREAMS);
                    return Ok(());
                }
                Err(Wrong::Unanswered(_)) if Instant::now() + PAUSE < give_up => sleep(PAUSE).await,
                Err(wrong) => return Err(wrong.problem()),
            }
        }
    }

    /// Makes sure of every stream and consumer.
    async fn set_right(&self) -> Result<(), Wrong> {
        let all = self.ensured.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // Streams come before their consumers.
        let (consumers, streams): (Vec<_>, Vec<_>) =
            all.into_values().partition(|wanted| wanted.consumer.is_some());
        for wanted in &streams {
            self.ensure_stream(wanted).await?;
        }
        for wanted in &consumers {
            ensure(&self.connection.api, wanted, self.options.manages_streams).await?;
        }
        Ok(())
    }

    /// A broker drops a request that is not permitted, and says so only on the side: then the stream is for others to make.
    async fn ensure_stream(&self, wanted: &Wanted) -> Result<(), Wrong> {
        let may_create = || self.options.manages_streams && !self.may_not_create.load(Ordering::Relaxed);
        let refusals = || self.connection.counters.refusals.load(Ordering::Relaxed);
        let before = refusals();
        match ensure(&self.connection.api, wanted, may_create()).await {
            Err(Wrong::Unanswered(_)) if may_create() && refusals() > before => {
                self.may_not_create.store(true, Ordering::Relaxed);
                ensure(&self.connection.api, wanted, false).await
            }
            ensured => ensured,
        }
    }

    /// When the streams of jobs and checks were made. Learns on the way how far the broker's clock is ahead of ours, so that a
    /// machine whose clock is wrong takes no job for late or fresh. Brokers before 2.10 do not say their time; ours is taken for
    /// theirs then.
    pub(super) async fn birth_of_streams(&self) -> Result<String, Wrong> {
        let mut births = String::new();
        for stream in [subjects::JOBS_STREAM, subjects::CHECKS_STREAM] {
            let before_ms = wall_clock_ms();
            let info = stream_info(&self.connection.api, stream).await?;
            if let Some(broker_ms) = info.get("ts").and_then(|ts| parse_utc_ms(ts.as_str()?)) {
                self.note_clock(broker_ms, before_ms.midpoint(wall_clock_ms()));
            }
            births.push_str(info.get("created").and_then(Value::as_str).unwrap_or_default());
            births.push(' ');
        }
        Ok(births)
    }

    fn note_clock(&self, broker_ms: u64, ours_ms: u64) {
        let ahead_ms = broker_ms as i64 - ours_ms as i64;
        let before_ms = self.clock_ahead_ms.swap(ahead_ms, Ordering::Relaxed);
        let is_notable = |ms: i64| ms.unsigned_abs() > NOTABLE_CLOCK_DIFFERENCE_MS;
        if is_notable(ahead_ms) && !is_notable(before_ms) {
            tracing::warn!(ahead_ms, "the broker's clock is not ours");
        }
    }

    /// One look at the broker. Returns how long to wait before the next one, where this one did not do.
    async fn look_after(&self, said: &mut Said) -> Option<Duration> {
        let Some(connection) = self.connection.number() else {
            // The next event says when there is one.
            self.order.is_troubled_by(NOT_CONNECTED);
            return None;
        };
        let set_right = async {
            match self.set_right().await {
                // Jobs go in and out of a stream that somebody has changed, as long as it is there.
                Err(Wrong::Otherwise(problem)) => said.say(&problem),
                set_right => set_right?,
            }
            self.birth_of_streams().await
        };
        let birth = match set_right.await {
            Ok(birth) => birth,
            Err(wrong) => {
                let is_missing = matches!(wrong, Wrong::Missing(_));
                self.order.is_troubled_by(if is_missing { NO_STREAMS } else { NO_ANSWER });
                said.say(&wrong.problem());
                return Some(PAUSE);
            }
        };
        if self.order.are_others(&birth) {
            tracing::warn!("the broker has forgotten its streams and has new ones; jobs are sent again");
            self.published.clear();
            self.notes.clear();
        }
        if self.order.trouble().is_some_and(|trouble| trouble != NOT_CONNECTED) {
            tracing::info!("the broker is as it should be");
        }
        self.order.are_right(connection, birth);
        None
    }
}

/// What was said of the broker, and when: the same is not said over and over.
#[derive(Debug, Default)]
struct Said {
    last: Option<(String, Instant)>,
}

impl Said {
    fn say(&mut self, problem: &Problem) {
        let now = Instant::now();
        let is_old = |(message, at): &(String, Instant)| {
            *message == problem.message && now.saturating_duration_since(*at) < SAY_AGAIN_AFTER
        };
        if !self.last.as_ref().is_some_and(is_old) {
            tracing::warn!(code = %problem.code, "the broker is not as it should be: {}", problem.message);
            self.last = Some((problem.message.clone(), now));
        }
    }
}

/// Sets the broker right after every reconnect and every doubt. Ends with the bus.
pub(super) async fn keep(shared: Weak<Shared>) {
    let Some((mut connection, doubts)) = shared
        .upgrade()
        .map(|shared| (shared.connection.state.subscribe(), Arc::clone(&shared.order.doubts)))
    else {
        return;
    };
    let mut said = Said::default();
    let mut is_doubted = false;
    loop {
        connection.mark_unchanged();
        let again = {
            let Some(shared) = shared.upgrade() else { return };
            // What was seen in this connection needs no second look without a doubt.
            let is_known = shared.life().is_some() && !is_doubted;
            if is_known { None } else { shared.look_after(&mut said).await }
        };
        is_doubted = false;
        tokio::select! {
            changed = connection.changed() => if changed.is_err() { return },
            () = doubts.notified() => {
                is_doubted = true;
                sleep(DOUBT_PAUSE).await;
            }
            () = sleep(again.unwrap_or_default()), if again.is_some() => {}
        }
    }
}

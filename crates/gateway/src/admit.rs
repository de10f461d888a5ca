//! Admission with a clock: permits that give their charge back, and the line of those who wait.

use crate::admission::{Admission, Ask, Charge, GatewayLimits, Refusal, Ticket, tokens_of_bytes};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// How often somebody who waits looks again although nothing was given back. Only rates need it: a bucket fills in silence.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Lets requests in. Clones are the same gate.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    state: Mutex<State>,
    started: Instant,
}

#[derive(Debug)]
struct State {
    admission: Admission,
    waiting: BTreeMap<Ticket, oneshot::Sender<Permit>>,
}

/// A request that is let in, for as long as this value lives.
#[derive(Debug)]
pub(crate) struct Permit {
    inner: Arc<Inner>,
    charge: Option<Charge>,
}

/// A request that is let in and whose size shows only as it comes.
#[derive(Debug)]
pub(crate) struct Metered {
    permit: Permit,
    charged: u64,
}

impl Metered {
    /// Meters a request that was let in with the tokens of no bytes.
    pub(crate) fn new(permit: Permit) -> Self {
        Self { permit, charged: tokens_of_bytes(0) }
    }

    /// So many bytes of the request have come by now.
    pub(crate) fn has_read(&mut self, bytes: usize) {
        let tokens = tokens_of_bytes(bytes as u64);
        if tokens > self.charged {
            self.permit.grow(tokens - self.charged);
            self.charged = tokens;
        }
    }
}

impl Gate {
    /// A gate with nobody inside.
    pub(crate) fn new(limits: GatewayLimits) -> Self {
        let state = State { admission: Admission::new(limits), waiting: BTreeMap::new() };
        Self { inner: Arc::new(Inner { state: Mutex::new(state), started: Instant::now() }) }
    }

    /// Lets a request in now, or refuses it.
    pub(crate) fn admit(&self, ask: &Ask) -> Result<Permit, Refusal> {
        let now = self.inner.now();
        let charge = self.inner.lock().admission.admit(now, ask)?;
        Ok(Permit { inner: Arc::clone(&self.inner), charge: Some(charge) })
    }

    /// Waits in line for a place, until a moment: `None` where it came first. Dropping the future leaves the line.
    pub(crate) async fn wait(&self, ask: Ask, until: Instant) -> Result<Option<Permit>, Refusal> {
        let (sender, mut place) = oneshot::channel();
        let ticket = {
            let mut state = self.inner.lock();
            let ticket = state.admission.wait(ask)?;
            state.waiting.insert(ticket, sender);
            ticket
        };
        let _leave = Leave { inner: &self.inner, ticket };
        loop {
            let look_again = self.inner.pump().unwrap_or(LOOK_AGAIN).min(LOOK_AGAIN);
            tokio::select! {
                biased;
                permit = &mut place => return Ok(permit.ok()),
                () = tokio::time::sleep_until(until) => return Ok(None),
                () = tokio::time::sleep(look_again) => {}
            }
        }
    }

    /// Tokens under way, and tokens that wait.
    pub(crate) fn load(&self) -> (u64, u64) {
        let state = self.inner.lock();
        (state.admission.in_flight_tokens(), state.admission.waiting_tokens())
    }
}

impl Permit {
    /// Charges more: the request turned out larger.
    pub(crate) fn grow(&mut self, tokens: u64) {
        let now = self.inner.now();
        if let Some(charge) = &mut self.charge {
            self.inner.lock().admission.grow(now, charge, tokens);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(charge) = self.charge.take() {
            let now = self.inner.now();
            self.inner.lock().admission.release(now, charge);
            self.inner.pump();
        }
    }
}

impl Inner {
    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives free places to those who wait, and says when to look again.
    fn pump(self: &Arc<Self>) -> Option<Duration> {
        let now = self.now();
        let mut state = self.lock();
        loop {
            let granted = state.admission.grant(now);
            let mut given_back = false;
            for (ticket, charge) in granted.places {
                let permit = Permit { inner: Arc::clone(self), charge: Some(charge) };
                let unsent = match state.waiting.remove(&ticket) {
                    Some(sender) => sender.send(permit).err(),
                    None => Some(permit),
                };
                // Whoever gave up meanwhile leaves its place to the next. A permit that is dropped here would lock again.
                if let Some(charge) = unsent.and_then(|mut permit| permit.charge.take()) {
                    state.admission.release(now, charge);
                    given_back = true;
                }
            }
            if !given_back {
                return granted.look_again;
            }
        }
    }
}

/// Leaves the line when the wait is over, however it ends.
struct Leave<'a> {
    inner: &'a Inner,
    ticket: Ticket,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        let mut state = self.inner.lock();
        if state.waiting.remove(&self.ticket).is_some() {
            state.admission.leave(self.ticket);
        }
    }
}

#[cfg(test)]
mod tests;

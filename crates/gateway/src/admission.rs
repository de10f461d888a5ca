//! How much work is let in: the rules, without clock and without waiting.
//!
//! There is one unit for every shape of request: a token is 4 bytes of a body ([`tokens_of_bytes`]). A request of one long text
//! and a call of a hundred short ones pay by the same measure, so none of them is a way around the limits.
//!
//! A request charges its tokens while it is under way, against the budget of its tenant and that of all. One that is larger
//! than a whole budget is charged the whole budget, so that everything that passes the limit of bodies can get in some time.
//! A tenant may also have a rate: a bucket that fills with time and that requests empty. A request larger than the bucket
//! needs a full one and leaves a debt.
//!
//! Reward calls do not get refused but wait in line, a line for each tenant; places are given in turn from line to line.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of a body that count as one token.
const BYTES_PER_TOKEN: u64 = 4;
/// The least a request costs: many empty ones are work too.
const MIN_REQUEST_TOKENS: u64 = 16;
/// How soon to try again where nothing says when there will be room.
const RETRY_SOON: Duration = Duration::from_secs(1);
/// Tenants remembered before those with nothing to remember are swept out.
const SWEEP_TENANTS: usize = 1024;

/// What a body of so many bytes costs.
pub(crate) fn tokens_of_bytes(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN).max(MIN_REQUEST_TOKENS)
}

/// Limits of the whole gateway.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GatewayLimits {
    /// Tokens under way at once.
    pub(crate) in_flight_tokens: u64,
    /// Reward calls under way at once.
    pub(crate) line_places: usize,
    /// Tokens of all calls that wait in line.
    pub(crate) waiting_tokens: u64,
}

/// Limits of a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TenantLimits {
    /// Tokens under way at once.
    pub(crate) in_flight_tokens: u64,
    /// Tokens a second on average; 0: any number.
    pub(crate) tokens_per_second: u64,
    /// Tokens at once after a pause; 0: ten seconds' worth.
    pub(crate) burst_tokens: u64,
}

impl TenantLimits {
    fn burst(&self) -> u64 {
        match self.burst_tokens {
            0 => self.tokens_per_second.saturating_mul(10),
            tokens => tokens,
        }
    }
}

/// Who asks for how much.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    /// The tenant.
    pub(crate) tenant: Arc<str>,
    /// Its limits, as they are now.
    pub(crate) limits: TenantLimits,
    /// What it would charge.
    pub(crate) tokens: u64,
}

/// Why a request is not let in, and when to try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The tenant has as much under way as it may.
    TenantInFlight,
    /// The tenant has sent as much in a while as it may; in so long there is room.
    TenantRate(Duration),
    /// The gateway has as much under way as it takes.
    Overloaded,
    /// The line of those who wait is full.
    LineFull,
}

impl Refusal {
    /// When to try again.
    pub(crate) fn retry_after(self) -> Duration {
        match self {
            Refusal::TenantRate(wait) => wait,
            Refusal::TenantInFlight | Refusal::Overloaded | Refusal::LineFull => RETRY_SOON,
        }
    }
}

/// What a request holds until it is over.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "give it back with `release`"]
pub(crate) struct Charge {
    tenant: Arc<str>,
    limits: TenantLimits,
    tokens: u64,
    has_place: bool,
}

/// Number of a call that waits in line.
pub(crate) type Ticket = u64;

/// The budgets and the line.
#[derive(Debug)]
pub(crate) struct Admission {
    limits: GatewayLimits,
    in_flight_tokens: u64,
    places_taken: usize,
    waiting_tokens: u64,
    tenants: BTreeMap<Arc<str>, Tenant>,
    sweep_at: usize,
    lines: BTreeMap<Arc<str>, VecDeque<(Ticket, Ask)>>,
    /// Tenants that wait, the next one first.
    turns: VecDeque<Arc<str>>,
    next_ticket: Ticket,
}

#[derive(Debug, Clone, Copy)]
struct Tenant {
    in_flight_tokens: u64,
    /// Thousandths of a token, below 0 after a request larger than the bucket.
    bucket_millitokens: i64,
    filled_at_ms: u64,
}

/// Who may go on, and when to look again although nothing is given back.
#[derive(Debug, Default)]
pub(crate) struct Granted {
    /// Those who got a place, in order.
    pub(crate) places: Vec<(Ticket, Charge)>,
    /// After how long a bucket has enough for somebody who waits.
    pub(crate) look_again: Option<Duration>,
}

impl Admission {
    /// Nothing under way.
    pub(crate) fn new(limits: GatewayLimits) -> Self {
        Self {
            limits,
            in_flight_tokens: 0,
            places_taken: 0,
            waiting_tokens: 0,
            tenants: BTreeMap::new(),
            sweep_at: SWEEP_TENANTS,
            lines: BTreeMap::new(),
            turns: VecDeque::new(),
            next_ticket: 0,
        }
    }

    /// Lets a request in or refuses it. `now` is the time since some fixed moment.
    pub(crate) fn admit(&mut self, now: Duration, ask: &Ask) -> Result<Charge, Refusal> {
        let now_ms = milliseconds(now);
        self.sweep(now_ms);
        let limits = ask.limits;
        let tokens = ask.tokens.min(limits.in_flight_tokens).min(self.limits.in_flight_tokens);
        let fresh = Tenant::new(now_ms, &limits);
        let mut tenant = self.tenants.get(&ask.tenant).copied().unwrap_or(fresh);
        tenant.fill(now_ms, &limits);
        if tenant.in_flight_tokens + tokens > limits.in_flight_tokens {
            return Err(Refusal::TenantInFlight);
        }
        if let Some(wait) = tenant.wait_for(ask.tokens, &limits) {
            return Err(Refusal::TenantRate(wait));
        }
        if self.in_flight_tokens + tokens > self.limits.in_flight_tokens {
            return Err(Refusal::Overloaded);
        }
        tenant.in_flight_tokens += tokens;
        tenant.spend(ask.tokens, &limits);
        self.in_flight_tokens += tokens;
        self.tenants.insert(Arc::clone(&ask.tenant), tenant);
        Ok(Charge { tenant: Arc::clone(&ask.tenant), limits, tokens, has_place: false })
    }

    /// Charges more to a request that turned out larger. It is not refused any more, so others are in its place.
    pub(crate) fn grow(&mut self, now: Duration, charge: &mut Charge, tokens: u64) {
        charge.tokens += tokens;
        self.in_flight_tokens += tokens;
        let fresh = Tenant::new(milliseconds(now), &charge.limits);
        let tenant = self.tenants.entry(Arc::clone(&charge.tenant)).or_insert(fresh);
        tenant.in_flight_tokens += tokens;
        tenant.fill(milliseconds(now), &charge.limits);
        tenant.spend(tokens, &charge.limits);
    }

    /// A request is over.
    pub(crate) fn release(&mut self, now: Duration, charge: Charge) {
        self.in_flight_tokens = self.in_flight_tokens.saturating_sub(charge.tokens);
        self.places_taken -= usize::from(charge.has_place);
        if let Some(tenant) = self.tenants.get_mut(&charge.tenant) {
            tenant.in_flight_tokens = tenant.in_flight_tokens.saturating_sub(charge.tokens);
            tenant.fill(milliseconds(now), &charge.limits);
            if tenant.is_forgettable(&charge.limits) {
                self.tenants.remove(&charge.tenant);
            }
        }
    }

    /// Puts a call in line. Ask [`Admission::grant`] who may go on.
    pub(crate) fn wait(&mut self, ask: Ask) -> Result<Ticket, Refusal> {
        if self.waiting_tokens > 0 && self.waiting_tokens + ask.tokens > self.limits.waiting_tokens {
            return Err(Refusal::LineFull);
        }
        self.waiting_tokens += ask.tokens;
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        let line = self.lines.entry(Arc::clone(&ask.tenant)).or_default();
        if line.is_empty() {
            self.turns.push_back(Arc::clone(&ask.tenant));
        }
        line.push_back((ticket, ask));
        Ok(ticket)
    }

    /// A call that waits is given up.
    pub(crate) fn leave(&mut self, ticket: Ticket) {
        // Tickets of a line are in order.
        let holds =
            |line: &VecDeque<(Ticket, Ask)>| line.binary_search_by_key(&ticket, |(held, _)| *held).ok();
        let found = self.lines.iter().find_map(|(tenant, line)| Some((Arc::clone(tenant), holds(line)?)));
        if let Some((tenant, index)) = found {
            self.take_from_line(&tenant, index);
            if !self.lines.contains_key(&tenant) {
                self.turns.retain(|waiting| *waiting != tenant);
            }
        }
    }

    /// Gives free places to those who wait, a tenant after the other.
    pub(crate) fn grant(&mut self, now: Duration) -> Granted {
        let mut granted = Granted::default();
        let mut refused_in_a_row = 0;
        while self.places_taken < self.limits.line_places && refused_in_a_row < self.turns.len() {
            let Some(tenant) = self.turns.pop_front() else { break };
            let Some((ticket, ask)) = self.lines.get(&tenant).and_then(|line| line.front()).cloned() else {
                continue;
            };
            match self.admit(now, &ask) {
                Ok(mut charge) => {
                    refused_in_a_row = 0;
                    charge.has_place = true;
                    self.places_taken += 1;
                    self.take_from_line(&tenant, 0);
                    granted.places.push((ticket, charge));
                }
                Err(refusal) => {
                    refused_in_a_row += 1;
                    if let Refusal::TenantRate(wait) = refusal {
                        granted.look_again =
                            Some(granted.look_again.map_or(wait, |earlier| earlier.min(wait)));
                    }
                }
            }
            if self.lines.contains_key(&tenant) {
                self.turns.push_back(tenant);
            }
        }
        granted
    }

    /// Tokens under way.
    pub(crate) fn in_flight_tokens(&self) -> u64 {
        self.in_flight_tokens
    }

    /// Tokens that wait in line.
    pub(crate) fn waiting_tokens(&self) -> u64 {
        self.waiting_tokens
    }

    fn take_from_line(&mut self, tenant: &Arc<str>, index: usize) {
        let Some(line) = self.lines.get_mut(tenant) else { return };
        if let Some((_, ask)) = line.remove(index) {
            self.waiting_tokens -= ask.tokens;
        }
        if line.is_empty() {
            self.lines.remove(tenant);
        }
    }

    /// Forgets tenants about whom there is nothing to remember, now and then: names may come from tokens of any number.
    fn sweep(&mut self, now_ms: u64) {
        if self.tenants.len() < self.sweep_at {
            return;
        }
        // Limits may differ by tenant; an hour without a request fills any bucket that matters.
        const FORGET_AFTER_MS: u64 = 3_600_000;
        self.tenants.retain(|_, tenant| {
            tenant.in_flight_tokens > 0 || now_ms.saturating_sub(tenant.filled_at_ms) < FORGET_AFTER_MS
        });
        self.sweep_at = SWEEP_TENANTS.max(2 * self.tenants.len());
    }
}

impl Tenant {
    fn new(now_ms: u64, limits: &TenantLimits) -> Self {
        Self { in_flight_tokens: 0, bucket_millitokens: millitokens(limits.burst()), filled_at_ms: now_ms }
    }

    fn fill(&mut self, now_ms: u64, limits: &TenantLimits) {
        // A token a second is a thousandth a millisecond.
        let gained = now_ms.saturating_sub(self.filled_at_ms).saturating_mul(limits.tokens_per_second);
        let gained = i64::try_from(gained).unwrap_or(i64::MAX);
        self.bucket_millitokens =
            self.bucket_millitokens.saturating_add(gained).min(millitokens(limits.burst()));
        self.filled_at_ms = self.filled_at_ms.max(now_ms);
    }

    /// How long the bucket needs for so many tokens, where it has too few.
    fn wait_for(&self, tokens: u64, limits: &TenantLimits) -> Option<Duration> {
        if limits.tokens_per_second == 0 {
            return None;
        }
        let missing = millitokens(tokens.min(limits.burst())) - self.bucket_millitokens;
        let missing = u64::try_from(missing).ok().filter(|missing| *missing > 0)?;
        Some(Duration::from_millis(missing.div_ceil(limits.tokens_per_second)))
    }

    fn spend(&mut self, tokens: u64, limits: &TenantLimits) {
        if limits.tokens_per_second > 0 {
            self.bucket_millitokens = self.bucket_millitokens.saturating_sub(millitokens(tokens));
        }
    }

    fn is_forgettable(&self, limits: &TenantLimits) -> bool {
        self.in_flight_tokens == 0
            && (limits.tokens_per_second == 0 || self.bucket_millitokens >= millitokens(limits.burst()))
    }
}

fn millitokens(tokens: u64) -> i64 {
    i64::try_from(tokens.saturating_mul(1000)).unwrap_or(i64::MAX)
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;

//! The budget of tokens and money, as a pure machine: nothing is sent whose upper bound does not fit.

use crate::{BudgetOptions, PriceOptions, TokenUsage};
use std::time::Duration;
use tokio::time::Instant;

/// What stands in the way of a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotReserved {
    /// It would fit if calls under way take less than reserved: ask again when one ends.
    Wait,
    /// It cannot fit before the window ends, in this time.
    Spent(Duration),
}

/// Room for one call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reservation {
    most: TokenUsage,
}

#[derive(Debug, Clone, Copy, Default)]
struct Amount {
    tokens: u64,
    cost: f64,
}

#[derive(Debug)]
pub(crate) struct Budget {
    max_tokens: u64,
    max_cost: f64,
    window: Duration,
    price: PriceOptions,
    started: Instant,
    spent: Amount,
    reserved: Amount,
}

impl Budget {
    pub(crate) fn new(options: &BudgetOptions, price: &PriceOptions, now: Instant) -> Self {
        Self {
            max_tokens: if options.tokens == 0 { u64::MAX } else { options.tokens },
            max_cost: if options.cost == 0.0 { f64::INFINITY } else { options.cost },
            window: Duration::from_millis(options.window_ms),
            price: price.clone(),
            started: now,
            spent: Amount::default(),
            reserved: Amount::default(),
        }
    }

    /// Makes room for a call that takes at most `most`.
    pub(crate) fn reserve(&mut self, most: TokenUsage, now: Instant) -> Result<Reservation, NotReserved> {
        self.turn(now);
        let wanted = Amount { tokens: most.total_tokens(), cost: most.cost(&self.price) };
        if !self.fits(Amount::default(), wanted) {
            let window_end = self.started + self.window;
            return Err(NotReserved::Spent(window_end.saturating_duration_since(now)));
        }
        if !self.fits(self.reserved, wanted) {
            return Err(NotReserved::Wait);
        }
        self.reserved.tokens = self.reserved.tokens.saturating_add(wanted.tokens);
        self.reserved.cost += wanted.cost;
        Ok(Reservation { most })
    }

    /// Takes what a call really took. One that began in an earlier window counts in the current one.
    pub(crate) fn settle(&mut self, reservation: Reservation, used: &TokenUsage, now: Instant) {
        self.turn(now);
        let most = reservation.most;
        self.reserved.tokens = self.reserved.tokens.saturating_sub(most.total_tokens());
        self.reserved.cost = (self.reserved.cost - most.cost(&self.price)).max(0.0);
        self.spent.tokens = self.spent.tokens.saturating_add(used.total_tokens());
        self.spent.cost += used.cost(&self.price);
    }

    /// Tokens that may still be spent in this window; `None` without a limit.
    pub(crate) fn tokens_left(&mut self, now: Instant) -> Option<u64> {
        self.turn(now);
        (self.max_tokens != u64::MAX).then(|| self.max_tokens.saturating_sub(self.spent.tokens))
    }

    /// Money that may still be spent in this window; `None` without a limit.
    pub(crate) fn cost_left(&mut self, now: Instant) -> Option<f64> {
        self.turn(now);
        self.max_cost.is_finite().then(|| (self.max_cost - self.spent.cost).max(0.0))
    }

    fn fits(&self, reserved: Amount, wanted: Amount) -> bool {
        let tokens = self.spent.tokens.saturating_add(reserved.tokens).saturating_add(wanted.tokens);
        tokens <= self.max_tokens && self.spent.cost + reserved.cost + wanted.cost <= self.max_cost
    }

    /// Begins a new window where the current one is over. What is reserved stays reserved: it will be settled in the new one.
    fn turn(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.started);
        let windows = (passed.as_millis() / self.window.as_millis().max(1)) as u32;
        if windows == 0 {
            return;
        }
        self.started += self.window.saturating_mul(windows);
        self.spent = Amount::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input_tokens: u64, output_tokens: u64) -> TokenUsage {
        TokenUsage { input_tokens, output_tokens, cached_input_tokens: 0 }
    }

    fn budget(tokens: u64, cost: f64, now: Instant) -> Budget {
        let price =
            PriceOptions { input_per_million: 1e6, output_per_million: 2e6, ..PriceOptions::default() };
        Budget::new(&BudgetOptions { tokens, cost, window_ms: 1_000 }, &price, now)
    }

    #[test]
    fn what_is_reserved_counts_until_it_is_settled() {
        let now = Instant::now();
        let mut budget = budget(100, 0.0, now);
        let first = budget.reserve(usage(50, 10), now).unwrap();
        assert_eq!(budget.reserve(usage(50, 0), now), Err(NotReserved::Wait));
        budget.settle(first, &usage(20, 5), now);
        assert_eq!(budget.tokens_left(now), Some(75));
        assert!(budget.reserve(usage(50, 0), now).is_ok());
    }

    #[test]
    fn what_cannot_fit_any_more_is_refused_until_the_window_ends() {
        let now = Instant::now();
        let mut budget = budget(100, 0.0, now);
        let first = budget.reserve(usage(80, 0), now).unwrap();
        budget.settle(first, &usage(80, 0), now);
        let later = now + Duration::from_millis(400);
        assert_eq!(budget.reserve(usage(21, 0), later), Err(NotReserved::Spent(Duration::from_millis(600))));
        let last = budget.reserve(usage(20, 0), later).unwrap();
        budget.settle(last, &usage(20, 0), later);
        assert!(budget.reserve(usage(100, 0), now + Duration::from_millis(1_000)).is_ok());
    }

    #[test]
    fn money_is_kept_to_like_tokens() {
        let now = Instant::now();
        let mut budget = budget(0, 10.0, now);
        assert!(matches!(budget.reserve(usage(5, 3), now), Err(NotReserved::Spent(_))));
        let one = budget.reserve(usage(4, 3), now).unwrap();
        assert_eq!(budget.reserve(usage(1, 0), now), Err(NotReserved::Wait));
        budget.settle(one, &usage(4, 1), now);
        assert_eq!(budget.cost_left(now), Some(4.0));
        assert_eq!(budget.tokens_left(now), None);
    }

    #[test]
    fn a_call_over_the_end_of_a_window_counts_in_the_new_one() {
        let now = Instant::now();
        let mut budget = budget(100, 0.0, now);
        let old = budget.reserve(usage(90, 0), now).unwrap();
        let later = now + Duration::from_millis(1_500);
        assert_eq!(budget.reserve(usage(20, 0), later), Err(NotReserved::Wait));
        budget.settle(old, &usage(70, 0), later);
        assert_eq!(budget.tokens_left(later), Some(30));
        assert!(budget.reserve(usage(30, 0), later).is_ok());
    }
}

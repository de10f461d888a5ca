//! A bound on what is under way.

/// A budget that work takes from before it starts and gives back when it ends: the bound that a mailbox does not have.
///
/// Something larger than the whole budget is let through alone, so that it does not wait for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credits {
    limit: usize,
    used: usize,
}

impl Credits {
    /// A budget of `limit` units, none of them used.
    pub fn new(limit: usize) -> Self {
        Self { limit, used: 0 }
    }

    /// Takes `amount`, if it is there.
    #[must_use]
    pub fn try_take(&mut self, amount: usize) -> bool {
        let fits = self.used == 0 || amount <= self.free();
        if fits {
            self.used += amount;
        }
        fits
    }

    /// Gives back what was taken.
    pub fn give_back(&mut self, amount: usize) {
        debug_assert!(amount <= self.used, "{amount} given back of {} taken", self.used);
        self.used = self.used.saturating_sub(amount);
    }

    /// Sets the whole budget. What is taken beyond a smaller one stays taken until it is given back.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// What is left.
    pub fn free(&self) -> usize {
        self.limit.saturating_sub(self.used)
    }

    /// What is taken.
    pub fn used(&self) -> usize {
        self.used
    }

    /// The whole budget.
    pub fn limit(&self) -> usize {
        self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_limit_holds_except_for_one_large_thing_alone(
            limit in 0_usize..100,
            steps in prop::collection::vec((any::<bool>(), 0_usize..150), 0..200),
        ) {
            let mut credits = Credits::new(limit);
            let mut taken: Vec<usize> = Vec::new();
            for (take, amount) in steps {
                if take {
                    let sum = taken.iter().sum::<usize>();
                    let could = sum == 0 || amount <= limit.saturating_sub(sum);
                    prop_assert_eq!(credits.try_take(amount), could);
                    if could { taken.push(amount); }
                } else if let Some(amount) = taken.pop() {
                    credits.give_back(amount);
                }
                let sum = taken.iter().sum::<usize>();
                prop_assert_eq!(credits.used(), sum);
                prop_assert_eq!(credits.free(), limit.saturating_sub(sum));
                prop_assert!(sum <= limit || taken.iter().filter(|amount| **amount > 0).count() == 1);
            }
        }
    }
}

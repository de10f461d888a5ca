//! When two values agree.

use super::{Amount, Approximation, Date, Value, ValueKind};

/// How far "about" may be off, as a share of the larger number.
const ABOUT_SHARE: f64 = 0.1;
/// What two equal numbers may differ by after arithmetic in `f64`, as a share.
const EQUAL_SHARE: f64 = 1e-9;

/// What [`Value::compare`] finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Both can be true of one thing.
    Same,
    /// Both cannot be true of one thing at one time.
    Different,
    /// They are of different kinds or units, or one leaves open what the other gives.
    Incomparable,
}

impl Value {
    /// Compares two values as if they were said of one thing. Symmetric.
    ///
    /// Numbers are the same where they are equal after rounding to the coarser of the two, or where the approximate mark
    /// allows it. Units are not converted: 1 km and 1,000 m are incomparable. Dates are compared in the parts both give.
    pub fn compare(&self, other: &Value) -> Comparison {
        use ValueKind::{Currency, Date, Number, Ordinal, Percent, Quantity, Time};
        match (&self.kind, &other.kind) {
            (Number(a), Number(b)) | (Percent(a), Percent(b)) => self.compare_amounts(*a, other, *b),
            (Ordinal(a), Ordinal(b)) => verdict((a.value - b.value).abs() < EQUAL_SHARE),
            (Currency { amount: a, currency }, Currency { amount: b, currency: same })
                if currency == same =>
            {
                self.compare_amounts(*a, other, *b)
            }
            (Quantity { amount: a, unit }, Quantity { amount: b, unit: same }) if unit == same => {
                self.compare_amounts(*a, other, *b)
            }
            // "pounds" alone may be weight or money; against a "£" it is money.
            (Quantity { amount: a, unit: "pound" }, Currency { amount: b, currency: "GBP" })
            | (Currency { amount: a, currency: "GBP" }, Quantity { amount: b, unit: "pound" }) => {
                self.compare_amounts(*a, other, *b)
            }
            (Date(a), Date(b)) => compare_dates(a, b),
            (Time { seconds: a }, Time { seconds: b }) => verdict(a == b),
            _ => Comparison::Incomparable,
        }
    }

    fn compare_amounts(&self, mine: Amount, other: &Value, theirs: Amount) -> Comparison {
        let difference = (mine.value - theirs.value).abs();
        let largest = mine.value.abs().max(theirs.value.abs());
        let rounding = 0.5 * mine.resolution.max(theirs.resolution);
        let rounded = if mine.resolution == theirs.resolution { 0.0 } else { rounding };
        if difference <= rounded + EQUAL_SHARE * largest {
            return Comparison::Same;
        }
        let allowed = allows(self.approximation, mine.value, theirs.value)
            || allows(other.approximation, theirs.value, mine.value);
        verdict(allowed)
    }
}

/// Whether a number said with `approximation` can stand for `actual`.
fn allows(approximation: Approximation, said: f64, actual: f64) -> bool {
    match approximation {
        Approximation::Exact => false,
        Approximation::About => (said - actual).abs() <= ABOUT_SHARE * said.abs().max(actual.abs()),
        Approximation::AtLeast => actual >= said,
        Approximation::AtMost => actual <= said,
    }
}

fn compare_dates(a: &Date, b: &Date) -> Comparison {
    if a.ambiguous || b.ambiguous {
        return Comparison::Incomparable;
    }
    let years = a.years.zip(b.years).map(|(a, b)| a.0 <= b.1 && b.0 <= a.1);
    let months = a.month.zip(b.month).map(|(a, b)| a == b);
    let days = a.day.zip(b.day).map(|(a, b)| a == b);
    let parts = [years, months, days];
    if parts.contains(&Some(false)) {
        Comparison::Different
    } else if parts.contains(&Some(true)) {
        Comparison::Same
    } else {
        Comparison::Incomparable
    }
}

fn verdict(same: bool) -> Comparison {
    if same { Comparison::Same } else { Comparison::Different }
}

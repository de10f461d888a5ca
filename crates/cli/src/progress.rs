//! How far a run is, and how long it will take.

use std::time::Duration;

/// A rate is measured for this long before anything is said about time.
const MEASURE_FOR: Duration = Duration::from_secs(3);
/// Work that takes less is not announced.
const WORTH_TELLING: Duration = Duration::from_secs(20);

/// How far some work is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Forecast {
    /// Units done.
    pub(crate) done: u64,
    /// Units in all.
    pub(crate) total: u64,
    /// Time since the first unit was begun.
    pub(crate) elapsed: Duration,
}

impl Forecast {
    /// Time that the rest will take at the rate so far; `None` while there is no rate.
    pub(crate) fn remaining(&self) -> Option<Duration> {
        if self.done == 0 || self.total == 0 || self.elapsed < MEASURE_FOR {
            return None;
        }
        let rest = self.total.saturating_sub(self.done) as f64;
        Duration::try_from_secs_f64(self.elapsed.as_secs_f64() * rest / self.done as f64).ok()
    }

    /// The whole time, where the work is large enough to be announced and enough of it is left.
    pub(crate) fn announcement(&self) -> Option<Duration> {
        let remaining = self.remaining()?;
        (remaining >= WORTH_TELLING).then(|| remaining + self.elapsed)
    }
}

/// `3 min`, `40 s`, `2 h 10 min`: as exact as an estimate deserves.
pub(crate) fn rough(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{} s", if seconds < 10 { seconds } else { seconds.div_ceil(5) * 5 }),
        60..3600 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// `23,456`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn large_work_is_announced_once_a_rate_is_known() {
        let forecast = |done, elapsed| Forecast { done, total: 1000, elapsed: seconds(elapsed) };
        assert_eq!(forecast(0, 10).announcement(), None);
        assert_eq!(forecast(10, 1).announcement(), None);
        assert_eq!(forecast(10, 4).announcement(), Some(seconds(400)));
        assert_eq!(forecast(900, 4).announcement(), None);
        assert_eq!(forecast(10, 4).remaining(), Some(seconds(396)));
    }

    #[test]
    fn times_and_numbers_are_easy_to_read() {
        let shown = [7, 41, 60, 250, 7810].map(|count| rough(seconds(count)));
        assert_eq!(shown, ["7 s", "45 s", "1 min", "5 min", "2 h 10 min"]);
        assert_eq!([7, 999, 1000, 1_234_567].map(thousands), ["7", "999", "1,000", "1,234,567"]);
    }
}

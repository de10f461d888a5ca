//! When and how long to wait before a call is made again.

use crate::RetryOptions;
use std::time::Duration;

/// The pause before attempt `attempt + 1` (`attempt` counts from 1): full jitter, so that clients that failed together do not
/// come back together. `fraction` is random in `0.0..1.0`.
pub(crate) fn backoff(options: &RetryOptions, attempt: u32, fraction: f64) -> Duration {
    let doubled = options.base_ms.saturating_mul(1_u64 << attempt.saturating_sub(1).min(32));
    Duration::from_millis(doubled.min(options.max_ms)).mul_f64(fraction)
}

/// Reads a `Retry-After` header in its form of seconds. The form of a date is not read: it would need a clock that both sides
/// agree on, and no judge's backend sends it.
pub(crate) fn retry_after(header: &str) -> Option<Duration> {
    let seconds = header.trim().parse::<f64>().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then(|| Duration::try_from_secs_f64(seconds).ok())?
}

/// Reads `x-ratelimit-reset-*`: seconds, or the form of `1m30s`, `6m0s`, `250ms`.
pub(crate) fn rate_reset(header: &str) -> Option<Duration> {
    let header = header.trim();
    if let Some(plain) = retry_after(header) {
        return Some(plain);
    }
    let mut total = Duration::ZERO;
    let mut rest = header;
    while !rest.is_empty() {
        let unit_at = rest.find(|c: char| c != '.' && !c.is_ascii_digit())?;
        let number = rest[..unit_at].parse::<f64>().ok()?;
        let unit = &rest[unit_at..];
        let unit_end = unit.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(unit.len());
        let seconds = match &unit[..unit_end] {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        total = total.checked_add(Duration::try_from_secs_f64(number * seconds).ok()?)?;
        rest = &unit[unit_end..];
    }
    (!header.is_empty()).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_their_limit_and_jitter_takes_any_part_of_them() {
        let options = RetryOptions { base_ms: 100, max_ms: 500, ..RetryOptions::default() };
        let longest = (1..=5).map(|attempt| backoff(&options, attempt, 1.0).as_millis());
        assert_eq!(longest.collect::<Vec<_>>(), [100, 200, 400, 500, 500]);
        assert_eq!(backoff(&options, 3, 0.0), Duration::ZERO);
        assert_eq!(backoff(&options, 3, 0.5), Duration::from_millis(200));
        assert_eq!(backoff(&options, u32::MAX, 1.0), Duration::from_millis(500));
    }

    #[test]
    fn retry_after_is_read_in_seconds_and_nonsense_is_not() {
        assert_eq!(retry_after(" 7 "), Some(Duration::from_secs(7)));
        assert_eq!(retry_after("0.5"), Some(Duration::from_millis(500)));
        for nonsense in ["", "soon", "-1", "NaN", "inf", "1e300", "Wed, 21 Oct 2015 07:28:00 GMT"] {
            assert_eq!(retry_after(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn resets_are_read_in_the_forms_that_backends_send() {
        let read = ["1s", "6m0s", "250ms", "1h2m3s", "12", "1.5s"].map(|text| rate_reset(text).unwrap());
        let millis = read.map(|time| time.as_millis());
        assert_eq!(millis, [1_000, 360_000, 250, 3_723_000, 12_000, 1_500]);
        for nonsense in ["", "s", "5 s", "5x", "1.2.3s"] {
            assert_eq!(rate_reset(nonsense), None, "{nonsense}");
        }
    }
}

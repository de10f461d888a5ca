//! The wall clock, for what people read and what other machines stamped.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970 by this machine's clock; 0 where that is set to before then.
pub(crate) fn wall_clock_ms() -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "a stamp for people and for other machines decides nothing"
    )]
    let now = SystemTime::now();
    now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// Milliseconds since 1970 of a time as brokers write it, `2026-11-30T04:04:07.123456789Z`; `None` where it is otherwise.
#[cfg(feature = "nats")]
pub(crate) fn parse_utc_ms(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let mut date = date.split('-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let mut time = time.split(':');
    let (hours, minutes) = (time.next()?.parse::<u64>().ok()?, time.next()?.parse::<u64>().ok()?);
    let seconds = time.next()?.parse::<f64>().ok()?;
    let is_time = hours < 24 && minutes < 60 && (0.0..61.0).contains(&seconds);
    if !(1970..3000).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) || !is_time {
        return None;
    }
    // Years that begin in March, so that a leap day is a year's last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    const DAYS_BEFORE_1970: u64 = 719_468;
    let days = 365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - DAYS_BEFORE_1970;
    Some((days * 86_400 + hours * 3600 + minutes * 60) * 1000 + (seconds * 1000.0) as u64)
}

#[cfg(all(test, feature = "nats"))]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_broker_are_read() {
        let times = [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T12:00:00.5Z", 951_825_600_500),
            ("2026-11-30T04:04:07.123456789Z", 1_796_011_447_123),
        ];
        assert!(times.iter().all(|(text, ms)| parse_utc_ms(text) == Some(*ms)), "{times:?}");
        for odd in ["", "2026-11-30", "2026-13-01T00:00:00Z", "2026-11-30T04:04:07+01:00", "1-1-1T1:1:1Z"] {
            assert_eq!(parse_utc_ms(odd), None, "{odd}");
        }
    }
}

//! How long a caller waits.

use axum::http::HeaderMap;
use groundline_types::{CheckRequest, Code, Problem};
use std::time::Duration;
use tokio::time::Instant;

/// The header that says how long the caller waits.
const HEADER: &str = "grpc-timeout";
/// What is kept of the time for writing the answer and for its way, at most.
const ANSWER_TIME: Duration = Duration::from_millis(250);
/// The same as a part of short times.
const ANSWER_PART: u32 = 10;

/// When the caller stops waiting, where it says so.
///
/// # Errors
/// [`Code::INVALID_FIELD`] for what is no time: whoever gives one wants it to count.
pub(super) fn deadline_in(headers: &HeaderMap, now: Instant) -> Result<Option<Instant>, Problem> {
    let Some(value) = headers.get(HEADER) else { return Ok(None) };
    let wrong = || {
        Problem::new(
            Code::INVALID_FIELD,
            "grpc-timeout must be up to 8 digits and a unit: H, M, S, m, u or n",
        )
    };
    let time = value.to_str().ok().and_then(timeout_of).ok_or_else(wrong)?;
    // 8 digits of hours are beyond what a clock holds on some systems.
    Ok(now.checked_add(time))
}

fn timeout_of(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = digits.parse::<u64>().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(number * 3600),
        "M" => Duration::from_secs(number * 60),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

/// Ends a check a little before its caller stops waiting: a partial result is worth more than none.
pub(super) fn fit(request: &mut CheckRequest, until: Option<Instant>) {
    let Some(until) = until else { return };
    let left = until.saturating_duration_since(Instant::now());
    let left = left - ANSWER_TIME.min(left / ANSWER_PART);
    let left = u64::try_from(left.as_millis()).unwrap_or(u64::MAX).max(1);
    let own = request.deadline_ms.unwrap_or_else(|| request.lane.unwrap_or_default().default_deadline_ms());
    request.deadline_ms = Some(own.min(left));
}

#[cfg(test)]
mod tests;

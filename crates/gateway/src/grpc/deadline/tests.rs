use super::*;
use groundline_types::Lane;

#[test]
fn a_timeout_has_up_to_8_digits_and_a_unit() {
    for (text, time) in [
        ("1H", Duration::from_secs(3600)),
        ("2M", Duration::from_secs(120)),
        ("3S", Duration::from_secs(3)),
        ("99999999m", Duration::from_millis(99_999_999)),
        ("5u", Duration::from_micros(5)),
        ("0n", Duration::ZERO),
    ] {
        assert_eq!(timeout_of(text), Some(time), "{text}");
    }
    for text in ["", "S", "1", "-1S", "+1S", "1.5S", "123456789m", "1 S", "1s", "1é"] {
        assert_eq!(timeout_of(text), None, "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_check_ends_a_little_before_its_caller_stops_waiting() {
    let fitted = |own: Option<u64>, lane, until_ms: Option<u64>| {
        let mut request = CheckRequest { deadline_ms: own, lane, ..CheckRequest::new("a", "b") };
        fit(&mut request, until_ms.map(|ms| Instant::now() + Duration::from_millis(ms)));
        request.deadline_ms
    };
    assert_eq!(fitted(Some(7), None, None), Some(7));
    assert_eq!(fitted(None, None, Some(10_000)), Some(9_750));
    assert_eq!(fitted(Some(7), None, Some(10_000)), Some(7));
    assert_eq!(fitted(None, None, Some(1_000)), Some(900));
    assert_eq!(fitted(None, None, Some(0)), Some(1));
    // Waiting longer than the lane's time changes nothing.
    assert_eq!(fitted(None, Some(Lane::Online), Some(1_000_000)), Some(30_000));
}

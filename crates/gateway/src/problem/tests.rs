use super::*;

#[test]
fn a_refusal_says_when_to_try_again_in_whole_seconds_and_never_at_once() {
    let header_of = |error: ApiError| {
        let response = error.into_response();
        response.headers().get(header::RETRY_AFTER).map(|value| value.to_str().unwrap().to_owned())
    };
    assert_eq!(header_of(Refusal::TenantRate(Duration::from_millis(1)).into()).unwrap(), "1");
    assert_eq!(header_of(Refusal::TenantRate(Duration::from_millis(2001)).into()).unwrap(), "3");
    assert_eq!(header_of(Refusal::Overloaded.into()).unwrap(), "1");
    assert_eq!(header_of(Problem::new(Code::OVERLOADED, "x").into()).unwrap(), "1");
    assert_eq!(header_of(Problem::new(Code::MALFORMED_JSON, "x").into()), None);
}

#[test]
fn only_the_callers_limits_are_429_and_only_overload_is_503() {
    let with = |status: u16| {
        let codes = Code::ALL.iter().filter(|code| status_of(**code).as_u16() == status);
        codes.map(|code| code.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(with(429), ["GL6003"]);
    let judge = ["GL5003", "GL5005", "GL5006", "GL5007"];
    assert_eq!(with(503), [&["GL2004", "GL3001", "GL4001"][..], &judge, &["GL6004", "GL6005"]].concat());
    assert_eq!(with(400), ["GL1003", "GL1006", "GL1007"]);
}

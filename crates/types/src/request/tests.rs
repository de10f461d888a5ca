use super::*;

fn problem(text: &str) -> (Code, String) {
    let problem = CheckRequest::from_json(text).expect_err("should be refused");
    (problem.code, problem.message)
}

#[test]
fn one_source_and_several_read_alike() {
    let one = CheckRequest::from_json(r#"{"source":"S","response":"R","id":7}"#).unwrap();
    assert_eq!((one.sources.len(), one.id.as_deref()), (1, Some("7")));
    let many =
        CheckRequest::from_json(r#"{"sources":["S",{"id":"a","text":"T","title":"x"}],"response":"R"}"#)
            .unwrap();
    assert_eq!(many.sources[1].id.as_deref(), Some("a"));
    assert_eq!(&*many.sources[1].text, "T");
}

#[test]
fn an_error_names_the_field_and_what_was_found() {
    assert_eq!(problem(r#"{"source":"S"}"#), (Code::INVALID_FIELD, "the field `response` is missing".into()));
    assert_eq!(
        problem(r#"{"source":"S","response":3}"#),
        (Code::INVALID_FIELD, "`response` must be a string, found a number".into())
    );
    assert!(problem(r#"{"sorce":"S","response":"R"}"#).1.contains("did you mean `source`?"));
    assert_eq!(problem("{").0, Code::MALFORMED_JSON);
    assert_eq!(problem("[]").0, Code::INVALID_FIELD);
    assert!(problem(r#"{"sources":[{"txt":"S"}],"response":"R"}"#).1.contains("sources[0].text"));
    assert!(problem(r#"{"source":"S","response":"R","lane":"fast"}"#).1.contains("online, bulk"));
    assert!(problem(r#"{"source":"S","sources":[],"response":"R"}"#).1.contains("not both"));
}

#[test]
fn an_error_never_shows_the_text_of_a_response() {
    let (_, message) = problem(r#"{"response":["secret"],"source":"S"}"#);
    assert!(!message.contains("secret"), "{message}");
}

#[test]
fn empty_nul_and_oversized_inputs_are_refused_with_their_codes() {
    let limits = Limits { response_bytes: 10, source_bytes: 10, sources: 2 };
    let code = |response: &str, source: &str| {
        CheckRequest::new(response, source).validate(&limits).map_err(|problem| problem.code)
    };
    assert_eq!(code(" \n", "S"), Err(Code::EMPTY_RESPONSE));
    assert_eq!(code("R", "\t "), Err(Code::EMPTY_SOURCE));
    assert_eq!(code("R\0", "S"), Err(Code::NUL_BYTE));
    assert_eq!(code("R", "S\0"), Err(Code::NUL_BYTE));
    assert_eq!(code("12345678901", "S"), Err(Code::TOO_LARGE));
    assert_eq!(code("R", "12345678901"), Err(Code::TOO_LARGE));
    assert_eq!(code("R", "S"), Ok(()));
}

#[test]
fn history_is_evidence_only_where_the_request_says_so() {
    let mut request = CheckRequest::with_sources("R", vec![]);
    request.history = vec![Turn { role: "user".into(), content: "It is red.".into() }];
    assert_eq!(request.validate(&Limits::default()).map_err(|p| p.code), Err(Code::EMPTY_SOURCE));
    request.history_is_evidence = true;
    assert_eq!(request.validate(&Limits::default()), Ok(()));
}

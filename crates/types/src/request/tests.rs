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
    let limits = Limits { response_bytes: 10, source_bytes: 10, sources: 2, ..Limits::default() };
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

#[test]
fn what_history_brings_as_evidence_is_held_to_the_limits_of_sources() {
    let limits = Limits { response_bytes: 10, source_bytes: 10, sources: 2, ..Limits::default() };
    let code = |turns: &[&str], counts: bool| {
        let mut request = CheckRequest::new("R", "S");
        request.history =
            turns.iter().map(|text| Turn { role: "user".into(), content: (*text).to_owned() }).collect();
        request.history_is_evidence = counts;
        request.validate(&limits).map_err(|problem| problem.code)
    };
    assert_eq!(code(&["a\0"], true), Err(Code::NUL_BYTE));
    assert_eq!(code(&["1234567890"], true), Err(Code::TOO_LARGE));
    assert_eq!(code(&["123456789"], true), Ok(()));
    assert_eq!(code(&["a", "b"], true), Err(Code::TOO_LARGE));
    assert_eq!(code(&["a\0", "1234567890"], false), Ok(()), "what the model does not read is not refused");
}

#[test]
fn two_sources_of_one_id_are_refused_by_place() {
    let text = r#"{"sources":[{"id":"a","text":"S"},"T",{"id":"a","text":"U"}],"response":"R"}"#;
    let problem = CheckRequest::from_json(text).unwrap().validate(&Limits::default()).unwrap_err();
    let message = "sources[0] and sources[2] have the same `id`; give each its own";
    assert_eq!((problem.code, problem.message.as_str()), (Code::INVALID_FIELD, message));
    let text = text.replacen(r#""id":"a""#, r#""id":"b""#, 1);
    assert_eq!(CheckRequest::from_json(&text).unwrap().validate(&Limits::default()), Ok(()));
}

#[test]
fn what_this_version_does_not_have_is_refused_by_name_and_null_is_absent() {
    let refused = |field: &str| {
        let text = format!(r#"{{"source":"S","response":"R",{field}}}"#);
        let request = CheckRequest::from_json(&text);
        request
            .and_then(|request| request.validate(&Limits::default()))
            .map_err(|problem| problem.to_string())
    };
    let message = |field: &str| refused(field).unwrap_err();
    assert!(message(r#""profile":"nope""#).starts_with("no profile is installed in this version"));
    assert!(message(r#""policy":{}"#).ends_with("[GL1007]"));
    assert!(message(r#""tenant":"t""#).starts_with("`tenant` comes from authentication"));
    assert_eq!(refused(r#""profile":null,"policy":null,"tenant":null"#), Ok(()));
}

#[test]
fn what_a_request_does_not_say_stays_unsaid() {
    let plain = CheckRequest::from_json(r#"{"source":"S","response":"R"}"#).unwrap();
    assert_eq!((plain.lane, plain.offsets), (None, None));
    let said = r#"{"source":"S","response":"R","lane":"online","offsets":"bytes"}"#;
    let said = CheckRequest::from_json(said).unwrap();
    assert_eq!((said.lane, said.offsets), (Some(Lane::Online), Some(OffsetUnit::Bytes)));
}

#[test]
fn a_name_that_stands_twice_is_refused_with_its_place() {
    let (code, message) = problem("{\"source\":\"S\",\n\"response\":\"secret\",\n\"response\":\"R\"}");
    assert_eq!(code, Code::INVALID_FIELD);
    assert!(
        message.starts_with("a field stands twice in one object, the second time at line 3 "),
        "{message}"
    );
    assert_eq!(problem(r#"{"source":{"text":"a","text":"b"},"response":"R"}"#).0, Code::INVALID_FIELD);
}

#[test]
fn malformed_json_has_its_place_and_a_line_only_where_there_are_several() {
    let message = |text: &str| problem(text).1;
    assert_eq!(message("{\"response\": oops}\n"), "not valid JSON at column 14");
    assert_eq!(message("{\n\"response\": oops}"), "not valid JSON at line 2 column 13");
    assert_eq!(message("{\"response\": 3"), "not valid JSON at column 14: it ends too early");
}

#[test]
fn a_byte_order_mark_alone_is_an_empty_text() {
    let code = |request: CheckRequest| request.validate(&Limits::default()).map_err(|problem| problem.code);
    assert_eq!(code(CheckRequest::new("\u{feff} \n", "S")), Err(Code::EMPTY_RESPONSE));
    assert_eq!(code(CheckRequest::new("R", "\u{feff}")), Err(Code::EMPTY_SOURCE));
    assert_eq!(code(CheckRequest::new("\u{feff}R", "S")), Ok(()));
}

#[test]
fn an_id_is_read_from_a_request_that_is_refused() {
    let id = |text: &str| CheckRequest::id_in(&CheckRequest::value_from_json(text).unwrap());
    assert_eq!(id(r#"{"id":"x","response":3}"#).as_deref(), Some("x"));
    assert_eq!(id(r#"{"id":7}"#).as_deref(), Some("7"));
    assert_eq!((id(r#"{"id":[1]}"#), id("3"), id("{}")), (None, None, None));
}

#[test]
fn samples_stand_in_for_a_source_and_have_limits_of_their_own() {
    let code = |samples: &[&str], limits: &Limits| {
        let mut request = CheckRequest::with_sources("A response.", Vec::new());
        request.samples = samples.iter().map(|text| (*text).to_owned()).collect();
        request.validate(limits).map_err(|problem| problem.code)
    };
    let limits = Limits { samples: 2, sample_bytes: 8, ..Limits::default() };
    assert_eq!(code(&[], &limits), Err(Code::EMPTY_SOURCE));
    assert_eq!(code(&["four", "four"], &limits), Ok(()));
    assert_eq!(code(&["four", "fours"], &limits), Err(Code::TOO_LARGE));
    assert_eq!(code(&["a", "b", "c"], &limits), Err(Code::TOO_LARGE));
    assert_eq!(code(&["a\0"], &limits), Err(Code::NUL_BYTE));
}

#[test]
fn samples_are_drawn_only_for_a_question_and_a_generator_is_a_name() {
    let text = r#"{"response":"R","question":"Who?","draw_samples":true,"generator":"gpt-4o"}"#;
    let mut request = CheckRequest::from_json(text).unwrap();
    assert_eq!((request.draw_samples, request.generator.as_deref()), (true, Some("gpt-4o")));
    assert_eq!(request.validate(&Limits::default()), Ok(()), "drawn samples take the place of a source");
    request.question = Some(" ".to_owned());
    let problem = request.validate(&Limits::default()).unwrap_err();
    assert!(problem.code == Code::INVALID_FIELD && problem.message.contains("`question`"), "{problem}");
    let mut request = CheckRequest::new("R", "S");
    request.generator = Some("x".repeat(257));
    assert_eq!(request.validate(&Limits::default()).unwrap_err().code, Code::INVALID_FIELD);
}

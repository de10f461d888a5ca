use super::*;

fn request() -> ChatRequest {
    ChatRequest {
        seed: Some(7),
        n: 3,
        schema: Some(AnswerSchema { name: "x", schema: json!({"type": "object"}) }),
        wants_logprobs: true,
        ..ChatRequest::new(Some("be brief".to_owned()), "why?".to_owned(), 9)
    }
}

const FULL: Capabilities = Capabilities {
    answer_format: AnswerFormat::SchemaNested,
    logprobs: true,
    seed: true,
    n: true,
    temperature: true,
    token_limit: TokenLimitField::MaxTokens,
};

#[test]
fn a_request_asks_for_all_that_the_backend_can_do() {
    let body = Value::Object(request().body("m", &FULL, &Map::new()));
    let expected = json!({
        "model": "m",
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "why?"}],
        "max_tokens": 9, "temperature": 0.0, "n": 3, "seed": 7, "logprobs": true, "top_logprobs": 5,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "x", "strict": true, "schema": {"type": "object"}},
        },
    });
    assert_eq!(body, expected);
}

#[test]
fn a_request_to_a_poor_backend_has_only_what_it_knows() {
    let can = Capabilities {
        temperature: false,
        token_limit: TokenLimitField::MaxCompletionTokens,
        ..Capabilities::default()
    };
    let body = Value::Object(request().body("m", &can, &Map::new()));
    let keys = body.as_object().unwrap().keys().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(keys, ["max_completion_tokens", "messages", "model"]);
}

#[test]
fn own_fields_win_over_extra_ones() {
    let extra = json!({"model": "other", "think": false}).as_object().unwrap().clone();
    let body = request().body("m", &FULL, &extra);
    assert_eq!((&body["model"], &body["think"]), (&json!("m"), &json!(false)));
}

#[test]
fn formats_are_those_of_openai_llama_cpp_and_plain_json() {
    let schema = request().schema.unwrap();
    let flat = response_format(&schema, AnswerFormat::SchemaFlat).unwrap();
    assert_eq!(flat, json!({"type": "json_schema", "schema": {"type": "object"}}));
    let object = response_format(&schema, AnswerFormat::JsonObject).unwrap();
    assert_eq!(object, json!({"type": "json_object"}));
    assert_eq!(response_format(&schema, AnswerFormat::Text), None);
}

#[test]
fn the_upper_bound_counts_every_byte_and_every_choice() {
    let most = request().most_tokens();
    assert!(most.input_tokens > "be briefwhy?".len() as u64);
    assert_eq!(most.output_tokens, 27);
    assert!(request().likely_tokens() < most.total_tokens());
}

#[test]
fn a_reply_with_strange_and_missing_fields_is_still_read() {
    let body = json!({
        "choices": [
            {"message": {"content": "yes", "reasoning_content": "hm", "tool_calls": null}, "finish_reason": "stop"},
            {"message": {"content": [{"type": "text", "text": "a"}, {"text": "b"}, 7]}, "finish_reason": "length"},
            {"message": {"content": null, "refusal": "no"}, "finish_reason": "content_filter"},
            {"text": "old style"},
            {},
        ],
        "usage": {"prompt_tokens": 11, "total_tokens": 15, "prompt_tokens_details": {"cached_tokens": 4}},
        "timings": {"x": 1},
    });
    let reply = ChatReply::read(body.to_string().as_bytes()).unwrap();
    let texts = reply.choices.iter().map(|choice| choice.text.as_str()).collect::<Vec<_>>();
    assert_eq!(texts, ["yes", "ab", "", "old style", ""]);
    let finishes = reply.choices.iter().map(|choice| choice.finish).collect::<Vec<_>>();
    use Finish::{CutOff, Filtered, Stopped};
    assert_eq!(finishes, [Stopped, CutOff, Filtered, Stopped, Stopped]);
    assert!(reply.choices[2].is_refusal && !reply.choices[0].is_refusal);
    let usage = TokenUsage { input_tokens: 11, cached_input_tokens: 4, output_tokens: 4 };
    assert_eq!(reply.usage, Some(usage));
}

#[test]
fn what_is_no_reply_is_not_read_as_one() {
    for body in ["", "null", "[]", "{", r#"{"choices": 7}"#, r#"{"error": {"message": "x"}}"#, "<html>"] {
        assert_eq!(ChatReply::read(body.as_bytes()), None, "{body}");
    }
    assert_eq!(ChatReply::read(br#"{"choices": []}"#).unwrap().choices, []);
}

#[test]
fn log_probabilities_are_read_with_the_written_token_among_them() {
    let body = json!({"choices": [{"message": {"content": "yes"}, "logprobs": {"content": [
        {"token": "yes", "logprob": -2.0, "top_logprobs": [
            {"token": "no", "logprob": -0.2}, {"token": "bad", "logprob": "x"}, {"token": "worse", "logprob": 3.0}]},
        {"token": ".", "logprob": null},
        {"nothing": true},
    ]}}]});
    let reply = ChatReply::read(body.to_string().as_bytes()).unwrap();
    let tokens = &reply.choices[0].tokens;
    assert_eq!(tokens[0].alternatives, [("no".to_owned(), -0.2), ("yes".to_owned(), -2.0)]);
    assert_eq!(tokens.len(), 2);
    assert_eq!(tokens[1].alternatives, []);
}

#[test]
fn only_known_words_are_taken_from_error_answers() {
    let cases = [
        (r#"{"error": {"code": "insufficient_quota", "message": "…"}}"#, ErrorKind::QuotaSpent),
        (r#"{"error": {"code": null, "type": "exceed_context_size_error"}}"#, ErrorKind::TooLong),
        (r#"{"object": "error", "code": "content_filter"}"#, ErrorKind::Filtered),
        (r#"{"error": "model not found"}"#, ErrorKind::Other),
        ("busy", ErrorKind::Other),
    ];
    for (body, kind) in cases {
        assert_eq!(error_kind(body.as_bytes()), kind, "{body}");
    }
}

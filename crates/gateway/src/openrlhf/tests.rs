use super::*;

fn response(query: &str, prompt: &str) -> Option<String> {
    response_of(query, prompt)
}

#[test]
fn the_answer_is_what_follows_the_prompt_without_special_tokens() {
    let prompt = "<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\n";
    let query = format!("{prompt}Marie Curie.<|im_end|>");
    assert_eq!(response(&query, prompt).unwrap(), "Marie Curie.");
    assert_eq!(response("Who? She.</s>", "Who?").unwrap(), "She.");
    assert_eq!(response("<s> Who? She.</s><pad><pad>", "Who?").unwrap(), "She.");
    let llama = "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nWho?<|eot_id|>";
    assert_eq!(response(&format!("{llama}She.<|eot_id|>"), llama).unwrap(), "She.");
    // With an empty prompt, everything is the answer.
    assert_eq!(response("She.", "").unwrap(), "She.");
}

#[test]
fn a_prompt_that_does_not_stand_at_the_start_is_cut_at_the_last_answer() {
    let prompt = "A long prompt that was truncated";
    for marker in ASSISTANT_MARKERS {
        let query = format!("was truncated{marker}Earlier.<|im_end|>More?{marker}\nLater.<|im_end|>");
        assert_eq!(response(&query, prompt).unwrap(), "Later.", "{marker}");
    }
    assert_eq!(response("something else", prompt), None);
}

#[test]
fn what_only_looks_like_a_token_stays() {
    assert_eq!(without_special("a < b, <|x y z|> <b> 1<|2 <｜end▁of▁sentence｜>"), "a < b,  <b> 1<|2 ");
    assert_eq!(without_special("no tokens, ende <"), "no tokens, ende <");
    let long = format!("<|{}|>", "x".repeat(MAX_TOKEN_CHARS + 1));
    assert_eq!(without_special(&long), long);
}

#[test]
fn labels_hold_evidence_in_both_forms() {
    assert_eq!(sources_of("plain text"), [json!("plain text")]);
    let both = sources_of(r#"{"context": ["a", {"text": "b", "id": "x"}], "reference": "c"}"#);
    assert_eq!(both, [json!("a"), json!({"text": "b", "id": "x"}), json!("c")]);
    assert_eq!(sources_of(r#"{"context": "a"}"#), [json!("a")]);
    assert!(sources_of("").is_empty());
    assert!(sources_of(r#"{"answer": 42}"#).is_empty());
    assert_eq!(sources_of("42"), [json!("42")]);
}

#[test]
fn bodies_are_read_as_trainers_send_them() {
    let one = json!({"query": ["p r"], "prompts": ["p"], "labels": [null]});
    let sample = Sample { query: "p r".to_owned(), prompt: "p".to_owned(), label: None };
    assert_eq!(samples_of(one).unwrap(), [sample]);
    assert!(samples_of(json!({"query": [], "prompts": [], "labels": []})).unwrap().is_empty());
    assert_eq!(samples_of(json!({"query": ["a", "b"]})).unwrap().len(), 2);
    let refused = |json: Value| samples_of(json).unwrap_err();
    assert!(refused(json!({"query": ["a"], "prompts": []})).message.contains("1 items, `prompts` 0"));
    assert!(refused(json!({"prompts": []})).message.contains("`query` is missing"));
    assert!(refused(json!({"query": [["a"]]})).message.contains("`query` must be"));
    assert_eq!(refused(json!([])).code, Code::INVALID_FIELD);
}

#[test]
fn a_sample_without_evidence_or_answer_cannot_be_scored() {
    let sample = |label: &str| Sample {
        query: "q r".to_owned(),
        prompt: "q".to_owned(),
        label: Some(label.to_owned()),
    };
    let request = request_of(&sample("evidence")).unwrap();
    assert_eq!((&*request.response, &*request.sources[0].text), ("r", "evidence"));
    assert!(request_of(&sample("")).unwrap().sources.is_empty());
    let lost = Sample { query: "x".to_owned(), ..sample("evidence") };
    assert_eq!(request_of(&lost).unwrap_err().code, Code::EMPTY_RESPONSE);
    assert_eq!(request_of(&sample(r#"{"context": [1]}"#)).unwrap_err().code, Code::INVALID_FIELD);
}

use super::*;
use serde_json::json;

fn ask(stub: &StubJudge, claim: &str, source: &str) -> Value {
    let prompt = crate::prompts::verdict(&[source], claim, None, "0123456789abcdef");
    let reply = stub.take(&json!({
        "messages": [{"role": "user", "content": prompt.user}], "max_tokens": 50, "logprobs": true,
    }));
    let brain::Body::Whole(body) = reply.body else { panic!("no whole answer") };
    body
}

#[test]
fn it_judges_by_words_numbers_and_negations() {
    let stub = StubJudge::new(StubOptions::default());
    let source = "The bridge was built in 1932. It does not carry trains.";
    for (claim, verdict) in [
        ("The bridge was built in 1932.", "supported"),
        ("The bridge was built in 1933.", "contradicted"),
        ("It does carry trains.", "contradicted"),
        ("Sydney has beaches.", "unsupported"),
    ] {
        let body = ask(&stub, claim, source);
        let text = body["choices"][0]["message"]["content"].as_str().unwrap();
        assert!(text.contains(&format!("\"verdict\": \"{verdict}\"")), "{claim}: {text}");
        assert_eq!(ask(&stub, claim, source), body, "the same each time");
        let tokens = body["choices"][0]["logprobs"]["content"].as_array().unwrap();
        let joined = tokens.iter().map(|token| token["token"].as_str().unwrap()).collect::<String>();
        assert_eq!(joined, text);
    }
}

#[test]
fn faults_come_by_script_first_and_then_by_share() {
    let options = StubOptions {
        script: vec![Some(Fault::Reset), None],
        faults: vec![(Fault::ServerError, 0.1), (Fault::Hang, 0.05)],
        ..StubOptions::default()
    };
    assert_eq!((options.fault(0), options.fault(1)), (Some(Fault::Reset), None));
    let later = (2..10_002).map(|number| options.fault(number)).collect::<Vec<_>>();
    let count = |fault| later.iter().filter(|other| **other == Some(fault)).count();
    assert!((900..1_100).contains(&count(Fault::ServerError)), "{}", count(Fault::ServerError));
    assert!((400..600).contains(&count(Fault::Hang)), "{}", count(Fault::Hang));
    assert_eq!(later, (2..10_002).map(|number| options.fault(number)).collect::<Vec<_>>());
}

#[test]
fn what_it_cannot_do_is_refused_and_an_error_repeats_the_prompt_as_real_ones_do() {
    let stub =
        StubJudge::new(StubOptions { capabilities: Capabilities::default(), ..StubOptions::default() });
    let reply = stub.take(&json!({"messages": [{"content": "secret"}], "seed": 1}));
    assert_eq!(reply.status, 400);
    let brain::Body::Whole(body) = reply.body else { panic!("no whole answer") };
    assert_eq!(body["error"]["message"], "secret");
    assert_eq!(stub.seen(), StubSeen { requests: 1, ..StubSeen::default() });
}

use super::*;
use proptest::prelude::*;
use serde::Deserialize;

#[derive(Debug, PartialEq, Deserialize)]
struct Answer {
    verdict: String,
}

fn find(text: &str) -> Option<String> {
    match find_answer::<Answer>(text, "verdict") {
        Found::Answer(answer, at) => {
            assert!(text[at..].starts_with('{'));
            Some(answer.verdict)
        }
        Found::Refusal | Found::Nothing => None,
    }
}

#[test]
fn an_object_is_found_behind_thoughts_fences_and_prose() {
    for text in [
        r#"{"verdict": "supported"}"#,
        "```json\n{\"verdict\": \"supported\"}\n```",
        r#"Sure! Here is my answer: {"verdict": "supported"} I hope it helps."#,
        r#"<think>perhaps {"verdict": "contradicted"}?</think>{"verdict": "supported"}"#,
        r#"maybe {"verdict": "contradicted"} hm</think> {"verdict": "supported"}"#,
        r#"{"note": "a } brace"} {"verdict": "supported", "extra": {"x": [1]}}"#,
        r#"{unclosed {"verdict": "supported"}"#,
        r#"{"answer": {"verdict": "supported"}}"#,
        r#"{"verdict": "supported"} {"verdict": "supported"}"#,
        r#"{"reason": "it says \"{\" here", "verdict": "supported"}"#,
    ] {
        assert_eq!(find(text).as_deref(), Some("supported"), "{text}");
    }
}

#[test]
fn what_is_no_single_answer_is_none() {
    for text in [
        "",
        "supported",
        r#"{"verdict": 1}"#,
        r#"{"verdict": null}"#,
        r#"{"verdict": "supported""#,
        r#"{"verdict": "supported",}"#,
        r#"{"verdict": "supported", "verdict": "contradicted"}"#,
        r#"{"verdict": "supported"} but no: {"verdict": "contradicted"}"#,
        r#"{"Verdict": "supported"}"#,
        r#"<think>{"verdict": "supported"}"#,
        r#"'verdict': 'supported'"#,
    ] {
        assert_eq!(find(text), None, "{text}");
    }
}

#[test]
fn a_refusal_is_told_from_an_unreadable_answer() {
    for text in [
        "I'm sorry, but I can't assist with that.",
        "I’m sorry, but no.",
        "**I cannot** help with this request",
        "<think>they want…</think>\nAs an AI language model, I have no opinion.",
        "Unfortunately, I can't answer.",
    ] {
        assert_eq!(find_answer::<Answer>(text, "verdict"), Found::Refusal, "{text}");
    }
    for text in ["The claim is supported.", "Sorry state of affairs it was", "I canned it", ""] {
        assert_eq!(find_answer::<Answer>(text, "verdict"), Found::Nothing, "{text}");
    }
    let both = r#"I'm sorry for the wait. {"verdict": "supported"}"#;
    assert_eq!(find(both).as_deref(), Some("supported"));
}

#[test]
fn a_flood_of_braces_is_given_up_soon() {
    assert_eq!(find(&"{".repeat(200_000)), None);
    assert_eq!(find(&"{}".repeat(100_000)), None);
    assert_eq!(find(&"{\"a\":".repeat(50_000)), None);
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in ".{0,300}") {
        let _ = find_answer::<Answer>(&text, "verdict");
    }

    #[test]
    fn text_in_the_answers_own_strings_changes_nothing(inside in ".{0,100}") {
        let object = serde_json::json!({"reason": inside, "verdict": "supported"});
        let object = object.to_string();
        prop_assert_eq!(find(&object), Some("supported".to_owned()));
    }
}

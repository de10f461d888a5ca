use super::*;

fn request(text: &str) -> FactsRequest {
    FactsRequest { text: text.to_owned(), context: None }
}

fn facts_of(written: &[&str], text: &str) -> Result<Facts, Problem> {
    traced(&written.iter().map(|fact| (*fact).to_owned()).collect::<Vec<_>>(), &request(text))
}

#[test]
fn invented_facts_are_dropped_and_counted_and_doubles_are_dropped() {
    let text = "Curie was born in Warsaw and worked in Paris.";
    let written = [
        "Curie was born in Warsaw.",
        "curie was born in Warsaw.",
        "Curie worked in Paris.",
        "Curie died in 1934.",
        ":",
    ];
    let found = facts_of(&written, text).unwrap();
    let texts = found.facts.iter().map(|fact| (fact.text.as_str(), &text[fact.span.start..fact.span.end]));
    let expected = [
        ("Curie was born in Warsaw.", "Curie was born in Warsaw"),
        ("Curie worked in Paris.", "Curie was born in Warsaw and worked in Paris"),
    ];
    assert_eq!(texts.collect::<Vec<_>>(), expected);
    assert_eq!((found.untraceable, found.coverage), (1, 1.0));
}

#[test]
fn where_nothing_is_traceable_the_answer_fails_without_naming_words() {
    let problem = facts_of(&["Einstein played violin in 1905."], "Curie was born in Warsaw.").unwrap_err();
    assert_eq!(problem.code, Code::JUDGE_UNTRACEABLE);
    assert!(!problem.message.contains("Einstein") && !problem.message.contains("Curie"));
    assert_eq!(facts_of(&[], "Curie was born.").unwrap_err().code, Code::JUDGE_UNTRACEABLE);
}

#[test]
fn facts_that_lose_a_negation_fail() {
    let problem = facts_of(&["Curie was born in Paris."], "Curie was not born in Paris.").unwrap_err();
    assert!(problem.message.contains("the negation"), "{problem}");
}

#[tokio::test(start_paused = true)]
async fn a_judge_takes_a_sentence_apart() {
    let stub = crate::stub::StubJudge::new(Default::default());
    let options = crate::JudgeOptions {
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        model: "m".to_owned(),
        ..crate::JudgeOptions::default()
    };
    let judge = Judge::with_transport(options, stub.transport(), crate::Randomness::seeded(1)).unwrap();
    let text = "Curie was born in Warsaw and worked in Paris.";
    let found = judge.decompose(&request(text), None).await.unwrap().value;
    let texts = found.facts.iter().map(|fact| fact.text.as_str()).collect::<Vec<_>>();
    assert_eq!(texts, ["Curie was born in Warsaw.", "Curie worked in Paris."]);
    assert_eq!((found.untraceable, found.prompt), (0, FACTS_PROMPT));
    let again = judge.decompose(&request(text), None).await.unwrap();
    assert_eq!(again.usage.cache_hits, 1);
    let nothing = judge.decompose(&request(" "), None).await.unwrap_err();
    assert_eq!(nothing.code(), Code::JUDGE_NOTHING_TO_JUDGE);
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_facts_is_not_read() {
    let stub = crate::stub::StubJudge::new(Default::default());
    let mut options = crate::JudgeOptions {
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        model: "m".to_owned(),
        ..crate::JudgeOptions::default()
    };
    options.facts.max_facts = 2;
    let judge = Judge::with_transport(options, stub.transport(), crate::Randomness::seeded(1)).unwrap();
    let failure = judge.decompose(&request("She sang and danced and wrote."), None).await.unwrap_err();
    assert_eq!(failure.code(), Code::JUDGE_UNREADABLE);
}

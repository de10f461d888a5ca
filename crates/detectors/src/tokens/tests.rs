use super::*;
use crate::learned::CLAIM_PART;
use crate::testing::{check_of, claim_score, facts};
use groundline_claims::{SplitOptions, split_response};
use groundline_types::{CheckRequest, ModelId, Span};
use proptest::prelude::*;

const PRESET: Preset = Preset::Lettucedetect;

/// A model that reads `max_tokens` words.
fn learned(max_tokens: usize) -> LearnedFacts {
    LearnedFacts {
        preset: PRESET,
        id: ModelId { name: "lettucedetect".to_owned(), revision: "1".to_owned() },
        max_tokens,
        pair_overhead_tokens: 3,
        counter: facts().counter,
    }
}

/// Labels each word of `text` by `label(context, word)`.
fn labelled(context: &str, text: &str, label: impl Fn(&str, &str) -> f32) -> Outcome<Score> {
    let token = |word: &str| {
        let start = word.as_ptr().addr() - text.as_ptr().addr();
        TokenScore {
            start: start as u32,
            end: (start + word.len()) as u32,
            hallucination_probability: label(context, word),
        }
    };
    Outcome::Scored(Score::Tokens(text.split_whitespace().map(token).collect()))
}

fn checked_with(
    check: PreparedCheck,
    max_tokens: usize,
    answer: impl Fn(&str, &str) -> Outcome<Score>,
) -> (Report, Vec<(String, String)>) {
    let facts = ModelFacts { learned: vec![learned(max_tokens)], ..facts() };
    let mut detector = TokenClassifier::new("lettucedetect", PRESET, &DetectorOptions::default());
    let (check, mut asked) = (Arc::new(check), Vec::new());
    let mut next = detector.start(&check, &facts);
    loop {
        match next {
            Next::Done(report) => {
                assert_eq!(report.work_items, asked.len());
                return (report, asked);
            }
            Next::Ask(_) => panic!("it asks no judge"),
            Next::Work(work) => {
                let mut outcomes = Vec::new();
                for work in &work {
                    let Work::Tokens { context, text, head } = work else {
                        panic!("only tokens are asked about")
                    };
                    assert_eq!(*head, Head::Learned(PRESET));
                    outcomes.push(answer(context, text));
                    asked.push((context.to_string(), text.to_string()));
                }
                next = detector.resume(&outcomes);
            }
        }
    }
}

fn checked(
    check: PreparedCheck,
    max_tokens: usize,
    label: impl Fn(&str, &str) -> f32,
) -> (Report, Vec<(String, String)>) {
    checked_with(check, max_tokens, |context, text| labelled(context, text, &label))
}

/// A word is hallucinated where the context does not have it.
fn missing(context: &str, word: &str) -> f32 {
    if context.contains(word) { 0.125 } else { 0.75 }
}

/// The claims of a response as they are split, against sentences of one source.
fn check_text(response: &str, source: &[&str]) -> PreparedCheck {
    let claims = split_response(response, &SplitOptions::default());
    let mut check = check_of(&[source], &["placeholder"]);
    check.request = Arc::new(CheckRequest::new(response, source.join(" ")));
    check.claims = claims;
    check
}

fn tokens(report: &Report, claim: usize) -> Vec<TokenFinding> {
    report.claims[claim].scored().unwrap().tokens.clone()
}

#[test]
fn a_sentence_is_supported_as_far_as_its_worst_token_is() {
    let check = check_of(&[&["curie won in 1903"]], &["curie won", "curie won in 1905"]);
    let (report, asked) = checked(check, 400, missing);
    assert_eq!(asked.len(), 1, "one window, and the whole response beside it");
    assert_eq!(asked[0].1, "curie won curie won in 1905");
    assert!((claim_score(&report, 0) - 0.875).abs() < 1e-6);
    assert!((claim_score(&report, 1) - 0.25).abs() < 1e-6);
    let finding = report.claims[1].scored().unwrap();
    assert_eq!(finding.support.unwrap().get(), 0.25);
    assert_eq!(finding.contradiction, None, "it cannot tell contradicted from not mentioned");
    let probabilities: Vec<f32> =
        finding.tokens.iter().map(|token| token.hallucination_probability.get()).collect();
    assert_eq!(probabilities, [0.125, 0.125, 0.125, 0.75]);
    assert_eq!(finding.evidence[0].probabilities.entailment.get(), 0.25);
    let score = report.score.scored().unwrap();
    assert_eq!((score.value, score.polarity), (0.25, Polarity::HigherIsSupported));
}

#[test]
fn the_prompt_is_that_of_the_authors_with_a_window_as_its_passage() {
    let (_, asked) = checked(check_of(&[&["one two."]], &["a claim"]), 400, missing);
    assert_eq!(asked[0].0, "Summarize the following text:\npassage 1: one two.\noutput:");
    let mut check = check_of(&[&["one two."]], &["a claim"]);
    let mut request = CheckRequest::clone(&check.request);
    request.question = Some(" How many? ".to_owned());
    check.request = Arc::new(request);
    let (report, asked) = checked(check.clone(), 400, missing);
    let expected = "Briefly answer the following question:\nHow many?\nBear in mind that your response should be strictly \
                    based on the following 1 passages:\npassage 1: one two.\nIn case the passages do not contain the \
                    necessary information to answer the question, please reply with: \"Unable to answer based on given \
                    passages.\"\noutput:";
    assert_eq!(asked[0].0, expected);
    assert!(report.notes.is_empty());
    // 48 words and more stand around the window: more than half of 60.
    let (report, asked) = checked(check, 60, missing);
    assert!(asked[0].0.starts_with("Summarize"), "{asked:?}");
    assert_eq!(report.notes[0].0, Code::TEXT_TOO_LONG);
    assert!(!report.notes[0].1.contains("How many"), "{:?}", report.notes);
}

#[test]
fn what_any_window_supports_is_supported() {
    let source: &[&str] = &["one two three four five six seven eight nine ten.", "alpha.", "beta."];
    let other: &[&str] = &["w ".repeat(30).leak()];
    // 40 words less those of the form and the response.
    let check = check_of(&[source, other], &["alpha. ten. gamma."]);
    let (report, asked) = checked(check, 40, missing);
    assert!(asked.len() >= 3, "{asked:?}");
    for (context, text) in &asked {
        assert_eq!(text, "alpha. ten. gamma.", "the response is whole beside every window");
        assert!(context.split_whitespace().count() + 3 + 3 <= 40, "{context}");
    }
    let all: String = asked.iter().map(|(context, _)| context.as_str()).collect();
    for word in source.concat().replace('.', ". ").split_whitespace() {
        assert!(all.contains(word), "{word} is in no window");
    }
    let probabilities: Vec<f32> =
        tokens(&report, 0).iter().map(|token| token.hallucination_probability.get()).collect();
    assert_eq!(probabilities, [0.125, 0.125, 0.75]);
}

#[test]
fn a_long_response_is_labelled_in_runs_of_whole_sentences() {
    let claims: Vec<String> = (20..32).map(|n| format!("claim number {n} has six words.")).collect();
    let claims: Vec<&str> = claims.iter().map(String::as_str).collect();
    let (report, asked) = checked(check_of(&[&["claim number has six words."]], &claims), 60, missing);
    let runs: Vec<&String> = asked.iter().map(|(_, text)| text).collect();
    assert!(runs.len() > 1);
    let most = (60 - 3 - 4 - 7) / CLAIM_PART;
    assert!(runs.iter().all(|text| text.split_whitespace().count() <= most && text.ends_with("words.")));
    assert_eq!(runs.iter().map(|text| text.as_str()).collect::<Vec<_>>().join(" "), claims.join(" "));
    for claim in 0..12 {
        assert_eq!(tokens(&report, claim).len(), 6);
        assert_eq!(claim_score(&report, claim), 0.25, "its number stands nowhere");
    }
}

#[test]
fn tokens_point_at_the_bytes_of_the_original() {
    let response = "# Facts\n\n**999** is wrong &amp; odd.\n\n- **999** again, 東京 🙂 1903.";
    let check = check_text(response, &["is wrong & odd again"]);
    let (report, _) = checked(check, 400, missing);
    let texts = |claim: usize| -> Vec<&str> {
        tokens(&report, claim).iter().map(|token| token.span.slice(response).unwrap()).collect()
    };
    assert!(report.claims[0].scored().is_none(), "a heading is no claim");
    assert_eq!(texts(1), ["999", "is", "wrong", "&amp;", "odd."]);
    assert_eq!(texts(2), ["999", "again,", "東京", "🙂", "1903."]);
    let starts = |claim: usize| tokens(&report, claim)[0].span.start;
    assert_eq!((starts(1), starts(2)), (11, response.rfind("999").unwrap()), "each its own occurrence");
}

#[test]
fn parts_of_a_character_stand_for_the_whole_of_it() {
    let response = "It is 東🙂 now.";
    let check = check_text(response, &["source"]);
    let at = response.find('東').unwrap() as u32;
    // A byte-level tokenizer may cut inside characters, and keeps the space before a word.
    let parts = [
        (0, 2),
        (2, 5),
        (at - 1, at + 1),
        (at + 1, at + 3),
        (at + 3, at + 5),
        (at + 5, at + 7),
        (at + 7, at + 12),
    ];
    let answer = |_: &str, _: &str| {
        let token = |&(start, end): &(u32, u32)| TokenScore { start, end, hallucination_probability: 0.5 };
        Outcome::Scored(Score::Tokens(parts.iter().map(token).collect()))
    };
    let (report, _) = checked_with(check, 400, answer);
    let found: Vec<&str> =
        tokens(&report, 0).iter().map(|token| token.span.slice(response).unwrap()).collect();
    assert_eq!(found, ["It", "is", "東", "東", "🙂", "🙂", "now."]);
}

#[test]
fn a_failed_answer_fails_the_sentences_of_its_run_alone() {
    let claims: Vec<String> = (0..6).map(|n| format!("claim number {n} has six words.")).collect();
    let claims: Vec<&str> = claims.iter().map(String::as_str).collect();
    let answer = |context: &str, text: &str| {
        if text.contains("number 0") {
            return Outcome::Failed(Reason::new(Code::NON_FINITE, "not finite"));
        }
        labelled(context, text, missing)
    };
    let (report, _) = checked_with(check_of(&[&["words"]], &claims), 60, answer);
    assert!(matches!(&report.claims[0], Outcome::Failed(reason) if reason.code == Code::NON_FINITE));
    assert!(report.claims[5].scored().is_some());
    let wrong = |_: &str, _: &str| Outcome::Scored(Score::Logits([0.0, 1.0].into()));
    let (report, _) = checked_with(check_of(&[&["words"]], &["a claim"]), 60, wrong);
    assert!(matches!(&report.claims[0], Outcome::Failed(reason) if reason.code == Code::INTERNAL));
    let none = |_: &str, _: &str| Outcome::Scored(Score::Tokens([].into()));
    let (report, _) = checked_with(check_of(&[&["words"]], &["a claim"]), 60, none);
    assert!(matches!(&report.claims[0], Outcome::Failed(reason) if reason.code == Code::INTERNAL));
}

#[test]
fn a_refused_claim_is_not_read_and_fails_with_its_reason() {
    let mut check = check_of(&[&["one two."]], &["one two.", "three.", "two."]);
    check.refused.insert("three.".into(), Reason::new(Code::STREAM_STOPPED, "behind the end"));
    let (report, asked) = checked(check, 80, missing);
    assert_eq!(asked.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), ["one two. two."]);
    assert!(matches!(&report.claims[1], Outcome::Failed(reason) if reason.code == Code::STREAM_STOPPED));
    assert!((claim_score(&report, 0) - 0.875).abs() < 1e-6);
    assert_eq!(tokens(&report, 2).len(), 1);
}

#[test]
fn other_tokens_of_the_same_text_fail_and_are_not_mixed() {
    let source: &[&str] = &["w ".repeat(30).leak(), "v ".repeat(30).leak()];
    let answer = |context: &str, text: &str| {
        let text = if context.contains("w w") { text } else { &text[2..] };
        labelled(context, text, missing)
    };
    let (report, asked) = checked_with(check_of(&[source], &["a claim"]), 50, answer);
    assert!(asked.len() > 1);
    assert!(matches!(&report.claims[0], Outcome::Failed(reason) if reason.code == Code::INTERNAL));
}

#[test]
fn a_sentence_that_fits_beside_no_window_fails_and_the_others_are_scored() {
    let long = "w ".repeat(100);
    let check = check_of(&[&["one two."]], &[long.as_str(), "one two."]);
    let (report, _) = checked(check, 80, missing);
    assert!(matches!(&report.claims[0], Outcome::Failed(reason) if reason.code == Code::CLAIM_TOO_LONG));
    assert!((claim_score(&report, 1) - 0.875).abs() < 1e-6);
}

#[test]
fn without_a_model_or_a_source_nothing_is_asked() {
    let mut detector = TokenClassifier::new("lettucedetect", PRESET, &DetectorOptions::default());
    let check = Arc::new(check_of(&[&["one"]], &["a claim"]));
    let Next::Done(report) = detector.start(&check, &facts()) else { panic!("there is nobody to ask") };
    let Outcome::Failed(reason) = &report.claims[0] else { panic!("it cannot be scored") };
    assert_eq!(reason.code, Code::HEAD_MISSING);
    assert!(reason.message.contains("[models.lettucedetect]"), "{}", reason.message);
    let (report, asked) = checked(check_of(&[], &["a claim"]), 400, missing);
    assert!(asked.is_empty() && report.claims[0].scored().is_none());
}

/// Any probability, the same each time for the same texts.
fn by_hash(context: &str, word: &str) -> f32 {
    let bytes = context.bytes().chain(word.bytes());
    let hash = bytes.fold(17_u32, |hash, byte| hash.wrapping_mul(31) + u32::from(byte));
    (hash % 1000) as f32 / 1000.0
}

proptest! {
    #[test]
    fn more_context_never_raises_a_hallucination_probability(
        sources in proptest::collection::vec(proptest::collection::vec("[a-d]{1,3}( [a-d]{1,3}){0,12}", 1..5), 1..4),
        more in proptest::collection::vec("[a-d]{1,3}( [a-d]{1,3}){0,12}", 1..5),
    ) {
        let refs = |source: &Vec<String>| -> Vec<&'static str> {
            source.iter().map(|text| &*Box::leak(text.clone().into_boxed_str())).collect()
        };
        let mut texts: Vec<Vec<&str>> = sources.iter().map(refs).collect();
        let of = |texts: &[Vec<&str>]| -> Vec<TokenFinding> {
            let slices: Vec<&[&str]> = texts.iter().map(Vec::as_slice).collect();
            let (report, _) = checked(check_of(&slices, &["the claim", "one more"]), 40, by_hash);
            (0..2).flat_map(|claim| tokens(&report, claim)).collect()
        };
        let before = of(&texts);
        texts.push(refs(&more));
        let after = of(&texts);
        prop_assert_eq!(before.len(), 4);
        for (before, after) in before.iter().zip(&after) {
            prop_assert_eq!(before.span, after.span);
            prop_assert!(after.hallucination_probability <= before.hallucination_probability);
        }
    }

    #[test]
    fn tokens_lie_within_their_sentence_whatever_the_response(
        response in "([a-zA-Z0-9 .!?*_#|\\n&;🙂東\\[\\]()-]|\\*\\*[a-z0-9]{1,4}\\*\\*|&amp;){0,60}",
    ) {
        let check = check_text(&response, &["a source."]);
        let claims: Vec<Span> = check.claims.iter().map(|claim| claim.span).collect();
        let (report, _) = checked(check, 400, by_hash);
        for (claim, span) in claims.into_iter().enumerate() {
            for token in report.claims[claim].scored().map(|finding| &finding.tokens[..]).unwrap_or_default() {
                prop_assert!(span.contains(token.span), "{token:?} outside {span:?}");
                prop_assert!(token.span.slice(&response).is_some_and(|text| !text.is_empty()));
            }
        }
    }
}

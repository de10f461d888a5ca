use super::*;
use crate::support::Support;
use crate::testing::{check_of, claim_score, facts};
use crate::{Detector, DetectorOptions, Next};
use groundline_types::{Code, CountTokens, Head, ModelId, Outcome, PRESETS, Preset, Report, Score, Work};
use proptest::prelude::*;
use std::sync::Arc;

fn learned(preset: Preset, max_tokens: usize) -> LearnedFacts {
    LearnedFacts {
        preset,
        id: ModelId { name: preset.name().to_owned(), revision: "1".to_owned() },
        max_tokens,
        pair_overhead_tokens: 3,
        counter: facts().counter,
    }
}

fn window_texts(sources: &[&[&str]], claims: &[&str], learned: &LearnedFacts) -> Vec<String> {
    let check = rewindowed(&check_of(sources, claims), learned);
    check.sources.iter().flat_map(|source| &source.windows).map(|window| window.text.to_string()).collect()
}

#[test]
fn sentences_are_packed_until_the_next_would_not_fit() {
    let source: &[&str] = &["a b c.", "d e.", "f g h i.", "j."];
    // 14 tokens less 3 around and 4 of the claim leave 7.
    let texts = window_texts(&[source], &["a claim of four"], &learned(Preset::Factcc, 14));
    assert_eq!(texts, ["a b c. d e.", "f g h i. j."]);
    // Another source starts another window.
    let texts = window_texts(&[&["a."], &["b."]], &["c"], &learned(Preset::Hhem, 64));
    assert_eq!(texts, ["a.", "b."]);
}

#[test]
fn minicheck_packs_as_many_as_its_authors_did_where_the_model_would_read_more() {
    let sentence = "w ".repeat(150) + "end.";
    let source = [sentence.as_str(); 5];
    // 151 tokens each: two fit into 400 tokens, three into 500 words.
    let windows = |preset| window_texts(&[&source], &["c"], &learned(preset, 2048)).len();
    assert_eq!((windows(Preset::MinicheckDeberta), windows(Preset::MinicheckFlanT5)), (3, 2));
}

#[test]
fn alignscore_makes_equal_groups_of_sentences() {
    let sentence = "w ".repeat(99) + "end.";
    // 1000 words: 1000 / 350 + 1 = 3 groups of 10 / 3 = 3 sentences, and one that is left.
    let texts = window_texts(&[&[sentence.as_str(); 10]], &["c"], &learned(Preset::Alignscore, 512));
    let sizes: Vec<usize> = texts.iter().map(|text| text.split_whitespace().count() / 100).collect();
    assert_eq!(sizes, [3, 3, 3, 1]);
    let short = window_texts(&[&["a b.", "c d."]], &["c"], &learned(Preset::Alignscore, 512));
    assert_eq!(short, ["a b. c d."]);
}

#[test]
fn a_sentence_longer_than_a_window_makes_several_and_nothing_is_lost() {
    let long = (0..50).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
    let texts = window_texts(&[&["short.", &long]], &["c"], &learned(Preset::Factcc, 24));
    assert!(texts.iter().all(|text| text.split_whitespace().count() <= 20), "{texts:?}");
    assert_eq!(texts.concat().replace(' ', ""), format!("short.{long}").replace(' ', ""));
}

/// Counts words, and a star after a space as one more, as byte-level tokenizers do with rare characters.
struct Stars;

impl CountTokens for Stars {
    fn count_tokens(&self, text: &str) -> usize {
        text.split_whitespace().count() + text.matches(" *").count()
    }

    fn prefix_within(&self, text: &str, budget: usize) -> usize {
        facts().counter.prefix_within(text, budget)
    }
}

#[test]
fn a_window_fits_as_a_whole_where_joined_sentences_have_more_tokens_than_alone() {
    for info in &PRESETS {
        let learned = LearnedFacts { counter: Arc::new(Stars), ..learned(info.preset, 14) };
        let source: Vec<String> = (0..30).map(|n| format!("*w{n}.")).collect();
        let source: Vec<&str> = source.iter().map(String::as_str).collect();
        let texts = window_texts(&[&source], &["a claim"], &learned);
        // 14 tokens less 3 around and 2 of the claim.
        assert!(texts.iter().all(|text| Stars.count_tokens(text) <= 9), "{}: {texts:?}", info.name);
        assert_eq!(texts.join(" "), source.join(" "), "{}", info.name);
    }
}

/// Runs a learned detector on a model that reads 40 tokens.
fn checked(preset: Preset, check: PreparedCheck, support: impl Fn(&str, &str) -> f32) -> (Report, Vec<Work>) {
    let facts = ModelFacts { learned: vec![learned(preset, 40)], ..facts() };
    let mut detector = Support::learned("learned", preset, &DetectorOptions::default());
    let (check, mut asked) = (Arc::new(check), Vec::new());
    let mut next = detector.start(&check, &facts);
    loop {
        match next {
            Next::Done(report) => return (report, asked),
            Next::Ask(_) => panic!("it asks no judge"),
            Next::Work(work) => {
                let answer = |work: &Work| {
                    let Work::Pair { premise, hypothesis, .. } = work else { panic!("only pairs are asked") };
                    let support = support(premise, hypothesis);
                    Outcome::Scored(Score::Logits([0.0, (support / (1.0 - support)).ln()].into()))
                };
                let outcomes: Vec<_> = work.iter().map(answer).collect();
                asked.extend(work);
                next = detector.resume(&outcomes);
            }
        }
    }
}

#[test]
fn support_is_the_largest_over_windows_and_the_claim_is_whole_in_each() {
    let source: &[&str] = &["one two three four five six seven eight nine ten.", "the fact.", "z."];
    let other: &[&str] = &["w ".repeat(30).leak()];
    for info in &PRESETS {
        let support = |premise: &str, _: &str| if premise.contains("the fact.") { 0.9 } else { 0.1 };
        let (report, asked) = checked(info.preset, check_of(&[source, other], &["a claim"]), support);
        assert!((claim_score(&report, 0) - 0.9).abs() < 1e-5, "{}", info.name);
        assert!(asked.len() >= 2);
        for work in &asked {
            let Work::Pair { premise, hypothesis, head } = work else { panic!("only pairs are asked") };
            assert_eq!((&**hypothesis, *head), ("a claim", Head::Learned(info.preset)));
            assert!(premise.split_whitespace().count() + 2 + 3 <= 40, "{}: {premise}", info.name);
        }
        let evidence = &report.claims[0].scored().unwrap().evidence;
        assert!(evidence.iter().any(|pick| (pick.source, pick.sentence) == (0, 1)), "{}", info.name);
    }
}

#[test]
fn alignscore_is_the_mean_over_sentences_and_the_others_the_weakest() {
    let support = |_: &str, claim: &str| if claim == "a claim" { 0.8 } else { 0.2 };
    let number = |preset| {
        let (report, _) = checked(preset, check_of(&[&["one"]], &["a claim", "another"]), support);
        report.score.scored().unwrap().value
    };
    assert!((number(Preset::Alignscore) - 0.5).abs() < 1e-5);
    assert!((number(Preset::MinicheckRoberta) - 0.2).abs() < 1e-5);
}

#[test]
fn a_claim_that_fits_beside_no_window_fails_and_the_others_are_scored() {
    let long = "w ".repeat(60);
    let check = check_of(&[&["one two."]], &[long.as_str(), "a claim"]);
    let (report, _) = checked(Preset::MinicheckRoberta, check, |_, _| 0.7);
    assert!(matches!(&report.claims[0], Outcome::Failed(reason) if reason.code == Code::CLAIM_TOO_LONG));
    assert!((claim_score(&report, 1) - 0.7).abs() < 1e-5);
}

#[test]
fn without_a_model_of_its_preset_claims_fail_and_nothing_is_asked() {
    let check = Arc::new(check_of(&[&["one"]], &["a claim"]));
    let mut detector = Support::learned("factcc", Preset::Factcc, &DetectorOptions::default());
    let Next::Done(report) = detector.start(&check, &facts()) else { panic!("there is nobody to ask") };
    let Outcome::Failed(reason) = &report.claims[0] else { panic!("it cannot be scored") };
    assert_eq!(reason.code, Code::HEAD_MISSING);
    assert!(reason.message.contains("[models.factcc]"), "{}", reason.message);
}

/// Any support between 0 and 1, the same each time for the same texts.
fn by_hash(premise: &str, claim: &str) -> f32 {
    let bytes = premise.bytes().chain(claim.bytes());
    let hash = bytes.fold(17_u32, |hash, byte| hash.wrapping_mul(31) + u32::from(byte));
    0.01 + 0.98 * (hash % 1000) as f32 / 1000.0
}

proptest! {
    #[test]
    fn more_context_never_lowers_support(
        sources in proptest::collection::vec(proptest::collection::vec("[a-d]{1,3}( [a-d]{1,3}){0,12}", 1..5), 1..4),
        more in proptest::collection::vec("[a-d]{1,3}( [a-d]{1,3}){0,12}", 1..5),
        which in 0..PRESETS.len(),
    ) {
        let refs = |source: &Vec<String>| -> Vec<&'static str> {
            source.iter().map(|text| &*Box::leak(text.clone().into_boxed_str())).collect()
        };
        let mut texts: Vec<Vec<&str>> = sources.iter().map(refs).collect();
        let support = |texts: &[Vec<&str>]| {
            let slices: Vec<&[&str]> = texts.iter().map(Vec::as_slice).collect();
            claim_score(&checked(PRESETS[which].preset, check_of(&slices, &["claim"]), by_hash).0, 0)
        };
        let before = support(&texts);
        texts.push(refs(&more));
        prop_assert!(support(&texts) >= before);
    }
}

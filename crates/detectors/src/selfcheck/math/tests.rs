use super::*;
use crate::selfcheck::words::{Vocabulary, tokens};
use serde_json::Value;

/// Made with the published SelfCheckGPT n-gram code on passages of wiki_bio_gpt3_hallucination, whose text is CC BY-SA 3.0.
const GOLDEN: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/algorithms/selfcheck_ngram.json");

fn close(value: f64, expected: &Value) {
    let expected = expected.as_f64().unwrap();
    assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
}

/// Sentences given as token lists.
fn sentences(lists: &Value, vocabulary: &mut Vocabulary) -> Vec<Vec<u32>> {
    let sentence = |list: &Value| {
        list.as_array()
            .unwrap()
            .iter()
            .map(|token| vocabulary.id(token.as_str().unwrap().to_lowercase()))
            .collect()
    };
    lists.as_array().unwrap().iter().map(sentence).collect()
}

#[test]
fn published_numbers_come_out_for_words_pairs_and_triples() {
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(GOLDEN).unwrap()).unwrap();
    let cases = golden["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 4);
    for case in cases {
        let mut vocabulary = Vocabulary::default();
        let passage = sentences(&case["passage"], &mut vocabulary);
        let samples = case["samples"].as_array().unwrap();
        let samples: Vec<_> = samples.iter().flat_map(|sample| sentences(sample, &mut vocabulary)).collect();
        for order in 1..=MAX_ORDER {
            let expected = &case["expected"][order.to_string()];
            let mut counts = NgramCounts::new(order);
            passage.iter().chain(&samples).for_each(|sentence| counts.add(sentence, 1));
            let surprises: Vec<_> = passage.iter().map(|sentence| counts.surprises(sentence, 0.0)).collect();
            for (at, surprises) in surprises.iter().enumerate() {
                let (mean, max) = mean_and_max(surprises).unwrap();
                close(mean, &expected["sent_level"]["avg_neg_logprob"][at]);
                close(max, &expected["sent_level"]["max_neg_logprob"][at]);
            }
            let (mean, max) = document(&surprises).unwrap();
            close(mean, &expected["doc_level"]["avg_neg_logprob"]);
            close(max, &expected["doc_level"]["avg_max_neg_logprob"]);
        }
    }
}

/// The example of the published README.
const PASSAGE: [&str; 2] = [
    "Michael Alan Weiner (born March 31, 1942) is an American radio host.",
    "He is the host of The Savage Nation.",
];
const SAMPLES: [[&str; 2]; 3] = [
    [PASSAGE[0], "He is the host of The Savage Country."],
    [
        "Michael Alan Weiner (born January 13, 1960) is a Canadian radio host.",
        "He works at The New York Times.",
    ],
    [PASSAGE[0], "He obtained his PhD from MIT."],
];

#[test]
fn the_published_example_comes_out_with_our_tokens() {
    let mut vocabulary = Vocabulary::default();
    let mut counts = NgramCounts::new(1);
    for text in PASSAGE.iter().chain(SAMPLES.iter().flatten()) {
        counts.add(&vocabulary.tokens(text), 1);
    }
    assert_eq!(counts.total(), 97);
    let surprises = PASSAGE.map(|text| counts.surprises(&vocabulary.tokens(text), 0.0));
    let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-6, "{value}");
    for (surprises, (mean, max)) in surprises.iter().zip([(3.184_312, 3.476_099), (3.279_775, 4.574_711)]) {
        let found = mean_and_max(surprises).unwrap();
        near(found.0, mean);
        near(found.1, max);
    }
    let (mean, max) = document(&surprises).unwrap();
    near(mean, 3.218_679);
    near(max, 4.025_405);
}

#[test]
fn smoothing_makes_the_impossible_only_unlikely() {
    let mut counts = NgramCounts::new(2);
    counts.add(&[1, 2, 1], 2);
    assert_eq!(counts.surprises(&[3], 0.0), [f64::INFINITY]);
    let smoothed = counts.surprises(&[3], 1.0)[0];
    // 3 different pairs, one never seen, 6 counted.
    assert!((smoothed - 10.0_f64.ln()).abs() < 1e-12, "{smoothed}");
    assert!(counts.surprises(&[1, 2], 1.0).iter().all(|seen| *seen < smoothed));
}

#[test]
fn nothing_has_no_mean_and_no_maximum() {
    assert_eq!(mean_and_max(&[]), None);
    assert_eq!(document(&[]), None);
    assert_eq!(document(&[Vec::new()]), None);
    assert_eq!(document(&[Vec::new(), vec![2.0, 4.0]]), Some((3.0, 4.0)));
    assert_eq!(tokens("").count(), 0);
}

#[test]
fn a_certain_word_has_no_surprise_and_a_sentence_has_as_many_ngrams_as_tokens() {
    let mut counts = NgramCounts::new(1);
    counts.add(&[7, 7], 3);
    assert_eq!(counts.surprises(&[7], 0.0), [0.0]);
    for order in 1..=MAX_ORDER {
        assert_eq!(ngrams(&[1, 2, 3, 4], order).count(), 4);
    }
    assert_eq!(ngrams(&[5, 6], 3).collect::<Vec<_>>(), [[0, 0, 5], [0, 5, 6]]);
}

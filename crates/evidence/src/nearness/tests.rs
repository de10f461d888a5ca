use super::*;
use proptest::prelude::*;

fn features(text: &str, names: &[&str], numbers: &[&str]) -> TextFeatures {
    TextFeatures::new(text, names, numbers)
}

#[test]
fn content_words_keep_their_places_and_lose_case_plural_and_function_words() {
    let text = "The Prizes of 1903 were for É-mail.";
    let words: Vec<(&str, String)> =
        content_words(text).map(|(span, word)| (span.slice(text).unwrap(), word)).collect();
    let expected = [("Prizes", "prize"), ("1903", "1903"), ("mail", "mail")];
    assert_eq!(words, expected.map(|(place, word)| (place, word.to_owned())));
}

#[test]
fn a_shared_name_or_number_outweighs_a_slightly_better_embedding() {
    let claim = features("Curie won in 1903", &["curie"], &["1903"]);
    let (with, without) =
        (features("Curie, 1903", &["curie"], &["1903"]), features("someone else", &[], &[]));
    let weights = NearnessWeights::default();
    let unit = [1.0, 0.0];
    let score = |evidence: &TextFeatures, cosine: f32| {
        let embedding = [cosine, (1.0 - cosine * cosine).sqrt()];
        nearness_score((&claim, Some(&unit)), (evidence, Some(&embedding)), &weights)
    };
    assert!(score(&with, 0.5) > score(&without, 0.8));
    assert!(score(&without, 0.8) > score(&without, 0.5));
}

#[test]
fn the_score_is_the_documented_sum() {
    let claim = features("red cats sleep", &["tom", "ann"], &["3"]);
    let evidence = features("red dogs", &["ann"], &["3", "4"]);
    let weights = NearnessWeights { cosine: 2.0, names: 10.0, numbers: 100.0, words: 1000.0 };
    let embedding = [0.6, 0.8];
    let score = nearness_score((&claim, Some(&embedding)), (&evidence, Some(&embedding)), &weights);
    assert!((score - (2.0 + 5.0 + 100.0 + 1000.0 / 3.0)).abs() < 1e-3);
    assert!(
        (nearness_score((&claim, None), (&evidence, Some(&embedding)), &weights) - (score - 2.0)).abs()
            < 1e-3
    );
}

#[test]
fn broken_embeddings_count_as_no_likeness() {
    assert_eq!(cosine(&[1.0, 0.0], &[1.0]), 0.0);
    assert_eq!(cosine(&[f32::NAN; 9], &[1.0; 9]), 0.0);
    let long: Vec<f32> = vec![0.25; 16];
    assert!((cosine(&long, &long) - 1.0).abs() < 1e-6);
}

#[test]
fn equals_rank_in_their_order() {
    let order: Vec<usize> = rank([0.5, 0.9, 0.5, 0.9]).into_iter().map(|near| near.index).collect();
    assert_eq!(order, [1, 3, 0, 2]);
}

proptest! {
    #[test]
    fn shares_are_shares_and_a_text_shares_all_with_itself(a in "[a-f]{3}( [a-f]{3}){0,6}", b in "[a-f]{3}( [a-f]{3}){0,6}") {
        let (a, b) = (features(&a, &[], &[]), features(&b, &[], &[]));
        prop_assert!((0.0..=1.0).contains(&a.word_share(&b)));
        prop_assert_eq!(a.word_share(&a), 1.0);
        prop_assert_eq!(a.name_share(&b), 0.0);
    }
}

#[test]
fn function_words_are_in_order_so_that_they_are_found() {
    assert!(FUNCTION_WORDS.is_sorted());
    assert_eq!(content_words("About your prizes").map(|(_, word)| word).collect::<Vec<_>>(), ["prize"]);
}

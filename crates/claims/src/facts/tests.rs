use super::*;
use proptest::prelude::*;

fn texts(sentence: &str) -> Vec<String> {
    facts(sentence).into_iter().map(|fact| fact.text).collect()
}

fn check(cases: &[(&str, &[&str])]) {
    let mut wrong = Vec::new();
    for (sentence, expected) in cases {
        let found = texts(sentence);
        if found != *expected {
            wrong.push(format!("{sentence}\n   found {found:?}\nexpected {expected:?}"));
        }
        for fact in facts(sentence) {
            assert!(sentence.get(fact.range.clone()).is_some(), "{sentence}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each of these stays one fact.
fn check_whole(sentences: &[&str]) {
    let wrong: Vec<String> = sentences
        .iter()
        .filter(|text| texts(text) != [**text])
        .map(|text| format!("{:?}", texts(text)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn verb_phrases_carry_the_subject_over() {
    check(&[
        (
            "She was born in Warsaw and won the Nobel Prize.",
            &["She was born in Warsaw.", "She won the Nobel Prize."],
        ),
        (
            "Marie Curie was born in Warsaw and later moved to Paris.",
            &["Marie Curie was born in Warsaw.", "Marie Curie later moved to Paris."],
        ),
        (
            "The tower was built in 1889 and is 330 metres tall.",
            &["The tower was built in 1889.", "The tower is 330 metres tall."],
        ),
        (
            "He was born in Bonn, moved to Vienna and died there.",
            &["He was born in Bonn.", "He moved to Vienna.", "He died there."],
        ),
        (
            "In 1903, she won the prize and became famous.",
            &["In 1903, she won the prize.", "She became famous."],
        ),
        (
            "The firm was founded in 1900 and employed 500 people.",
            &["The firm was founded in 1900.", "The firm employed 500 people."],
        ),
        (
            "Marie Curie (1867–1934) won two prizes and taught in Paris.",
            &["Marie Curie (1867–1934) won two prizes.", "Marie Curie (1867–1934) taught in Paris."],
        ),
    ]);
}

#[test]
fn clauses_with_their_own_subject_are_facts() {
    check(&[
        (
            "Marie won the prize, and Pierre taught in Paris.",
            &["Marie won the prize.", "Pierre taught in Paris."],
        ),
        ("The tower is tall, but it was built in 1889.", &["The tower is tall.", "It was built in 1889."]),
        (
            "The tower is not tall, and it was not built in 1889.",
            &["The tower is not tall.", "It was not built in 1889."],
        ),
    ]);
}

#[test]
fn relative_clauses_and_appositions_are_facts_about_their_noun() {
    check(&[
        (
            "Marie Curie, who was born in Warsaw, won the Nobel Prize.",
            &["Marie Curie won the Nobel Prize.", "Marie Curie was born in Warsaw."],
        ),
        (
            "Marie Curie, a Polish physicist, was born in Warsaw and won the Nobel Prize.",
            &[
                "Marie Curie was born in Warsaw.",
                "Marie Curie won the Nobel Prize.",
                "Marie Curie was a Polish physicist.",
            ],
        ),
        ("Paris, the capital of France, is large.", &["Paris is large.", "Paris is the capital of France."]),
        (
            "She married Pierre Curie, who taught physics.",
            &["She married Pierre Curie.", "Pierre Curie taught physics."],
        ),
    ]);
}

#[test]
fn lists_of_three_names_are_three_facts() {
    check(&[
        (
            "He visited Paris, Rome and Berlin.",
            &["He visited Paris.", "He visited Rome.", "He visited Berlin."],
        ),
        (
            "She lived in Paris, New York, and Rome.",
            &["She lived in Paris.", "She lived in New York.", "She lived in Rome."],
        ),
    ]);
}

#[test]
fn conditions_hedges_and_negations_keep_a_sentence_whole() {
    check_whole(&[
        "She was born in Warsaw and won the prize if the records are right.",
        "When he moved to Paris he met Marie and married her.",
        "Although he was ill, he won the race and became famous.",
        "He did not go to Paris and never won the prize.",
        "He never lived in Paris, Rome and Berlin.",
        "Marie Curie, who was not born in Paris, won the prize.",
        "He may have won the prize and became famous.",
        "He said that she was born in Paris and won the prize.",
        "According to him, she was born in Paris and won the prize.",
        "He was reportedly born in Paris and won the prize.",
        "Unless it rains, the match is played and the team wins the cup.",
        "He won \"the prize and became famous\" in Paris.",
        "Without help he won the race and became famous.",
        "Only Marie was born in Warsaw and won the prize.",
    ]);
}

#[test]
fn joined_nouns_stay_together() {
    check_whole(&[
        "The firm spent it on research and development.",
        "The road runs between Paris and Rome.",
        "He met both Anna and Maria.",
        "Bread and butter is good.",
        "The band consists of Paul, John and George.",
        "The treaty was signed between France, Spain and Italy.",
        "She was trained in Paris and supported by her family.",
        "It was held on May 12, 1903 and June 3, 1904.",
        "The red and painted walls are old.",
        "He visited Paris and Rome.",
        "Paris, Rome and Berlin are cities.",
        "He met Bob, who lived in Paris and won the prize.",
        "She had to choose and left.",
        "She wrote and produced three songs.",
        "The lineup of The Teenagers, an integrated group, included three members.",
    ]);
}

#[test]
fn each_fact_is_a_sentence_with_its_place() {
    let sentence = "She was born in Warsaw and won the Nobel Prize";
    let found = facts(sentence);
    assert_eq!(found[0].text, "She was born in Warsaw.");
    assert_eq!(&sentence[found[0].range.clone()], "She was born in Warsaw");
    assert_eq!(found[1].text, "She won the Nobel Prize.");
    assert_eq!(&sentence[found[1].range.clone()], "won the Nobel Prize");
    assert_eq!(texts("No full stop"), ["No full stop."]);
    assert_eq!(texts("He left!"), ["He left!"]);
}

#[test]
fn the_word_lists_are_in_order() {
    assert!(lexicon::SORTED.iter().all(|list| list.is_sorted()));
}

#[test]
fn a_relative_clause_behind_a_common_noun_is_no_fact_of_its_own() {
    check_whole(&[
        "He met a friend, who left.",
        "He met a friend, who taught physics.",
        ", who left.",
        "Who, who is.",
    ]);
}

/// Sentences of the words that rules look for, in any order.
fn ruled() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        3 => prop::sample::select(vec!["who", "which", "that", "whom", "whose", "where", "Who"]),
        4 => prop::sample::select(vec!["and", "but", "or", "not", "also", "later", "then", "never"]),
        4 => prop::sample::select(vec!["was", "is", "won", "taught", "moved", "became", "has", "born", "left", "discovered"]),
        4 => prop::sample::select(vec!["the", "a", "an", "of", "in", "to", "with", "In", "The", "A"]),
        4 => prop::sample::select(vec!["Marie", "Curie", "Paris", "She", "Nobel", "I", "1903", "U.S."]),
        3 => prop::sample::select(vec!["friend", "physics", "city", "prizes", "é", "3.5", "(born", "1867)", "-"]),
    ];
    let sign = prop::sample::select(vec![" ", " ", " ", ", ", ", ", " , ", ",", "  ", ". "]);
    proptest::collection::vec((word, sign), 0..16)
        .prop_map(|pairs| pairs.into_iter().map(|(word, sign)| format!("{word}{sign}")).collect())
}

proptest! {
    #![proptest_config(crate::testing::cases(4000))]

    #[test]
    fn words_of_the_rules_in_any_order_give_facts_that_slice_the_sentence(sentence in ruled(), opening in "(, |,|)") {
        let sentence = format!("{opening}{sentence}");
        let found = facts(&sentence);
        prop_assert!(!found.is_empty());
        for fact in found {
            prop_assert!(sentence.get(fact.range.clone()).is_some(), "{:?} of {sentence:?}", fact.range);
        }
    }
}

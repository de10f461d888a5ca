use super::*;

fn names(text: &str) -> Vec<String> {
    let found = find_names(text);
    for name in &found {
        assert!(name.span.slice(text).is_some());
    }
    found.into_iter().map(|name| name.text).collect()
}

#[test]
fn capitalised_sequences_are_names() {
    let cases: &[(&str, &[&str])] = &[
        ("Marie Curie won the Nobel Prize in Physics.", &["marie curie", "nobel prize", "physics"]),
        ("NASA launched it.", &["nasa"]),
        ("The University of Warsaw is old.", &["university of warsaw"]),
        ("He read the Lord of the Rings.", &["lord of the rings"]),
        ("In Paris, Ludwig van Beethoven played.", &["paris", "ludwig van beethoven"]),
        ("Dr. Smith met J. K. Rowling.", &["smith", "j. k. rowling"]),
        ("Curie's work was known.", &["curie"]),
        ("She bought an iPhone.", &["iphone"]),
        ("Paris is the capital of France.", &["paris", "france"]),
    ];
    for (text, expected) in cases {
        assert_eq!(names(text), *expected, "{text}");
    }
}

#[test]
fn common_words_at_the_start_of_a_sentence_are_no_names() {
    for text in
        ["The cat sat.", "However, it rained.", "It works. This too.", "I think I know.", "Running helps."]
    {
        assert_eq!(names(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn months_and_weekdays_are_no_names() {
    assert_eq!(names("It was in May on a Monday."), Vec::<String>::new());
    assert_eq!(names("On Friday Bob left."), ["bob"]);
}

#[test]
fn a_text_in_capitals_has_no_names() {
    assert_eq!(names("THE CAT SAT ON THE MAT"), Vec::<String>::new());
}

#[test]
fn the_word_lists_are_in_order() {
    assert!(common::COMMON.is_sorted() && TITLES.is_sorted());
}

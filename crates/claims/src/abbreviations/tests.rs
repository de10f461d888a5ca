use super::*;

#[test]
fn the_word_lists_are_in_order() {
    assert!([NEVER, BEFORE_NUMBER, MAYBE, CALENDAR, STARTERS].iter().all(|list| list.is_sorted()));
}

#[test]
fn dotted_letters_are_abbreviations() {
    assert_eq!(abbreviation("U.S.S.R"), Some(Abbreviation::Maybe));
    assert_eq!(abbreviation("e.g"), Some(Abbreviation::Never));
    assert_eq!(abbreviation("word"), None);
    assert_eq!(abbreviation("main.rs"), None);
}

use super::*;
use crate::testing::{GOLDEN_CHECKPOINTS, Opened, mini};
use proptest::prelude::*;
use std::sync::LazyLock;

static MINI: LazyLock<Opened> = LazyLock::new(mini);
static UNIGRAM: LazyLock<Opened> = LazyLock::new(|| Opened::golden("deberta-v3-like"));

#[test]
fn a_pair_is_framed_by_markers_with_token_types() {
    let pair = MINI.tokenizer.encode_pair("Rain fell.", "It rained.", Head::Nli).unwrap();
    assert_eq!(pair.ids.first(), Some(&101));
    assert_eq!(pair.ids.iter().filter(|&&id| id == 102).count(), 2);
    let first_of_second = pair.ids.iter().position(|&id| id == 102).unwrap() + 1;
    assert!(pair.type_ids[..first_of_second].iter().all(|&kind| kind == 0));
    assert!(pair.type_ids[first_of_second..].iter().all(|&kind| kind == 1));
    let text = MINI.tokenizer.encode_text("Rain fell.").unwrap();
    assert_eq!((text.ids[0], *text.ids.last().unwrap(), text.task), (101, 102, Task::Embed));
    assert!(text.type_ids.iter().all(|&kind| kind == 0));
}

#[test]
fn a_marker_in_a_text_is_read_as_plain_text() {
    let plain = MINI.tokenizer.encode_pair("a", "b [SEP] c [CLS]", Head::Nli).unwrap();
    assert_eq!(plain.ids.iter().filter(|&&id| id == 102).count(), 2);
    assert_eq!(plain.ids.iter().filter(|&&id| id == 101).count(), 1);
}

#[test]
fn truncation_stored_in_the_file_cuts_nothing() {
    for name in GOLDEN_CHECKPOINTS {
        let opened = Opened::golden(name);
        let long = "word ".repeat(700);
        assert!(opened.tokenizer.count_tokens(&long) > 600, "{name}");
        let problem = opened.tokenizer.encode_pair(&long, "b", Head::Nli).unwrap_err();
        assert_eq!(problem.code, Code::TEXT_TOO_LONG);
        assert!(problem.message.contains("512") && !problem.message.contains("word"), "{}", problem.message);
        let cut = opened.tokenizer.encode_pair_cut(&long, "b", Head::Nli).unwrap();
        assert_eq!(cut.ids.len(), 512);
    }
}

#[test]
fn what_fits_is_the_same_cut_or_uncut() {
    let (premise, hypothesis) = ("Marie Curie was born in Warsaw.", "She was born in Poland.");
    for opened in [&*MINI, &*UNIGRAM] {
        let uncut = opened.tokenizer.encode_pair(premise, hypothesis, Head::Nli).unwrap();
        assert_eq!(opened.tokenizer.encode_pair_cut(premise, hypothesis, Head::Nli).unwrap(), uncut);
        let counted = opened.tokenizer.count_tokens(premise) + opened.tokenizer.count_tokens(hypothesis);
        assert_eq!(uncut.ids.len(), counted + opened.tokenizer.pair_overhead_tokens());
    }
}

#[test]
fn a_prefix_keeps_as_many_tokens_as_the_budget_allows() {
    let text = "Marie Curie was born in Warsaw in 1867.";
    let at = |budget| &text[..MINI.tokenizer.prefix_within(text, budget)];
    // "Curie" is two tokens.
    assert_eq!((at(3), at(4)), ("Marie Curie ", "Marie Curie was "));
    assert_eq!(at(100), text);
    assert_eq!(at(0), "M");
    assert_eq!(MINI.tokenizer.prefix_within("", 5), 0);
}

#[test]
fn a_prefix_of_a_long_text_is_found_without_reading_all_of_it() {
    let text = "Curie was born in Warsaw. ".repeat(40_000);
    let end = MINI.tokenizer.prefix_within(&text, 90);
    assert_eq!(MINI.tokenizer.count_tokens(&text[..end]), 90);
    // A word without end is cut as well.
    let word = "x".repeat(20_000);
    let end = MINI.tokenizer.prefix_within(&word, 10);
    assert!((2..200).contains(&end) && MINI.tokenizer.count_tokens(&word[..end]) <= 10, "cut at {end}");
}

proptest! {
    #[test]
    fn a_prefix_is_within_budget_or_one_character(text in "\\PC{0,120}", budget in 0..40_usize) {
        for opened in [&*MINI, &*UNIGRAM] {
            let end = opened.tokenizer.prefix_within(&text, budget);
            prop_assert!(text.is_char_boundary(end));
            let first = text.chars().next().map_or(0, char::len_utf8);
            prop_assert!(end >= first);
            prop_assert!(end == first || opened.tokenizer.count_tokens(&text[..end]) <= budget);
            if text.len() <= BYTES_PER_TOKEN * budget && opened.tokenizer.count_tokens(&text) <= budget {
                prop_assert_eq!(end, text.len());
            }
        }
    }
}

#[test]
fn tokens_are_counted_by_words_only_where_words_are_read_one_by_one() {
    assert!(MINI.tokenizer.words.is_some());
    assert!(UNIGRAM.tokenizer.words.is_none());
}

proptest! {
    #[test]
    fn the_count_by_words_is_the_count_of_the_whole(
        text in "([a-zA-Z0-9.,'’éẞß–()\\[\\]#@\u{0}\u{b}\u{c}\u{1c}\u{85}\u{a0}\u{301}\u{2028}\u{200b}\u{3000}\u{fffd}東京]{0,12}[ \t\n\r]{0,3}){0,12}"
    ) {
        for _ in 0..2 {
            prop_assert_eq!(MINI.tokenizer.count_tokens(&text), MINI.tokenizer.count_whole(&text));
        }
    }

    #[test]
    fn the_count_by_words_is_the_count_of_the_whole_for_any_text(text in "\\PC{0,60}", other in ".{0,40}") {
        let text = format!("{text} {other}\t{text}");
        prop_assert_eq!(MINI.tokenizer.count_tokens(&text), MINI.tokenizer.count_whole(&text));
    }
}

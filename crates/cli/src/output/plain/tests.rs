use super::*;

#[test]
fn escape_sequences_and_control_characters_are_shown_not_obeyed() {
    assert_eq!(one_line("a\x1b[31mred\x1b]0;title\x07 b\x08\x7f"), "a␛[31mred␛]0;title␇ b␈␡");
    assert_eq!(one_line("c1 \u{9b}31m, nul \0"), "c1 <U+009B>31m, nul ␀");
}

#[test]
fn characters_that_reorder_text_are_shown() {
    assert_eq!(one_line("pay \u{202e}001\u{202c} now\u{2066}"), "pay <U+202E>001<U+202C> now<U+2066>");
}

#[test]
fn white_space_folds_to_one_line() {
    assert_eq!(one_line("  a\r\n\tb\u{2028}c \u{a0} d\n"), "a b c d");
}

#[test]
fn lines_are_cut_at_spaces_and_never_too_wide() {
    assert_eq!(wrap("the quick brown fox", 9), ["the quick", "brown fox"]);
    assert_eq!(wrap("", 9), [""]);
    assert_eq!(wrap("see https://example.org/abc now", 12), ["see https://", "example.org/", "abc now"]);
}

#[test]
fn chinese_counts_two_columns_a_character_and_is_cut_between_characters() {
    let lines = wrap("巴黎是法国的首都", 6);
    assert_eq!(lines, ["巴黎是", "法国的", "首都"]);
    assert!(lines.iter().all(|line| width(line) <= 6));
}

#[test]
fn shortened_text_says_so() {
    assert_eq!(shorten("abcdef", 6), "abcdef");
    assert_eq!(shorten("abcdefg", 6), "abcde…");
    assert_eq!(width(&shorten("巴黎是法国", 6)), 5);
}

use super::*;
use crate::split_response;
use proptest::prelude::*;

const OPTIONS: SplitOptions = SplitOptions { facts: true };

/// The ends of pieces: places of `text` where it is cut, each on a character boundary.
fn prefixes(text: &str, cuts: &[prop::sample::Index]) -> Vec<usize> {
    let places = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect::<Vec<_>>();
    let mut cuts = cuts.iter().map(|cut| places[cut.index(places.len())]).collect::<Vec<_>>();
    cuts.sort_unstable();
    cuts
}

/// What is settled in each prefix is how the whole text begins, and never less than before.
fn holds(text: &str, ends: impl IntoIterator<Item = usize>) -> Result<usize, String> {
    let whole = split_response(text, &OPTIONS);
    let mut before = 0;
    for end in ends {
        let settled = settled_claims(&text[..end], &OPTIONS);
        if whole.get(..settled.len()) != Some(&settled[..]) {
            let texts = settled.iter().map(|claim| &*claim.text).collect::<Vec<_>>();
            let finally = whole.iter().map(|claim| &*claim.text).collect::<Vec<_>>();
            return Err(format!("after {:?}: {texts:?}, finally {finally:?}", &text[..end]));
        }
        before = before.max(settled.len());
    }
    Ok(before)
}

fn every_prefix(text: &str) -> usize {
    holds(text, text.char_indices().map(|(at, _)| at)).unwrap()
}

fn settled(text: &str) -> Vec<String> {
    settled_claims(text, &OPTIONS).iter().map(|claim| claim.text.to_string()).collect()
}

#[test]
fn a_sentence_of_prose_is_settled_with_the_next_word() {
    assert_eq!(settled("Paris is big. It"), [""; 0]);
    assert_eq!(settled("Paris is big. It "), [""; 0], "white space at the end is no sign yet");
    assert_eq!(settled("Paris is big. It is"), ["Paris is big."]);
    assert_eq!(settled("Paris is big. It is old. And "), ["Paris is big."]);
    assert_eq!(settled("巴黎很大。它很古老。"), ["巴黎很大。"]);
    every_prefix(".\u{f99}#\u{b4b}:aa");
}

#[test]
fn abbreviations_numbers_and_brackets_wait_for_what_decides_them() {
    for text in [
        "She met Dr. Smith in Rome.",
        "It costs 3.5 million.",
        "He (born 1903. Then) left. So",
        "At 5 p.m. Tuesday it",
    ] {
        let last = split_response(text, &OPTIONS).len() - 1;
        assert!(every_prefix(text) <= last, "{text}");
    }
    assert_eq!(settled("See No. 5 of it. Then he"), ["See No. 5 of it."]);
    assert_eq!(settled("It (the cat. He left"), [""; 0]);
}

#[test]
fn what_markup_may_still_change_waits() {
    for open in [
        "A **bold. Start of",
        "A `code. Start of",
        "An [link. Start of",
        "See [label]. Start of it",
        "A _word. Start of",
        "a | b. Start of",
        "<div>One. Two is",
        "```\nOne. Two is",
        "[x]: One. Two is",
        "**Title**\nOne. Two is",
        "## References\n\nOne. Two is",
    ] {
        let found = settled(open);
        assert!(found.is_empty() || found == ["References"], "{open:?}: {found:?}");
    }
    assert_eq!(settled("A **bold** word. Start of it"), ["A bold word."]);
    assert_eq!(settled("It is so [1]. Start of it"), ["It is so."]);
}

#[test]
fn a_sign_at_the_end_may_close_nothing_after_all() {
    for text in ["A ~~word. Then U.S.~~a was", "A `word. Then it``s` end", "A **word. Then U.S.**a was so"] {
        every_prefix(text);
    }
    for text in
        ["A *word. Then `is* it` so", "A **word. Then <it** a=\"b\"> so", "A ~~word. Then [a~~](b) so"]
    {
        every_prefix(text);
    }
    every_prefix("A Aa? \n**Bold**\n[a]\n\n| a | b |\n|---|---|\n| c | d |\n\n[a]: b\n");
    every_prefix("# So [1][a](b)\nIt is so.\n\n[a]: b\n\nA a");
    assert_eq!(settled("It [1][2] is so.\n\nSo it"), ["It is so."], "citation marks stay marks");
    assert_eq!(settled("A *word. Then it is* so"), [""; 0], "a backtick may follow");
    assert_eq!(settled("A *word.* Then it *is* so"), ["A word."]);
    assert_eq!(settled("A ~~word. Then it is~~"), [""; 0]);
    assert_eq!(settled("A ~~word~~ here. Then it is~~"), ["A word here."]);
}

#[test]
fn a_leaf_is_settled_when_the_next_one_has_begun() {
    assert_eq!(settled("# Title\n\n- One\n- T"), ["Title", "One"]);
    assert_eq!(settled("# Title\n\n- One\n- "), ["Title"], "a line without a letter may become anything");
    assert_eq!(settled("One. Two\n-"), [""; 0], "underlined, it is a heading");
    assert_eq!(settled("| A |\n|---|\n| b |\n| c"), ["A", "A: b"]);
    assert_eq!(settled("```\nx = 1\n```\nSo"), ["x = 1"]);
    assert_eq!(settled("A _word. B\n\nSo"), ["A _word.", "B"]);
}

#[test]
fn a_line_of_prose_that_becomes_the_head_of_a_table_keeps_its_sentences() {
    for text in [
        "Aa? ]A a |\n|---|\n",
        "One is. Two is it | b. Then\n---|---\nx | y\n\nSo",
        "> One is. Two is | b\n> -|-\n",
    ] {
        every_prefix(text);
    }
    let whole = |text| split_response(text, &OPTIONS).iter().map(|c| c.text.to_string()).collect::<Vec<_>>();
    assert_eq!(settled("One is. Two is | b"), ["One is."]);
    assert_eq!(whole("One is. Two is | b\n---|---\nx | y"), ["One is.", "Two is", "b", "x; b: y"]);
    assert_eq!(whole("One | b\n---|---\nx | y"), ["One; b", "One: x; b: y"]);
    assert_eq!(whole("| One is. Two is | b |\n|---|---|\n"), ["One is. Two is; b"], "it begins as a table");
}

#[test]
fn nothing_of_an_answer_with_everything_is_revised() {
    let text = "Sure! Here is what I found:\n\n## Life\n\nDr. Curie (born 7 Nov. 1867 in Warsaw) won *two* Nobel Prizes [1]. \
                She worked at 5 p.m. on No. 3, e.g. with J. R. Smith… Then \"it was over.\" He said so!\n\n1. **Physics**: in 1903.\n2. **Chemistry**: in 1911, with `x.y. Z`.\n   Nested text. More of it.\n\n\
                | Year | Prize |\n|---|---|\n| 1903 | Physics. Yes |\n| 1911 | Chemistry |\n\n> Quoted. And more.\n\n```python\nprint('a. B')\n\nx = 3.5\n```\n\
                Last 🎉 line。 中文句子。下一句。\r\n\r\nDone. Really 3.\n5 of them.\n\n## References\n\n[1]: https://a.b\n[2] Smith (2020). Title.";
    let whole = split_response(text, &OPTIONS);
    let most = every_prefix(text);
    assert!(most + 6 >= whole.len(), "{most} of {} are settled early", whole.len());
}

/// Pieces of answers, with everything that could change what stands before it.
fn written() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        10 => "[A-Za-z]{1,7} ",
        6 => "[A-Z][a-z]{1,6}[.!?] ",
        3 => "(Dr|U\\.S|e\\.g|No|J|Inc|Jan|p\\.m|etc|approx)\\. ?",
        2 => "[0-9]{1,4}(\\.[0-9]{1,2})?(\\.|\\)| |%)",
        3 => "[.!?,;:…)(\"'“”] ?",
        3 => "(\r\n|\n|\n\n|\n\n\n|\r)",
        3 => "(\\*\\*|\\*|_|`|\n```\n|~~|~|\n# |\n## |\n> |\n- |\n\\* |\n1\\. |\n2\\. |\\||\n---\n|\n===\n|\\[|\\]|\\]\\(|<|>|&amp;|&|\\\\)",
        2 => "(\\[1\\]|\\[2, 3\\]|\\[\\^1\\]|\\[a\\]\\(https://a\\.b\\)|\\[a\\]|<b>|</b>|<div>|</div>|<br>|<!-- |-->|\n\\| a \\| b \\|\n\\|---\\|---\\|\n\\| c \\| d \\|\n)",
        1 => "\n(\\[a\\]: b|\\[1\\]: https://a\\.b|\\[\\^1\\]: Note\\. It is|References:|\\*\\*Bold\\*\\*|\\|---\\||    indented|  text)\n",
        1 => "[你好世界。！？🎉é\u{a0}\u{200b}\u{301}\u{feff}]{1,3}",
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(crate::testing::cases(2000))]

    #[test]
    fn no_continuation_changes_what_is_settled(
        text in written(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 1..12),
    ) {
        if let Err(what) = holds(&text, prefixes(&text, &cuts)) {
            prop_assert!(false, "{}", what);
        }
    }

    #[test]
    fn any_text_at_all_keeps_the_promise(text in any::<String>(), cuts in proptest::collection::vec(any::<prop::sample::Index>(), 1..6)) {
        if let Err(what) = holds(&text, prefixes(&text, &cuts)) {
            prop_assert!(false, "{}", what);
        }
    }
}

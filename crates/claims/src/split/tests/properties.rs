//! What holds for every text.

use super::{SplitOptions, split_response, split_source};
use crate::values::find_values;
use crate::{find_hedge, find_names};
use groundline_types::Span;
use proptest::prelude::*;

/// Spans slice the text, are not empty, in order and apart.
fn well_formed(text: &str, spans: &[Span]) -> Result<(), TestCaseError> {
    let mut end = 0;
    for span in spans {
        prop_assert!(span.slice(text).is_some_and(|slice| !slice.trim().is_empty()), "{span:?} of {text:?}");
        prop_assert!(span.start >= end, "{span:?} starts before {end} in {text:?}");
        end = span.end;
    }
    Ok(())
}

fn spans(text: &str) -> Vec<Span> {
    split_response(text, &SplitOptions { facts: true }).iter().map(|claim| claim.span).collect()
}

/// What lies outside of the spans.
fn gaps<'a>(text: &'a str, spans: &[Span]) -> Vec<&'a str> {
    let starts = spans.iter().map(|span| span.start).chain([text.len()]);
    let ends = [0].into_iter().chain(spans.iter().map(|span| span.end));
    ends.zip(starts).map(|(end, start)| &text[end..start]).collect()
}

fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Text without any sign that Markdown or a list could take for markup.
fn plain() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-zA-Z]{1,8}",
        1 => "(Dr|U\\.S|e\\.g|No|J|Inc|Jan)\\. ?",
        1 => "[0-9]{1,4}(\\.[0-9]{1,2})?",
        4 => " {1,2}",
        2 => "[.!?,;:…] ",
        1 => "(\r\n|\n|\n\n)[a-z]",
        1 => "[\"'()“”]",
        1 => "[你好世界。！？]{1,3}",
        1 => "[🎉é\u{a0}]",
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| format!("x{}", pieces.concat()))
}

/// Text made of the signs of Markdown.
fn markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => "[a-zA-Z]{1,8} ?",
        2 => "(\\*\\*|\\*|_|`|```|~~|#|##|> |- |1\\. |\\||---|\\[|\\]|\\(|\\)|!|<|>|&amp;|&|\\\\)",
        2 => "(\r\n|\n|\n\n|    )",
        1 => "[.!?:…。] ?",
        1 => "(\\[1\\]|\\[\\^1\\]|\\[a\\]\\(https://a\\.b\\)|<b>|</p>|<div>|<br>|\n\\| a \\| b \\|\n\\|---\\|---\\|\n\\| c \\| d \\|\n|\n\\[a\\]: b\n)",
        1 => "[你好🎉é\u{a0}\u{200b}0-9]",
    ];
    proptest::collection::vec(piece, 0..50).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(crate::testing::cases(1000))]

    #[test]
    fn spans_of_any_text_slice_it_in_order(text in any::<String>()) {
        well_formed(&text, &spans(&text))?;
        let source: Vec<Span> = split_source(&text).iter().map(|sentence| sentence.span).collect();
        well_formed(&text, &source)?;
    }

    #[test]
    fn spans_of_markdown_slice_it_in_order(text in markdown()) {
        well_formed(&text, &spans(&text))?;
        let source: Vec<Span> = split_source(&text).iter().map(|sentence| sentence.span).collect();
        well_formed(&text, &source)?;
    }

    /// Without markup every letter and digit is in the text of some claim, in order.
    #[test]
    fn plain_text_is_covered_to_the_last_letter(text in plain()) {
        let claims = split_response(&text, &SplitOptions::default());
        let scored: String = claims.iter().map(|claim| letters(&claim.text)).collect();
        prop_assert_eq!(scored, letters(&text), "{:?}", text);
        let sourced: String = split_source(&text).iter().map(|sentence| letters(&sentence.text)).collect();
        prop_assert_eq!(sourced, letters(&text), "{:?}", text);
    }

    /// Whatever word is left out of Markdown stands next to a sign that makes it markup.
    #[test]
    fn only_markup_is_left_out(text in markdown()) {
        for gap in gaps(&text, &spans(&text)) {
            let outside = letters(gap);
            let signs = ["<", "](", "[^", "[1]", "```", "~~~", "&"];
            let number = outside.bytes().all(|byte| byte.is_ascii_digit()) && gap.contains(['.', ')']);
            prop_assert!(outside.is_empty() || number || signs.iter().any(|sign| gap.contains(sign)), "{gap:?} of {text:?}");
        }
    }

    /// Facts lie inside of their claims and end as sentences do.
    #[test]
    fn facts_lie_inside_their_claims(text in plain()) {
        for claim in split_response(&text, &SplitOptions { facts: true }) {
            for fact in &claim.facts {
                prop_assert!(claim.span.contains(fact.span) && fact.span.slice(&text).is_some());
                prop_assert!(fact.text.chars().any(char::is_alphanumeric));
            }
        }
    }
}

/// Texts of the words that numbers, dates, names and hedges are read from, in any order.
fn worded() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        prop::sample::select(vec![
            "three", "point", "half", "million", "hundred", "twenty", "first", "dozen", "a", "and", "minus"
        ]),
        prop::sample::select(vec![
            "1903",
            "12",
            "3.4",
            "1,000",
            "0",
            "12th",
            "1903-05-12",
            "5/6",
            "99999999999999999999",
            "1e9"
        ]),
        prop::sample::select(vec![
            "%", "per cent", "$", "€", "USD", "km", "kg", "°C", "years", "BC", "AD", "p.m.", "o'clock",
            "noon"
        ]),
        prop::sample::select(vec![
            "May", "Sept.", "Monday", "mid", "late", "early", "about", "between", "to", "from", "over",
            "nearly"
        ]),
        prop::sample::select(vec![
            "it is",
            "thought",
            "said",
            "disputed",
            "reportedly",
            "probably",
            "may",
            "who",
            "No.",
            "Dr.",
            "U.S."
        ]),
        prop::sample::select(vec![
            "Curie", "Marie", "de", "van", "O’Neil", "Łódź", "ǅ", "ß", "İ", "巴黎", "é", "\u{301}", "🎉"
        ]),
    ];
    let sign = prop::sample::select(vec![
        " ", " ", " ", ", ", "-", "–", "/", ".", ". ", ":", "'", "\n", "(", ")", "\u{a0}", "",
    ]);
    proptest::collection::vec((number, sign), 0..20)
        .prop_map(|pairs| pairs.into_iter().map(|(word, sign)| format!("{word}{sign}")).collect())
}

proptest! {
    #![proptest_config(crate::testing::cases(3000))]

    #[test]
    fn words_of_numbers_names_and_hedges_in_any_order_are_read(text in worded()) {
        for claim in split_response(&text, &SplitOptions { facts: true }) {
            prop_assert!(claim.span.slice(&text).is_some());
        }
        for sentence in split_source(&text) {
            prop_assert!(sentence.span.slice(&text).is_some());
            // Whatever it says of it, it says it.
            let _ = find_hedge(&sentence.text);
        }
        for value in find_values(&text) {
            prop_assert!(value.span.slice(&text).is_some());
        }
        for name in find_names(&text) {
            prop_assert!(name.span.slice(&text).is_some());
        }
    }
}

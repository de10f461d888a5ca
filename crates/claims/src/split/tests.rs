use super::*;

mod markdown_cases;
mod properties;
mod sentence_cases;

/// Short names of the kinds, for tables.
fn letter(kind: ClaimKind) -> &'static str {
    match kind {
        ClaimKind::Statement => "S",
        ClaimKind::TableRow => "T",
        ClaimKind::Question => "Q",
        ClaimKind::Pleasantry => "P",
        ClaimKind::Heading => "H",
        ClaimKind::Code => "C",
        ClaimKind::Citation => "R",
        ClaimKind::Wordless => "W",
    }
}

/// Each case: a response, and its claims as (kind, text, slice of the original).
type Case = (&'static str, &'static [(&'static str, &'static str, &'static str)]);

fn check(cases: &[Case]) {
    let mut wrong = Vec::new();
    for (original, expected) in cases {
        let claims = split_response(original, &SplitOptions::default());
        let found: Vec<(&str, &str, &str)> = claims
            .iter()
            .map(|claim| {
                (letter(claim.kind), &*claim.text, claim.span.slice(original).expect("on boundaries"))
            })
            .collect();
        if found != *expected {
            wrong.push(format!("{original:?}\n   found {found:?}\nexpected {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

/// Cases without markup: the texts alone, each of which must be the slice as well.
fn check_plain(cases: &[(&str, &[&str])]) {
    let mut wrong = Vec::new();
    for (original, expected) in cases {
        let claims = split_response(original, &SplitOptions::default());
        let found: Vec<&str> = claims.iter().map(|claim| &*claim.text).collect();
        let slices: Vec<&str> =
            claims.iter().map(|claim| claim.span.slice(original).expect("on boundaries")).collect();
        if found != *expected || slices != *expected {
            wrong.push(format!(
                "{original:?}\n   found {found:?}\n  slices {slices:?}\nexpected {expected:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn tags_say_what_is_high_stakes() {
    use HighStakesTag::{Date, Name, Number, Quantity};
    let cases: &[(&str, &[HighStakesTag])] = &[
        ("The cat sat on the mat.", &[]),
        ("Marie Curie was a physicist.", &[Name]),
        ("It has 3 towers.", &[Number]),
        ("It opened in 1903.", &[Date]),
        ("It is 330 metres tall.", &[Number, Quantity]),
        ("Paris grew by 12% in 1903.", &[Name, Number, Date, Quantity]),
        ("See section 3 there.", &[]),
    ];
    for (text, expected) in cases {
        assert_eq!(split_response(text, &SplitOptions::default())[0].tags, *expected, "{text}");
    }
}

#[test]
fn facts_carry_spans_into_the_original() {
    let text = "Well.\n\n- **She** was born in *Warsaw* and won the [Nobel Prize](https://a.b/c).";
    let claims = split_response(text, &SplitOptions { facts: true });
    let facts = &claims[1].facts;
    assert_eq!(facts.len(), 2, "{facts:?}");
    assert_eq!(&*facts[0].text, "She was born in Warsaw.");
    assert_eq!(facts[0].span.slice(text), Some("She** was born in *Warsaw"));
    assert_eq!(&*facts[1].text, "She won the Nobel Prize.");
    assert_eq!(facts[1].span.slice(text), Some("won the [Nobel Prize"));
    assert!(split_response(text, &SplitOptions::default())[1].facts.is_empty());
}

#[test]
fn a_sentence_of_one_fact_has_that_one() {
    let claims = split_response("The tower is tall", &SplitOptions { facts: true });
    assert_eq!(claims[0].facts.len(), 1);
    assert_eq!(&*claims[0].facts[0].text, "The tower is tall.");
    assert_eq!(claims[0].facts[0].span, claims[0].span);
}

#[test]
fn a_source_keeps_headings_questions_links_and_code_lines() {
    let text = "# The tower\n\nHow tall is it? It is 330 m.\n\n```\nheight = 330\nname = 'x'\n```\n\n---\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nSure!\n";
    let texts: Vec<String> = split_source(text).iter().map(|sentence| sentence.text.to_string()).collect();
    let expected = [
        "The tower",
        "How tall is it?",
        "It is 330 m.",
        "height = 330",
        "name = 'x'",
        "a; b",
        "a: 1; b: 2",
        "Sure!",
    ];
    assert_eq!(texts, expected);
}

#[test]
fn a_source_in_indented_plain_text_does_not_vanish() {
    let text = "    The tower is tall.\n    It was built\n    in 1889.\n\n        Deeper text.\n";
    let found = split_source(text);
    let texts: Vec<&str> = found.iter().map(|sentence| &*sentence.text).collect();
    assert_eq!(texts, ["The tower is tall.", "It was built in 1889.", "Deeper text."]);
    assert_eq!(found[1].span.slice(text), Some("It was built\n    in 1889."));
}

#[test]
fn a_text_of_any_shape_is_split_in_linear_time() {
    let size = 1 << 17;
    let shapes = [
        ("words without a full stop", "word "),
        ("one word", "x"),
        ("sentences", "Dr. Smith won 3.5 million dollars in May 1903. He left. "),
        ("full stops", "a. "),
        ("dots", "."),
        ("open brackets", "("),
        ("square brackets", "["),
        ("marks", "[1]"),
        ("stars", "*a "),
        ("angles", "<a "),
        ("list", "- item\n"),
        ("numbers", "1. item\n"),
        ("quotes", "> a\n"),
        ("digits", "1,234 "),
        ("dashes", "1-2-"),
        ("hyphens", "a-b-"),
        ("hundreds", "one hundred and "),
        ("cjk", "你好。"),
        ("html", "<div>a</div>\n"),
        ("definitions", "[a]: b\n\n"),
        ("rows", "| a | b |\n"),
        ("mails", "a@"),
        ("indented", "    a\n"),
    ];
    for (name, unit) in shapes {
        let text = unit.repeat(size / unit.len());
        // Small and large are compared, so that the test holds on a slow machine.
        let small = seconds(&text[..floor(&text, size / 8)]);
        let large = seconds(&text);
        assert!(large < 2.0 + small * 24.0, "{name}: {small} s for an eighth, {large} s for all");
    }
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn seconds(text: &str) -> f64 {
    let start = std::time::Instant::now();
    let claims = split_response(text, &SplitOptions { facts: true });
    assert!(claims.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start));
    start.elapsed().as_secs_f64()
}

#[test]
fn a_byte_order_mark_counts_in_spans_and_is_no_part_of_what_is_scored() {
    let text = "\u{feff}# Curie\n\nCurie was born in Warsaw and won in 1903.";
    let options = SplitOptions { facts: true };
    let claims = split_response(text, &options);
    let kinds = claims.iter().map(|claim| claim.kind).collect::<Vec<_>>();
    assert_eq!(kinds, [ClaimKind::Heading, ClaimKind::Statement]);
    assert_eq!(claims[1].span.slice(text), Some("Curie was born in Warsaw and won in 1903."));
    let plain = split_response(&text[3..], &options);
    for (marked, plain) in claims.iter().zip(&plain) {
        assert_eq!((&marked.text, marked.span.start), (&plain.text, plain.span.start + 3));
        let starts = |claim: &groundline_types::Claim| {
            claim.facts.iter().map(|fact| fact.span.start).collect::<Vec<_>>()
        };
        assert_eq!(starts(marked), starts(plain).iter().map(|start| start + 3).collect::<Vec<_>>());
    }
    let sentences = split_source("\u{feff}Tea is a drink.");
    assert_eq!((&*sentences[0].text, sentences[0].span), ("Tea is a drink.", Span::new(3, 18)));
}

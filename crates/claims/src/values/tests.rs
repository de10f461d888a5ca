use super::*;

/// A short form for tables: kind, number, unit, mark and noun.
fn show(value: &Value) -> String {
    let mark = match value.approximation {
        Approximation::Exact => "",
        Approximation::About => "~",
        Approximation::AtLeast => ">=",
        Approximation::AtMost => "<=",
    };
    let body = match &value.kind {
        ValueKind::Number(amount) => format!("{}", amount.value),
        ValueKind::Ordinal(amount) => format!("#{}", amount.value),
        ValueKind::Percent(amount) => format!("{}%", amount.value),
        ValueKind::Currency { amount, currency } => format!("{} {currency}", amount.value),
        ValueKind::Quantity { amount, unit } => format!("{} {unit}", amount.value),
        ValueKind::Date(date) => show_date(date),
        ValueKind::Time { seconds } => {
            format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
        }
        ValueKind::Identifier => "id".to_owned(),
    };
    let noun = value.noun.as_ref().map(|noun| format!(" [{noun}]")).unwrap_or_default();
    format!("{mark}{body}{noun}")
}

fn show_date(date: &Date) -> String {
    let year = match date.years {
        Some((first, last)) if first == last => format!("{first}"),
        Some((first, last)) => format!("{first}..{last}"),
        None => "-".to_owned(),
    };
    let part = |part: Option<u8>| part.map_or("-".to_owned(), |part| part.to_string());
    let ambiguous = if date.ambiguous { "?" } else { "" };
    format!("d:{year}/{}/{}{ambiguous}", part(date.month), part(date.day))
}

fn check(cases: &[(&str, &[&str])]) {
    let mut wrong = Vec::new();
    for (text, expected) in cases {
        let found = find_values(text);
        let mut end = 0;
        for value in &found {
            assert!(value.span.slice(text).is_some_and(|slice| !slice.is_empty()), "{text}");
            assert!(value.span.start >= end, "overlap in {text}");
            end = value.span.end;
        }
        let shown: Vec<String> = found.iter().map(show).collect();
        if shown != *expected {
            wrong.push(format!("{text}\n   found {shown:?}\nexpected {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn numbers_in_digits_have_one_normal_form() {
    check(&[
        ("3.4 million people", &["3400000 [person]"]),
        ("3,400,000 people", &["3400000 [person]"]),
        ("3.4m people", &["3400000 [person]"]),
        ("3.4m", &["3400000"]),
        ("1,234.5", &["1234.5"]),
        ("1\u{202f}234 cats", &["1234 [cat]"]),
        ("1\u{a0}234\u{a0}567", &["1234567"]),
        ("1.234.567 cats", &["1234567 [cat]"]),
        ("1.234,5", &["1234.5"]),
        ("It has -5 points.", &["-5 [point]"]),
        ("It was −3.5.", &["-3.5"]),
        ("minus five degrees", &["-5 degree"]),
        ("10k users", &["10000 [user]"]),
        ("2 bn cells", &["2000000000 [cell]"]),
        ("10–15 members", &["10 [member]", "15 [member]"]),
        ("5-10 million cats", &["5000000 [cat]", "10000000 [cat]"]),
        ("from 10 to 15 km", &["10 km", "15 km"]),
        ("a, 1,2,3 b", &["1", "2", "3 [b]"]),
        ("There are 3 young children.", &["3 [child]"]),
        ("It ended 5.", &["5"]),
    ]);
}

#[test]
fn numbers_in_words_are_read() {
    check(&[
        ("twenty-three cats", &["23 [cat]"]),
        ("one hundred and five thousand votes", &["105000 [vote]"]),
        ("two dozen eggs", &["24 [egg]"]),
        ("half a million people", &["500000 [person]"]),
        ("a hundred ships", &["100 [ship]"]),
        ("two million three hundred thousand men", &["2300000 [man]"]),
        ("two and three", &["2", "3"]),
        ("between one hundred and two hundred cats", &["100", "200 [cat]"]),
        ("one child", &["1 [child]"]),
        ("the third wife", &["#3 [wife]"]),
        ("the third largest city", &["#3 [city]"]),
        ("his twenty-first film", &["#21 [film]"]),
        ("the 21st time", &["#21 [time]"]),
        ("thirty seconds", &["30 second"]),
        ("in nineteen eighty-four", &["d:1984/-/-"]),
    ]);
}

#[test]
fn what_counts_nothing_is_left_out() {
    check(&[
        ("one of the best", &[]),
        ("no one knew", &[]),
        ("the one who left", &[]),
        ("dozens of cats", &[]),
        ("at first he ran", &[]),
        ("he went from 5 to", &["5"]),
        ("First, he ran.", &[]),
        ("one third of them", &[]),
        ("He played in League One for years.", &[]),
        ("the First Division final", &[]),
        ("It may march on.", &[]),
        ("see https://a.b/2023/05/11 now", &[]),
        ("write to a1@b2.com now", &[]),
    ]);
}

#[test]
fn names_with_digits_are_identifiers() {
    check(&[
        ("Section 3 says", &["id"]),
        ("Passage 1 states that", &["id"]),
        ("see Section 3.2 there", &["id"]),
        ("Chapter 4", &["id"]),
        ("No. 5 is", &["id"]),
        ("COVID-19 spread", &["id"]),
        ("a B-52 flew", &["id"]),
        ("version v1.2.3 is", &["id"]),
        ("H2O", &["id"]),
        ("#5", &["id"]),
        ("call 555-1234 now", &["id"]),
        ("call +1 555 123 4567 now", &["id"]),
        ("1. He ran", &["id"]),
        ("the Boeing 747", &["id"]),
        ("in 3D", &["id"]),
        ("It needs Python 3.10 or newer.", &["id"]),
        ("10.0.0.1", &["id"]),
    ]);
}

#[test]
fn shares_money_and_measures_carry_their_unit() {
    check(&[
        ("12.5%", &["12.5%"]),
        ("12.5 percent of adults", &["12.5% [adult]"]),
        ("five per cent", &["5%"]),
        ("up 2 percentage points", &["2 percentage point"]),
        ("$3.4 million", &["3400000 USD"]),
        ("$3.4m", &["3400000 USD"]),
        ("3.4 million dollars", &["3400000 USD"]),
        ("US$5", &["5 USD"]),
        ("EUR 5", &["5 EUR"]),
        ("5 €", &["5 EUR"]),
        ("£1,000", &["1000 GBP"]),
        ("-$5", &["-5 USD"]),
        ("5 km", &["5 km"]),
        ("5km", &["5 km"]),
        ("five kilometres", &["5 km"]),
        ("5 kilometers", &["5 km"]),
        ("70 kilograms", &["70 kg"]),
        ("20 °C", &["20 °C"]),
        ("20°C", &["20 °C"]),
        ("20 degrees Celsius", &["20 °C"]),
        ("a 5-year-old boy", &["5 year"]),
        ("3 hours", &["3 hour"]),
        ("100m sprint", &["100 m"]),
        ("120 km/h", &["120 km/h"]),
        ("643,801 km²", &["643801 km²"]),
        ("643,801 square kilometres", &["643801 km²"]),
        ("5 kg of rice", &["5 kg [rice]"]),
    ]);
}

#[test]
fn dates_have_one_normal_form() {
    check(&[
        ("12 May 1903", &["d:1903/5/12"]),
        ("May 12, 1903", &["d:1903/5/12"]),
        ("12th of May 1903", &["d:1903/5/12"]),
        ("1903-05-12", &["d:1903/5/12"]),
        ("25/12/1903", &["d:1903/12/25"]),
        ("12/25/1903", &["d:1903/12/25"]),
        ("12/05/1903", &["d:1903/-/-?"]),
        ("12.05.1903", &["d:1903/5/12"]),
        ("Jan. 3, 2020", &["d:2020/1/3"]),
        ("May 1903", &["d:1903/5/-"]),
        ("in 1903", &["d:1903/-/-"]),
        ("(1903)", &["d:1903/-/-"]),
        ("since 1903 he", &["d:1903/-/-"]),
        ("1903–1911", &["d:1903/-/-", "d:1911/-/-"]),
        ("(1914-18)", &["d:1914/-/-", "d:1918/-/-"]),
        ("1903", &["d:1903/-/-"]),
        ("the 1903 Nobel Prize", &["d:1903/-/-"]),
        ("the 1990s", &["d:1990..1999/-/-"]),
        ("the mid-1990s", &["d:1990..1999/-/-"]),
        ("the 19th century", &["d:1801..1900/-/-"]),
        ("nineteenth-century art", &["d:1801..1900/-/-"]),
        ("44 BC", &["d:-44/-/-"]),
        ("AD 79", &["d:79/-/-"]),
        ("12–14 May 1903", &["d:1903/5/12", "d:1903/5/14"]),
        ("May 12–14, 1903", &["d:1903/5/12", "d:1903/5/14"]),
        ("he came in May", &["d:-/5/-"]),
        ("from 1903 to 1911.", &["d:1903/-/-", "d:1911/-/-"]),
        ("he had 1500 men", &["1500 [man]"]),
        ("2000 people came", &["2000 [person]"]),
        ("at 14:30", &["14:30:00"]),
        ("at 2:30 pm", &["14:30:00"]),
        ("at 2 p.m. on", &["14:00:00"]),
        ("(ca. 1650 - 18 August 1720)", &["~d:1650/-/-", "d:1720/8/18"]),
        ("the 2007–08 season", &["d:2007/-/-", "d:2008/-/-"]),
        ("in mid-1957, he", &["d:1957/-/-"]),
        ("1956's hit", &["d:1956/-/-"]),
        ("born 7 November 1867", &["d:1867/11/7"]),
    ]);
}

#[test]
fn approximate_marks_are_kept() {
    check(&[
        ("about 500 cats", &["~500 [cat]"]),
        ("over 500 cats", &[">=500 [cat]"]),
        ("more than 500 cats", &[">=500 [cat]"]),
        ("no more than 500 cats", &["<=500 [cat]"]),
        ("at least five cats", &[">=5 [cat]"]),
        ("up to 5%", &["<=5%"]),
        ("nearly $5 million", &["~5000000 USD"]),
        ("approx. 5 km", &["~5 km"]),
        ("100+ cats", &[">=100"]),
        ("~50 cats", &["~50 [cat]"]),
        ("500 or more", &[">=500"]),
        ("around 1903", &["~d:1903/-/-"]),
    ]);
}

#[test]
fn values_compare_by_what_they_mean() {
    use Comparison::{Different, Incomparable, Same};
    let cases = [
        ("3.4 million people", "3,400,000 people", Same),
        ("3.4 million people", "3,412,345 people", Same),
        ("3.5 million people", "3.4 million people", Different),
        ("12 May 1903", "1903-05-12", Same),
        ("May 1903", "12 May 1903", Same),
        ("in 1903", "in 1905", Different),
        ("12/05/1903", "12 May 1903", Incomparable),
        ("the 1990s", "in 1995", Same),
        ("5 km", "5 kilometres", Same),
        ("5 km", "5 kg", Incomparable),
        ("over 500 cats", "612 cats", Same),
        ("over 500 cats", "412 cats", Different),
        ("the third time", "the second time", Different),
        ("£5", "5 pounds", Same),
        ("12.5%", "12.5 percent", Same),
        ("14:30", "2:30 pm", Same),
        ("twenty-three cats", "23 cats", Same),
        ("Section 3", "Section 3", Incomparable),
    ];
    for (a, b, expected) in cases {
        let (left, right) = (find_values(a), find_values(b));
        assert_eq!(left[0].compare(&right[0]), expected, "{a} / {b}");
        assert_eq!(right[0].compare(&left[0]), expected, "{b} / {a}");
    }
}

proptest::proptest! {
    #[test]
    fn values_of_any_text_are_ordered_and_slice_it(text in "[0-9a-z A-Z.,:/%$€°²\u{a0}'-]{0,80}|(one|two|hundred|and|thousand|-|May|1903|12| ){0,30}|.{0,60}") {
        let mut end = 0;
        for value in find_values(&text) {
            proptest::prop_assert!(value.span.start >= end);
            proptest::prop_assert!(value.span.slice(&text).is_some_and(|slice| !slice.is_empty()));
            if let Some(amount) = value.amount() {
                proptest::prop_assert!(amount.value.is_finite() && amount.resolution > 0.0);
            }
            end = value.span.end;
        }
    }
}

#[test]
fn the_word_lists_are_in_order() {
    assert!([nouns::SORTED, context::SORTED, words::SORTED].iter().all(|list| list.is_sorted()));
}

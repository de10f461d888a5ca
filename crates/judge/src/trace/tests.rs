use super::*;

const TEXT: &str = "Marie Curie, who was born in Warsaw in 1867, married Pierre and won 2 Nobel Prizes worth 1,500.5 crowns.";

fn traced(fact: &str) -> Result<&'static str, Untraceable> {
    Origin::new(TEXT, None).trace(fact).map(|span| &TEXT[span.start..span.end])
}

#[test]
fn a_fact_in_the_texts_words_is_found_where_it_stands() {
    for (fact, from) in [
        ("Marie Curie was born in Warsaw.", "Marie Curie, who was born in Warsaw"),
        ("The marriage was with Pierre.", "married Pierre"),
        ("She won 2 Nobel Prizes.", "won 2 Nobel Prizes"),
        ("The prizes were worth 1500.5 crowns.", "Prizes worth 1,500.5 crowns"),
    ] {
        assert_eq!(traced(fact), Ok(from), "{fact}");
    }
}

#[test]
fn what_the_judge_added_is_found_out() {
    for (fact, reason) in [
        ("Marie Curie was born in 1868.", Untraceable::Number),
        ("Marie Curie won 3 Nobel Prizes.", Untraceable::Number),
        ("Marie Curie was born in Krakow.", Untraceable::Name),
        ("Marie Curie married Paul.", Untraceable::Name),
        ("Einstein was born in Warsaw in 1867 and won 2 Nobel Prizes.", Untraceable::Name),
        ("Marie Curie was not born in Warsaw.", Untraceable::Negation),
        ("Marie Curie discovered radioactive elements.", Untraceable::Words),
        ("An answer is supported.", Untraceable::Words),
        ("It is.", Untraceable::Words),
    ] {
        assert_eq!(traced(fact), Err(reason), "{fact}");
    }
}

#[test]
fn names_may_come_from_the_context_and_numbers_may_not() {
    let context = Some("Marie Curie was a physicist of 66 years.");
    let origin = Origin::new("She moved to Paris in 1891.", context);
    assert!(origin.trace("Marie Curie moved to Paris.").is_ok());
    assert_eq!(origin.trace("Marie Curie moved at 66."), Err(Untraceable::Number));
    assert_eq!(
        origin.trace("Marie Curie was a physicist."),
        Err(Untraceable::Words),
        "it is not from the text"
    );
}

#[test]
fn a_lost_negation_or_doubt_is_told() {
    let origin = Origin::new("He was not born in Paris and may have died in Rome.", None);
    assert_eq!(origin.lost(&["He was born in Paris."]), Some("the negation"));
    assert_eq!(origin.lost(&["He was not born in Paris.", "He died in Rome."]), Some("the doubt"));
    assert_eq!(origin.lost(&["He was never born in Paris.", "He might have died in Rome."]), None);
}

#[test]
fn coverage_tells_what_share_of_the_text_is_in_facts() {
    let origin = Origin::new("Anna sang and Bert danced.", None);
    assert_eq!(origin.coverage(&["Anna sang.", "Bert danced."]), 1.0);
    assert_eq!(origin.coverage(&["Anna sang."]), 0.5);
}

#[test]
fn scripts_without_spaces_are_traced_by_character() {
    let text = "東京は日本の首都です。";
    let span = Origin::new(text, None).trace("東京は首都です").unwrap();
    assert_eq!(&text[span.start..span.end], "東京は日本の首都です");
    assert!(Origin::new(text, None).trace("大阪駅北口").is_err());
}

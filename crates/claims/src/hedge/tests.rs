use super::*;

fn found(sentence: &str) -> Option<(HedgeKind, &str)> {
    find_hedge(sentence).map(|hedge| (hedge.kind, &sentence[hedge.span.start..hedge.span.end]))
}

#[test]
fn hedged_sentences_are_recognised_with_the_words_that_hedge() {
    for (sentence, words) in [
        ("It is thought that the comet came from the Oort cloud.", "It is thought"),
        ("The painting is thought to be by Vermeer.", "is thought to"),
        ("The manuscript is now widely believed to be a forgery.", "is now widely believed to"),
        ("He was probably born in 1412.", "probably"),
        ("She may have visited Rome in 1790.", "may have"),
        ("The ship might still lie there.", "might"),
        ("The king is said to have died of a broken heart.", "is said to"),
        ("Shakespeare reportedly owned the house.", "reportedly"),
        ("The minister allegedly took bribes.", "allegedly"),
        ("It seems that the tomb was robbed.", "It seems"),
        ("The disease appears to spread through water.", "appears to"),
        ("The city was most likely founded by Greeks.", "most likely"),
        ("The attack is likely the work of insiders.", "is likely"),
        ("Evidence suggests that the lake was larger.", "suggests that"),
        ("It has been suggested that he invented it.", "It has been suggested"),
        ("Some historians believe he never left.", "Some historians believe"),
        ("Historians believe the wall is older.", "Historians believe"),
        ("According to legend, a wolf raised the twins.", "According to legend"),
        ("Perhaps the oldest bridge is in Izmir.", "Perhaps"),
        ("The population is estimated at 5,000.", "estimated at"),
        ("Homer could have been several poets.", "could have been"),
        ("The author is presumed to be a monk.", "is presumed to"),
        ("The treasure is rumoured to lie in the lake.", "rumoured to"),
        ("It is possible that both are wrong.", "It is possible"),
        ("May have been written by a student.", "May have"),
        ("In May 1921 he may have met her.", "may have"),
    ] {
        assert_eq!(found(sentence), Some((HedgeKind::Hedged, words)), "{sentence}");
    }
}

#[test]
fn disputed_sentences_are_recognised_with_the_words_that_say_so() {
    for (sentence, words) in [
        ("The date is disputed.", "is disputed"),
        ("His authorship is still disputed by scholars.", "is still disputed"),
        ("The territory is contested.", "is contested"),
        ("Whether he was there is a matter of debate.", "matter of debate"),
        ("The cause is debated among experts.", "is debated"),
        ("There is no consensus on its origin.", "no consensus"),
        ("The exact year of her birth is unknown.", "is unknown"),
        ("It is unclear who fired first.", "is unclear"),
        ("The meaning of the word remains uncertain.", "remains uncertain"),
        ("It is not known whether he returned.", "not known"),
        ("Historians disagree about the number of dead.", "Historians disagree"),
        ("Accounts differ on what he said.", "Accounts differ"),
        ("The report remains unconfirmed.", "unconfirmed"),
        ("The claim could not be proven and is controversial.", "is controversial"),
        ("The theorem's attribution has been questioned.", "been questioned"),
        ("The death toll has not been confirmed.", "not been confirmed"),
        ("How it works is an open question.", "open question"),
        ("There are conflicting accounts of the battle.", "conflicting accounts"),
    ] {
        assert_eq!(found(sentence), Some((HedgeKind::Disputed, words)), "{sentence}");
    }
}

#[test]
fn plain_sentences_are_none() {
    for sentence in [
        "Marie Curie was born in Warsaw in 1867.",
        "In May 1867 the fair opened.",
        "He thought about the problem for years.",
        "She believed in him.",
        "He said that it rained.",
        "The book appears in every list.",
        "His title is undisputed.",
        "The result is not disputed.",
        "The border is no longer contested.",
        "Its age is beyond dispute.",
        "The likeness is striking.",
        "According to the ministry, 12 people died.",
        "The suggestion was adopted.",
        "The mightiest army won.",
        "He could swim.",
        "The estimate was published in 2001.",
        "The known world ended there.",
        "It is a legend.",
        "She contested the election and disputed the bill.",
        "He made a controversial film.",
        "",
        "…",
    ] {
        assert_eq!(found(sentence), None, "{sentence}");
    }
}

#[test]
fn the_first_of_several_counts_and_a_dispute_before_a_doubt_at_the_same_place() {
    let sentence = "He probably died in 1404, but the date is disputed.";
    assert_eq!(found(sentence), Some((HedgeKind::Hedged, "probably")));
    let sentence = "The date is disputed; he probably died in 1404.";
    assert_eq!(found(sentence), Some((HedgeKind::Disputed, "is disputed")));
}

#[test]
fn kinds_have_words_for_people() {
    let words = [HedgeKind::Hedged, HedgeKind::Disputed].map(HedgeKind::as_str);
    assert_eq!(words, ["hedged source", "disputed source"]);
}

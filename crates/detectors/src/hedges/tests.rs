use super::*;
use crate::DetectorOptions;
use crate::testing::{check_of, run, scorer};
use std::sync::Arc;

/// What `entailment` is told of the one claim against the one sentence.
fn marked(evidence: &str, claim: &str) -> Option<SourceHedge> {
    let check = Arc::new(check_of(&[&[evidence]], &[claim]));
    let mut detector = crate::create("entailment", &DetectorOptions::default()).unwrap();
    let (mut report, _) = run(&mut *detector, &check, scorer(|_, _| (0.3, 0.1)));
    mark_hedges(&check, &mut report);
    report.claims[0].scored().unwrap().hedge.clone()
}

#[test]
fn hedged_evidence_of_a_plain_claim_is_named_with_its_words() {
    for (evidence, claim, words) in [
        ("It is thought that the bridge opened in 1903.", "The bridge opened in 1903.", "It is thought"),
        ("The painting is thought to be by Vermeer.", "The painting is by Vermeer.", "is thought to"),
        (
            "The manuscript is now widely believed to be a forgery.",
            "The manuscript is a forgery.",
            "is now widely believed to",
        ),
        ("The architect was probably born in Lisbon.", "The architect was born in Lisbon.", "probably"),
        ("The queen may have visited Rome in 1790.", "The queen visited Rome in 1790.", "may have"),
        (
            "The king is said to have died of a broken heart.",
            "The king died of a broken heart.",
            "is said to",
        ),
        ("Shakespeare reportedly owned the house.", "Shakespeare owned the house.", "reportedly"),
        ("The minister allegedly took bribes.", "The minister took bribes.", "allegedly"),
        ("The disease appears to spread through water.", "The disease spreads through water.", "appears to"),
        ("The city was most likely founded by Greeks.", "The city was founded by Greeks.", "most likely"),
        ("According to legend, a wolf raised the twins.", "A wolf raised the twins.", "According to legend"),
        ("Perhaps the oldest bridge is in Izmir.", "The oldest bridge is in Izmir.", "Perhaps"),
        ("The author is presumed to be a monk.", "The author is a monk.", "is presumed to"),
    ] {
        let hedge = marked(evidence, claim).unwrap_or_else(|| panic!("{evidence}"));
        assert_eq!((hedge.is_disputed, hedge.words.as_str()), (false, words), "{evidence}");
    }
}

#[test]
fn disputed_evidence_of_a_plain_claim_is_named_with_its_words() {
    for (evidence, claim, words) in [
        ("The founding of the city in 1250 is disputed.", "The city was founded in 1250.", "is disputed"),
        (
            "Whether Columbus was born in Genoa is a matter of debate.",
            "Columbus was born in Genoa.",
            "matter of debate",
        ),
        (
            "There is no consensus on the origin of the Basque language.",
            "The Basque language has an African origin.",
            "no consensus",
        ),
        (
            "It is unclear who fired the first shot at Lexington.",
            "The British fired the first shot at Lexington.",
            "is unclear",
        ),
        (
            "Historians disagree about whether the emperor burned Rome.",
            "The emperor burned Rome.",
            "Historians disagree",
        ),
        (
            "The theorem's attribution to Pythagoras has been questioned.",
            "The theorem's attribution is to Pythagoras.",
            "been questioned",
        ),
        (
            "The death toll of 4,000 has not been confirmed.",
            "The death toll was 4,000.",
            "not been confirmed",
        ),
    ] {
        let hedge = marked(evidence, claim).unwrap_or_else(|| panic!("{evidence}"));
        assert_eq!((hedge.is_disputed, hedge.words.as_str()), (true, words), "{evidence}");
    }
}

#[test]
fn nothing_is_named_where_the_claim_hedges_too_or_the_evidence_is_plain_or_speaks_of_something_else() {
    for (evidence, claim) in [
        ("The architect was probably born in Lisbon.", "The architect was perhaps born in Lisbon."),
        ("The painting is thought to be by Vermeer.", "It is believed that the painting is by Vermeer."),
        ("The bridge opened in 1903.", "The bridge opened in 1903."),
        ("In May 1903 the bridge opened.", "The bridge opened in May 1903."),
        ("The result is not disputed.", "The result is right."),
        ("The weather in Norway was probably bad.", "The bridge opened in 1903 with a parade."),
    ] {
        assert_eq!(marked(evidence, claim), None, "{evidence} / {claim}");
    }
}

#[test]
fn whether_the_evidence_says_all_of_the_claim_is_told() {
    assert!(
        marked("It is thought that the bridge opened in 1903.", "The bridge opened in 1903.")
            .unwrap()
            .says_all
    );
    let other =
        marked("It is thought that the bridge opened in 1903.", "The bridge opened in Paris.").unwrap();
    assert!(!other.says_all);
}

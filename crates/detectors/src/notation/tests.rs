use super::*;
use groundline_claims::values::find_values;

fn written_anew(evidence: &str, claim: &str) -> Option<String> {
    in_notation_of((evidence, &find_values(evidence)), (claim, &find_values(claim)))
}

#[test]
fn values_are_written_as_the_evidence_writes_them() {
    for (evidence, claim, variant) in [
        ("It opened on 12 May 1903.", "It opened on 1903-05-12.", "It opened on 12 May 1903."),
        ("It opened on 1903-05-12.", "It opened on May 12, 1903.", "It opened on 1903-05-12."),
        (
            "The city has 3,400,000 residents.",
            "The city has 3.4 million residents.",
            "The city has 3,400,000 residents.",
        ),
        (
            "The city has 3.4 million residents.",
            "Its 3,400,000 residents pay.",
            "Its 3.4 million residents pay.",
        ),
        // Finer in the evidence.
        (
            "There are 3,412,345 residents.",
            "There are 3.4 million residents.",
            "There are 3,412,345 residents.",
        ),
        ("They paid 40 percent.", "They paid 40%.", "They paid 40 percent."),
        ("He ran 5 kilometres.", "He ran 5 km.", "He ran 5 kilometres."),
        ("Twelve men met in 1903.", "In 1903, 12 men met.", "In 1903, Twelve men met."),
        // Every value at once; what comes before and after stays.
        (
            "On 12 May 1903 it had twelve rooms.",
            "It had 12 rooms on 1903-05-12, they say.",
            "It had twelve rooms on 12 May 1903, they say.",
        ),
    ] {
        assert_eq!(written_anew(evidence, claim).as_deref(), Some(variant), "{evidence} / {claim}");
    }
}

#[test]
fn what_would_say_less_or_something_else_is_left_alone() {
    for (evidence, claim) in [
        ("It opened in 1903.", "It opened in May 1903."),
        ("It opened on 12 May 1903.", "It opened in 1903."),
        ("It opened on 13 May 1903.", "It opened on 1903-05-12."),
        ("It has 3.4 million residents.", "It has 3,412,345 residents."),
        ("It has 3,400,000 residents.", "It has over 3 million residents."),
        ("It has 3.6 million residents.", "It has about 3,400,000 residents."),
        ("He ran 5,000 metres.", "He ran 5 km."),
        ("It weighs 3.4 kg.", "It has 3 doors."),
        ("They ate 3.4 apples a day.", "They have 3 dogs."),
        ("The plan runs for five years.", "It is a 5-year plan."),
        ("It opened on 12 May 1903.", "It opened on 12 May 1903."),
        ("Twelve men met.", "There met twelve men."),
        ("See section 3.", "See section three."),
        ("", "It opened on 1903-05-12."),
        ("It opened on 12 May 1903.", "It opened."),
    ] {
        assert_eq!(written_anew(evidence, claim), None, "{evidence} / {claim}");
    }
}

proptest::proptest! {
    #[test]
    fn any_texts_give_a_variant_without_panic(evidence in "\\PC{0,60}", claim in "\\PC{0,60}") {
        if let Some(variant) = written_anew(&evidence, &claim) {
            proptest::prop_assert_ne!(variant, claim);
        }
    }
}

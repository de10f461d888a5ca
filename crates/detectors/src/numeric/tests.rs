use super::*;
use crate::testing::{check_of, facts};

/// The report where the model gives every pair of evidence and claim this entailment.
fn report(check: PreparedCheck, entailment: f32) -> Report {
    let mut detector = Numeric::new(&DetectorOptions::default());
    let mut next = detector.start(&Arc::new(check), &facts());
    loop {
        match next {
            Next::Done(report) => return report,
            Next::Ask(_) => panic!("it asks no judge"),
            Next::Work(work) => {
                // Logits in the order contradiction, entailment, neutral.
                let logits = [-20.0, entailment.ln(), (1.0 - entailment).ln()];
                let outcomes = vec![Outcome::Scored(Score::Logits(Arc::from(logits))); work.len()];
                next = detector.resume(&outcomes);
            }
        }
    }
}

fn conflict(source: &[&str], claim: &[&str]) -> Option<String> {
    let report = report(check_of(&[source], claim), 0.1);
    report.claims.last().unwrap().scored().unwrap().numeric_conflict.clone()
}

/// (source, claim, whether they conflict)
const CASES: &[(&str, &str, bool)] = &[
    // Dates of events.
    ("Marie Curie was born in Warsaw in 1867.", "Marie Curie was born in 1866.", true),
    ("Marie Curie was born in Warsaw in 1867.", "Marie Curie was born in 1867.", false),
    ("Marie Curie was born on 7 November 1867.", "Marie Curie was born in 1867.", false),
    ("Marie Curie was born on 7 November 1867.", "Marie Curie was born on November 7, 1867.", false),
    ("Marie Curie was born on 7 November 1867.", "Marie Curie was born on 1867-11-07.", false),
    ("Marie Curie was born on 7 November 1867.", "Marie Curie was born on 8 November 1867.", true),
    (
        "Marie Curie won the Nobel Prize in Physics in 1903.",
        "Marie Curie won the Nobel Prize in Physics in 1905.",
        true,
    ),
    (
        "Curie was awarded the 1903 Nobel Prize in Physics.",
        "Marie Curie won the Nobel Prize in Physics in 1905.",
        true,
    ),
    (
        "Marie Curie won the Nobel Prize in Physics in 1903.",
        "She won the Nobel Prize in Chemistry in 1911.",
        false,
    ),
    (
        "Marie Curie won the Nobel Prize in Physics in 1903 and the Nobel Prize in Chemistry in 1911.",
        "Marie Curie won the Nobel Prize in Chemistry in 1911.",
        false,
    ),
    ("Pierre Curie was born in 1859.", "Marie Curie was born in 1867.", false),
    ("Marie Curie's husband Pierre was born in 1859.", "Marie Curie was born in 1867.", false),
    ("Marie Curie's husband was born in 1859.", "Marie Curie was born in 1867.", false),
    ("The mother of Marie Curie was born in 1835.", "Marie Curie was born in 1867.", false),
    ("Marie Curie moved to Paris in 1891.", "Marie Curie was born in 1867.", false),
    ("Google was founded in 1998.", "Google went public in 2004.", false),
    ("Google was founded in 1998 by Larry Page and Sergey Brin.", "Google was founded in 1996.", true),
    ("The tower was built in 1889.", "The tower was built in 1887.", true),
    ("The tower was built between 1887 and 1889.", "The tower was built in 1888.", false),
    ("World War I lasted from 1914 to 1918.", "World War I lasted until 1918.", false),
    ("The war began in 1914.", "The war ended in 1918.", false),
    ("The meeting started at 9:30.", "The meeting started at 10:30.", true),
    ("The museum opened in the 1920s.", "The museum opened in 1925.", false),
    ("The museum opened in the 19th century.", "The museum opened in 1925.", true),
    ("In 2004, Facebook was founded.", "Facebook was founded in 2005.", true),
    ("The bridge was completed in May 1937.", "The bridge was completed in June 1937.", true),
    ("Her brother was born in Lyon in 1859.", "She was born in Lyon in 1861.", false),
    // Counts.
    ("The company has 3,200 employees.", "The company has 3,400 employees.", true),
    ("The company has 3,400 employees.", "The company has 3.4 thousand employees.", false),
    ("The city has 3,412,000 inhabitants.", "The city has about 3.4 million inhabitants.", false),
    ("The city has 3,412,000 inhabitants.", "The city has over 3 million inhabitants.", false),
    ("The city has 3.4 million inhabitants.", "The city has 3,400,000 inhabitants.", false),
    ("The city has 3.4 million inhabitants.", "The city has 4.3 million inhabitants.", true),
    ("The team won three titles.", "The team won 3 titles.", false),
    ("The team won three titles.", "The team won five titles.", true),
    ("The team won three titles.", "The team won five cups.", false),
    ("The study enrolled 104 patients.", "The study had 12 authors.", false),
    ("The study enrolled 104 patients.", "The study enrolled 140 patients.", true),
    (
        "In total, the study enrolled 104 patients with diabetes.",
        "The study enrolled 98 patients with diabetes.",
        true,
    ),
    ("104 patients received placebo.", "52 patients received the drug.", false),
    ("The study enrolled 210 male patients.", "The study enrolled 400 patients.", false),
    ("Acme has 3,400 employees in Germany.", "Acme has 1,200 employees in France.", false),
    ("Acme has 3,400 employees worldwide.", "Acme has 1,200 employees in Germany.", false),
    ("Acme has 3,400 employees.", "Globex has 1,200 employees.", false),
    ("Acme has 3,400 employees.", "Acme employs people in 12 countries.", false),
    ("Between 10 and 20 people attended the meeting.", "15 people attended the meeting.", false),
    ("The trip takes 10 to 15 days.", "The trip takes 12 days.", false),
    ("The book has twelve chapters.", "The book has twenty-one chapters.", true),
    ("He scored 31 goals in 2019.", "He scored 28 goals in 2018.", false),
    ("He scored 31 goals in 2019.", "He scored 28 goals in 2019.", true),
    ("The league has 20 teams.", "The league was won in 2020.", false),
    // Money, shares and measures.
    ("Revenue was $3.4 million in 2020.", "Revenue was $4.3 million in 2020.", true),
    ("Revenue was $3.4 million in 2020.", "Revenue was $2.9 million in 2019.", false),
    (
        "Revenue was $2.9 million in 2019 and $3.4 million in 2020.",
        "Revenue was $3.4 million in 2020.",
        false,
    ),
    ("Revenue was $3.4 million in 2020.", "Revenue was $4.3 million.", true),
    ("Revenue was 3.4 million dollars in 2020.", "Revenue was $3.4m in 2020.", false),
    ("Profit was $3.4 million in 2020.", "Revenue was $4.3 million in 2020.", false),
    ("The tower is 324 m tall.", "The tower is 330 metres tall.", true),
    ("The tower is 324 m tall.", "The tower is 324 metres tall.", false),
    (
        "The bridge is 2.7 km long and 227 m above the water.",
        "The bridge is 2.7 km long and 27 m wide.",
        false,
    ),
    ("The tower is 324 m tall.", "The tower weighs 10,100 tonnes.", false),
    ("12.5% of adults smoke.", "12.5 percent of adults smoke.", false),
    ("12.5% of adults smoke.", "21.5% of adults smoke.", true),
    ("12.5% of adults smoke.", "21.5% of teenagers smoke.", false),
    ("Unemployment rose to 5.2 percent.", "Unemployment rose to 6.2 percent.", true),
    ("Unemployment rose to 5.2 percent.", "Inflation rose to 6.2 percent.", false),
    ("The drug costs 30 euros a month.", "The drug costs 30 dollars a month.", false),
    ("He worked there for 10 years.", "He was 42 years old.", false),
    ("Tom Smith, 42, was arrested.", "Tom Smith was arrested in 2019.", false),
    // Ranks, versions and labels.
    ("Grover Cleveland was the 22nd president.", "Grover Cleveland was the 23rd president.", true),
    ("He was the 44th president.", "He was the 45th president.", false),
    ("Curie won prizes in 1903 and 1911.", "Curie won prizes in 1905.", true),
    ("Her second prize was in chemistry.", "Her first prize was in physics.", false),
    ("Masks slow coronavirus disease 2019 (COVID-19).", "Masks slow covid-19 disease.", false),
    ("Version 2.1 was released.", "Version 2.2 was released.", false),
    ("See Section 3 for details.", "See Section 4 for details.", false),
    ("3. The valve opens.", "2. The valve opens.", false),
    // Nothing to compare.
    ("The company was founded by two brothers.", "The company is large.", false),
    ("The sky is blue.", "The company has 3,400 employees.", false),
];

#[test]
fn values_conflict_only_where_the_evidence_says_the_same_thing_with_another_value() {
    assert!(CASES.len() >= 60);
    let mut wrong = Vec::new();
    for (source, claim, expected) in CASES {
        let found = conflict(&[source], &[claim]);
        if found.is_some() != *expected {
            wrong.push(format!("{source} | {claim} | expected {expected}, found {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), CASES.len(), wrong.join("\n"));
}

#[test]
fn a_conflict_names_both_values_and_points_at_the_sentence() {
    let source = ["The sky is blue.", "The company has 3,200 employees."];
    let check = check_of(&[&source], &["The company has 3.4 thousand employees."]);
    let report = report(check, 0.1);
    let finding = report.claims[0].scored().unwrap();
    let told = finding.numeric_conflict.as_deref().unwrap();
    assert!(told.contains("3.4 thousand") && told.contains("3,200"), "{told}");
    assert_eq!((finding.evidence[0].source, finding.evidence[0].sentence), (0, 1));
    assert_eq!((finding.support, finding.contradiction), (None, None));
    assert_eq!(report.score.scored().unwrap().value, 0.0);
}

#[test]
fn a_pronoun_is_read_as_the_name_of_the_sentence_before() {
    let source = ["Marie Curie was a physicist.", "She was born in 1867."];
    assert!(conflict(&source, &["Marie Curie was born in 1866."]).is_some());
    assert!(conflict(&source, &["Pierre Curie was born in 1859."]).is_none());
    let source = ["Marie Curie was born in 1867."];
    assert!(conflict(&source, &["Marie Curie was a physicist.", "She was born in 1866."]).is_some());
    assert!(conflict(&source, &["Pierre Curie was a physicist.", "He was born in 1859."]).is_none());
}

#[test]
fn a_pronoun_that_opens_a_part_of_a_response_is_read_as_the_name_before_that_part() {
    let source = ["Marie Curie was born in 1867."];
    let conflicts = |before: &str, claim: &str| {
        let mut check = check_of(&[&source], &[claim]);
        check.before = Some(before.into());
        report(check, 0.1).claims[0].scored().unwrap().numeric_conflict.is_some()
    };
    assert!(conflicts("Marie Curie was a physicist.", "She was born in 1866."));
    assert!(!conflicts("Pierre Curie was a physicist.", "He was born in 1859."));
}

#[test]
fn a_value_that_any_near_sentence_has_is_no_conflict() {
    let source = ["The company has 3,200 employees.", "A year later, the company had 3,400 employees."];
    assert!(conflict(&source, &["The company has 3,400 employees."]).is_none());
}

#[test]
fn figures_of_several_years_do_not_conflict_with_an_undated_one() {
    let source = ["Revenue was $2.9 million in 2019.", "Revenue was $3.4 million in 2020."];
    assert!(conflict(&source, &["Revenue was $4.3 million."]).is_none());
}

#[test]
fn claims_that_are_not_checked_are_abstained_from() {
    let mut check = check_of(&[&["Five cats."]], &["How many cats?"]);
    check.claims[0].kind = groundline_types::ClaimKind::Question;
    let report = report(check, 0.1);
    assert!(matches!(report.claims[0], Outcome::Abstained(_)));
    assert!(matches!(report.score, Outcome::Abstained(_)));
}

#[test]
fn evidence_that_the_model_takes_for_the_claim_conflicts_where_it_has_another_value() {
    let told = |source: &str, claim: &str, entailment: f32| {
        report(check_of(&[&[source]], &[claim]), entailment).claims[0]
            .scored()
            .unwrap()
            .numeric_conflict
            .clone()
    };
    let source = "The harbour authority of Port Ellis said on Tuesday that 3.4 million passengers used its ferry terminal last year, up from 2.9 million the year before.";
    let claim = "Port Ellis's ferry terminal was used by 4.3 million passengers last year.";
    assert!(told(source, claim, 0.9).unwrap().contains("3.4 million"));
    assert_eq!(told(source, claim, 0.2), None, "without the model the words do not show it");
    assert_eq!(told(source, "Port Ellis's terminal was used by 3,400,000 passengers last year.", 0.9), None);
    // Another thing counted, another unit, another kind.
    assert_eq!(told("The school has 20 teachers.", "The school has 400 pupils.", 0.9), None);
    assert_eq!(told("The rope is 20 m long.", "The rope weighs 3 kg.", 0.9), None);
    assert_eq!(told("The school opened in 1950.", "The school has 400 pupils.", 0.9), None);
    assert_eq!(told("It has over 300 rooms.", "It has 340 rooms.", 0.9), None);
    assert!(told("It costs 4.95 euros.", "It costs 9.95 euros.", 0.9).is_some());
}

#[test]
fn a_prize_of_the_sentence_before_is_not_meant_by_a_pronoun() {
    let source = [
        "Marie Curie shared the 1903 Nobel Prize in Physics with Pierre Curie.",
        "She won the 1911 Nobel Prize in Chemistry.",
    ];
    let told = conflict(
        &source,
        &["Marie Curie was born in Warsaw.", "She won the Nobel Prize in Physics in 1905."],
    )
    .unwrap();
    assert!(told.contains("1903") && !told.contains("1911"), "{told}");
}

#[test]
fn a_fact_has_the_conflicts_of_its_sentence_with_a_value_in_it() {
    let claim = "Marie Curie was born in 1866 and won the Nobel Prize in Physics in 1903.";
    let mut check = check_of(
        &[&["Marie Curie was born in 1867.", "Marie Curie won the Nobel Prize in Physics in 1903."]],
        &[claim, "Google is big."],
    );
    let fact = |text: &str| AtomicFact { text: text.into(), span: groundline_types::Span::new(0, 1) };
    check.claims[0].facts = vec![
        fact("Marie Curie was born in 1866."),
        fact("Marie Curie won the Nobel Prize in Physics in 1903."),
        fact(claim),
    ];
    check.claims[1].facts = vec![fact("Google is big.")];
    assert!(report(check.clone(), 0.1).facts.is_empty(), "only where facts are asked for");
    let mut request = (*check.request).clone();
    request.facts = true;
    check.request = Arc::new(request);
    let report = report(check, 0.1);
    let told =
        |claim: usize, fact: usize| report.facts[claim][fact].scored().unwrap().numeric_conflict.as_deref();
    let expected = Some("1866 here, 1867 in the evidence");
    assert_eq!(report.claims[0].scored().unwrap().numeric_conflict.as_deref(), expected);
    assert_eq!([told(0, 0), told(0, 1), told(0, 2), told(1, 0)], [expected, None, expected, None]);
    assert_eq!(report.facts[0][0].scored().unwrap().evidence[0].sentence, 0);
}

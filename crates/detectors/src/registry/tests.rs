use super::*;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn default_stands_for_its_methods_and_doubles_go() {
    let default = ["entailment", "summac", "summac_conv", "numeric"];
    assert_eq!(resolve(&names(&["default"])).unwrap(), default);
    assert_eq!(resolve(&names(&["numeric", "default", "numeric"])).unwrap(), default);
    assert_eq!(resolve(&names(&["numeric", "entailment"])).unwrap(), ["entailment", "numeric"]);
}

#[test]
fn an_unknown_method_is_answered_with_the_nearest_and_all_known_ones() {
    let problem = resolve(&names(&["default", "sumac"])).unwrap_err();
    assert_eq!(problem.code, Code::UNKNOWN_METHOD);
    assert!(problem.message.contains("did you mean `summac`?"), "{problem}");
    assert!(
        problem.message.contains("known methods are entailment, summac, summac_conv, numeric, "),
        "{problem}"
    );
    assert!(problem.message.contains("selfcheck_overlap, selfcheck_prompt, judge, default"), "{problem}");
    let far = resolve(&names(&["astrology"])).unwrap_err();
    assert!(!far.message.contains("did you mean"), "{far}");
    assert_eq!(resolve(&[]).unwrap_err().code, Code::INVALID_FIELD);
}

#[test]
fn every_method_can_be_created_under_its_name() {
    for info in methods() {
        let detector = create(info.name, &DetectorOptions::default()).unwrap();
        assert_eq!(detector.name(), info.name);
        assert!(!info.summary.is_empty());
    }
    assert!(create("default", &DetectorOptions::default()).is_none());
}

#[test]
fn options_are_validated_and_read_strictly() {
    assert_eq!(DetectorOptions::default().validate(), Ok(()));
    let read: DetectorOptions = serde_json::from_str(r#"{"summac": {"first_operator": "mean"}}"#).unwrap();
    assert_eq!(read.summac.first_operator, crate::SummacOperator::Mean);
    assert_eq!(read.pairs_per_round, 4096);
    assert!(serde_json::from_str::<DetectorOptions>(r#"{"pairs": 1}"#).is_err());
    for (broken, name) in [
        (r#"{"pairs_per_round": 1}"#, "pairs_per_round"),
        (r#"{"contradiction_neighbours": 0}"#, "contradiction_neighbours"),
        (r#"{"candidate_sentences": 2}"#, "candidate_sentences is 2"),
        (r#"{"candidate_sentences": 4, "contradiction_neighbours": 5}"#, "candidate_sentences is 4"),
        (r#"{"support_threshold": 1.5}"#, "support_threshold"),
        (r#"{"summac": {"use_entailment": false, "use_contradiction": false}}"#, "summac.use_entailment"),
    ] {
        let problem = serde_json::from_str::<DetectorOptions>(broken).unwrap().validate().unwrap_err();
        assert_eq!(problem.code, Code::INVALID_CONFIG);
        assert!(problem.message.starts_with(name), "{problem}");
    }
    for candidate_sentences in [0, 3, 8] {
        let options = DetectorOptions { candidate_sentences, ..DetectorOptions::default() };
        assert_eq!(options.validate(), Ok(()));
    }
}

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/methods.md");
const BEGIN: &str = "<!-- generated: begin -->\n";
const END: &str = "<!-- generated: end -->";

#[test]
fn the_page_has_the_table_as_it_is_and_a_section_for_each_method() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page marks where the generated part begins");
    let (inside, after) = rest.split_once(END).expect("the page marks where the generated part ends");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(PAGE, format!("{before}{BEGIN}{}{END}{after}", methods_table())).unwrap();
        return;
    }
    let hint = "run `UPDATE=1 cargo test -p groundline-detectors registry` and read the difference";
    assert!(inside == methods_table(), "docs/methods.md has another table; {hint}");
    for info in methods() {
        assert!(after.contains(&format!("\n## {}\n", info.name)), "no section about {}", info.name);
    }
}

#[test]
fn every_method_says_what_it_needs_and_what_its_number_means() {
    for info in methods() {
        assert!(!info.needs.is_empty() && !info.number.is_empty() && !info.range.is_empty(), "{}", info.name);
        assert!(!info.cost.is_empty() && !info.speaks_about.is_empty(), "{}", info.name);
        let reads_samples = info.needs.contains(&Need::Samples);
        assert_eq!(reads_samples, info.name.starts_with("selfcheck_"), "{}", info.name);
        assert_eq!(reads_samples, info.polarity == Polarity::HigherIsHallucinated, "{}", info.name);
    }
}

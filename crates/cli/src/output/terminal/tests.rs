use super::*;
use crate::output::sample::{RESULT, result};

fn layout(columns: usize, colored: bool) -> Layout {
    Layout { palette: Palette { colored }, columns, evidence: 1, offsets: OffsetUnit::Bytes }
}

fn plain(columns: usize) -> String {
    let mut sample = result(RESULT);
    sample.matrix = None;
    render_result(&sample, &layout(columns, false))
}

const WIDE: &str = "\
curie␛[31m  contradicted (partly checked)  support: min 0.02  mean 0.50  weighted 0.40  coverage 75 %
  ✓ supported      support 0.98  Marie Curie was born in Warsaw.
                                 bio.txt bytes 0..34 entails 0.98: “Marie Curie was born
                                 in Warsaw<U+202E> in 1867.”
  ✗ contradicted   support 0.02  She won the Nobel Prize in Physics in 1905 together with
                                 her husband Pierre and Henri Becquerel.
                                 1905 is not 1903
                                 bio.txt bytes 35..80 has another value: “The Nobel Prize
                                 in Physics of 1903 went to them.”
  ? not mentioned  support 0.10  She liked tea.
  · not checked                  Anything else?
  ! not checked                  She was happy.
                                 the deadline passed
  note[GL2002]: the deadline passed before every claim was checked (response)
  1 supported, 1 contradicted, 1 not mentioned, 1 not checked · 24 pairs · 0.8 s

";

#[test]
fn a_result_reads_from_top_to_bottom() {
    let text = plain(90);
    assert_eq!(text, WIDE, "\n{text}");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for columns in [40, 60, 80, 100] {
        for line in plain(columns).lines().skip(1).filter(|line| !line.contains(" pairs · ")) {
            assert!(width(line) <= columns, "{columns}: {line}");
        }
    }
}

#[test]
fn a_narrow_terminal_gives_sentences_a_line_of_their_own() {
    let text = plain(50);
    assert!(
        text.contains("  ✓ supported      support 0.98\n      Marie Curie was born in Warsaw.\n"),
        "{text}"
    );
}

#[test]
fn colour_is_all_that_colour_changes_and_text_brings_no_escape_of_its_own() {
    let colored = render_result(&result(RESULT), &layout(80, true));
    assert!(colored.contains("\u{1b}[1m\u{1b}[31m") || colored.contains("\u{1b}[1;31m"), "{colored:?}");
    let stripped = anstream::adapter::strip_str(&colored).to_string();
    assert_eq!(stripped, render_result(&result(RESULT), &layout(80, false)));
    assert!(!stripped.contains('\u{1b}'));
}

#[test]
fn nothing_to_check_says_so() {
    let mut empty = result(RESULT);
    (empty.status, empty.verdict, empty.coverage) = (Status::Abstained, None, None);
    empty.scores = groundline_types::Scores::default();
    assert!(render_result(&empty, &layout(80, false)).starts_with("curie␛[31m  nothing to check\n"));
    empty.status = Status::Failed;
    assert!(render_result(&empty, &layout(80, false)).starts_with("curie␛[31m  not checked\n"));
}

#[test]
fn facts_stand_under_their_sentence_where_there_are_several() {
    let mut sample = result(RESULT);
    let mut second = sample.sentences[2].facts[0].clone();
    second.text = "She liked it hot.".to_owned();
    sample.sentences[2].facts.push(second);
    let text = render_result(&sample, &layout(80, false));
    let expected = format!(
        "She liked tea.\n{0}? support 0.10  She liked tea.\n{0}? support 0.10  She liked it hot.\n",
        " ".repeat(INDENT)
    );
    assert!(text.contains(&expected), "{text}");
}

#[test]
fn totals_add_up() {
    let one = Totals::of(&result(RESULT));
    assert_eq!((one.supported, one.contradicted, one.not_mentioned, one.unchecked), (1, 1, 1, 1));
    let mut two = one;
    two.add(one);
    assert_eq!((two.supported, two.pairs), (2, 48));
}

#[test]
fn methods_with_numbers_of_their_own_show_them_under_the_sentence() {
    let mut sample = result(RESULT);
    let method = serde_json::json!({
        "status": "scored", "score": 5.0, "polarity": "higher_is_hallucinated", "work_items": 0,
        "sentences": [{"status": "scored", "score": 5.306}, {"status": "abstained", "score": null}]
    });
    sample.methods.insert("selfcheck_ngram".to_owned(), serde_json::from_value(method).unwrap());
    let text = render_result(&sample, &layout(90, false));
    assert_eq!(text.matches("selfcheck_ngram 5.31 (higher is worse)").count(), 1, "{text}");
}

#[test]
fn a_judges_words_and_a_sources_hedge_stand_under_the_sentence() {
    let mut sample = result(RESULT);
    sample.sentences[0].reason = VerdictReason::Judge;
    sample.sentences[0].detail = Some("The source says \u{1b}[31mso.".to_owned());
    sample.sentences[2].reason = VerdictReason::HedgedSource;
    sample.sentences[2].detail = Some("the source only says that this may be so: “is thought to”".to_owned());
    let text = render_result(&sample, &layout(100, false));
    assert!(text.contains("judge: The source says ") && text.contains("is quoted: “Marie Curie"), "{text}");
    assert!(text.contains("this may be so: “is thought to”"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn unsupported_tokens_stand_beneath_their_sentence_the_worst_first() {
    let mut sample = result(RESULT);
    sample.matrix = None;
    let span = |text: &str, probability: f32, source: SpanOrigin| SpanResult {
        text: text.to_owned(),
        start: 0,
        end: 1,
        sentence: 1,
        source,
        hallucination_probability: Probability::new(probability).unwrap(),
        verdict: None,
    };
    sample.spans = Some(vec![
        span("in\u{1b}[31m 1905", 0.75, SpanOrigin::Tokens),
        span("Pierre", 0.9, SpanOrigin::Tokens),
        span("a fact", 0.99, SpanOrigin::Facts),
    ]);
    let text = render_result(&sample, &layout(90, false));
    assert!(text.contains("1905 is not 1903\n"), "{text}");
    assert!(text.contains("  unsupported: “Pierre” 0.90, “in␛[31m 1905” 0.75\n"), "{text}");
    assert_eq!(text.matches("unsupported").count(), 1, "{text}");
    sample.spans = Some((0..7).map(|_| span("x", 0.5, SpanOrigin::Tokens)).collect());
    assert!(render_result(&sample, &layout(200, false)).contains("“x” 0.50, 2 more\n"));
}

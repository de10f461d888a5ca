use super::*;

fn token(text: &str, alternatives: &[(&str, f64)]) -> TokenChoice {
    let alternatives = alternatives.iter().map(|(text, p)| ((*text).to_owned(), p.ln())).collect();
    TokenChoice { text: text.to_owned(), alternatives }
}

fn numbers(found: Option<LabelProbabilities>) -> Option<[f32; 3]> {
    found.map(|p| [p.supported.get(), p.contradicted.get(), p.unsupported.get()])
}

fn close(found: Option<LabelProbabilities>, expected: [f32; 3]) {
    let found = numbers(found).unwrap();
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4), "{found:?}");
}

fn joined(tokens: &[TokenChoice]) -> String {
    tokens.iter().map(|token| token.text.as_str()).collect()
}

#[test]
fn the_token_where_the_verdict_begins_decides_and_spellings_are_added() {
    let tokens = [
        token("{\"", &[]),
        token("verdict", &[("supported", 0.9)]),
        token("\":", &[]),
        token(" \"", &[]),
        token("supp", &[("supp", 0.5), ("supported", 0.1), ("un", 0.2), ("con", 0.1), ("maybe", 0.1)]),
        token("orted", &[("orted", 1.0)]),
        token("\"}", &[]),
    ];
    let text = joined(&tokens);
    close(label_probabilities(&text, 0, &tokens), [0.6 / 0.9, 0.1 / 0.9, 0.2 / 0.9]);
}

#[test]
fn a_token_that_holds_the_quote_too_is_read() {
    let tokens = [
        token("{\"reason\": \"a \\\"verdict\\\"\", \"verdict\":", &[]),
        token(" \"un", &[(" \"un", 0.7), (" \"s", 0.3)]),
        token("supported\"}", &[]),
    ];
    let text = joined(&tokens);
    close(label_probabilities(&text, 0, &tokens), [0.3, 0.0, 0.7]);
}

#[test]
fn broken_characters_before_and_end_marks_behind_do_not_matter() {
    let tokens = [
        token("\u{fffd}", &[]),
        token("{\"verdict\": \"", &[]),
        token("con", &[("con", 1.0)]),
        token("tradicted\"}", &[]),
        token("<|im_end|>", &[]),
    ];
    close(label_probabilities("ü{\"verdict\": \"contradicted\"}", 2, &tokens), [0.0, 1.0, 0.0]);
}

#[test]
fn there_is_no_probability_where_the_labels_have_too_little_or_tokens_do_not_fit_the_text() {
    let tokens =
        [token("{\"verdict\": \"", &[]), token("s", &[("s", 0.3), ("x", 0.7)]), token("upported\"}", &[])];
    let text = joined(&tokens);
    assert_eq!(numbers(label_probabilities(&text, 0, &tokens)), None);
    let other = [token("{\"verdict\": ", &[]), token("'s", &[("s", 1.0)])];
    assert_eq!(numbers(label_probabilities(&text, 0, &other)), None);
    assert_eq!(numbers(label_probabilities(&text, 0, &[])), None);
    assert_eq!(numbers(label_probabilities("{}", 0, &tokens)), None);
}

#[test]
fn probabilities_that_sum_to_more_than_one_are_not_believed() {
    let tokens = [token("{\"verdict\": \"", &[]), token("s", &[("s", 0.9), ("un", 0.9)]), token("\"}", &[])];
    let text = joined(&tokens);
    assert_eq!(numbers(label_probabilities(&text, 0, &tokens)), None);
}

#[test]
fn every_label_begins_with_another_letter() {
    let mut letters = JudgeLabel::ALL.map(|label| label.as_str().as_bytes()[0]).to_vec();
    letters.dedup();
    assert_eq!(letters.len(), 3);
    assert_eq!(label_begun_by("\""), None);
    assert_eq!(label_begun_by("\"UN"), Some(JudgeLabel::Unsupported));
    assert_eq!(label_begun_by("sure"), None);
}

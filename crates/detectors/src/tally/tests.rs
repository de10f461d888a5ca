use super::*;

fn probabilities(entailment: f32, contradiction: f32) -> NliProbabilities {
    NliProbabilities {
        entailment: Probability::new(entailment).unwrap(),
        contradiction: Probability::new(contradiction).unwrap(),
        neutral: Probability::new(1.0 - entailment - contradiction).unwrap(),
    }
}

fn layout(rows: usize) -> Layout {
    Layout {
        rows: (0..rows).map(|row| (0, row)).collect(),
        windows: Vec::new(),
        window_rows: Vec::new(),
        columns: vec![0],
        settled: vec![None],
        room: 64,
        model: crate::testing::facts(),
    }
}

fn rows(all: &[(f32, f32)]) -> Vec<ScoredRow> {
    all.iter()
        .enumerate()
        .map(|(row, (e, c))| ScoredRow { row, probabilities: probabilities(*e, *c) })
        .collect()
}

fn order(finding: &ClaimFinding) -> Vec<usize> {
    finding.evidence.iter().map(|pick| pick.sentence).collect()
}

#[test]
fn a_window_contradicts_only_with_a_near_sentence_in_it() {
    let rows = rows(&[(0.1, 0.1), (0.1, 0.2), (0.1, 0.1), (0.1, 0.9), (0.1, 0.9)]);
    let window = |rows: Range<usize>| ScoredWindow { rows, probabilities: probabilities(0.0, 0.8) };
    let far = finding(&rows, &[window(3..5)], &layout(5), &DetectorOptions::default());
    assert_eq!(far.contradiction, Probability::new(0.2));
    let touching = finding(&rows, &[window(2..4)], &layout(5), &DetectorOptions::default());
    assert_eq!(touching.contradiction, Probability::new(0.8));
    assert_eq!(order(&touching), [2, 0, 1], "the near sentence in the window explains it");
}

#[test]
fn a_supported_claim_is_contradicted_only_by_what_is_nearer_than_its_support() {
    let window = ScoredWindow { rows: 0..3, probabilities: probabilities(0.1, 0.9) };
    let farther = finding(
        &rows(&[(0.8, 0.1), (0.0, 1.0), (0.0, 1.0)]),
        std::slice::from_ref(&window),
        &layout(3),
        &DetectorOptions::default(),
    );
    assert_eq!(
        farther.contradiction,
        Probability::new(0.1),
        "its own, not that of farther sentences or of a window"
    );
    assert_eq!(order(&farther), [0, 1, 2]);
    let nearer = finding(
        &rows(&[(0.0, 1.0), (0.8, 0.1), (0.0, 0.9)]),
        std::slice::from_ref(&window),
        &layout(3),
        &DetectorOptions::default(),
    );
    assert_eq!(nearer.contradiction, Probability::new(1.0));
    assert_eq!(order(&nearer)[0], 0);
    let unsupported = finding(
        &rows(&[(0.4, 0.1), (0.0, 0.7), (0.1, 0.2)]),
        &[window],
        &layout(3),
        &DetectorOptions::default(),
    );
    assert_eq!(unsupported.contradiction, Probability::new(0.9));
}

#[test]
fn supporting_sentences_come_first_and_the_nearest_fill_up() {
    let rows = rows(&[(0.1, 0.1), (0.6, 0.2), (0.2, 0.1), (0.9, 0.0)]);
    let found = finding(&rows, &[], &layout(4), &DetectorOptions::default());
    assert_eq!(order(&found), [3, 1, 0]);
    assert_eq!((found.support, found.neutral), (Probability::new(0.9), Probability::new(0.100_000_024)));
}

#[test]
fn what_neither_supports_nor_contradicts_lists_the_nearest() {
    let found =
        finding(&rows(&[(0.1, 0.1), (0.3, 0.2), (0.2, 0.1)]), &[], &layout(3), &DetectorOptions::default());
    assert_eq!(order(&found), [0, 1, 2]);
}

#[test]
fn without_evidence_there_is_no_probability() {
    assert_eq!(finding(&[], &[], &layout(0), &DetectorOptions::default()), ClaimFinding::default());
}

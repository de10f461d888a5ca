use crate::output::sample::{RESULT, result};
use crate::output::{Layout, Palette};
use groundline_types::OffsetUnit;

fn table(columns: usize) -> String {
    let sample = result(RESULT);
    let layout =
        Layout { palette: Palette { colored: false }, columns, evidence: 1, offsets: OffsetUnit::Bytes };
    super::render(sample.matrix.as_ref().unwrap(), &sample.sentences, &layout)
}

#[test]
fn cells_stand_under_their_columns_and_missing_pairs_are_shown() {
    let expected = "  SummaC matrix: source sentences (S) by response sentences (R), entailment
  and contradiction
              R1          R2          R3
  S1   0.98 0.01   0.01 0.20   0.10 0.10
  S2   0.03 0.04   0.02 0.90      -    -
  R1 Marie Curie was born in Warsaw.
  R2 She won the Nobel Prize in Physics in 1905 together with her husband Pi…
  R3 She liked tea.
  S1 bio.txt: Marie Curie was born in Warsaw.
  S2 bio.txt: The Nobel Prize.
";
    let text = table(78);
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn a_table_wider_than_the_text_goes_in_blocks() {
    let text = table(36);
    assert!(text.contains("R1          R2\n"), "{text}");
    assert!(text.lines().any(|line| line.trim() == "R3"), "{text}");
}

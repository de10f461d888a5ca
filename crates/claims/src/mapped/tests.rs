use super::*;

#[test]
fn folding_keeps_places_and_grouping_spaces() {
    let original = "a  b\t\n c\u{200b}d 1\u{a0}234\u{a0}x";
    let mut text = MappedText::default();
    text.push_folded(0, original);
    assert_eq!(text.as_str(), "a b cd 1\u{a0}234 x");
    let at = text.as_str().find("cd").expect("it is there");
    assert_eq!(text.span(at..at + 2).slice(original), Some("c\u{200b}d"));
    assert_eq!(text.span(0..text.len()).slice(original), Some(original));
}

#[test]
fn pieces_and_removals_keep_places() {
    let original = "one [1] two &amp; three";
    let mut text = MappedText::default();
    text.push_exact(0, "one [1] two ");
    text.push_replacement(Span::new(12, 17), "&");
    text.push_exact(17, " three");
    let kept = text.without(&[std::ops::Range { start: 3, end: 7 }]);
    assert_eq!(kept.as_str(), "one two & three");
    assert_eq!(kept.span(8..9).slice(original), Some("&amp;"));
    assert_eq!(kept.piece(4..7).span(0..3).slice(original), Some("two"));
    assert!(kept.can_cut(8) && kept.can_cut(9));
}

#[test]
fn a_text_over_a_text_maps_through_both() {
    let original = "    ab\n    cd";
    let mut base = MappedText::default();
    base.push_exact(4, "ab\n");
    base.push_exact(11, "cd");
    let mut text = MappedText::default();
    text.push_folded(0, base.as_str());
    let mapped = text.over(&base);
    assert_eq!(mapped.as_str(), "ab cd");
    assert_eq!(mapped.span(3..5).slice(original), Some("cd"));
    assert_eq!(mapped.span(0..5).slice(original), Some("ab\n    cd"));
}

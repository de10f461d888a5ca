use super::*;
use groundline_claims::split_response;

const TEXT: &str = "Héllo there! Dr. Curie was born in Warsaw. She won in 1903.\n\n- 🎉 One item. It is.\n- Two.\n\nLast words here. End";

/// Feeds a text in pieces of some characters and gives everything that settled.
fn fed(text: &str, piece: usize, unit: OffsetUnit) -> (Growth, Vec<Settled>, usize) {
    let (mut growth, mut settled, mut looks) = (Growth::new(true, unit), Vec::new(), 0);
    let chars = text.chars().collect::<Vec<_>>();
    for piece in chars.chunks(piece) {
        growth.push(&piece.iter().collect::<String>());
        if growth.is_due() {
            looks += 1;
            settled.extend(growth.look());
        }
    }
    (growth, settled, looks)
}

#[test]
fn what_is_handed_out_is_how_the_whole_text_splits_whatever_the_pieces() {
    let whole = split_response(TEXT, &SplitOptions { facts: true });
    for piece in 1..40 {
        for unit in [OffsetUnit::Bytes, OffsetUnit::Chars, OffsetUnit::Utf16] {
            let (growth, settled, _) = fed(TEXT, piece, unit);
            let mut found: Vec<(Arc<str>, usize, usize)> = Vec::new();
            for Settled { text, claims, before, start, opening } in settled {
                assert!(TEXT.starts_with(&*opening));
                assert_eq!(before.as_ref(), found.last().map(|(text, _, _)| text), "the sentence before");
                for claim in claims {
                    assert!(claim.span.slice(&text).is_some());
                    let place = claim.span.in_unit(&text, unit).unwrap();
                    found.push((claim.text, place.start + start, place.end + start));
                }
            }
            let expected = whole[..growth.handed_out()].iter().map(|claim| {
                let place = claim.span.in_unit(TEXT, unit).unwrap();
                (Arc::clone(&claim.text), place.start, place.end)
            });
            assert_eq!(found, expected.collect::<Vec<_>>(), "pieces of {piece}");
            assert!(piece > 20 || growth.handed_out() >= whole.len() - 2, "pieces of {piece}");
        }
    }
}

#[test]
fn a_long_text_is_looked_at_a_bounded_number_of_times() {
    let text = "A short sentence. ".repeat(20_000);
    let mut growth = Growth::new(false, OffsetUnit::Bytes);
    let mut looked_bytes = 0;
    for piece in text.as_bytes().chunks(4) {
        growth.push(std::str::from_utf8(piece).unwrap());
        if growth.is_due() {
            looked_bytes += growth.text().len();
            growth.looked_bytes = growth.text().len();
        }
    }
    // Every text up to a size is looked at word by word, then by a share of it.
    let bound = (LOOKS_PER_TEXT + 1) * text.len() + 64 * LOOKS_PER_TEXT * LOOKS_PER_TEXT;
    assert!(looked_bytes <= bound, "{looked_bytes} bytes of a text of {}", text.len());
}

#[test]
fn the_opening_is_bounded_and_ends_on_a_character() {
    let mut growth = Growth::new(false, OffsetUnit::Bytes);
    growth.push("x");
    growth.push(&"é".repeat(OPENING_BYTES));
    assert_eq!(growth.opening().len(), OPENING_BYTES - 1);
}

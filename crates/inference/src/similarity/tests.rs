use super::*;

/// Hidden states of a text between two markers: each token is a direction in the plane, in degrees.
fn text(width: usize, degrees: &[f32]) -> TokenVectors {
    let state = |degrees: &f32| {
        let (sine, cosine) = degrees.to_radians().sin_cos();
        let mut state = vec![0.0; width];
        // Lengths differ, which must not show.
        state[0] = 3.0 * cosine;
        state[width - 1] = 3.0 * sine;
        state
    };
    TokenVectors::new(degrees.iter().flat_map(state).collect(), width, (1, 1))
}

/// The same by the definition, in f64: markers are matched with, and not counted.
fn by_definition(candidate: &[f32], reference: &[f32]) -> (f64, f64) {
    let mean = |of: &[f32], with: &[f32]| {
        let cosine = |a: &f32, b: &f32| f64::from(a - b).to_radians().cos();
        let best =
            |a: &f32| with.iter().map(|b| cosine(a, b)).fold(f64::NEG_INFINITY, |best, now| best.max(now));
        let content = &of[1..of.len() - 1];
        content.iter().map(best).sum::<f64>() / content.len() as f64
    };
    (mean(candidate, reference), mean(reference, candidate))
}

fn near(value: f32, expected: f64) {
    assert!((f64::from(value) - expected).abs() < 1e-5, "{value} is not {expected}");
}

#[test]
fn every_token_is_matched_with_the_nearest_of_the_other_text() {
    let (candidate, reference) = ([0.0, 10.0, 50.0, 200.0], [180.0, 20.0, 100.0, 45.0, 300.0]);
    for width in [2, 16, 33] {
        let found = similarity(&text(width, &candidate), &text(width, &reference));
        let (precision, recall) = by_definition(&candidate, &reference);
        near(found.precision, precision);
        near(found.recall, recall);
    }
    // By hand: 10 is 10 from 20, and 50 is 5 from 45. 20 is 10 from 10, 100 is 50 from 50, 45 is 5 from 50.
    let found = similarity(&text(2, &candidate), &text(2, &reference));
    let cosine = |degrees: f64| degrees.to_radians().cos();
    near(found.precision, (cosine(10.0) + cosine(5.0)) / 2.0);
    near(found.recall, (cosine(10.0) + cosine(50.0) + cosine(5.0)) / 3.0);
}

#[test]
fn markers_are_matched_with_and_not_counted() {
    // The only token is nearest to the other text's end marker, as in the published code.
    let found = similarity(&text(4, &[0.0, 90.0, 0.0]), &text(4, &[0.0, 180.0, 80.0]));
    near(found.precision, f64::from(10.0_f32).to_radians().cos());
    near(found.recall, 0.0);
}

#[test]
fn swapped_texts_have_swapped_numbers_and_a_text_matches_itself() {
    let (one, other) = (text(7, &[0.0, 10.0, 77.0, 30.0]), text(7, &[5.0, 91.0, 200.0, 17.0, 260.0]));
    let (there, back) = (similarity(&one, &other), similarity(&other, &one));
    assert_eq!((there.precision, there.recall), (back.recall, back.precision));
    let own = similarity(&one, &one);
    near(own.precision, 1.0);
    near(own.recall, 1.0);
}

#[test]
fn a_text_without_a_token_and_a_state_without_length_give_zeros() {
    let (empty, one) = (text(3, &[0.0, 90.0]), text(3, &[0.0, 10.0, 20.0]));
    for (candidate, reference) in [(&empty, &one), (&one, &empty), (&empty, &empty)] {
        assert_eq!(similarity(candidate, reference), Similarity { precision: 0.0, recall: 0.0 });
    }
    let nothing = TokenVectors::new(Vec::new(), 3, (1, 1));
    assert_eq!(similarity(&nothing, &one), Similarity { precision: 0.0, recall: 0.0 });
    let flat = TokenVectors::new(vec![0.0; 9], 3, (1, 1));
    assert_eq!(similarity(&flat, &one), Similarity { precision: 0.0, recall: 0.0 });
}

//! A claim in the notation of its evidence.
//!
//! Small NLI models stumble over notation: they call "It opened on 1903-05-12" a contradiction of "It opened on 12 May 1903". So
//! a claim is also read with its values written as the evidence writes them. Only where that says the same: what the evidence
//! says may be finer than what the claim says ("3,412,345" for "3.4 million"), never coarser.

use groundline_claims::values::{Amount, Approximation, Comparison, Value, ValueKind};

/// What two equal numbers may differ by after arithmetic in `f64`, as a share.
const EQUAL_SHARE: f64 = 1e-9;

/// The claim with each value that the evidence has too, but writes differently, replaced by the evidence's own words for it.
/// `None` where there is no such value. Both texts come with the values found in them.
pub(crate) fn in_notation_of(
    (evidence, known): (&str, &[Value]),
    (claim, values): (&str, &[Value]),
) -> Option<String> {
    let mut variant = claim.to_owned();
    let mut changed = false;
    // From the end, so that places before stay right.
    for value in values.iter().rev() {
        let Some(written) = value.span.slice(claim) else { continue };
        let of_evidence = |other: &Value| Some((other.clone(), other.span.slice(evidence)?));
        let same = known.iter().filter(|other| restates(value, other)).filter_map(of_evidence);
        let mut same = same.collect::<Vec<_>>().into_iter();
        let is_as_written = |text: &str| text.to_lowercase() == written.to_lowercase();
        if same.clone().any(|(_, text)| is_as_written(text)) {
            continue;
        }
        if let Some((_, text)) = same.find(|(_, text)| is_hyphenated(text) == is_hyphenated(written)) {
            variant.replace_range(value.span.start..value.span.end, text);
            changed = true;
        }
    }
    changed.then_some(variant)
}

/// Whether a claim with `other` in the place of `value` says what it said, or the same more finely.
fn restates(value: &Value, other: &Value) -> bool {
    let of_a_kind = std::mem::discriminant(&value.kind) == std::mem::discriminant(&other.kind);
    if !of_a_kind || value.compare(other) != Comparison::Same {
        return false;
    }
    match (value.amount(), other.amount()) {
        (Some(mine), Some(theirs)) => equal(mine, theirs) || rounds_to(value, mine, other, theirs),
        // Dates and times: the same parts given, or a month that only the claim has would be lost.
        _ => value.kind == other.kind,
    }
}

fn equal(a: Amount, b: Amount) -> bool {
    (a.value - b.value).abs() <= EQUAL_SHARE * a.value.abs().max(b.value.abs())
}

/// Whether `theirs` is a finer number that `mine` is rounded from. Counts must be of the same noun: "3.4" of one thing says
/// nothing of "3" of another.
fn rounds_to(value: &Value, mine: Amount, other: &Value, theirs: Amount) -> bool {
    let is_bound = matches!(value.approximation, Approximation::AtLeast | Approximation::AtMost);
    let counts = matches!(value.kind, ValueKind::Number(_));
    !is_bound
        && (!counts || value.noun == other.noun)
        && theirs.resolution < mine.resolution
        && (mine.value - theirs.value).abs() <= 0.5 * mine.resolution
}

/// "A five-year plan" does not read well with "5 years" in it. ISO dates have hyphens of their own.
fn is_hyphenated(text: &str) -> bool {
    text.contains('-') && text.contains(char::is_alphabetic)
}

#[cfg(test)]
mod tests;

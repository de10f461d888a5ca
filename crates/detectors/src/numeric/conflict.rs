//! Whether two values agree, and whether one contradicts the other.

use super::passage::{Passage, Subject, Word, same_name};
use groundline_claims::values::{Comparison, Value, ValueKind};

/// Share of a claim's words about a count that the evidence must have too.
const CLAIM_WORDS: f64 = 0.8;
/// Share of the evidence's words about a value that the claim must have too, where no common name ties the two.
const EVIDENCE_WORDS: f64 = 0.66;
/// Share of a claim's words about a date that the evidence must have too.
const DATED_CLAIM_WORDS: f64 = 0.6;
/// Words, names and units that a claim and its evidence must share at least.
const SHARED: usize = 2;
/// Ranks up to this one are said of too many things to be compared ("her first prize", "second thoughts").
const COMMON_RANKS: f64 = 3.0;

/// Whether `other`, of the evidence, bears out `value`, of the claim: they are the same, name the same number or year in
/// different ways, or one lies in a range that the other's text gives.
pub(super) fn agrees(claim: &Passage, value: &Value, row: &Passage, other: &Value) -> bool {
    if value.compare(other) == Comparison::Same || same_number(value, other) {
        return true;
    }
    in_range(row, other, value) || in_range(claim, value, other)
}

/// A year and a number that are equal as bare numbers: "1903" may be read as a year in one place and as a number in another.
fn same_number(a: &Value, b: &Value) -> bool {
    let year = |value: &Value| value.date()?.year().map(f64::from);
    let number = |value: &Value| value.amount().map(|amount| amount.value);
    let equal = |year: Option<f64>, number: Option<f64>| year.is_some() && year == number;
    equal(year(a), number(b)) || equal(year(b), number(a))
}

/// Whether `inner` lies between `edge` and its partner in a range such as "10 to 15 km" or "1914–1918".
fn in_range(passage: &Passage, edge: &Value, inner: &Value) -> bool {
    let Some(at) = passage.values.iter().position(|value| value.span == edge.span) else { return false };
    let pairs = [at.checked_sub(1).map(|before| (before, at)), Some((at, at + 1))];
    pairs.into_iter().flatten().any(|(first, second)| {
        let (Some(first), Some(second)) = (passage.values.get(first), passage.values.get(second)) else {
            return false;
        };
        let gap = passage.between(first.span.end, second.span.start).trim();
        let opening = passage.between(0, first.span.start).trim_end();
        let joined = matches!(gap, "-" | "–" | "—" | "to" | "through" | "until")
            || (gap == "and" && opening.to_lowercase().ends_with("between"));
        let of_a_kind = std::mem::discriminant(&first.kind) == std::mem::discriminant(&inner.kind);
        let (Some(low), Some(high), Some(at)) = (place(first), place(second), place(inner)) else {
            return false;
        };
        joined && of_a_kind && low.min(high) <= at && at <= high.max(low)
    })
}

/// Where a value stands on a line of its kind.
fn place(value: &Value) -> Option<f64> {
    let of_date = || {
        let date = value.date()?;
        let year = date.years.map_or(0, |(first, _)| first);
        Some(
            f64::from(year) * 372.0
                + f64::from(date.month.unwrap_or(1)) * 31.0
                + f64::from(date.day.unwrap_or(1)),
        )
    };
    value.amount().map(|amount| amount.value).or_else(of_date)
}

/// Whether the evidence says with `other` what the claim says with `value`, and the two cannot both be true.
///
/// They are of the same kind and unit and count the same noun. For counts, shares, money and measures, the words around the two
/// are nearly the same, so are their names, and their dates do not differ. For dates and times, what happened is the same, and it
/// happened to the same.
pub(super) fn says_otherwise(claim: &Passage, value: &Value, row: &Passage, other: &Value) -> bool {
    if value.compare(other) != Comparison::Different {
        return false;
    }
    match value.kind {
        ValueKind::Date(_) | ValueKind::Time { .. } => dates_differ(claim, value, row, other),
        _ => counts_differ(claim, value, row, other),
    }
}

/// Whether evidence that the model takes for the same statement has another value in the place of `value`: of the same kind and
/// unit, and of the same noun where it counts something. Small models overlook a changed number, so that the words around it need
/// no comparing here: the model did that.
pub(super) fn replaces(value: &Value, other: &Value) -> bool {
    let counts = matches!(value.kind, ValueKind::Number(_) | ValueKind::Ordinal(_));
    value.compare(other) == Comparison::Different
        && (!counts || value.noun == other.noun)
        && !is_common_rank(value)
}

fn is_common_rank(value: &Value) -> bool {
    matches!(value.kind, ValueKind::Ordinal(_))
        && value.amount().is_some_and(|rank| rank.value <= COMMON_RANKS)
}

/// Whether the evidence dates what it says and the claim does not.
pub(super) fn only_evidence_is_dated(claim: &Passage, value: &Value, row: &Passage, other: &Value) -> bool {
    value.date().is_none() && dates(claim, value).next().is_none() && dates(row, other).next().is_some()
}

fn dates<'a>(passage: &'a Passage, value: &Value) -> impl Iterator<Item = &'a Value> {
    passage.scope_values(value).filter(|other| other.date().is_some())
}

fn counts_differ(claim: &Passage, value: &Value, row: &Passage, other: &Value) -> bool {
    if value.noun != other.noun || is_common_rank(value) || is_common_rank(other) {
        return false;
    }
    if modifiers(claim, value) != modifiers(row, other) {
        return false;
    }
    let dated = |a: &Passage, av: &Value, b: &Passage, bv: &Value| {
        dates(a, av).all(|date| dates(b, bv).any(|other| date.compare(other) == Comparison::Same))
    };
    let dates_fit = dated(claim, value, row, other) || dates(claim, value).next().is_none();
    if !dates_fit || (dates(claim, value).next().is_some() && !dated(row, other, claim, value)) {
        return false;
    }
    let names_fit = claim.scope_names(value).iter().all(|name| row.has_name(name))
        && row.scope_names(other).iter().all(|name| claim.has_name(name))
        && subjects_fit(claim, value, row, other);
    names_fit && words_fit(claim, value, row, other, CLAIM_WORDS)
}

/// What stands between a number and its noun: "210 male patients" and "400 patients" count different things.
fn modifiers(passage: &Passage, value: &Value) -> Vec<String> {
    let Some(noun) = &value.noun else { return Vec::new() };
    let behind = passage.words.iter().filter(|word| word.span.start >= value.span.end);
    behind.map(|word| word.text.clone()).take_while(|word| word != noun).take(2).collect()
}

/// Whether the subjects of two values may be the same: equal names, or neither named.
fn subjects_fit(claim: &Passage, value: &Value, row: &Passage, other: &Value) -> bool {
    let at = |passage: &Passage, value: &Value| passage.predicate(value).map_or(value.span, |word| word.span);
    match (claim.subject(at(claim, value)), row.subject(at(row, other))) {
        (Subject::Name(a), Subject::Name(b)) => same_name(a, b) || (row.has_name(a) && claim.has_name(b)),
        (Subject::Unnamed, Subject::Unnamed) => true,
        (Subject::Name(name), Subject::Unnamed) => row.has_name(name),
        (Subject::Unnamed, Subject::Name(name)) => claim.has_name(name),
        // Only word for word the same: "Curie's husband" twice.
        (Subject::Unclear, Subject::Unclear) => share(&claim.scope_words(value), row) == 1.0,
        (Subject::Unclear, _) | (_, Subject::Unclear) => false,
    }
}

fn dates_differ(claim: &Passage, value: &Value, row: &Passage, other: &Value) -> bool {
    let (Some(happened), Some(known)) = (claim.predicate(value), row.predicate(other)) else { return false };
    let names_fit = claim.scope_names(value).iter().all(|name| row.has_name(name));
    if happened.text != known.text || !names_fit || !subjects_fit(claim, value, row, other) {
        return false;
    }
    // Another figure that differs too makes them two different points of a series.
    let differs = |a: &Value| {
        row.scope_values(other).any(|b| a.date().is_none() && a.compare(b) == Comparison::Different)
    };
    if claim.scope_values(value).any(differs) {
        return false;
    }
    let subject =
        |passage: &Passage, predicate: &Word| matches!(passage.subject(predicate.span), Subject::Name(_));
    if subject(claim, happened) && subject(row, known) {
        return share(&claim.scope_words(value), row) >= DATED_CLAIM_WORDS;
    }
    words_fit(claim, value, row, other, CLAIM_WORDS)
}

fn words_fit(claim: &Passage, value: &Value, row: &Passage, other: &Value, least: f64) -> bool {
    let words = claim.scope_words(value);
    let has_unit =
        matches!(value.kind, ValueKind::Currency { .. } | ValueKind::Percent(_) | ValueKind::Quantity { .. });
    let shared = words.iter().filter(|word| row.has_word(word)).count()
        + claim.scope_names(value).len()
        + usize::from(has_unit);
    shared >= SHARED && share(&words, row) >= least && share(&row.scope_words(other), claim) >= EVIDENCE_WORDS
}

/// The share of words that a passage has too; 1 of none.
fn share(words: &[&str], passage: &Passage) -> f64 {
    if words.is_empty() {
        return 1.0;
    }
    words.iter().filter(|word| passage.has_word(word)).count() as f64 / words.len() as f64
}

//! From left to right through a text: what is found first takes its tokens.

use super::dates::{dates_at, is_year, range_joint, time_at};
use super::measure::{Measure, measure_at, noun_of};
use super::token::{Token, tokens};
use super::{Amount, Approximation, Date, Value, ValueKind};
use super::{context, nouns, words};
use groundline_types::Span;

/// Finds the numbers, dates, times and quantities of `text`, in order and without overlap. Linear in the length of `text`.
///
/// ```
/// use groundline_claims::values::{Comparison, find_values};
///
/// let said = find_values("She won the prize on 12 May 1903.");
/// let known = find_values("1903-05-12");
/// assert_eq!(said[0].compare(&known[0]), Comparison::Same);
/// ```
pub fn find_values(text: &str) -> Vec<Value> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        at = if may_start(&tokens, at) { step(&tokens, at, &mut found) } else { at + 1 };
    }
    found
}

/// Whether a value or an address may start at `tokens[at]`: most words are passed over here, at little cost.
fn may_start(tokens: &[Token<'_>], at: usize) -> bool {
    let token = &tokens[at];
    if !token.is_word() {
        return true;
    }
    let joined = tokens.get(at + 1).is_some_and(|next| next.touches());
    joined
        || token.text.len() == 3 && token.text.bytes().all(|b| b.is_ascii_uppercase())
        || words::may_start(&token.lower())
}

/// Reads what starts at `tokens[at]` and gives the index after it.
fn step(tokens: &[Token<'_>], at: usize, found: &mut Vec<Value>) -> usize {
    if let Some(end) = address_end(tokens, at) {
        return end;
    }
    let digits = tokens[at].is_digits();
    if digits && let Some(end) = label_end(tokens, at) {
        found.push(value(tokens, at, end, ValueKind::Identifier));
        return end;
    }
    if digits && let Some((seconds, end)) = time_at(tokens, at) {
        found.push(value(tokens, at, end, ValueKind::Time { seconds }));
        return end;
    }
    let dates = dates_at(tokens, at);
    if let Some(last) = dates.last() {
        let end = last.end;
        for date in dates {
            let kind = ValueKind::Date(date.date);
            let approximation = context::approximation(tokens, date.start, date.end);
            found.push(Value { approximation, ..value(tokens, date.start, date.end, kind) });
        }
        return end;
    }
    let Some(first) = measure_at(tokens, at) else { return at + 1 };
    if let Some(end) = range(tokens, &first, found) {
        return end;
    }
    let end = first.end;
    found.push(finish(tokens, &first));
    end
}

/// Where a link or an e-mail address that starts at `tokens[at]` ends: its digits count nothing.
fn address_end(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let touching =
        |index: usize, sign: &str| tokens.get(index).is_some_and(|next| next.touches() && next.text == sign);
    let link =
        matches!(tokens[at].text, "http" | "https" | "ftp") && touching(at + 1, ":") && touching(at + 2, "/");
    let host = tokens[at].text == "www" && touching(at + 1, ".");
    let opens = at == 0 || !tokens[at].touches();
    if !(link || host || opens) {
        return None;
    }
    let end = at + 1 + tokens[at + 1..].iter().take_while(|token| token.touches()).count();
    let run = &tokens[at..end];
    let mail =
        run[1..].iter().any(|token| token.text == "@") && run.iter().all(|token| token.text.is_ascii());
    (link || host || mail).then_some(end)
}

/// Where the label, version or serial number at `tokens[at]` ends, if it is one.
fn label_end(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let run = |from: usize| {
        let inside = |token: &&Token<'_>| {
            token.touches() && (!token.is_sign(",;:)]}\"'’”!?") && token.text != ".")
                || token.touches() && token.text == "."
        };
        let mut end = from + tokens[from..].iter().take_while(inside).count();
        while end > from && tokens[end - 1].is_sign(".-/") {
            end -= 1;
        }
        end
    };
    if super::calendar::numeric_date(tokens, at).is_some() {
        return None;
    }
    if let Some(end) = context::serial_end(tokens, at) {
        return Some(end);
    }
    if context::is_list_number(tokens, at) {
        return Some(at + 1);
    }
    let measured = || measure_at(tokens, at).is_some_and(|measure| measure.plain.is_none());
    if !context::is_label(tokens, at) || (!tokens[at].touches() && measured() && !dotted(tokens, at)) {
        return None;
    }
    Some(run(at + 1))
}

/// Whether the digits go on as a section number: "3.2".
fn dotted(tokens: &[Token<'_>], at: usize) -> bool {
    matches!(&tokens[at + 1..], [dot, next, ..] if dot.is_sign(".") && dot.touches() && next.is_digits() && next.touches())
}

/// Two values joined by a dash or "to"; the first takes scale, unit and century from the second.
fn range(tokens: &[Token<'_>], first: &Measure, found: &mut Vec<Value>) -> Option<usize> {
    let joint = range_joint(tokens, first.end)?;
    let dash = !tokens[joint - 1].is_word();
    if dash && let Some(found_short) = season(tokens, first, joint) {
        found.extend(found_short);
        return Some(joint + 1);
    }
    // "1650 - 18 August 1720": what follows the dash is a date of its own.
    if !dates_at(tokens, joint).is_empty() {
        return None;
    }
    let second = measure_at(tokens, joint)?;
    if let (Some(4), Some(digits), true) = (first.plain, second.plain, dash)
        && let Some((from, to)) = year_range(first, &second, digits)
    {
        found.push(value(tokens, first.start, first.end, ValueKind::Date(Date::of_year(from))));
        found.push(value(tokens, second.start, second.end, ValueKind::Date(Date::of_year(to))));
        return Some(second.end);
    }
    let ValueKind::Number(low) = first.kind else { return None };
    if first.scale.is_some()
        || second.kind == ValueKind::Identifier
        || matches!(second.kind, ValueKind::Ordinal(_))
    {
        return None;
    }
    let high = second_amount(&second.kind)?;
    let scale = second.scale.unwrap_or(1.0);
    let shares = low.value * scale <= high.value || !dash;
    let low = if shares { low.scaled(scale) } else { low };
    if !dash && first.plain == Some(4) && second.plain == Some(4) {
        return None;
    }
    let start =
        finish(tokens, &Measure { end: second.end, kind: with_amount(&second.kind, low), ..first.clone() });
    let span = Span::new(tokens[first.start].span.start, tokens[first.end - 1].span.end);
    let approximation = start.approximation;
    found.push(Value { span, ..start });
    found.push(Value { approximation, ..finish(tokens, &second) });
    Some(second.end)
}

fn second_amount(kind: &ValueKind) -> Option<Amount> {
    match kind {
        ValueKind::Number(amount) | ValueKind::Percent(amount) => Some(*amount),
        ValueKind::Currency { amount, .. } | ValueKind::Quantity { amount, .. } => Some(*amount),
        _ => None,
    }
}

fn with_amount(kind: &ValueKind, amount: Amount) -> ValueKind {
    match *kind {
        ValueKind::Percent(_) => ValueKind::Percent(amount),
        ValueKind::Currency { currency, .. } => ValueKind::Currency { amount, currency },
        ValueKind::Quantity { unit, .. } => ValueKind::Quantity { amount, unit },
        _ => ValueKind::Number(amount),
    }
}

/// "2007–08": two years, the second in two digits.
fn season(tokens: &[Token<'_>], first: &Measure, joint: usize) -> Option<[Value; 2]> {
    let (Some(4), ValueKind::Number(from)) = (first.plain, &first.kind) else { return None };
    let short =
        tokens.get(joint).filter(|token| token.is_digits() && token.text.len() == 2 && token.touches())?;
    if tokens.get(joint + 1).is_some_and(|next| next.touches() && !next.is_sign(".,;:)]'’\"”")) {
        return None;
    }
    let from = from.value as i32;
    let last: i32 = short.text.parse().ok()?;
    let to = from / 100 * 100 + last + if last < from % 100 && last == 0 { 100 } else { 0 };
    let years = super::calendar::YEARS;
    let plausible = years.contains(&from) && years.contains(&to) && from < to;
    plausible.then(|| {
        let date = |year| ValueKind::Date(Date::of_year(year));
        [value(tokens, first.start, first.end, date(from)), value(tokens, joint, joint + 1, date(to))]
    })
}

/// "1914-1918", "1914–18".
fn year_range(first: &Measure, second: &Measure, digits: usize) -> Option<(i32, i32)> {
    let (ValueKind::Number(from), ValueKind::Number(to)) = (&first.kind, &second.kind) else { return None };
    let (from, to) = (from.value as i32, to.value as i32);
    let to = if digits == 2 { from / 100 * 100 + to } else { to };
    let years = super::calendar::YEARS;
    (years.contains(&from) && years.contains(&to) && from <= to).then_some((from, to))
}

/// Turns a measure into a value with its context.
fn finish(tokens: &[Token<'_>], measure: &Measure) -> Value {
    let Measure { start, end, .. } = *measure;
    let noun = noun_of(tokens, &measure.kind, end);
    if let (Some(digits), ValueKind::Number(amount)) = (measure.plain, &measure.kind) {
        let plural = tokens.get(end).is_some_and(|next| next.is_word() && nouns::is_plural(&next.lower()));
        if is_year(tokens, measure.number, plural) {
            let kind = ValueKind::Date(Date::of_year(amount.value as i32));
            let approximation = context::approximation(tokens, start, end);
            // "by 1903" and "over 1903" are no bounds of a year; "around 1903" is about it.
            let about = approximation == Approximation::About;
            let approximation = if about { approximation } else { Approximation::Exact };
            return Value { approximation, ..value(tokens, start, end, kind) };
        }
        if noun.is_none() && context::follows_name(tokens, measure.number, digits) {
            return value(tokens, start, end, ValueKind::Identifier);
        }
    }
    if noun.is_none() && is_version(tokens, measure) {
        return value(tokens, start, end, ValueKind::Identifier);
    }
    let approximation = match measure.kind {
        ValueKind::Ordinal(_) | ValueKind::Identifier => Approximation::Exact,
        _ => context::approximation(tokens, start, end),
    };
    Value { approximation, noun, ..value(tokens, start, end, measure.kind.clone()) }
}

/// "Python 3.10": a decimal right behind a name, without unit or noun, is no number. 3.10 comes after 3.9.
fn is_version(tokens: &[Token<'_>], measure: &Measure) -> bool {
    let ValueKind::Number(amount) = measure.kind else { return false };
    let bare = measure.start == measure.number && measure.end == measure.number + 3;
    bare && amount.resolution < 1.0 && context::follows_name(tokens, measure.number, 0)
}

fn value(tokens: &[Token<'_>], start: usize, end: usize, kind: ValueKind) -> Value {
    let span = Span::new(tokens[start].span.start, tokens[end - 1].span.end);
    Value { span, kind, approximation: Approximation::Exact, noun: None }
}

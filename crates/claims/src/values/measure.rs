//! A number together with its scale, unit or currency.

use super::context;
use super::literal::{Literal, literal};
use super::token::{Gap, Token};
use super::units::{self, Derivation};
use super::words::{scale, spelled};
use super::{Amount, ValueKind, nouns};

/// A number with what belongs to it, before its context is looked at.
#[derive(Debug, Clone)]
pub(crate) struct Measure {
    /// Index of the first token: the sign or currency sign, where there is one.
    pub(crate) start: usize,
    /// Index of the number itself.
    pub(crate) number: usize,
    /// Index after the last token.
    pub(crate) end: usize,
    pub(crate) kind: ValueKind,
    /// Digits of a bare whole number in digits, without scale, unit or sign.
    pub(crate) plain: Option<usize>,
    /// Whether the number has a scale word or suffix, to be shared by the first end of a range.
    pub(crate) scale: Option<f64>,
}

/// Reads the number at `tokens[at]` with all that belongs to it.
pub(crate) fn measure_at(tokens: &[Token<'_>], at: usize) -> Option<Measure> {
    let (prefix, after_prefix) = currency_before(tokens, at);
    let (negative, number) = sign_before(tokens, after_prefix);
    // The currency may follow the sign: "-$5".
    let (prefix, number) = match prefix {
        None if negative => match currency_before(tokens, number) {
            (Some(found), next) => (Some(found), next),
            (None, _) => (None, number),
        },
        found => (found, number),
    };
    let mut measure = if tokens.get(number)?.is_digits() {
        in_digits(tokens, number, prefix.is_some())?
    } else if number == at || prefix.is_some() || negative {
        in_words(tokens, number)?
    } else {
        return None;
    };
    measure.start = at;
    if measure.kind == ValueKind::Identifier {
        return Some(measure);
    }
    if negative || prefix.is_some() {
        measure.plain = None;
    }
    if let (true, Some(amount)) = (negative, amount_of(&measure.kind)) {
        measure.kind = ValueKind::Number(Amount::new(-amount.value, amount.resolution));
    }
    if let (Some(currency), Some(amount)) = (prefix, amount_of(&measure.kind)) {
        measure.kind = ValueKind::Currency { amount, currency };
        measure.end = skip_currency_word(tokens, measure.end);
        return Some(measure);
    }
    Some(with_unit(tokens, measure))
}

fn amount_of(kind: &ValueKind) -> Option<Amount> {
    match kind {
        ValueKind::Number(amount) => Some(*amount),
        _ => None,
    }
}

/// The currency before a number: "$", "US$", "EUR".
fn currency_before(tokens: &[Token<'_>], at: usize) -> (Option<&'static str>, usize) {
    let Some(token) = tokens.get(at) else { return (None, at) };
    if let Some(currency) = units::currency_sign(token.text) {
        return (Some(currency), at + 1);
    }
    if !token.is_word() {
        return (None, at);
    }
    let dollar = tokens.get(at + 1).is_some_and(|next| next.text == "$" && next.touches());
    if dollar && let Some(currency) = units::dollar_prefix(token.text) {
        return (Some(currency), at + 2);
    }
    match units::currency_code(token.text) {
        Some(code) if tokens.get(at + 1).is_some_and(Token::is_digits) => (Some(code), at + 1),
        _ => (None, at),
    }
}

/// Whether a minus stands before the number, and the index of the number.
fn sign_before(tokens: &[Token<'_>], at: usize) -> (bool, usize) {
    let Some(token) = tokens.get(at) else { return (false, at) };
    let Some(next) = tokens.get(at + 1) else { return (false, at) };
    let amount_follows = next.is_digits() || units::currency_sign(next.text).is_some();
    let opens = at == 0 || !token.touches() || tokens[at - 1].is_sign("(:[=,/");
    if token.is_sign("-−") && next.touches() && amount_follows && opens {
        return (true, at + 1);
    }
    let word = token.is_word() && matches!(token.lower().as_str(), "minus" | "negative");
    let number_follows = next.is_digits() || spelled(tokens, at + 1).is_some_and(|number| !number.ordinal);
    if word && number_follows { (true, at + 1) } else { (false, at) }
}

fn in_digits(tokens: &[Token<'_>], at: usize, money: bool) -> Option<Measure> {
    let identifier =
        |end| Measure { start: at, number: at, end, kind: ValueKind::Identifier, plain: None, scale: None };
    let (amount, plain, end) = match literal(tokens, at)? {
        Literal::Identifier { end } => return Some(identifier(end)),
        Literal::Number { amount, plain, end } => (amount, plain, end),
    };
    let number = |amount, plain, end, scale| Measure {
        start: at,
        number: at,
        end,
        kind: ValueKind::Number(amount),
        plain,
        scale,
    };
    let Some(next) = tokens.get(end).filter(|token| token.is_word()) else {
        return Some(number(amount, plain, end, None));
    };
    if !next.touches() {
        return Some(match scale(&next.lower()).or_else(|| dozen(next)) {
            Some(factor) if next.gap != Gap::Line => scaled(tokens, amount, factor, end),
            _ => number(amount, plain, end, None),
        });
    }
    if matches!(next.text, "st" | "nd" | "rd" | "th") && plain.is_some() {
        let kind = ValueKind::Ordinal(amount);
        return Some(Measure { kind, ..number(amount, None, end + 1, None) });
    }
    let factor = match next.text {
        "k" | "K" => Some(1e3),
        "m" if money || !is_length(tokens, at, end + 1) => Some(1e6),
        "M" | "mn" => Some(1e6),
        "B" | "bn" => Some(1e9),
        "b" | "T" if money => Some(if next.text == "b" { 1e9 } else { 1e12 }),
        "tn" => Some(1e12),
        _ => None,
    };
    if let Some(factor) = factor {
        return Some(number(amount.scaled(factor), None, end + 1, Some(factor)));
    }
    if next.text == "x" {
        return Some(number(amount, None, end + 1, None));
    }
    if units::unit(next.text).is_some()
        || units::currency_code(next.text).is_some()
        || scale(next.text).is_some()
    {
        return Some(number(amount, plain, end, None));
    }
    // "3D", "5G", "10a": letters and digits that run together are a name.
    let run = tokens[end..]
        .iter()
        .take_while(|token| token.touches() && token.kind != super::token::TokenKind::Sign);
    Some(identifier(end + run.count()))
}

fn dozen(token: &Token<'_>) -> Option<f64> {
    matches!(token.text, "dozen").then_some(12.0)
}

/// The number with a scale word behind it, and a second one: "5 hundred thousand", "3 million million".
fn scaled(tokens: &[Token<'_>], amount: Amount, factor: f64, at: usize) -> Measure {
    let number = at;
    let mut factor = factor;
    let mut end = at + 1;
    if let Some(more) =
        tokens.get(end).filter(|token| token.is_word()).and_then(|token| scale(&token.lower()))
    {
        factor *= more;
        end += 1;
    }
    let kind = ValueKind::Number(amount.scaled(factor));
    Measure { start: number, number, end, kind, plain: None, scale: Some(factor) }
}

/// Whether "100m" at `tokens[at]` is a length and not a hundred million, by the words around it.
fn is_length(tokens: &[Token<'_>], at: usize, end: usize) -> bool {
    let next = tokens.get(end).map(Token::lower).unwrap_or_default();
    let dimensions = [
        "long",
        "tall",
        "high",
        "wide",
        "deep",
        "away",
        "above",
        "below",
        "sprint",
        "race",
        "run",
        "dash",
        "hurdles",
        "freestyle",
        "butterfly",
        "backstroke",
        "thick",
        "tower",
        "radius",
        "diameter",
        "x",
        "×",
        "by",
        "off",
        "apart",
    ];
    let before = at.checked_sub(1).map(|index| tokens[index].lower()).unwrap_or_default();
    dimensions.contains(&next.as_str()) || matches!(before.as_str(), "×" | "x")
}

fn in_words(tokens: &[Token<'_>], at: usize) -> Option<Measure> {
    let found = spelled(tokens, at)?;
    if found.end == at + 1 && tokens[at].lower() == "one" && !context::one_counts(tokens, at) {
        return None;
    }
    // "League One", "the First Division": a number with a capital inside a name.
    let capital =
        |index: Option<usize>| index.and_then(|at| tokens.get(at)).is_some_and(Token::is_capitalised);
    let before = at.checked_sub(1).filter(|before| tokens[*before].is_word());
    if before.is_some() && capital(Some(at)) && (capital(before) || capital(Some(found.end))) {
        return None;
    }
    let parts =
        ["third", "thirds", "quarter", "quarters", "half", "halves", "fifth", "fifths", "tenth", "tenths"];
    let next = tokens.get(found.end).map(Token::lower).unwrap_or_default();
    // "two thirds" is a share, and no two of anything.
    if !found.ordinal && parts.contains(&next.as_str()) {
        return None;
    }
    if found.ordinal && !ranks(tokens, at, found.end) {
        return None;
    }
    let scale_word = tokens[found.end - 1].lower();
    let kind = if found.ordinal { ValueKind::Ordinal(found.amount) } else { ValueKind::Number(found.amount) };
    let scale = scale(&scale_word).filter(|_| found.end > at + 1 && !found.ordinal);
    Some(Measure { start: at, number: at, end: found.end, kind, plain: None, scale })
}

/// Whether an ordinal in words ranks something: not "at first", "first, …", "one third", "a third of", "per second".
fn ranks(tokens: &[Token<'_>], at: usize, end: usize) -> bool {
    let before = at.checked_sub(1).map(|index| tokens[index].lower()).unwrap_or_default();
    let next = tokens.get(end).map(Token::lower).unwrap_or_default();
    let lone = end == at + 1;
    let fraction =
        lone && (next == "of" && before != "the" || matches!(before.as_str(), "one" | "per" | "each"));
    let adverb = lone && (before == "at" || next == "," && at == 0);
    !fraction && !adverb
}

/// Adds the unit, percent sign or currency behind a number.
fn with_unit(tokens: &[Token<'_>], mut measure: Measure) -> Measure {
    let ValueKind::Number(amount) = measure.kind else { return measure };
    let Some(next) = tokens.get(measure.end).filter(|token| token.gap != Gap::Line) else { return measure };
    let lower = next.lower();
    let after = |offset: usize| tokens.get(measure.end + offset).map(Token::lower).unwrap_or_default();
    let found = if next.is_sign("%٪") || matches!(lower.as_str(), "percent" | "pct" | "percentage") {
        let points = matches!(after(1).as_str(), "point" | "points");
        let length = if points { 2 } else { 1 };
        let plain = ValueKind::Percent(amount);
        let kind = if points { ValueKind::Quantity { amount, unit: "percentage point" } } else { plain };
        Some((kind, length))
    } else if lower == "per" && after(1) == "cent" {
        Some((ValueKind::Percent(amount), 2))
    } else if let Some(currency) = units::currency_sign(next.text).or_else(|| units::currency_code(next.text))
    {
        Some((ValueKind::Currency { amount, currency }, 1))
    } else if let Some((currency, length)) = currency_words(tokens, measure.end) {
        Some((ValueKind::Currency { amount, currency }, length))
    } else {
        unit_at(tokens, measure.end).map(|(unit, length)| (ValueKind::Quantity { amount, unit }, length))
    };
    if let Some((kind, length)) = found {
        measure.kind = kind;
        measure.end += length;
        measure.plain = None;
    }
    measure
}

/// "dollars", "US dollars", "Canadian dollars", "pounds sterling".
fn currency_words(tokens: &[Token<'_>], at: usize) -> Option<(&'static str, usize)> {
    let lower = tokens.get(at)?.lower();
    let next = tokens.get(at + 1).map(Token::lower).unwrap_or_default();
    if matches!(next.as_str(), "dollar" | "dollars") {
        match lower.as_str() {
            "us" | "american" => return Some(("USD", 2)),
            "canadian" => return Some(("CAD", 2)),
            "australian" => return Some(("AUD", 2)),
            _ => {}
        }
    }
    match lower.as_str() {
        "pounds" | "pound" if next == "sterling" => Some(("GBP", 2)),
        "swiss" if matches!(next.as_str(), "franc" | "francs") => Some(("CHF", 2)),
        _ => units::currency_word(&lower).map(|currency| (currency, 1)),
    }
}

/// Steps over the word in "$5 dollars" and "$5 USD".
fn skip_currency_word(tokens: &[Token<'_>], at: usize) -> usize {
    let named = |token: &Token<'_>| {
        token.is_word()
            && (units::currency_code(token.text).is_some() || units::currency_word(&token.lower()).is_some())
    };
    at + usize::from(tokens.get(at).is_some_and(named))
}

/// The unit at `tokens[at]` and its length in tokens: "km", "-year", "°C", "square kilometres", "km²", "km/h".
fn unit_at(tokens: &[Token<'_>], at: usize) -> Option<(&'static str, usize)> {
    let first = tokens.get(at)?;
    if first.is_sign("-‑")
        && first.touches()
        && tokens.get(at + 1).is_some_and(|next| next.touches() && next.is_word())
    {
        return unit_at(tokens, at + 1).map(|(unit, length)| (unit, length + 1));
    }
    let lower = first.lower();
    let text = |offset: usize| tokens.get(at + offset).map(|token| token.text).unwrap_or_default();
    match (lower.as_str(), text(1)) {
        ("°", "C" | "c") | ("degree" | "degrees", "Celsius" | "celsius" | "C" | "centigrade") => {
            return Some(("°C", 2));
        }
        ("°", "F" | "f") | ("degree" | "degrees", "Fahrenheit" | "fahrenheit" | "F") => {
            return Some(("°F", 2));
        }
        ("℃", _) => return Some(("°C", 1)),
        ("℉", _) => return Some(("°F", 1)),
        ("celsius", _) => return Some(("°C", 1)),
        ("fahrenheit", _) => return Some(("°F", 1)),
        ("light", _) if matches!(text(2), "year" | "years") => return Some(("light-year", 3)),
        ("light", "year" | "years") => return Some(("light-year", 2)),
        ("square" | "sq", next) => return derived_unit(next, Derivation::Square, 2),
        ("cubic" | "cu", next) => return derived_unit(next, Derivation::Cube, 2),
        _ => {}
    }
    let unit = units::unit(first.text)?;
    let derived = match (text(1), text(2)) {
        ("²", _) | ("^", "2") => Some((Derivation::Square, if text(1) == "^" { 3 } else { 2 })),
        ("³", _) | ("^", "3") => Some((Derivation::Cube, if text(1) == "^" { 3 } else { 2 })),
        ("/", "h" | "hr" | "hour") | ("per" | "an", "hour") => Some((Derivation::PerHour, 3)),
        ("/", "s" | "sec") | ("per", "second") => Some((Derivation::PerSecond, 3)),
        _ => None,
    };
    let found = derived.and_then(|(derivation, length)| Some((units::derived(unit, derivation)?, length)));
    Some(found.unwrap_or((unit, 1)))
}

fn derived_unit(name: &str, derivation: Derivation, length: usize) -> Option<(&'static str, usize)> {
    Some((units::derived(units::unit(name)?, derivation)?, length))
}

/// What the value counts, by its kind.
pub(crate) fn noun_of(tokens: &[Token<'_>], kind: &ValueKind, end: usize) -> Option<String> {
    match kind {
        ValueKind::Number(_) => nouns::noun_after(tokens, end).or_else(|| nouns::noun_after_of(tokens, end)),
        ValueKind::Ordinal(_) => nouns::noun_after(tokens, end),
        ValueKind::Percent(_) | ValueKind::Quantity { .. } => nouns::noun_after_of(tokens, end),
        _ => None,
    }
}

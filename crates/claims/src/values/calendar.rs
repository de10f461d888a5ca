//! Names of months, eras and the numeric forms of dates.

use super::Date;
use super::token::Token;

/// First and last year that four bare digits can mean.
pub(crate) const YEARS: std::ops::RangeInclusive<i32> = 1000..=2100;

const MONTHS: [(&str, &[&str]); 12] = [
    ("january", &["jan"]),
    ("february", &["feb"]),
    ("march", &["mar"]),
    ("april", &["apr"]),
    ("may", &[]),
    ("june", &["jun"]),
    ("july", &["jul"]),
    ("august", &["aug"]),
    ("september", &["sep", "sept"]),
    ("october", &["oct"]),
    ("november", &["nov"]),
    ("december", &["dec"]),
];

/// Days of the week, which stand before dates and are no names.
pub(crate) const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// The month a word names, 1..=12. "may", "march" and abbreviations count with a capital only.
pub(crate) fn month(word: &str) -> Option<u8> {
    let lower = word.to_lowercase();
    let capital = word.chars().next().is_some_and(char::is_uppercase);
    let full = (1u8..).zip(MONTHS).find(|(_, (name, _))| *name == lower);
    match full {
        Some((number, (name, _))) if capital || !matches!(name, "may" | "march" | "august") => Some(number),
        Some(_) => None,
        None if capital => (1u8..)
            .zip(MONTHS)
            .find(|(_, (_, short))| short.contains(&lower.as_str()))
            .map(|(number, _)| number),
        None => None,
    }
}

/// The month at `tokens[at]` and the index after it, the full stop of an abbreviation included.
pub(crate) fn month_at(tokens: &[Token<'_>], at: usize) -> Option<(u8, usize)> {
    let token = tokens.get(at).filter(|token| token.is_word())?;
    let number = month(token.text)?;
    let dotted =
        token.text.len() <= 4 && tokens.get(at + 1).is_some_and(|next| next.is_sign(".") && next.touches());
    Some((number, at + 1 + usize::from(dotted)))
}

/// The era at `tokens[at]`: whether it is before the common era, and the index after it.
pub(crate) fn era_at(tokens: &[Token<'_>], at: usize) -> Option<(bool, usize)> {
    let token = tokens.get(at)?;
    match token.text {
        "BC" | "BCE" => Some((true, at + 1)),
        "AD" | "CE" => Some((false, at + 1)),
        "B" | "A" | "C" => {
            let letters: String = tokens[at..].iter().step_by(2).take(3).map(|token| token.text).collect();
            let dots = tokens[at + 1..]
                .iter()
                .step_by(2)
                .take_while(|sign| sign.is_sign(".") && sign.touches())
                .count();
            match letters.as_str() {
                "BCE" if dots >= 2 => Some((true, at + 5 + usize::from(dots >= 3))),
                _ if letters.starts_with("BC") && dots >= 1 => Some((true, at + 3 + usize::from(dots >= 2))),
                _ if letters.starts_with("AD") && dots >= 1 => Some((false, at + 3 + usize::from(dots >= 2))),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The year at `tokens[at]`: four digits that are no part of a longer number, with an era if there is one.
pub(crate) fn year_at(tokens: &[Token<'_>], at: usize) -> Option<(i32, usize)> {
    let token = tokens.get(at).filter(|token| token.is_digits())?;
    let value: i32 = token.text.parse().ok()?;
    if let Some((before, end)) = era_at(tokens, at + 1) {
        return Some((if before { -value } else { value }, end));
    }
    let longer = match &tokens[at + 1..] {
        [next, ..] if next.touches() && next.is_word() => true,
        [sign, next, ..] => sign.touches() && sign.is_sign(".,") && next.touches() && next.is_digits(),
        _ => false,
    };
    (token.text.len() == 4 && YEARS.contains(&value) && !longer).then_some((value, at + 1))
}

/// The day of a month at `tokens[at]`: "12", "12th".
pub(crate) fn day_at(tokens: &[Token<'_>], at: usize) -> Option<(u8, usize)> {
    let token = tokens.get(at).filter(|token| token.is_digits() && token.text.len() <= 2)?;
    let day: u8 = token.text.parse().ok().filter(|day| (1..=31).contains(day))?;
    match tokens.get(at + 1) {
        Some(next) if next.touches() && matches!(next.text, "st" | "nd" | "rd" | "th") => Some((day, at + 2)),
        Some(next) if next.touches() && next.is_word() => None,
        _ => Some((day, at + 1)),
    }
}

/// A date all in digits at `tokens[at]`: "1903-05-12", "12/05/1903", "12.5.1903".
pub(crate) fn numeric_date(tokens: &[Token<'_>], at: usize) -> Option<(Date, usize)> {
    let [first, separator, second, again, third, ..] = tokens.get(at..)? else { return None };
    let touching = tokens[at + 1..at + 5].iter().all(Token::touches);
    let digits = first.is_digits() && second.is_digits() && third.is_digits();
    if !touching || !digits || separator.text != again.text || !separator.is_sign("-/.") {
        return None;
    }
    let number = |token: &Token<'_>| token.text.parse::<u16>().ok();
    let (a, b, c) = (number(first)?, number(second)?, number(third)?);
    let end = at + 5;
    if first.text.len() == 4 && second.text.len() <= 2 && third.text.len() <= 2 {
        return date(i32::from(a), b, c).map(|date| (date, end));
    }
    if third.text.len() != 4 || first.text.len() > 2 || second.text.len() > 2 {
        return None;
    }
    let year = i32::from(c);
    // With full stops the day comes first everywhere; else only a day above 12 decides.
    let found = match (a > 12, b > 12) {
        _ if separator.text == "." || a == b => date(year, b, a),
        (true, false) => date(year, b, a),
        (false, true) => date(year, a, b),
        (false, false) if a > 0 && b > 0 => Some(Date { ambiguous: true, ..Date::of_year(year) }),
        _ => None,
    };
    found.map(|date| (date, end))
}

fn date(year: i32, month: u16, day: u16) -> Option<Date> {
    let month = u8::try_from(month).ok().filter(|month| (1..=12).contains(month))?;
    let day = u8::try_from(day).ok().filter(|day| (1..=31).contains(day))?;
    Some(Date { month: Some(month), day: Some(day), ..Date::of_year(year) })
}

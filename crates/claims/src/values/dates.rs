//! Dates and times as people write them.

use super::Date;
use super::calendar::{YEARS, day_at, era_at, month_at, numeric_date, year_at};
use super::token::{Gap, Token};
use super::words::{spelled, spelled_year};

/// Words before four digits that make them a year.
const YEAR_CUES: &[&str] = &[
    "in", "since", "by", "until", "till", "from", "during", "before", "after", "year", "early", "late",
    "mid", "circa", "ca", "spring", "summer", "autumn", "fall", "winter", "around", "between", "through",
    "around", "about",
];

/// Words before a month alone that make it a date.
const MONTH_CUES: &[&str] = &[
    "in", "since", "by", "until", "till", "from", "during", "before", "after", "early", "late", "mid",
    "last", "next", "this", "every", "each", "of",
];

/// A date found, with the indices of its first token and the one after its last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub(crate) date: Date,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// The dates of the expression at `tokens[at]`: one, or two for a range. Bare years need a context and are decided by
/// [`is_year`].
pub(crate) fn dates_at(tokens: &[Token<'_>], at: usize) -> Vec<Found> {
    if at >= tokens.len() {
        return Vec::new();
    }
    if tokens[at].is_digits() {
        if let Some((date, end)) = numeric_date(tokens, at) {
            return vec![Found { date, start: at, end }];
        }
        let found = day_first(tokens, at);
        if !found.is_empty() {
            return found;
        }
        return one(
            decade(tokens, at).or_else(|| century(tokens, at)).or_else(|| year_with_era(tokens, at)),
            at,
        );
    }
    if !tokens[at].is_word() {
        return Vec::new();
    }
    let found = month_first(tokens, at);
    if !found.is_empty() {
        return found;
    }
    one(century(tokens, at).or_else(|| era_first(tokens, at)).or_else(|| year_in_words(tokens, at)), at)
}

fn one(found: Option<(Date, usize)>, start: usize) -> Vec<Found> {
    found.map(|(date, end)| Found { date, start, end }).into_iter().collect()
}

/// "12 May 1903", "12th of May, 1903", "12–14 May 1903".
fn day_first(tokens: &[Token<'_>], at: usize) -> Vec<Found> {
    let Some((day, mut next)) = day_at(tokens, at) else { return Vec::new() };
    let first_end = next;
    let second =
        range_joint(tokens, next).and_then(|joint| day_at(tokens, joint).map(|(day, end)| (day, joint, end)));
    if let Some((.., end)) = second {
        next = end;
    }
    if tokens.get(next).is_some_and(|token| token.text == "of") {
        next += 1;
    }
    let Some((month, after)) = month_at(tokens, next).filter(|_| tokens[next].gap != Gap::None) else {
        return Vec::new();
    };
    let (years, end) = year_behind(tokens, after);
    let date = Date { years, month: Some(month), day: Some(day), ambiguous: false };
    match second {
        None => vec![Found { date, start: at, end }],
        Some((other, start, _)) => vec![
            Found { date, start: at, end: first_end },
            Found { date: Date { day: Some(other), ..date }, start, end },
        ],
    }
}

/// "May 12, 1903", "May 12–14, 1903", "May 1903", "May of 1903", "in May".
fn month_first(tokens: &[Token<'_>], at: usize) -> Vec<Found> {
    let Some((month, next)) = month_at(tokens, at) else { return Vec::new() };
    let month_alone = Date { month: Some(month), ..Date::default() };
    if let Some((day, after)) = day_at(tokens, next).filter(|(_, after)| !starts_measure(tokens, *after)) {
        let second = range_joint(tokens, after)
            .and_then(|joint| day_at(tokens, joint).map(|(day, end)| (day, joint, end)));
        let (years, end) = year_behind(tokens, second.map_or(after, |(.., end)| end));
        let date = Date { years, day: Some(day), ..month_alone };
        return match second {
            None => vec![Found { date, start: at, end }],
            Some((other, start, _)) => vec![
                Found { date, start: at, end: after },
                Found { date: Date { day: Some(other), ..date }, start, end },
            ],
        };
    }
    let of = usize::from(tokens.get(next).is_some_and(|token| token.text == "of"));
    let (years, end) = year_behind(tokens, next + of);
    if years.is_some() {
        return vec![Found { date: Date { years, ..month_alone }, start: at, end }];
    }
    let cued = at > 0 && MONTH_CUES.contains(&tokens[at - 1].lower().as_str());
    let found = (cued && tokens[at].is_capitalised()).then_some((month_alone, next));
    one(found, at)
}

/// Whether the digits before `at` go on as a number with decimals or a percentage, so that they are no day.
fn starts_measure(tokens: &[Token<'_>], at: usize) -> bool {
    match &tokens[at.min(tokens.len())..] {
        [sign, ..] if sign.is_sign("%:") => true,
        [sign, digits, ..] => sign.is_sign(".") && sign.touches() && digits.is_digits() && digits.touches(),
        _ => false,
    }
}

/// The year at `at`, past a comma.
fn year_behind(tokens: &[Token<'_>], at: usize) -> (Option<(i32, i32)>, usize) {
    let comma = usize::from(tokens.get(at).is_some_and(|token| token.is_sign(",")));
    match year_at(tokens, at + comma) {
        Some((year, end)) => (Some((year, year)), end),
        None => (None, at),
    }
}

/// The index after a dash or "to" that joins two ends of a range.
pub(crate) fn range_joint(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let token = tokens.get(at)?;
    let dash = token.is_sign("–—-‐‑−") && tokens.get(at + 1)?.touches() == token.touches();
    let joint = dash || (token.is_word() && token.text == "to");
    joint.then_some(at + 1)
}

/// "1990s", "1990's".
fn decade(tokens: &[Token<'_>], at: usize) -> Option<(Date, usize)> {
    let first: i32 = tokens[at].text.parse().ok().filter(|year| YEARS.contains(year) && year % 10 == 0)?;
    let end = match tokens.get(at + 1..)? {
        [s, ..] if s.touches() && s.text == "s" => at + 2,
        [apostrophe, s, ..]
            if apostrophe.is_sign("'’") && apostrophe.touches() && s.touches() && s.text == "s" =>
        {
            at + 3
        }
        _ => return None,
    };
    Some((Date { years: Some((first, first + 9)), ..Date::default() }, end))
}

/// "19th century", "nineteenth-century", "5th century BC".
fn century(tokens: &[Token<'_>], at: usize) -> Option<(Date, usize)> {
    let (number, mut next) = if tokens[at].is_digits() {
        let suffix = tokens.get(at + 1).filter(|token| token.touches())?;
        let number: i32 = tokens[at].text.parse().ok()?;
        matches!(suffix.text, "st" | "nd" | "rd" | "th").then_some((number, at + 2))?
    } else {
        let rank = spelled(tokens, at).filter(|rank| rank.ordinal)?;
        (rank.amount.value as i32, rank.end)
    };
    if tokens.get(next).is_some_and(|token| token.is_sign("-‑")) {
        next += 1;
    }
    let word = tokens.get(next)?.lower();
    if !matches!(word.as_str(), "century" | "centuries") || !(1..=30).contains(&number) {
        return None;
    }
    let (first, last) = (number * 100 - 99, number * 100);
    match era_at(tokens, next + 1) {
        Some((true, end)) => Some((Date { years: Some((-last, -first)), ..Date::default() }, end)),
        Some((false, end)) => Some((Date { years: Some((first, last)), ..Date::default() }, end)),
        None => Some((Date { years: Some((first, last)), ..Date::default() }, next + 1)),
    }
}

fn year_with_era(tokens: &[Token<'_>], at: usize) -> Option<(Date, usize)> {
    era_at(tokens, at + 1)?;
    year_at(tokens, at).map(|(year, end)| (Date::of_year(year), end))
}

/// "AD 79".
fn era_first(tokens: &[Token<'_>], at: usize) -> Option<(Date, usize)> {
    let (false, next) = era_at(tokens, at)? else { return None };
    let digits = tokens.get(next).filter(|token| token.is_digits() && token.text.len() <= 4)?;
    Some((Date::of_year(digits.text.parse().ok()?), next + 1))
}

/// "in nineteen eighty-four".
fn year_in_words(tokens: &[Token<'_>], at: usize) -> Option<(Date, usize)> {
    let cue = at.checked_sub(1).map(|before| tokens[before].lower())?;
    if !YEAR_CUES.contains(&cue.as_str()) {
        return None;
    }
    spelled_year(tokens, at).map(|(year, end)| (Date::of_year(year), end))
}

/// Whether the four bare digits at `tokens[at]` are a year, by what stands around them: "in 1903", "(1903)", "1903–1911",
/// "the 1903 film", or nothing at all.
pub(crate) fn is_year(tokens: &[Token<'_>], at: usize, counts_plural: bool) -> bool {
    if year_at(tokens, at).is_none() {
        return false;
    }
    let before = at.checked_sub(1).map(|index| &tokens[index]);
    let after = tokens.get(at + 1);
    let word_before = before.filter(|token| token.is_word()).map(Token::lower);
    let word_before = word_before.as_deref().unwrap_or("");
    if matches!(word_before, "in" | "since" | "during" | "year" | "until" | "till") {
        return true;
    }
    if counts_plural {
        return false;
    }
    let bracketed =
        before.is_some_and(|token| token.is_sign("(")) || after.is_some_and(|token| token.is_sign(")"));
    let alone = at == 0 && after.is_none_or(|token| token.is_sign(".") && tokens.len() == 2);
    let opens = at == 0 && after.is_some_and(|token| matches!(token.text, "was" | "is" | "saw" | "marked"));
    let labelled =
        before.is_some_and(|token| token.is_sign(":;,")) && after.is_none_or(|token| token.is_sign(";,.)"));
    let determined =
        matches!(word_before, "the" | "a" | "his" | "her" | "its" | "their" | "this" | "of" | "and" | "to")
            || word_before.ends_with("'s")
            || word_before.ends_with("’s");
    let modifies = determined && after.is_some_and(Token::is_word);
    let closes = matches!(word_before, "of" | "and" | "to" | "was" | "is")
        && after.is_none_or(|token| token.is_sign(".,;)"));
    let titled = before.is_some_and(Token::is_capitalised);
    is_year_by_signs(tokens, at)
        || bracketed
        || alone
        || opens
        || labelled
        || modifies
        || closes
        || titled
        || YEAR_CUES.contains(&word_before)
}

/// Whether signs around the digits make them a year: "mid-1957", "ca. 1650", "1956's", "1650 – 18 August 1720".
fn is_year_by_signs(tokens: &[Token<'_>], at: usize) -> bool {
    let sign = at.checked_sub(1).map(|index| &tokens[index]);
    let word = at.checked_sub(2).map(|index| tokens[index].lower()).unwrap_or_default();
    let hyphen = sign.is_some_and(|sign| sign.is_sign("-–‑") && sign.touches() && tokens[at].touches());
    let prefixed = hyphen && matches!(word.as_str(), "mid" | "early" | "late" | "pre" | "post");
    let circa =
        sign.is_some_and(|sign| sign.is_sign(".")) && matches!(word.as_str(), "ca" | "c" | "fl" | "b" | "d");
    let possessive = tokens.get(at + 1).is_some_and(|mark| mark.is_sign("'’") && mark.touches());
    let dated = range_joint(tokens, at + 1).filter(|next| *next < tokens.len());
    prefixed || circa || possessive || dated.is_some_and(|next| !dates_at(tokens, next).is_empty())
}

/// The time of day at `tokens[at]`, in seconds after midnight: "14:30", "2:30 pm", "2 p.m.".
pub(crate) fn time_at(tokens: &[Token<'_>], at: usize) -> Option<(u32, usize)> {
    let two_digits = |token: &Token<'_>| token.is_digits() && token.text.len() <= 2;
    let number = |token: &Token<'_>| token.text.parse::<u32>().ok();
    let hour = number(tokens.get(at).filter(|token| two_digits(token))?)?;
    let part = |colon: usize| {
        let (sign, digits) = (tokens.get(colon)?, tokens.get(colon + 1)?);
        let sixty = digits.touches() && digits.is_digits() && digits.text.len() == 2;
        (sign.is_sign(":") && sign.touches() && sixty)
            .then(|| number(digits))
            .flatten()
            .filter(|value| *value < 60)
    };
    let (minute, second) = (part(at + 1), part(at + 3));
    let mut next = at + 1 + if minute.is_some() { 2 } else { 0 };
    if minute.is_some() && second.is_some() {
        next += 2;
    }
    let half = half_day(tokens, next);
    let hour = match half {
        Some((afternoon, end)) if (1..=12).contains(&hour) => {
            next = end;
            hour % 12 + if afternoon { 12 } else { 0 }
        }
        Some(_) => return None,
        None => hour,
    };
    if hour > 23 || (minute.is_none() && half.is_none()) {
        return None;
    }
    Some((hour * 3600 + minute.unwrap_or(0) * 60 + second.filter(|_| minute.is_some()).unwrap_or(0), next))
}

/// "am", "pm", "a.m." or "p.m." at `tokens[at]`: whether it is the afternoon, and the index after it.
fn half_day(tokens: &[Token<'_>], at: usize) -> Option<(bool, usize)> {
    match tokens.get(at)?.text {
        "am" | "AM" => Some((false, at + 1)),
        "pm" | "PM" => Some((true, at + 1)),
        letter @ ("a" | "p" | "A" | "P") => {
            let [dot, m, ..] = tokens.get(at + 1..)? else { return None };
            let dotted = dot.is_sign(".") && dot.touches() && m.touches() && matches!(m.text, "m" | "M");
            let last =
                usize::from(tokens.get(at + 3).is_some_and(|token| token.is_sign(".") && token.touches()));
            dotted.then_some((letter.eq_ignore_ascii_case("p"), at + 3 + last))
        }
        _ => None,
    }
}

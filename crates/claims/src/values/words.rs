//! Numbers written in words.

use super::Amount;
use super::token::{Gap, Token};

/// A number read from tokens: its amount and the index of the token after it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spelled {
    pub(crate) amount: Amount,
    pub(crate) ordinal: bool,
    pub(crate) end: usize,
}

/// 0..=19 for the words "zero" to "nineteen".
fn small(word: &str) -> Option<u32> {
    const SMALL: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    (0..).zip(SMALL).find(|(_, name)| *name == word).map(|(value, _)| value)
}

/// 20..=90 for the words "twenty" to "ninety".
fn tens(word: &str) -> Option<u32> {
    const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    (2..).zip(TENS).find(|(_, name)| *name == word).map(|(value, _)| value * 10)
}

/// The factor of a scale word from "thousand" on, singular.
pub(crate) fn scale(lower: &str) -> Option<f64> {
    Some(match lower {
        "thousand" => 1e3,
        "million" | "millions" | "mn" | "mio" => 1e6,
        "billion" | "billions" | "bn" => 1e9,
        "trillion" | "trillions" | "tn" => 1e12,
        "lakh" => 1e5,
        "crore" => 1e7,
        _ => return None,
    })
}

/// The cardinal word of an ordinal one: "third" is "three", "twentieth" is "twenty".
fn cardinal_of(lower: &str) -> Option<String> {
    let irregular = match lower {
        "first" => "one",
        "second" => "two",
        "third" => "three",
        "fifth" => "five",
        "eighth" => "eight",
        "ninth" => "nine",
        "twelfth" => "twelve",
        _ => "",
    };
    if !irregular.is_empty() {
        return Some(irregular.to_owned());
    }
    if let Some(stem) = lower.strip_suffix("ieth") {
        return Some(format!("{stem}y"));
    }
    lower.strip_suffix("th").map(str::to_owned)
}

/// One word's part in a spelled-out number.
#[derive(Debug, Clone, Copy)]
enum Part {
    Small(u32),
    Tens(u32),
    Hundred,
    Dozen,
    Scale(f64),
}

fn part(lower: &str) -> Option<Part> {
    match lower {
        "hundred" => Some(Part::Hundred),
        "dozen" => Some(Part::Dozen),
        _ => small(lower)
            .map(Part::Small)
            .or_else(|| tens(lower).map(Part::Tens))
            .or_else(|| scale(lower).filter(|_| lower.len() > 3 && !lower.ends_with('s')).map(Part::Scale)),
    }
}

fn part_or_ordinal(lower: &str) -> Option<(Part, bool)> {
    if let Some(found) = part(lower) {
        return Some((found, false));
    }
    part(&cardinal_of(lower)?).filter(|found| !matches!(found, Part::Dozen)).map(|found| (found, true))
}

/// Sums up the parts of a number in words as they come.
#[derive(Debug, Default)]
struct Sum {
    /// Whole groups read so far ("two million").
    total: f64,
    /// The group being read, below 1,000.
    group: f64,
    /// Factor of the last scale word; the next one has to be smaller.
    last_scale: Option<f64>,
    /// The factor that says how finely the number was given.
    resolution: f64,
    any: bool,
}

impl Sum {
    /// Takes a part if the number can go on with it.
    fn take(&mut self, part: Part) -> bool {
        let taken = match part {
            Part::Small(value) => self.take_small(f64::from(value)),
            Part::Tens(value) => self.take_tens(f64::from(value)),
            Part::Hundred => self.multiply_group(100.0, 10.0),
            Part::Dozen => self.multiply_group(12.0, 100.0),
            Part::Scale(factor) => self.take_scale(factor),
        };
        self.any |= taken;
        taken
    }

    fn take_small(&mut self, value: f64) -> bool {
        let below = if value < 10.0 { 10.0 } else { 100.0 };
        let place = self.group % 100.0;
        let open = place == 0.0 || (below == 10.0 && place >= 20.0 && self.group % 10.0 == 0.0);
        if !open || (self.any && self.group == 0.0 && self.last_scale.is_none()) {
            return false;
        }
        self.group += value;
        self.resolution = 1.0;
        true
    }

    fn take_tens(&mut self, value: f64) -> bool {
        if self.group % 100.0 != 0.0 || (self.any && self.group == 0.0 && self.last_scale.is_none()) {
            return false;
        }
        self.group += value;
        self.resolution = 1.0;
        true
    }

    fn multiply_group(&mut self, factor: f64, below: f64) -> bool {
        if self.group == 0.0 || self.group >= below {
            return false;
        }
        self.group *= factor;
        self.resolution = 1.0;
        true
    }

    fn take_scale(&mut self, factor: f64) -> bool {
        // "a hundred thousand million" is no English number; each scale is smaller than the one before it.
        if self.group == 0.0 || self.last_scale.is_some_and(|last| factor >= last) {
            return false;
        }
        self.total += self.group * factor;
        self.group = 0.0;
        self.resolution = factor;
        self.last_scale = Some(factor);
        true
    }
}

/// Reads a number in words that starts at `tokens[start]`: "twenty-three", "one hundred and five thousand", "a dozen",
/// "half a million", "twenty-first".
pub(crate) fn spelled(tokens: &[Token<'_>], start: usize) -> Option<Spelled> {
    let word = |at: usize| tokens.get(at).filter(|token| token.is_word()).map(Token::lower);
    let first = word(start)?;
    let mut sum = Sum::default();
    let mut at = start;
    let mut ordinal = false;
    let article = matches!(first.as_str(), "a" | "an");
    if first == "half" && matches!(word(start + 1)?.as_str(), "a") {
        let factor = scale(&word(start + 2)?).or_else(|| (word(start + 2)? == "dozen").then_some(12.0))?;
        let resolution = if factor == 12.0 { 1.0 } else { factor / 10.0 };
        return Some(Spelled { amount: Amount::new(factor / 2.0, resolution), ordinal, end: start + 3 });
    }
    if article {
        // "a" is one only before "hundred", "dozen" and scale words.
        let next = part(&word(start + 1)?)?;
        if matches!(next, Part::Small(_) | Part::Tens(_)) {
            return None;
        }
        sum.group = 1.0;
        at += 1;
    }
    while let Some(lower) = word(at) {
        if tokens[at].gap == Gap::Line && at > start {
            break;
        }
        let Some((found, is_ordinal)) = part_or_ordinal(&lower) else { break };
        if !sum.take(found) {
            break;
        }
        at += 1;
        ordinal = is_ordinal;
        if ordinal {
            break;
        }
        at = skip_joint(tokens, at, &sum);
    }
    // A joint was skipped with nothing behind it: "twenty-" or "hundred and".
    while at > start && word(at - 1).is_none_or(|lower| part_or_ordinal(&lower).is_none()) {
        at -= 1;
    }
    if !sum.any {
        return None;
    }
    Some(Spelled { amount: Amount::new(sum.total + sum.group, sum.resolution), ordinal, end: at })
}

/// Steps over the hyphen of "twenty-three" and the "and" of "one hundred and five".
fn skip_joint(tokens: &[Token<'_>], at: usize, sum: &Sum) -> usize {
    let Some(token) = tokens.get(at) else { return at };
    if token.is_sign("-‐‑")
        && token.touches()
        && tokens.get(at + 1).is_some_and(|next| next.touches() && next.is_word())
    {
        return at + 1;
    }
    let after_round = sum.group % 100.0 == 0.0 && (sum.group > 0.0 || sum.last_scale.is_some());
    let number_follows = || {
        let next = tokens.get(at + 1)?.lower();
        // "between one hundred and two hundred" has two numbers.
        if tokens.get(at + 2).is_some_and(|after| after.lower() == "hundred") {
            return None;
        }
        Some(small(&next).is_some() || tens(&next).is_some() || small(&cardinal_of(&next)?).is_some())
    };
    if after_round && token.text == "and" && number_follows() == Some(true) {
        return at + 1;
    }
    at
}

/// A year in words, such as "nineteen eighty-four": the year and the index of the token after it.
pub(crate) fn spelled_year(tokens: &[Token<'_>], start: usize) -> Option<(i32, usize)> {
    let lower = |at: usize| tokens.get(at).filter(|token| token.is_word()).map(Token::lower);
    let first = lower(start)?;
    let century = small(&first).filter(|value| *value >= 13).or((first == "twenty").then_some(20))?;
    let next = start + 1;
    if tokens.get(next)?.touches() {
        return None;
    }
    let rest = spelled(tokens, next)?;
    let value = rest.amount.value;
    if rest.ordinal || !(10.0..100.0).contains(&value) {
        return None;
    }
    Some((i32::try_from(century).ok()? * 100 + value as i32, rest.end))
}

/// The words that a number, a date or a sign may start with, besides ordinals in "th".
const STARTS: &[&str] = &[
    "a",
    "ad",
    "an",
    "apr",
    "april",
    "aug",
    "august",
    "ce",
    "dec",
    "december",
    "eight",
    "eighteen",
    "eighty",
    "eleven",
    "feb",
    "february",
    "fifteen",
    "fifty",
    "first",
    "five",
    "forty",
    "four",
    "fourteen",
    "half",
    "jan",
    "january",
    "jul",
    "july",
    "jun",
    "june",
    "mar",
    "march",
    "may",
    "minus",
    "negative",
    "nine",
    "nineteen",
    "ninety",
    "nov",
    "november",
    "oct",
    "october",
    "one",
    "second",
    "sep",
    "sept",
    "september",
    "seven",
    "seventeen",
    "seventy",
    "six",
    "sixteen",
    "sixty",
    "ten",
    "third",
    "thirteen",
    "thirty",
    "three",
    "twelve",
    "twenty",
    "two",
    "zero",
];

#[cfg(test)]
pub(crate) const SORTED: &[&str] = STARTS;

/// Whether a lower-case word may be the first of a value.
pub(crate) fn may_start(lower: &str) -> bool {
    lower.ends_with("th") || crate::lookup::in_sorted(STARTS, lower)
}

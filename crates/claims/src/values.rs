//! Normal forms of the numbers, dates and quantities in a text.
//!
//! The numeric-consistency detector compares what a claim says with what its evidence says. For that "3.4 million",
//! "3,400,000" and "3.4m" have to be one number, and "12 May 1903", "May 12, 1903" and "1903-05-12" one date. [`find_values`]
//! reads a text from left to right and gives each such expression once, with its place, in normal form.
//!
//! Two values conflict only where they count the same thing, so that each carries what it counts as far as a rule can tell:
//! [`Value::noun`], the unit or the currency. [`Value::compare`] answers *same*, *different* or *incomparable*, and knows
//! rounding ("3.4 million" agrees with 3,412,345) and approximate marks ("over 3 million" agrees with 3,412,345). It does
//! not look at the noun: who compares decides which two values belong together.
//!
//! What is left out or flagged: list numbers, versions, section numbers, model names and telephone numbers come as
//! [`ValueKind::Identifier`]; the pronoun "one" and vague counts ("dozens of") do not come at all.

mod calendar;
mod compare;
mod context;
mod dates;
mod literal;
mod measure;
mod nouns;
mod scan;
mod token;
mod units;
mod words;

#[cfg(test)]
mod tests;

use groundline_types::Span;

pub use compare::Comparison;
pub use scan::find_values;

/// One number, date, time or quantity of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// Where it stands in the text given to [`find_values`], in bytes, with its unit or currency.
    pub span: Span,
    /// What it is, in normal form.
    pub kind: ValueKind,
    /// Whether the text gives it as exact.
    pub approximation: Approximation,
    /// What is counted: the noun that follows, lower case and singular ("3 young children" gives "child"). For a share or a
    /// measure, the noun after "of" ("12% of adults" gives "adult"). `None` where no such word follows.
    pub noun: Option<String>,
}

/// What a [`Value`] is, in normal form.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueKind {
    /// A plain number.
    Number(Amount),
    /// A rank: "third", "21st".
    Ordinal(Amount),
    /// A share in per cent: 12.5 for "12.5%".
    Percent(Amount),
    /// An amount of money.
    Currency {
        /// How much.
        amount: Amount,
        /// ISO 4217 code where the text decides it ("USD" for a plain "$"), else a lower-case name ("peso").
        currency: &'static str,
    },
    /// A number with a unit of measure or of time.
    Quantity {
        /// How much, in the unit as written: nothing is converted.
        amount: Amount,
        /// Normal name: "km" for km, kilometre and kilometers; "year", "°C", "kg".
        unit: &'static str,
    },
    /// A day, month, year, decade or century.
    Date(Date),
    /// A time of day.
    Time {
        /// Seconds after midnight, 0..86,400.
        seconds: u32,
    },
    /// Digits that name something and measure nothing: "Section 3", "v1.2.3", "COVID-19". Never comparable.
    Identifier,
}

/// A number and how finely it was given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Amount {
    /// The number itself, sign and scale applied.
    pub value: f64,
    /// The place value of the last digit given, above 0: 0.1 for "1,234.5", 100,000 for "3.4 million", 1 for "3,400,000".
    pub resolution: f64,
}

/// A date, as far as it is given. A part that the text leaves open is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Date {
    /// First and last year, both included: equal for a year, ten apart less one for a decade, 1801 and 1900 for the 19th
    /// century. Years before the common era are negative.
    pub years: Option<(i32, i32)>,
    /// Month, 1..=12.
    pub month: Option<u8>,
    /// Day of the month, 1..=31.
    pub day: Option<u8>,
    /// Day and month could be swapped ("12/05/1903"): then both are `None` and the date is not comparable.
    pub ambiguous: bool,
}

/// How exactly a text means its number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Approximation {
    /// As written.
    #[default]
    Exact,
    /// "about", "nearly", "some", "~".
    About,
    /// "over", "at least", "more than", "or more", "100+".
    AtLeast,
    /// "under", "up to", "at most", "fewer than".
    AtMost,
}

impl Value {
    /// The number in it, without unit; `None` for dates, times and identifiers.
    pub fn amount(&self) -> Option<Amount> {
        match self.kind {
            ValueKind::Number(amount) | ValueKind::Ordinal(amount) | ValueKind::Percent(amount) => {
                Some(amount)
            }
            ValueKind::Currency { amount, .. } | ValueKind::Quantity { amount, .. } => Some(amount),
            ValueKind::Date(_) | ValueKind::Time { .. } | ValueKind::Identifier => None,
        }
    }

    /// The date in it, if it is one.
    pub fn date(&self) -> Option<Date> {
        match self.kind {
            ValueKind::Date(date) => Some(date),
            _ => None,
        }
    }

    /// Whether it names something instead of measuring it, and must not be compared.
    pub fn is_identifier(&self) -> bool {
        self.kind == ValueKind::Identifier
    }
}

impl Amount {
    /// A whole or decimal number given down to `resolution`.
    pub(crate) fn new(value: f64, resolution: f64) -> Self {
        Self { value, resolution }
    }

    /// The same number, in thousands, millions and so on.
    pub(crate) fn scaled(self, scale: f64) -> Self {
        Self { value: self.value * scale, resolution: self.resolution * scale }
    }
}

impl Date {
    /// A whole year.
    pub(crate) fn of_year(year: i32) -> Self {
        Self { years: Some((year, year)), ..Self::default() }
    }

    /// The year, where it is a single one.
    pub fn year(&self) -> Option<i32> {
        self.years.filter(|(first, last)| first == last).map(|(first, _)| first)
    }
}

/// The month a word names, for those who must not take it for a name.
pub(crate) fn month_of(word: &str) -> Option<u8> {
    calendar::month(word)
}

/// Whether a word is a day of the week.
pub(crate) fn is_weekday(word: &str) -> bool {
    calendar::WEEKDAYS.contains(&word.to_lowercase().as_str())
}

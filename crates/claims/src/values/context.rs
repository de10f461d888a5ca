//! What the words around a number say about it.

use super::Approximation;
use super::calendar;
use super::token::{Gap, Token};
use crate::lookup::in_sorted;

/// Words before a whole number that make it a label.
const LABEL_CUES: &[&str] = &[
    "act",
    "answer",
    "apartment",
    "appendix",
    "apt",
    "article",
    "building",
    "bus",
    "category",
    "chapter",
    "chapters",
    "class",
    "clause",
    "code",
    "context",
    "doc",
    "document",
    "doi",
    "episode",
    "eq",
    "equation",
    "example",
    "excerpt",
    "exhibit",
    "fig",
    "figure",
    "figures",
    "flight",
    "footnote",
    "form",
    "gate",
    "grade",
    "highway",
    "id",
    "isbn",
    "issn",
    "issue",
    "item",
    "level",
    "line",
    "lot",
    "mark",
    "model",
    "no",
    "nos",
    "number",
    "op",
    "option",
    "opus",
    "page",
    "pages",
    "paragraph",
    "part",
    "passage",
    "passages",
    "phase",
    "phone",
    "platform",
    "pmid",
    "point",
    "pp",
    "psalm",
    "question",
    "ref",
    "room",
    "route",
    "rule",
    "scene",
    "season",
    "section",
    "sections",
    "snippet",
    "source",
    "sources",
    "step",
    "suite",
    "table",
    "tables",
    "tel",
    "ticket",
    "track",
    "type",
    "verse",
    "version",
    "vol",
    "volume",
    "zone",
];

#[cfg(test)]
pub(crate) const SORTED: &[&str] = LABEL_CUES;

/// Longest number, in digits, that a capitalised word before it makes a name ("Boeing 747").
const MAX_NAME_DIGITS: usize = 4;

/// How the words before the number at `tokens[start]` and after it, at `tokens[end]`, mean it.
pub(crate) fn approximation(tokens: &[Token<'_>], start: usize, end: usize) -> Approximation {
    let behind = approximation_behind(tokens, end);
    if behind != Approximation::Exact {
        return behind;
    }
    let word = |back: usize| start.checked_sub(back).map(|at| tokens[at].lower()).unwrap_or_default();
    let (mut one, mut two, mut three) = (word(1), word(2), word(3));
    if one == "." {
        // The full stop of "approx." and "ca.".
        (one, two, three) = (two, three, String::new());
        if !matches!(one.as_str(), "approx" | "ca" | "c" | "est") {
            return Approximation::Exact;
        }
    }
    if one == "a" || one == "an" || one == "the" {
        (one, two, three) = (two, three, String::new());
    }
    match (three.as_str(), two.as_str(), one.as_str()) {
        ("no" | "not", "more" | "greater", "than") => Approximation::AtMost,
        ("no" | "not", "less" | "fewer", "than") => Approximation::AtLeast,
        (_, "more" | "greater" | "higher" | "longer" | "larger" | "better" | "older", "than") => {
            Approximation::AtLeast
        }
        (_, "less" | "fewer" | "lower" | "shorter" | "smaller" | "younger", "than") => Approximation::AtMost,
        (_, "at", "least") | (_, "minimum", "of") | (_, "upwards", "of") => Approximation::AtLeast,
        (_, "at", "most") | (_, "up", "to") | (_, "maximum", "of") => Approximation::AtMost,
        (_, "close", "to") => Approximation::About,
        (_, _, "over" | "above" | "exceeding" | "exceeds" | "exceeded" | ">" | "≥" | "+") => {
            Approximation::AtLeast
        }
        (_, _, "under" | "below" | "<" | "≤") => Approximation::AtMost,
        (
            _,
            _,
            "about" | "around" | "approximately" | "approx" | "roughly" | "circa" | "ca" | "c" | "est"
            | "nearly",
        )
        | (_, _, "almost" | "some" | "estimated" | "~" | "≈" | "∼" | "perhaps" | "maybe" | "barely") => {
            Approximation::About
        }
        _ => Approximation::Exact,
    }
}

fn approximation_behind(tokens: &[Token<'_>], end: usize) -> Approximation {
    let Some(first) = tokens.get(end) else { return Approximation::Exact };
    if first.is_sign("+") && first.touches() && !tokens.get(end + 1).is_some_and(|next| next.is_digits()) {
        return Approximation::AtLeast;
    }
    let second = tokens.get(end + 1).map(Token::lower).unwrap_or_default();
    match (first.text, second.as_str()) {
        ("or", "more") | ("and", "above") | ("or", "above") | ("or", "over") => Approximation::AtLeast,
        ("or", "so") => Approximation::About,
        ("or", "less" | "fewer" | "below" | "under") => Approximation::AtMost,
        _ => Approximation::Exact,
    }
}

/// Whether the digits at `tokens[start]` belong to a name or label because of what stands before them: "#5", "Section 3",
/// "No. 5", "COVID-19", "H2O".
pub(crate) fn is_label(tokens: &[Token<'_>], start: usize) -> bool {
    let Some(before) = start.checked_sub(1) else { return false };
    let (token, this) = (&tokens[before], &tokens[start]);
    if this.touches() {
        if token.is_word() || token.is_sign("#@_=") {
            return true;
        }
        let hyphened = token.is_sign("-‐‑") && token.touches() && before > 0;
        return hyphened
            && tokens[before - 1].is_word()
            && tokens[before - 1].text.contains(char::is_uppercase);
    }
    let cue = if token.is_sign(".") && token.touches() { before.checked_sub(1) } else { Some(before) };
    cue.is_some_and(|at| tokens[at].is_word() && in_sorted(LABEL_CUES, &tokens[at].lower()))
}

/// Whether a capitalised name stands right before the whole number at `tokens[start]`: "Apollo 11", "Windows 10".
pub(crate) fn follows_name(tokens: &[Token<'_>], start: usize, digits: usize) -> bool {
    let Some(before) = start.checked_sub(1).map(|at| &tokens[at]) else { return false };
    let opens = start == 1 || tokens[start - 2].is_sign(".!?");
    let common = opens && crate::names::is_common_word(&before.lower());
    before.is_capitalised()
        && digits <= MAX_NAME_DIGITS
        && !tokens[start].touches()
        && calendar::month(before.text).is_none()
        && !common
}

/// Whether the number at `tokens[at]` opens a line as the number of a list item: "3. Then …", "2) …".
pub(crate) fn is_list_number(tokens: &[Token<'_>], at: usize) -> bool {
    let opens = at == 0 || tokens[at].gap == Gap::Line;
    let [number, mark, next, ..] = &tokens[at..] else { return false };
    opens && number.text.len() <= 3 && mark.is_sign(".)") && mark.touches() && !next.touches()
}

/// Whether the group of digits that ends at `end` goes on as a telephone or serial number ("555-1234", "978-3-16"), and
/// where that ends.
pub(crate) fn serial_end(tokens: &[Token<'_>], start: usize) -> Option<usize> {
    let mut end = start + 1;
    let mut groups = 1;
    while let [dash, digits, ..] = &tokens[end.min(tokens.len())..] {
        if !(dash.is_sign("-‐‑") && dash.touches() && digits.is_digits() && digits.touches()) {
            break;
        }
        groups += 1;
        end += 2;
    }
    let telephone = groups == 2 && tokens[start].text.len() == 3 && tokens[start + 2].text.len() == 4;
    let country = start > 0 && tokens[start - 1].is_sign("+") && tokens[start].text.len() <= 3 && {
        tokens.get(start + 1).is_some_and(|next| next.is_digits() || next.is_sign("-"))
    };
    if country {
        let more = |token: &&Token<'_>| (token.is_digits() || token.is_sign("-()")) && token.gap != Gap::Line;
        return Some(start + tokens[start..].iter().take_while(more).count());
    }
    (groups > 2 || telephone).then_some(end)
}

/// Whether "one" at `tokens[at]` counts something, and is no pronoun: "one child" does, "one of the" and "no one" do not.
pub(crate) fn one_counts(tokens: &[Token<'_>], at: usize) -> bool {
    let next = tokens.get(at + 1);
    let next_lower = next.filter(|token| token.is_word()).map(Token::lower).unwrap_or_default();
    let before =
        at.checked_sub(1).filter(|index| tokens[*index].is_word()).map(|index| tokens[index].lower());
    let pronoun_before = before.is_some_and(|word| {
        let words =
            ["no", "the", "this", "that", "each", "every", "any", "some", "another", "which", "every"];
        words.contains(&word.as_str())
    });
    let pronoun_after =
        matches!(next_lower.as_str(), "" | "of" | "another" | "day" | "that" | "who" | "by" | "thing")
            || super::nouns::is_stop(&next_lower);
    !pronoun_before && !pronoun_after && next.is_some_and(|token| !token.touches())
}

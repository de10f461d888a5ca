//! Numbers written in digits.

use super::Amount;
use super::token::{Gap, Token};

/// More digits than this are a serial number, and more than `f64` can tell apart.
const MAX_DIGITS: usize = 15;

/// What a run of digits with separators is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Literal {
    /// A number. `plain` is its digit count where it has neither separator nor decimals.
    Number { amount: Amount, plain: Option<usize>, end: usize },
    /// A version, an address or a serial number.
    Identifier { end: usize },
}

/// Reads the number in digits at `tokens[start]`: "1,234.5", "1 234" with narrow spaces, "1.234.567", "3.4".
pub(crate) fn literal(tokens: &[Token<'_>], start: usize) -> Option<Literal> {
    let first = tokens.get(start).filter(|token| token.is_digits())?;
    if let Some(found) = narrow_groups(tokens, start) {
        return Some(found);
    }
    let (groups, separators, end) = chain(tokens, start);
    let last = separators.last().copied();
    let grouped =
        |from: usize, to: usize| groups[0].len() <= 3 && groups[from..to].iter().all(|g| g.len() == 3);
    let count = groups.len();
    let uniform = separators.iter().all(|sign| Some(*sign) == last);
    let leading_uniform = count > 2 && separators[..count - 2].iter().all(|sign| *sign == separators[0]);
    let found = match last {
        None => whole(&[first.text], start + 1, true),
        Some(',') if uniform && grouped(1, count) => whole(&groups, end, false),
        // A decimal comma: one, with one or two digits behind it, and no list such as "1,2,3".
        Some(',') if count == 2 && groups[1].len() <= 2 && !in_list(tokens, start) => {
            decimal(&groups[..1], groups[1], end)
        }
        Some('.') if count == 2 => decimal(&groups[..1], groups[1], end),
        Some('.') if uniform && grouped(1, count) => whole(&groups, end, false),
        Some('.') if uniform => Literal::Identifier { end },
        Some(_) if !uniform && leading_uniform && grouped(1, count - 1) => {
            decimal(&groups[..count - 1], groups[count - 1], end)
        }
        Some(_) => whole(&[first.text], start + 1, false),
    };
    Some(found)
}

/// Whether a digit and a comma touch the number from the left.
fn in_list(tokens: &[Token<'_>], start: usize) -> bool {
    matches!(&tokens[..start], [.., digits, comma] if digits.is_digits() && comma.is_sign(",") && tokens[start].touches())
}

/// The groups of digits from `start` on that touch with one "." or "," between them.
fn chain<'a>(tokens: &[Token<'a>], start: usize) -> (Vec<&'a str>, Vec<char>, usize) {
    let mut groups = vec![tokens[start].text];
    let mut separators = Vec::new();
    let mut at = start + 1;
    while let [separator, group, ..] = &tokens[at.min(tokens.len())..] {
        let joined = separator.is_sign(".,") && separator.touches() && group.is_digits() && group.touches();
        if !joined {
            break;
        }
        separators.extend(separator.text.chars());
        groups.push(group.text);
        at += 2;
    }
    (groups, separators, at)
}

fn narrow_groups(tokens: &[Token<'_>], start: usize) -> Option<Literal> {
    let is_group =
        |token: &&Token<'_>| token.is_digits() && token.gap == Gap::Narrow && token.text.len() == 3;
    let more = tokens[start + 1..].iter().take_while(is_group).count();
    if more == 0 || tokens[start].text.len() > 3 {
        return None;
    }
    let end = start + 1 + more;
    let groups: Vec<&str> = tokens[start..end].iter().map(|token| token.text).collect();
    if let [point, rest, ..] = &tokens[end..]
        && point.is_sign(".,")
        && point.touches()
        && rest.is_digits()
        && rest.touches()
    {
        return Some(decimal(&groups, rest.text, end + 2));
    }
    Some(whole(&groups, end, false))
}

fn whole(groups: &[&str], end: usize, plain: bool) -> Literal {
    let digits = groups.concat();
    let serial = digits.len() > MAX_DIGITS || (digits.len() > 1 && digits.starts_with('0'));
    match digits.parse::<f64>() {
        Ok(value) if !serial => {
            Literal::Number { amount: Amount::new(value, 1.0), plain: plain.then_some(digits.len()), end }
        }
        _ => Literal::Identifier { end },
    }
}

fn decimal(groups: &[&str], decimals: &str, end: usize) -> Literal {
    let digits = groups.concat();
    if digits.len() + decimals.len() > MAX_DIGITS {
        return Literal::Identifier { end };
    }
    match format!("{digits}.{decimals}").parse::<f64>() {
        Ok(value) => {
            let resolution = 10f64.powi(-i32::try_from(decimals.len()).unwrap_or(0));
            Literal::Number { amount: Amount::new(value, resolution), plain: None, end }
        }
        Err(_) => Literal::Identifier { end },
    }
}

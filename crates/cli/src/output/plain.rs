//! Making untrusted text safe to print, and measuring and wrapping it.
//!
//! Responses, sources, ids and file names come from anywhere. An escape sequence in one of them could recolour, overwrite
//! or retitle the reader's terminal, and a bidirectional override could make a sentence read as another one.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Appends formatted text.
pub(crate) fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = std::fmt::Write::write_fmt(text, arguments);
}

/// `text` on one line with nothing in it that a terminal acts on: white space is folded to single spaces, control
/// characters become visible pictures (`␛`), and characters that reorder text become `<U+202E>`.
pub(crate) fn one_line(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut space_due = false;
    for c in text.chars() {
        // Line and paragraph separators count as white space here; so do tab, CR and LF.
        if c.is_whitespace() {
            space_due = !safe.is_empty();
            continue;
        }
        if std::mem::take(&mut space_due) {
            safe.push(' ');
        }
        push_safe(&mut safe, c);
    }
    safe
}

fn push_safe(safe: &mut String, c: char) {
    match c {
        // The block "control pictures" mirrors C0 at U+2400.
        '\0'..='\u{1f}' => safe.extend(char::from_u32(0x2400 + u32::from(c))),
        '\u{7f}' => safe.push('␡'),
        '\u{80}'..='\u{9f}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{061c}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}' => push(safe, format_args!("<U+{:04X}>", u32::from(c))),
        _ => safe.push(c),
    }
}

/// Columns that `text` takes on a terminal; Chinese, Japanese and Korean characters and most emoji take two.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// `text` cut into lines of at most `columns` at spaces; a word longer than a line is cut between characters.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    let mut lines = Vec::new();
    let (mut line, mut used) = (String::new(), 0);
    for word in text.split(' ') {
        let needed = width(word);
        let gap = usize::from(!line.is_empty());
        if used + gap + needed <= columns {
            if gap == 1 {
                line.push(' ');
            }
            line.push_str(word);
            used += gap + needed;
            continue;
        }
        if !line.is_empty() && needed <= columns {
            lines.push(std::mem::take(&mut line));
            line.push_str(word);
            used = needed;
            continue;
        }
        // Text without spaces (Chinese, a long URL) fills the rest of the line first.
        if gap == 1 && used + 3 < columns {
            line.push(' ');
            used += 1;
        }
        for c in word.chars() {
            let wide = c.width().unwrap_or(0);
            if used + wide > columns {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            line.push(c);
            used += wide;
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// The start of `text` in at most `columns`, with `…` where something was left out.
pub(crate) fn shorten(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let (mut kept, mut used) = (String::new(), 0);
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used >= columns {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests;

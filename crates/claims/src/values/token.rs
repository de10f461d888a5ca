//! Words, digit groups and signs of a text, with what lies between them.

use groundline_types::Span;

/// What a [`Token`] is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// ASCII digits.
    Digits,
    /// Letters, with inner apostrophes.
    Word,
    /// One sign of any other kind.
    Sign,
}

/// What stands between a token and the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gap {
    /// Nothing: they touch.
    None,
    /// One thin or no-break space, as groups of digits have.
    Narrow,
    /// Other white space on one line, or the start of the text.
    Space,
    /// A line break.
    Line,
}

/// A word, a group of digits or a sign.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token<'a> {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
    pub(crate) text: &'a str,
    /// What stands before it.
    pub(crate) gap: Gap,
}

impl Token<'_> {
    pub(crate) fn is_sign(&self, signs: &str) -> bool {
        self.kind == TokenKind::Sign && signs.contains(self.text)
    }

    pub(crate) fn is_word(&self) -> bool {
        self.kind == TokenKind::Word
    }

    pub(crate) fn is_digits(&self) -> bool {
        self.kind == TokenKind::Digits
    }

    /// Whether it touches the token before it.
    pub(crate) fn touches(&self) -> bool {
        self.gap == Gap::None
    }

    pub(crate) fn is_capitalised(&self) -> bool {
        self.is_word() && self.text.chars().next().is_some_and(char::is_uppercase)
    }

    pub(crate) fn lower(&self) -> String {
        self.text.to_lowercase()
    }
}

/// Cuts a text into tokens. White space is left out and remembered as [`Token::gap`].
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut gap = Gap::Space;
    let mut chars = text.char_indices().peekable();
    while let Some((start, first)) = chars.next() {
        if first.is_whitespace() {
            gap = match (gap, first) {
                (_, '\n' | '\r') | (Gap::Line, _) => Gap::Line,
                (Gap::None, '\u{a0}' | '\u{2009}' | '\u{202f}' | '\u{2007}') => Gap::Narrow,
                _ => Gap::Space,
            };
            continue;
        }
        let kind = kind_of(first);
        let mut end = start + first.len_utf8();
        while let Some(&(at, next)) = chars.peek() {
            let apostrophe =
                matches!(next, '\'' | '’') && text[at..].chars().nth(1).is_some_and(char::is_alphabetic);
            let inside = kind_of(next) == kind || (kind == TokenKind::Word && (apostrophe || is_mark(next)));
            if kind == TokenKind::Sign || !inside {
                break;
            }
            end = at + next.len_utf8();
            chars.next();
        }
        tokens.push(Token { kind, span: Span::new(start, end), text: &text[start..end], gap });
        gap = Gap::None;
    }
    tokens
}

fn kind_of(c: char) -> TokenKind {
    if c.is_ascii_digit() {
        TokenKind::Digits
    } else if c.is_alphabetic() {
        TokenKind::Word
    } else {
        TokenKind::Sign
    }
}

/// Combining accents, which belong to the letter before them.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

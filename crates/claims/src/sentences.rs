//! Where sentences end inside a block.
//!
//! Candidates come from the Unicode rules (UAX #29, crate `unicode-segmentation`), and from marks followed by white space
//! that those rules pass over ("in 1903. 10 people", "he left… Then"). Each candidate is then judged by the few words around it:
//! abbreviations, initials, numbers, quotes and brackets. When in doubt two sentences stay one: a longer claim is harder to
//! support, which a reader sees; a claim cut in two halves says things that nobody said.

#[cfg(test)]
mod tests;

use crate::abbreviations::{Abbreviation, abbreviation, belongs_to_time, starts_sentences};
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// How far an open bracket may be from its end so that it keeps a sentence together, in bytes.
pub(crate) const BRACKET_REACH_BYTES: usize = 300;

/// Signs that open a quote or bracket.
const OPENERS: &[char] = &['"', '\'', '“', '‘', '«', '„', '(', '[', '{', '「', '『', '¿', '¡', '*', '_'];

/// Signs that close a quote or bracket behind a full stop.
pub(crate) const CLOSERS: &[char] =
    &['"', '\'', '”', '’', '»', '“', ')', ']', '}', '」', '』', '）', '*', '_'];

/// Signs that stand at the start of a line of a list without Markdown.
const BULLETS: &[char] =
    &['•', '◦', '‣', '▪', '●', '·', '–', '—', '∙', '○', '■', '➢', '➤', '✓', '✔', '-', '*'];

/// The sentences of `text`: ranges without white space and list marks at their edges, in order. `breaks` are the places
/// right behind a line break, and `can_cut` says where the text must not be cut.
pub(crate) fn sentences(text: &str, breaks: &[usize], can_cut: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut start = Some(0).filter(|_| !text.is_empty());
    let mut opens_line = true;
    let mut brackets = Brackets::default();
    for candidate in candidates(text, breaks) {
        let Some(from) = start else { break };
        let on_break = breaks.binary_search(&candidate).is_ok();
        let cut = Cut { text, start: from, at: candidate, on_break };
        brackets.advance(text, candidate);
        if can_cut(candidate) && cut.is_boundary() && !brackets.holds(&cut) {
            pieces.push(Piece { range: from..candidate, opens_line });
            start = Some(candidate);
            opens_line = on_break;
            brackets = Brackets { at: candidate, depth: 0 };
        }
    }
    if let Some(from) = start {
        pieces.push(Piece { range: from..text.len(), opens_line });
    }
    join_wordless(text, pieces)
        .into_iter()
        .map(|piece| piece.trimmed(text))
        .filter(|range| !range.is_empty())
        .collect()
}

/// A sentence before it is trimmed.
#[derive(Debug, Clone)]
struct Piece {
    range: Range<usize>,
    opens_line: bool,
}

impl Piece {
    /// The range without white space at the edges, and without a bullet or number where it opens a line.
    fn trimmed(&self, text: &str) -> Range<usize> {
        let piece = &text[self.range.clone()];
        let end = self.range.start + piece.trim_end().len();
        let bare = piece.trim_start();
        let rest = if self.opens_line {
            list_mark(bare).filter(|rest| has_words(rest)).unwrap_or(bare)
        } else {
            bare
        };
        let start = self.range.start + piece.len() - rest.len();
        start.min(end)..end
    }
}

/// What follows the bullet or number at the start of a line, where there is one.
fn list_mark(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix(BULLETS).filter(|rest| rest.starts_with(' ')) {
        return Some(rest.trim_start());
    }
    let inner = line.strip_prefix('(').unwrap_or(line);
    let digits = inner.bytes().take_while(u8::is_ascii_digit).count();
    let rest =
        inner[digits..].strip_prefix(if inner.len() < line.len() { &[')'][..] } else { &['.', ')'][..] })?;
    ((1..=2).contains(&digits) && rest.starts_with(' ')).then(|| rest.trim_start())
}

fn has_words(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

/// Joins pieces without a word ("🎉", "…") to the one before, or the first to the one behind it.
fn join_wordless(text: &str, pieces: Vec<Piece>) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::new();
    let mut wordless_first = false;
    for piece in pieces {
        let words = has_words(&text[piece.range.clone()]);
        match joined.last_mut() {
            Some(last) if !words || wordless_first => {
                last.range.end = piece.range.end;
                wordless_first &= !words;
            }
            _ => {
                wordless_first = !words;
                joined.push(piece);
            }
        }
    }
    joined
}

/// All places where a sentence might end, in order and each once.
fn candidates(text: &str, breaks: &[usize]) -> Vec<usize> {
    let mut found: Vec<usize> = text.split_sentence_bound_indices().map(|(at, _)| at).collect();
    found.extend(breaks.iter().copied());
    let mut terminal = false;
    for (at, c) in text.char_indices() {
        if matches!(c, '.' | '!' | '?' | '…') {
            terminal = true;
        } else if c == ' ' {
            if terminal {
                found.push(at + 1);
            }
            terminal = false;
        } else if !CLOSERS.contains(&c) {
            terminal = false;
        }
    }
    found.sort_unstable();
    found.dedup();
    found.retain(|at| *at > 0 && *at < text.len());
    found
}

/// Counts brackets from the start of a sentence on.
#[derive(Debug, Default)]
struct Brackets {
    at: usize,
    depth: usize,
}

impl Brackets {
    fn advance(&mut self, text: &str, to: usize) {
        for byte in text[self.at..to].bytes() {
            match byte {
                b'(' => self.depth += 1,
                b')' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        self.at = to;
    }

    /// Whether the cut would part a bracket that opens inside the sentence and closes soon.
    fn holds(&self, cut: &Cut<'_>) -> bool {
        if self.depth == 0 || cut.on_break || cut.text[cut.start..].starts_with('(') {
            return false;
        }
        let near = cut.text[cut.at..].bytes().take(BRACKET_REACH_BYTES);
        near.into_iter().find(|byte| matches!(byte, b'(' | b')')) == Some(b')')
    }
}

/// A candidate with what stands around it.
#[derive(Debug)]
struct Cut<'a> {
    text: &'a str,
    /// Start of the sentence.
    start: usize,
    at: usize,
    on_break: bool,
}

impl<'a> Cut<'a> {
    fn is_boundary(&self) -> bool {
        let whole = &self.text[self.start..self.at];
        let left = whole.trim_end();
        let right = &self.text[self.at..];
        if self.on_break && list_mark(right).is_some_and(|_| right.starts_with(BULLETS) || ends_line(left)) {
            return true;
        }
        if is_list_number(left) {
            return false;
        }
        let bare = left.trim_end_matches(CLOSERS);
        let Some(terminal) = bare.chars().next_back() else { return false };
        let lower = right.trim_start_matches(OPENERS).chars().next().is_some_and(char::is_lowercase);
        if left.len() == whole.len() {
            // Without white space only marks of scripts that write none end a sentence.
            return !terminal.is_ascii() && !matches!(terminal, '…') && !right.starts_with(CLOSERS);
        }
        match terminal {
            '.' if bare.ends_with("..") => self.ends_at_ellipsis(bare, lower),
            '…' => self.ends_at_ellipsis(bare, lower),
            '.' => self.ends_at_full_stop(bare, right, lower),
            '!' | '?' => !lower || (self.on_break && left.len() == bare.len()),
            ':' => self.on_break,
            other => !other.is_ascii() && !other.is_alphanumeric() && is_terminal(other),
        }
    }

    fn ends_at_ellipsis(&self, bare: &str, lower: bool) -> bool {
        let bracketed = bare.trim_end_matches(['.', '…']).ends_with(['[', '(']);
        !lower && !bracketed && !self.text[self.at..].starts_with(|c: char| c.is_ascii_digit())
    }

    fn ends_at_full_stop(&self, bare: &str, right: &str, lower: bool) -> bool {
        let token = bare.rsplit(char::is_whitespace).next().unwrap_or("");
        let word = token.strip_suffix('.').unwrap_or(token).trim_start_matches(OPENERS);
        let next = right.trim_start_matches(OPENERS);
        let next_word: &str =
            next.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’').next().unwrap_or("");
        let initial_follows = next_word.chars().count() == 1 && next[next_word.len()..].starts_with('.');
        let starter = starts_sentences(&next_word.to_lowercase()) && !initial_follows;
        let digit = next.starts_with(|c: char| c.is_ascii_digit());
        if lower {
            return self.on_break && abbreviation(word).is_none() && word.len() > 1;
        }
        if word.chars().count() == 1 && word.chars().all(char::is_uppercase) {
            return starter;
        }
        match abbreviation(word) {
            Some(Abbreviation::Never) => false,
            Some(Abbreviation::BeforeNumber | Abbreviation::Calendar) => !digit,
            Some(Abbreviation::Maybe) => starter,
            Some(Abbreviation::Clock) => !belongs_to_time(next_word),
            None => true,
        }
    }
}

/// Whether a line that ends so ends a sentence, too.
fn ends_line(left: &str) -> bool {
    left.trim_end_matches(CLOSERS)
        .ends_with(|c: char| matches!(c, '.' | '!' | '?' | ':' | ';' | '…') || is_terminal(c))
}

/// Full stops of scripts that have their own.
fn is_terminal(c: char) -> bool {
    matches!(
        c,
        '。' | '！'
            | '？'
            | '｡'
            | '．'
            | '।'
            | '॥'
            | '؟'
            | '۔'
            | '።'
            | '։'
            | '༎'
            | '။'
            | '។'
            | '‼'
            | '⁇'
            | '⁈'
            | '⁉'
            | '‽'
    )
}

/// Whether the sentence so far is the number of a list item and no more: "2.", "(b)".
fn is_list_number(left: &str) -> bool {
    let inner = left.trim_start().trim_start_matches('(');
    let Some(mark) = inner.strip_suffix(['.', ')']) else { return false };
    let digits = (1..=3).contains(&mark.len()) && mark.bytes().all(|byte| byte.is_ascii_digit());
    digits || (mark.len() == 1 && mark.bytes().all(|byte| byte.is_ascii_alphabetic()))
}

//! Cutting a sentence that fits no window.

use groundline_types::{CountTokens, EvidenceSentence, Span};

/// Bytes of text shown to the counter for each token of budget, so that cutting a long text stays linear in its length.
const BYTES_PER_TOKEN: usize = 16;

/// Pieces of `text` of at most `budget` tokens each (or one character, where that alone has more), cut at white space where
/// there is any. Joined they hold every non-white character of `text` in order.
///
/// `original` is the part of the source that `text` was made from and `span` its place. Each piece gets the part of `span`
/// that its characters came from; where `text` cannot be followed through `original`, the whole span.
pub(crate) fn cut_sentence(
    text: &str,
    original: &str,
    span: Span,
    counter: &dyn CountTokens,
    budget: usize,
) -> Vec<EvidenceSentence> {
    let mut places = Places::new(original, span);
    let mut pieces = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (end, tokens) = next_cut(rest, counter, budget);
        let piece = rest[..end].trim_end();
        pieces.push(EvidenceSentence { span: places.follow(piece), text: piece.into(), tokens });
        rest = rest[end..].trim_start();
    }
    pieces
}

/// Where the next piece of `rest` ends, and its number of tokens. `rest` starts with a character that is not white.
fn next_cut(rest: &str, counter: &dyn CountTokens, budget: usize) -> (usize, usize) {
    let mut end = prefix_within(rest, counter, budget);
    if end < rest.len() && !rest[end..].starts_with(char::is_whitespace) {
        end = last_word_end(&rest[..end]).unwrap_or(end);
    }
    loop {
        let piece = rest[..end].trim_end();
        let tokens = counter.count_tokens(piece);
        if tokens <= budget {
            return (end, tokens);
        }
        // A prefix may count more on its own than inside its text: give way word by word, then by halves.
        let shorter = last_word_end(piece).unwrap_or_else(|| floor_boundary(piece, piece.len() / 2));
        if shorter == 0 {
            let first = piece.chars().next().map_or(piece.len(), char::len_utf8);
            return (first, counter.count_tokens(&piece[..first]));
        }
        end = shorter;
    }
}

/// [`CountTokens::prefix_within`], on no more of a long text than is needed.
fn prefix_within(rest: &str, counter: &dyn CountTokens, budget: usize) -> usize {
    let mut shown = budget.saturating_mul(BYTES_PER_TOKEN).max(64);
    loop {
        let view = &rest[..floor_boundary(rest, shown)];
        let end = counter.prefix_within(view, budget);
        if end < view.len() || view.len() == rest.len() {
            // A counter that answers nonsense must not lose text or stop progress.
            let first = rest.chars().next().map_or(0, char::len_utf8);
            return floor_boundary(view, end).max(first);
        }
        shown = shown.saturating_mul(4);
    }
}

/// The end of the last word but one: the last place before white space inside `text`.
fn last_word_end(text: &str) -> Option<usize> {
    let before = text.trim_end().rfind(char::is_whitespace).map(|at| text[..at].trim_end().len());
    before.filter(|end| *end > 0)
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Follows the characters of a text without markup through the original that it was made from.
struct Places<'a> {
    original: &'a str,
    whole: Span,
    at: usize,
    lost: bool,
}

impl<'a> Places<'a> {
    fn new(original: &'a str, whole: Span) -> Self {
        Self { original, whole, at: 0, lost: false }
    }

    /// The part of the original that `piece` came from. Markup only adds characters, so each one of `piece` is the next equal
    /// one of the original; once one is not there (a character reference, a table row with its header), all further pieces
    /// get the whole span.
    fn follow(&mut self, piece: &str) -> Span {
        let mut start = None;
        for wanted in piece.chars().filter(|c| !c.is_whitespace()) {
            if self.lost {
                break;
            }
            match self.original[self.at..].find(wanted) {
                Some(offset) => {
                    let place = self.at + offset;
                    start.get_or_insert(place);
                    self.at = place + wanted.len_utf8();
                }
                None => self.lost = true,
            }
        }
        match start {
            Some(start) if !self.lost => Span::new(self.whole.start + start, self.whole.start + self.at),
            _ => self.whole,
        }
    }
}

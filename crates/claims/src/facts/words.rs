//! Words of a sentence with the punctuation that matters.

/// A word of a sentence.
#[derive(Debug, Clone)]
pub(crate) struct Word {
    /// First byte, brackets before it included.
    pub(crate) start: usize,
    /// One past the last byte, without a comma or the full stop of the sentence.
    pub(crate) end: usize,
    /// The word alone, in lower case.
    pub(crate) lower: String,
    pub(crate) capital: bool,
    /// A comma outside of brackets follows.
    pub(crate) comma: bool,
    /// It stands in brackets, where no rule looks.
    pub(crate) hidden: bool,
}

/// The words of a sentence.
pub(crate) fn words(sentence: &str) -> Vec<Word> {
    let mut depth = 0usize;
    let mut words = Vec::new();
    let trimmed = sentence.trim_end_matches(['.', '!', ' ']);
    // The full stop of "the U.S." at the end belongs to the word, and ends the sentence, too.
    let last = trimmed.rsplit(' ').next().unwrap_or("");
    let text = if last.contains('.') { sentence.trim_end() } else { trimmed };
    for raw in text.split_whitespace() {
        let start = raw.as_ptr() as usize - text.as_ptr() as usize;
        let opened = raw.matches(['(', '[']).count();
        let closed = raw.matches([')', ']']).count();
        let before = depth;
        depth = (depth + opened).saturating_sub(closed);
        let bare = raw.strip_suffix(',').unwrap_or(raw);
        let core = bare.trim_matches(|c: char| !c.is_alphanumeric());
        words.push(Word {
            start,
            end: start + bare.len(),
            lower: if core.contains('’') {
                core.to_lowercase().replace('’', "'")
            } else {
                core.to_lowercase()
            },
            capital: core.starts_with(char::is_uppercase),
            comma: bare.len() < raw.len() && depth == 0,
            hidden: before > 0 || opened > 0,
        });
    }
    words
}

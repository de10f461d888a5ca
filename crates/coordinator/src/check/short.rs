//! Which checks are computed where they are, without a thread for it.

use groundline_types::CheckRequest;

/// A request of so many bytes of text is split, and its pairs are planned, in some hundred microseconds.
const SHORT_BYTES: usize = 4096;
/// With so many planned items, a turn of the methods takes about as long.
const SHORT_ITEMS: usize = 1024;

/// Whether all texts of a request together are so short that splitting and starting takes well below a millisecond. Whatever is
/// read counts, or one request could hold up every other one on its thread.
pub(super) fn is_short(request: &CheckRequest) -> bool {
    let sources = request.sources.iter().map(|source| source.text.len());
    let history = request.history.iter().map(|turn| turn.content.len());
    let samples = request.samples.iter().map(String::len);
    request.response.len() + sources.chain(history).chain(samples).sum::<usize>() <= SHORT_BYTES
}

/// Whether a check with so many planned items stays short.
pub(super) fn has_few(planned_items: usize) -> bool {
    planned_items <= SHORT_ITEMS
}

#[cfg(test)]
mod tests {
    use super::*;
    use groundline_types::{Source, Turn};

    #[test]
    fn every_text_that_is_read_makes_a_request_long() {
        let short = CheckRequest::new("Cats sleep.", "Cats rest.");
        assert!(is_short(&short));
        let long = || "x".repeat(SHORT_BYTES);
        let mut others = [short.clone(), short.clone(), short.clone(), short];
        others[0].response = long().into();
        others[1].sources.push(Source { id: None, title: None, text: long().into() });
        others[2].history.push(Turn { role: "user".to_owned(), content: long() });
        others[3].samples.push(long());
        for (index, request) in others.iter().enumerate() {
            assert!(!is_short(request), "request {index}");
        }
        assert!(has_few(SHORT_ITEMS) && !has_few(SHORT_ITEMS + 1));
    }
}

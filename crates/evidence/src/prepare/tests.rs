use super::*;
use proptest::prelude::*;

/// Counts a token for each started group of 4 characters of a word. Joining texts with spaces adds `joined` tokens each.
struct Groups {
    joined: usize,
}

impl CountTokens for Groups {
    fn count_tokens(&self, text: &str) -> usize {
        let words: Vec<usize> =
            text.split_whitespace().map(|word| word.chars().count().div_ceil(4)).collect();
        words.iter().sum::<usize>() + self.joined * text.matches(". ").count()
    }

    fn prefix_within(&self, text: &str, budget: usize) -> usize {
        let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
        let fitting = ends.take_while(|end| self.count_tokens(&text[..*end]) <= budget).last();
        fitting.or_else(|| text.chars().next().map(char::len_utf8)).unwrap_or(0)
    }
}

fn source(sentences: &[&str]) -> SourceText {
    let text = sentences.join(" ");
    let mut start = 0;
    let mut spans = Vec::new();
    for sentence in sentences {
        spans.push((Span::new(start, start + sentence.len()), Arc::from(*sentence)));
        start += sentence.len() + 1;
    }
    SourceText { id: "source-1".into(), text: text.into(), sentences: spans }
}

fn prepare(sentences: &[&str], window_tokens: usize) -> (PreparedSource, Vec<(Code, String)>) {
    prepare_source(source(sentences), &Groups { joined: 0 }, window_tokens)
}

fn ranges(prepared: &PreparedSource) -> Vec<(usize, usize)> {
    prepared.windows.iter().map(|window| (window.first_sentence, window.end_sentence)).collect()
}

#[test]
fn windows_hold_whole_sentences_and_overlap_by_one() {
    let (prepared, notes) = prepare(&["a b.", "c d.", "e f.", "g h.", "i j."], 6);
    assert_eq!(ranges(&prepared), [(0, 3), (2, 5)]);
    assert_eq!(&*prepared.windows[0].text, "a b. c d. e f.");
    assert_eq!(prepared.windows[1].span, Span::new(10, 24));
    assert_eq!(notes, []);
}

#[test]
fn a_window_that_would_only_repeat_is_left_out() {
    let (prepared, _) = prepare(&["a b c.", "d e f.", "g h i.", "j k l."], 5);
    assert_eq!(ranges(&prepared), [(0, 1), (1, 2), (2, 3), (3, 4)]);
    let (prepared, _) = prepare(&["a.", "b.", "c d e f g."], 5);
    assert_eq!(ranges(&prepared), [(0, 2), (2, 3)]);
}

#[test]
fn a_window_is_counted_as_a_whole_and_shrunk_while_over() {
    let sentences = source(&["a b.", "c d.", "e f.", "g h."]);
    let counter = Groups { joined: 1 };
    let (prepared, _) = prepare_source(sentences, &counter, 6);
    assert_eq!(ranges(&prepared), [(0, 2), (1, 3), (2, 4)]);
    assert!(prepared.windows.iter().all(|window| counter.count_tokens(&window.text) <= 6));
}

#[test]
fn a_long_sentence_is_cut_at_white_space_with_a_note_that_holds_no_text() {
    let (prepared, notes) = prepare(&["short.", "alpha beta gamma delta epsilon zeta"], 6);
    let pieces: Vec<&str> = prepared.sentences.iter().map(|sentence| &*sentence.text).collect();
    assert_eq!(pieces, ["short.", "alpha", "beta", "gamma", "delta", "epsilon zeta"]);
    for sentence in &prepared.sentences {
        assert_eq!(sentence.span.slice(&prepared.text), Some(&*sentence.text));
    }
    assert_eq!(notes.len(), 1);
    assert_eq!(notes[0].0, Code::SENTENCE_CUT);
    assert!(notes[0].1.starts_with("sentence 2 of 2 has 10 tokens"), "{}", notes[0].1);
    assert!(!notes[0].1.contains("alpha"));
}

#[test]
fn pieces_of_a_sentence_keep_their_places_behind_markup() {
    let text = "x **alpha** beta `gamma` delta epsilon";
    let sentence = (Span::new(2, text.len()), Arc::from("alpha beta gamma delta epsilon"));
    let source = SourceText { id: "s".into(), text: text.into(), sentences: vec![sentence] };
    let (prepared, _) = prepare_source(source, &Groups { joined: 0 }, 6);
    let slices: Vec<&str> = prepared.sentences.iter().map(|s| s.span.slice(text).unwrap()).collect();
    assert_eq!(slices, ["alpha", "beta", "gamma", "delta", "epsilon"]);
}

#[test]
fn text_that_is_not_in_the_original_gets_the_whole_span() {
    let text = "fish &amp; chips are here now";
    let sentence = (Span::new(0, text.len()), Arc::from("fish und chips are here now"));
    let source = SourceText { id: "s".into(), text: text.into(), sentences: vec![sentence] };
    let (prepared, _) = prepare_source(source, &Groups { joined: 0 }, 4);
    assert_eq!(prepared.sentences.last().unwrap().span, Span::new(0, text.len()));
}

#[test]
fn a_text_without_white_space_is_cut_between_characters() {
    let long = "字".repeat(100);
    let (prepared, notes) = prepare(&[&long], 10);
    assert!(prepared.sentences.iter().all(|sentence| sentence.tokens <= 5));
    let joined: String = prepared.sentences.iter().map(|sentence| &*sentence.text).collect();
    assert_eq!((joined, notes.len()), (long, 1));
}

#[test]
fn many_cut_sentences_share_one_last_note() {
    let long = "alpha beta gamma delta";
    let (_, notes) = prepare(&[long; 30], 4);
    assert_eq!(notes.len(), MAX_CUT_NOTES + 1);
    assert!(notes[MAX_CUT_NOTES].1.starts_with("22 more"), "{}", notes[MAX_CUT_NOTES].1);
}

#[test]
fn no_sentences_make_no_windows() {
    let (prepared, notes) = prepare(&[], 10);
    assert!(prepared.windows.is_empty() && prepared.sentences.is_empty() && notes.is_empty());
}

/// Counts words, and adds up the bytes it is shown.
struct Meter {
    bytes: std::sync::atomic::AtomicUsize,
}

impl CountTokens for Meter {
    fn count_tokens(&self, text: &str) -> usize {
        self.bytes.fetch_add(text.len(), std::sync::atomic::Ordering::Relaxed);
        text.split_whitespace().count()
    }

    fn prefix_within(&self, text: &str, budget: usize) -> usize {
        self.bytes.fetch_add(text.len(), std::sync::atomic::Ordering::Relaxed);
        text.match_indices(' ').nth(budget - 1).map_or(text.len(), |(at, _)| at)
    }
}

#[test]
fn a_megabyte_shows_the_counter_a_bounded_multiple_of_its_length() {
    for sentence_words in [20, 300_000] {
        let sentence = "word ".repeat(sentence_words);
        let count = 1_000_000 / sentence.len();
        let sentences: Vec<&str> = (0..count.max(1)).map(|_| sentence.trim_end()).collect();
        let source = source(&sentences);
        let length = source.text.len();
        let meter = Meter { bytes: 0.into() };
        let (prepared, _) = prepare_source(source, &meter, 96);
        assert!(meter.bytes.into_inner() < 12 * length, "for sentences of {sentence_words} words");
        let in_windows: usize = prepared.windows.iter().map(|window| window.text.len()).sum();
        assert!(in_windows <= 2 * length + prepared.windows.len());
    }
}

proptest! {
    #[test]
    fn nothing_is_lost_and_nothing_is_over(
        sentences in proptest::collection::vec("[a-zé字]{1,9}( [a-zé字]{1,30}){0,12}\\.", 0..12),
        window_tokens in 2_usize..30,
        joined in 0_usize..2,
    ) {
        let texts: Vec<&str> = sentences.iter().map(String::as_str).collect();
        let counter = Groups { joined };
        let (prepared, _) = prepare_source(source(&texts), &counter, window_tokens);
        let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        let kept: String = prepared.sentences.iter().map(|sentence| bare(&sentence.text)).collect();
        prop_assert_eq!(kept, bare(&texts.concat()));
        let mut covered = 0;
        for window in &prepared.windows {
            prop_assert!(window.first_sentence <= covered && window.end_sentence > covered);
            prop_assert!(covered - window.first_sentence <= 1, "one sentence of overlap at most");
            covered = window.end_sentence;
            prop_assert!(counter.count_tokens(&window.text) <= window_tokens);
            let held = &prepared.sentences[window.first_sentence..window.end_sentence];
            let texts: Vec<&str> = held.iter().map(|sentence| &*sentence.text).collect();
            prop_assert_eq!(&*window.text, texts.join(" "));
        }
        prop_assert_eq!(covered, prepared.sentences.len());
        for sentence in &prepared.sentences {
            prop_assert_eq!(sentence.span.slice(&prepared.text), Some(&*sentence.text));
            prop_assert_eq!(sentence.tokens, counter.count_tokens(&sentence.text));
        }
    }
}

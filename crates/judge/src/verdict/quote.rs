//! Whether what a judge quotes stands in the source.

/// The first passage that holds the quote, but for case, white space, kinds of quotation marks, and marks around it. `None` where the
/// quote has no letter or digit: a judge that quotes ":" has not read the source.
pub(super) fn find_quote(quote: &str, passages: &[String]) -> Option<usize> {
    let quote = folded(quote);
    let quote = quote.trim_matches(|c: char| !c.is_alphanumeric());
    if quote.is_empty() {
        return None;
    }
    passages.iter().position(|passage| holds(&folded(passage), quote))
}

/// Whether a text holds a quote as whole words: "cat" is not in "location".
fn holds(text: &str, quote: &str) -> bool {
    text.match_indices(quote).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + quote.len()..].chars().next();
        let (first, last) = (quote.chars().next(), quote.chars().next_back());
        !splits_word(before, first) && !splits_word(last, after)
    })
}

/// Whether two neighbours belong to one word. Scripts without spaces have no such words.
fn splits_word(left: Option<char>, right: Option<char>) -> bool {
    let is_spaced = |c: char| c.is_alphanumeric() && !is_unspaced(c);
    left.is_some_and(is_spaced) && right.is_some_and(is_spaced)
}

/// Whether a character is of a script that is written without spaces between words.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}')
}

fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        for c in word.chars() {
            match c {
                '‘' | '’' | '‚' | '`' => folded.push('\''),
                '“' | '”' | '„' | '«' | '»' => folded.push('"'),
                '–' | '—' | '‑' => folded.push('-'),
                c => folded.extend(c.to_lowercase()),
            }
        }
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passages() -> Vec<String> {
        [
            "Marie Curie was born in Warsaw,\nin 1867.",
            "She said: “No one’s location – ever”.",
            "東京は日本の首都です。",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    #[test]
    fn a_quote_is_found_through_case_space_and_marks() {
        for (quote, passage) in [
            ("Marie Curie was born in Warsaw, in 1867.", 0),
            ("\"...born in  WARSAW...\"", 0),
            ("no one's location - ever", 1),
            ("日本の首都", 2),
            ("1867", 0),
        ] {
            assert_eq!(find_quote(quote, &passages()), Some(passage), "{quote}");
        }
    }

    #[test]
    fn what_the_source_does_not_say_word_for_word_is_not_found() {
        for quote in ["born in Paris", "", ":", "...", "cat", "186", "Curie born in Warsaw", "supported"] {
            assert_eq!(find_quote(quote, &passages()), None, "{quote}");
        }
    }
}

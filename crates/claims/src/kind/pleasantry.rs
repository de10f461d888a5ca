//! Greetings, thanks, offers of help, refusals and lead-ins.

use crate::lookup::in_sorted;

/// Longest pleasantry, in words: in a longer sentence something else is said, too.
const MAX_WORDS: usize = 40;

/// Sentences that are nothing else.
const WHOLE: &[&str] = &[
    "sure",
    "certainly",
    "of course",
    "absolutely",
    "definitely",
    "hello",
    "hi",
    "hey",
    "hi there",
    "hello there",
    "hey there",
    "thanks",
    "thank you",
    "thank you very much",
    "thanks a lot",
    "you're welcome",
    "you are welcome",
    "great question",
    "good question",
    "that's a great question",
    "that's a good question",
    "happy to help",
    "glad to help",
    "no problem",
    "my pleasure",
    "sure thing",
    "got it",
    "understood",
    "ok",
    "okay",
    "alright",
    "great",
    "good luck",
    "enjoy",
    "cheers",
    "best regards",
    "kind regards",
    "best wishes",
    "sincerely",
    "good morning",
    "good afternoon",
    "good evening",
    "goodbye",
    "bye",
    "take care",
    "have a great day",
    "have a nice day",
    "welcome",
    "sorry",
    "please",
    "happy reading",
    "no worries",
    "what a great question",
    "excellent question",
    "sounds good",
    "here you go",
    "here it is",
    "happy learning",
];

/// How sentences of this kind start, whatever follows.
const STARTS: &[&str] = &[
    "i hope this helps",
    "i hope that helps",
    "hope this helps",
    "hope that helps",
    "i hope this",
    "i hope that answers",
    "i hope you find",
    "let me know if",
    "let me know whether",
    "let me know how",
    "please let me know",
    "just let me know",
    "feel free to",
    "please feel free to",
    "if you have any other",
    "if you have any more",
    "if you have any further",
    "if you have any questions",
    "if you have any additional",
    "if you have more questions",
    "if you need any",
    "if you need more",
    "if you need further",
    "if you'd like more",
    "if you would like more",
    "if you'd like me to",
    "if you want me to",
    "would you like me to",
    "do you want me to",
    "is there anything else",
    "don't hesitate to",
    "do not hesitate to",
    "please don't hesitate",
    "i'd be happy to",
    "i would be happy to",
    "i'll be happy to",
    "i'm happy to",
    "i am happy to",
    "happy to help",
    "glad to help",
    "i'd be glad to",
    "i'm here to help",
    "how can i help",
    "how may i help",
    "how can i assist",
    "what can i help",
    "as an ai language model, i",
    "as an ai, i",
    "as a language model, i",
];

/// Refusals. What a sentence says after one of these is about the speaker.
const REFUSALS: &[&str] = &[
    "i'm sorry, but i",
    "i'm sorry, i",
    "i am sorry, but i",
    "i am sorry, i",
    "i'm sorry but i",
    "sorry, but i",
    "sorry, i",
    "i apologize, but i",
    "i apologize for",
    "i apologise for",
    "my apologies for",
    "i'm unable to",
    "i am unable to",
    "i'm not able to",
    "i am not able to",
    "i cannot help",
    "i can't help",
    "i cannot assist",
    "i can't assist",
    "i cannot provide",
    "i can't provide",
    "i cannot answer",
    "i can't answer",
    "i don't have access",
    "i do not have access",
    "unfortunately, i cannot",
    "unfortunately, i can't",
    "unfortunately, i don't have",
    "unfortunately, i do not have",
    "unfortunately, i am unable",
    "unfortunately, i'm unable",
    "i don't have enough information",
    "i do not have enough information",
];

/// How a line starts that only announces what follows; it has to end with a colon.
const LEAD_INS: &[&str] = &[
    "here is",
    "here are",
    "here's",
    "below is",
    "below are",
    "the following is",
    "the following are",
    "sure, here",
    "certainly, here",
    "of course, here",
    "sure! here",
    "let me",
    "let's",
    "i'll",
    "i will",
    "in summary",
    "to summarize",
    "in short",
    "as follows",
    "okay, here",
    "based on the text, here",
    "based on the document, here",
];

/// The first words of all of these: most sentences start with another, and are passed over at little cost.
const FIRST_WORDS: &[&str] = &[
    "as",
    "based",
    "below",
    "certainly",
    "dear",
    "do",
    "don't",
    "feel",
    "glad",
    "greetings",
    "happy",
    "hello",
    "here",
    "here's",
    "hey",
    "hi",
    "hope",
    "how",
    "i",
    "i'd",
    "i'll",
    "i'm",
    "if",
    "in",
    "is",
    "just",
    "let",
    "let's",
    "my",
    "of",
    "okay",
    "please",
    "sorry",
    "sure",
    "thank",
    "thanks",
    "the",
    "to",
    "unfortunately",
    "what",
    "would",
];

/// Longest text of [`WHOLE`] with the signs around it, in bytes.
const MAX_WHOLE_BYTES: usize = 60;

pub(crate) fn is_pleasantry(text: &str) -> bool {
    let opening = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let first =
        opening.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’'))).next().unwrap_or("");
    let known = in_sorted(FIRST_WORDS, &first.to_lowercase().replace('’', "'"));
    if !known && text.len() > MAX_WHOLE_BYTES {
        return false;
    }
    let lower = text.to_lowercase().replace('’', "'");
    let bare = lower.trim_matches(|c: char| !c.is_alphanumeric());
    if bare.is_empty() || bare.split_whitespace().count() > MAX_WORDS {
        return false;
    }
    if WHOLE.contains(&bare) {
        return true;
    }
    if !known {
        return false;
    }
    if is_greeting(bare) || is_thanks(bare) {
        return true;
    }
    if lower.trim_end().ends_with(':') && LEAD_INS.iter().any(|start| starts_with_words(bare, start)) {
        return true;
    }
    // Behind "but", "however" or a semicolon something may be claimed after all.
    let open = STARTS.iter().find(|start| starts_with_words(bare, start)).map(|start| &bare[start.len()..]);
    let refused =
        REFUSALS.iter().find(|start| starts_with_words(bare, start)).map(|start| &bare[start.len()..]);
    match open.or(refused) {
        Some(rest) => {
            ![" but ", "however", "; ", " because ", " since "].iter().any(|turn| rest.contains(turn))
        }
        None => false,
    }
}

fn starts_with_words(text: &str, start: &str) -> bool {
    text.strip_prefix(start).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

/// "Hello John", "Dear reader".
fn is_greeting(bare: &str) -> bool {
    let mut words = bare.split_whitespace();
    let first = words.next().unwrap_or("").trim_end_matches(',');
    matches!(first, "hello" | "hi" | "hey" | "dear" | "greetings") && words.count() <= 2
}

/// "Thank you for your question", but not thanks with a fact in them.
fn is_thanks(bare: &str) -> bool {
    let thanks = ["thank you for", "thanks for", "thank you so much for"]
        .iter()
        .any(|start| starts_with_words(bare, start));
    let plain = !bare.contains(|c: char| c.is_ascii_digit()) && !bare.contains([',', ';']);
    thanks && plain && bare.split_whitespace().count() <= 12
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_opening_has_its_first_word_in_the_list() {
        assert!(FIRST_WORDS.is_sorted());
        for opening in [STARTS, REFUSALS, LEAD_INS].concat() {
            let first = opening.split_whitespace().next().unwrap_or("").trim_end_matches([',', '!']);
            assert!(in_sorted(FIRST_WORDS, first), "{opening}");
        }
    }
}

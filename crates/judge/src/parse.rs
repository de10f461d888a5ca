//! Finds the answer in what a model wrote: strict about the JSON, tolerant about what stands around it.
//!
//! Thoughts between `<think>` and `</think>` are dropped, fences and prose around the object are skipped. Inside the object JSON
//! is JSON: a trailing comma or a key given twice is no answer, and the question is asked again.

#[cfg(test)]
mod tests;

use serde::de::DeserializeOwned;

/// Opening braces at which an object is looked for: bounds the work on a text full of braces.
const MAX_STARTS: usize = 64;

/// Beginnings of answers that are refusals, in lower case and with straight quotes.
const REFUSALS: [&str; 20] = [
    "i'm sorry",
    "i am sorry",
    "sorry, ",
    "i apologize",
    "i can't",
    "i cannot",
    "i can not",
    "i'm unable",
    "i am unable",
    "i'm not able",
    "i am not able",
    "i won't",
    "i will not",
    "i must decline",
    "i refuse",
    "i'm afraid i can",
    "as an ai",
    "as a language model",
    "unfortunately, i can",
    "my apologies",
];

/// What a text holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found<T> {
    /// The answer, and where its object begins in the text.
    Answer(T, usize),
    /// A refusal in words.
    Refusal,
    /// Neither, or several answers that differ.
    Nothing,
}

/// Looks for the first JSON object with `key` that reads as a `T`.
///
/// Several such objects must be equal: a model that repeats an object from the text it was given, and then answers, has said two
/// things. An object with `key` that does not read as `T` makes the whole answer unreadable.
pub(crate) fn find_answer<T: DeserializeOwned + PartialEq>(text: &str, key: &str) -> Found<T> {
    let shown = without_thoughts(text);
    let offset = text.len() - shown.len();
    let mut found: Option<(T, usize)> = None;
    let mut from = 0;
    for _ in 0..MAX_STARTS {
        let Some(start) = shown[from..].find('{').map(|at| from + at) else { break };
        let Some(end) = closing_brace(shown, start) else {
            from = start + 1;
            continue;
        };
        let object = &shown[start..end];
        if !has_key(object, key) {
            from = start + 1;
            continue;
        }
        match (serde_json::from_str::<T>(object), &found) {
            (Ok(answer), None) => found = Some((answer, offset + start)),
            (Ok(answer), Some((first, _))) if answer == *first => {}
            _ => return Found::Nothing,
        }
        from = end;
    }
    match found {
        Some((answer, at)) => Found::Answer(answer, at),
        None if is_refusal(shown) => Found::Refusal,
        None => Found::Nothing,
    }
}

/// Whether a text without an answer is a refusal.
pub(crate) fn is_refusal(text: &str) -> bool {
    let shown = without_thoughts(text).trim_start_matches(|c: char| !c.is_alphanumeric());
    let head = shown.chars().take(40).map(|c| if c == '’' { '\'' } else { c });
    let head = head.collect::<String>().to_lowercase();
    REFUSALS.iter().any(|refusal| head.starts_with(refusal))
}

/// What comes behind the thoughts; nothing where they do not end. Always the end of `text`.
pub(crate) fn without_thoughts(text: &str) -> &str {
    if let Some(end) = text.rfind("</think>") {
        return &text[end + "</think>".len()..];
    }
    match text.find("<think>") {
        Some(_) => &text[text.len()..],
        None => text,
    }
}

/// The end of the object that opens at `open`, after its brace. Braces inside strings do not count.
fn closing_brace(text: &str, open: usize) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.as_bytes()[open..].iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' if !in_string => depth += 1,
            b'}' if !in_string => {
                depth -= 1;
                if depth == 0 {
                    return Some(open + at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether an object has the key, as its own and not of something inside it; also where the rest of it is malformed.
fn has_key(object: &str, key: &str) -> bool {
    if let Ok(value) = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(object) {
        return value.contains_key(key);
    }
    object.contains(&format!("\"{key}\""))
}

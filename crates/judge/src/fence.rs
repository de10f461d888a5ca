//! Keeps untrusted text apart from what we say to the model.
//!
//! Two layers. Each untrusted text stands between fence lines with a code that its author cannot know, and what could pass for
//! markup of a chat, for a fence, or for an answer is taken out of it. Neither makes a model obey; together they leave a text no
//! way out of its fence, so that what remains is a text that asks for something, inside what the model was told is data.

#[cfg(test)]
mod tests;

/// Words in square brackets that chat templates know.
const BRACKET_MARKS: [&str; 9] = [
    "INST",
    "/INST",
    "SYSTEM_PROMPT",
    "/SYSTEM_PROMPT",
    "TOOL_CALLS",
    "AVAILABLE_TOOLS",
    "/AVAILABLE_TOOLS",
    "TOOL_RESULTS",
    "/TOOL_RESULTS",
];
/// Keys of our answers: an object with one of them must come from the model.
const ANSWER_KEYS: [&str; 4] = ["verdict", "quote", "facts", "reason"];
/// Names before a colon at the beginning of a line with which a text could play another speaker.
const SPEAKERS: [&str; 7] = ["system", "user", "assistant", "human", "developer", "tool", "ai"];

/// Takes out of a text what could act as more than text.
///
/// - control characters, characters that are not seen (zero width, direction, tags, variation), each removed;
/// - `<` where a tag could begin and `>` where one could end become `‹` and `›`, which ends chat markers such as `<|im_start|>`,
///   `<think>`, `</s>` and every fence;
/// - `[INST]` and its kin get round brackets, the backslash of `\boxed{` becomes a wide one;
/// - `"verdict":` and the other keys of our answers get typographic quotes, so that no object in the text is an answer;
/// - a speaker at the beginning of a line (`System:`) is put behind a bar, and so are headings of prompts (`###`).
///
/// One pass over characters, then one over lines, each only replacing by what it never replaces: running it again changes nothing.
pub(crate) fn sanitised(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = visible(text);
    rest = rest.replace("\r\n", "\n").replace('\r', "\n");
    for (number, line) in rest.split('\n').enumerate() {
        if number > 0 {
            clean.push('\n');
        }
        if speaks(line) {
            clean.push_str("| ");
        }
        push_marks(&mut clean, line);
    }
    clean
}

/// A text between fence lines. `name` is ours.
pub(crate) fn push_fenced(prompt: &mut String, name: &str, nonce: &str, sanitised: &str) {
    prompt.push_str(&["<<<", name, " ", nonce, "\n", sanitised, "\n", name, " ", nonce, ">>>\n"].concat());
}

/// The text without characters that are not seen.
fn visible(text: &str) -> String {
    text.chars().filter(|c| !is_unseen(*c)).collect()
}

fn is_unseen(c: char) -> bool {
    if matches!(c, '\n' | '\t' | '\r') {
        return false;
    }
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a line plays a speaker or opens a section of a prompt.
fn speaks(line: &str) -> bool {
    let is_heading = line.trim_start().starts_with("###");
    let line = line.trim_start_matches([' ', '\t', '*', '_', '>', '#']);
    let name = line.split([':', '：']).next().unwrap_or_default();
    let is_speaker = name.len() < line.len() && {
        let name = name.trim_end_matches([' ', '*', '_']).to_lowercase();
        SPEAKERS.contains(&name.as_str())
    };
    is_speaker || is_heading
}

fn push_marks(clean: &mut String, line: &str) {
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = after;
        match c {
            '<' if after.starts_with(may_open_tag) => clean.push('‹'),
            '>' if clean.ends_with(may_close_tag) => clean.push('›'),
            '\\' if after.starts_with("boxed") => clean.push('＼'),
            '[' => match BRACKET_MARKS.iter().find(|mark| bracketed(after, mark)) {
                Some(mark) => {
                    clean.push_str(&["(", &mark.to_lowercase(), ")"].concat());
                    rest = &after[mark.len() + 1..];
                }
                None => clean.push('['),
            },
            '"' => match ANSWER_KEYS.iter().find(|key| quoted_key(after, key)) {
                Some(key) => {
                    clean.push_str(&["“", &after[..key.len()], "”"].concat());
                    rest = &after[key.len() + 1..];
                }
                None => clean.push('"'),
            },
            _ => clean.push(c),
        }
    }
}

fn may_open_tag(c: char) -> bool {
    c.is_alphabetic() || matches!(c, '/' | '|' | '｜' | '<' | '!' | '‹' | '_' | '[')
}

fn may_close_tag(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '|' | '｜' | '>' | '›' | '/' | '_' | ']' | '"' | '\'')
}

fn bracketed(after: &str, mark: &str) -> bool {
    let Some(word) = after.get(..mark.len()) else { return false };
    word.eq_ignore_ascii_case(mark) && after[mark.len()..].starts_with(']')
}

/// Whether a quoted word is the key of an object: the quote closes and a colon follows.
fn quoted_key(after: &str, key: &str) -> bool {
    let Some(word) = after.get(..key.len()) else { return false };
    let Some(rest) = after[key.len()..].strip_prefix('"') else { return false };
    word.eq_ignore_ascii_case(key) && rest.trim_start().starts_with([':', '：'])
}

/// Openings with which a text of no content gets a model to agree ("One token to fool LLM-as-a-judge", arXiv 2507.08794), in
/// lower case, without punctuation at the ends.
const EMPTY_OPENERS: [&str; 16] = [
    "thought process",
    "let's think step by step",
    "let's solve this problem step by step",
    "let us think step by step",
    "solution",
    "answer",
    "final answer",
    "the answer is",
    "explanation",
    "reasoning",
    "analysis",
    "here is the answer",
    "here's the answer",
    "step 1",
    "conclusion",
    "output",
];

/// Whether a text says anything that can be judged: it has a letter or digit, and is not only an opening phrase.
pub(crate) fn says_something(text: &str) -> bool {
    let text = visible(text);
    let text = text.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase().replace('’', "'");
    !text.is_empty() && !EMPTY_OPENERS.contains(&text.as_str())
}

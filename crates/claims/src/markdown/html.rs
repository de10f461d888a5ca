//! HTML inside of Markdown.

use crate::mapped::MappedText;

/// Elements that are markup inside a line. Any other name in angle brackets is text, such as `Vec<String>`.
const INLINE: &[&str] = &[
    "a",
    "abbr",
    "acronym",
    "b",
    "bdi",
    "bdo",
    "big",
    "blockquote",
    "br",
    "button",
    "center",
    "cite",
    "code",
    "data",
    "dd",
    "del",
    "details",
    "dfn",
    "div",
    "dl",
    "dt",
    "em",
    "figcaption",
    "figure",
    "font",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "i",
    "iframe",
    "img",
    "input",
    "ins",
    "kbd",
    "label",
    "li",
    "main",
    "mark",
    "nav",
    "ol",
    "p",
    "pre",
    "q",
    "s",
    "samp",
    "section",
    "small",
    "span",
    "strike",
    "strong",
    "sub",
    "summary",
    "sup",
    "svg",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "time",
    "tr",
    "tt",
    "u",
    "ul",
    "var",
    "video",
    "wbr",
    "article",
    "aside",
    "caption",
    "source",
];

/// Elements that start a block of their own.
const BLOCKS: &[&str] = &[
    "article",
    "aside",
    "blockquote",
    "br",
    "center",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "ul",
    "html",
    "body",
    "head",
    "title",
    "form",
    "fieldset",
];

/// The name of a tag such as `<br/>` or `</p>`, in lower case.
fn name(tag: &str) -> String {
    let inner = tag.trim_start_matches(['<', '/']);
    let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(inner.len());
    inner[..end].to_ascii_lowercase()
}

/// Whether a tag breaks the line.
pub(crate) fn is_break(tag: &str) -> bool {
    matches!(name(tag).as_str(), "br" | "p" | "div" | "li" | "hr" | "tr")
}

/// Whether something in angle brackets is markup.
pub(crate) fn is_known(tag: &str) -> bool {
    tag.starts_with("<!") || tag.starts_with("<?") || INLINE.contains(&name(tag).as_str())
}

/// The text of an HTML block: tags, comments, scripts and styles left out, block elements as blank lines.
pub(crate) fn without_tags(raw: &MappedText) -> MappedText {
    let text = raw.as_str();
    let mut kept = MappedText::default();
    let mut at = 0;
    // Once no closing bracket is left, an opening one is text; asking each time would be quadratic.
    let last_close = text.rfind('>').unwrap_or(0);
    while let Some(open) = text[at..].find('<').map(|found| at + found) {
        kept.append(raw, at..open);
        let end = if open < last_close { tag_end(text, open) } else { None };
        let Some(end) = end else {
            kept.append(raw, open..open + 1);
            at = open + 1;
            continue;
        };
        let tag = &text[open..end];
        if BLOCKS.contains(&name(tag).as_str()) {
            kept.push_replacement(raw.span(open..end), "\n\n");
        }
        at = end;
    }
    kept.append(raw, at..text.len());
    kept
}

/// Where the tag or comment at `open` ends, with what must not be read as text behind it.
fn tag_end(text: &str, open: usize) -> Option<usize> {
    let rest = &text[open..];
    if let Some(comment) = rest.strip_prefix("<!--") {
        return comment.find("-->").map(|end| open + 4 + end + 3).or(Some(text.len()));
    }
    let second = rest[1..].chars().next()?;
    if !(second.is_ascii_alphabetic() || matches!(second, '/' | '!' | '?')) {
        return None;
    }
    let end = open + rest.find('>')? + 1;
    let element = name(&text[open..end]);
    if second != '/' && matches!(element.as_str(), "script" | "style") {
        let close = format!("</{element}");
        let after = text[end..].to_ascii_lowercase().find(&close).map(|found| end + found);
        return after.and_then(|at| text[at..].find('>').map(|found| at + found + 1)).or(Some(text.len()));
    }
    Some(end)
}

/// The text with the white space at the start of each line left out, so that Markdown reads no line as code.
pub(crate) fn without_indentation(raw: &MappedText) -> MappedText {
    let text = raw.as_str();
    let mut kept = MappedText::default();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start_matches([' ', '\t']);
        kept.append(raw, at + line.len() - bare.len()..at + line.len());
        at += line.len();
    }
    kept
}

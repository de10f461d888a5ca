//! Reference lists and links.

/// Words that may stand around a bare link.
const LABELS: &[&str] = &[
    "source",
    "sources",
    "reference",
    "references",
    "link",
    "links",
    "see",
    "url",
    "website",
    "web",
    "read",
    "more",
    "available",
    "at",
    "from",
    "retrieved",
    "accessed",
    "here",
    "via",
    "doi",
    "and",
    "also",
    "further",
    "reading",
    "citation",
    "citations",
    "on",
    "wikipedia",
    "visit",
    "online",
];

/// Headings of reference lists.
const HEADINGS: &[&str] = &[
    "references",
    "sources",
    "bibliography",
    "further reading",
    "citations",
    "works cited",
    "links",
    "external links",
    "reference list",
    "source",
    "see also",
    "footnotes",
    "notes and references",
];

fn is_link(word: &str) -> bool {
    let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
    ["http://", "https://", "www.", "ftp://", "doi:", "doi.org", "arxiv:"]
        .iter()
        .any(|start| word.starts_with(start))
        || (word.starts_with("10.") && word.contains('/'))
}

/// Whether a text is links, marks and labels and nothing else: "Source: https://…", "[1] https://…".
pub(crate) fn is_bare(text: &str) -> bool {
    let mut links = 0;
    for word in text.split_whitespace() {
        if is_link(&word.to_lowercase()) {
            links += 1;
            continue;
        }
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let mark = word.starts_with('[') && word.trim_end_matches([':', '.']).ends_with(']');
        if !(bare.is_empty() || mark || LABELS.contains(&bare.as_str())) {
            return false;
        }
    }
    links > 0
}

/// Whether a block is an entry of a reference list. Outside of a section for references only a numbered link counts.
pub(crate) fn is_reference(text: &str, in_references: bool) -> bool {
    let trimmed = text.trim_start();
    let label = trimmed
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
        .filter(|(label, _)| label.len() <= 20);
    let has_link = text.split_whitespace().any(|word| is_link(&word.to_lowercase()));
    let defined = label.is_some_and(|(_, rest)| rest.starts_with(':'));
    if defined && has_link {
        return true;
    }
    in_references && (label.is_some() || has_link || has_bracketed_year(text))
}

/// "(2020)" or "(2020, May 3)".
fn has_bracketed_year(text: &str) -> bool {
    text.match_indices('(').any(|(at, _)| {
        let inner = &text.as_bytes()[at + 1..];
        let digits = inner.iter().take_while(|byte| byte.is_ascii_digit()).count();
        digits == 4 && matches!(inner.get(4), Some(b')' | b',' | b'a'..=b'e'))
    })
}

/// Whether a block whose text is all links is a list of links, and no statement in a link.
pub(crate) fn is_link_list(text: &str, linked_bytes: usize) -> bool {
    let written = text.chars().filter(|c| c.is_alphanumeric()).map(char::len_utf8).sum::<usize>();
    let ends = text.trim_end().ends_with(['.', '!', '。']);
    linked_bytes >= written && written > 0 && !ends && !super::has_verb(text)
}

/// Whether a heading opens a list of references.
pub(crate) fn is_reference_heading(text: &str) -> bool {
    let bare = text.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    HEADINGS.contains(&bare.as_str())
}

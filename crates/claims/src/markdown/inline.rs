//! The inline text of one block.

use super::{Block, BlockKind, html, marks};
use crate::mapped::MappedText;
use groundline_types::Span;
use pulldown_cmark::{Event, Tag, TagEnd};
use std::ops::Range;

/// Text of a block as it is read, with what its parts are.
#[derive(Debug, Default)]
pub(crate) struct Inline {
    text: MappedText,
    breaks: Vec<usize>,
    code: Vec<Range<usize>>,
    links: Vec<Range<usize>>,
    bold: Vec<Range<usize>>,
    emphasis: Vec<Range<usize>>,
    /// Starts of the elements that are open: links and emphasis.
    starts: Vec<usize>,
}

impl Inline {
    pub(crate) fn is_empty(&self) -> bool {
        self.text.len() == 0
    }

    pub(crate) fn start(&mut self, tag: &Tag<'_>, original: &str, range: Span) {
        let literal = literal_marker(original, range, matches!(tag, Tag::Strikethrough));
        match tag {
            Tag::Link { .. } | Tag::Image { .. } => self.starts.push(self.text.len()),
            Tag::Strong | Tag::Emphasis | Tag::Strikethrough => {
                if let Some(length) = literal {
                    self.text.push_exact(range.start, &original[range.start..range.start + length]);
                }
                self.starts.push(self.text.len());
            }
            _ => {}
        }
    }

    pub(crate) fn end(&mut self, tag: TagEnd, original: &str, range: Span) {
        match tag {
            TagEnd::Link => {
                let start = self.starts.pop().unwrap_or(0);
                self.links.push(start..self.text.len());
            }
            TagEnd::Image => {
                self.starts.pop();
            }
            TagEnd::Strong | TagEnd::Emphasis | TagEnd::Strikethrough => {
                let range = self.starts.pop().unwrap_or(0)..self.text.len();
                if tag == TagEnd::Strong {
                    self.bold.push(range.clone());
                }
                self.emphasis.push(range);
            }
            _ => {}
        }
        if let (TagEnd::Strong | TagEnd::Emphasis | TagEnd::Strikethrough, Some(length)) =
            (tag, literal_marker(original, range, tag == TagEnd::Strikethrough))
        {
            self.text.push_exact(range.end - length, &original[range.end - length..range.end]);
        }
    }

    pub(crate) fn content(&mut self, event: &Event<'_>, original: &str, range: Span) {
        let source = &original[range.start..range.end];
        match event {
            Event::Text(text) if source == &**text => self.push_lines(range.start, source),
            Event::Text(text) => self.push_replaced(range, text),
            // A citation mark, whether or not its definition is there.
            Event::FootnoteReference(_) => self.push_lines(range.start, source),
            Event::Code(code) => self.push_code(range, source, code),
            Event::SoftBreak | Event::HardBreak => self.push_break(range),
            Event::InlineHtml(tag) | Event::Html(tag) if html::is_break(tag) => self.push_break(range),
            Event::InlineHtml(tag) | Event::Html(tag) if !html::is_known(tag) => {
                self.push_lines(range.start, source)
            }
            Event::InlineMath(text) | Event::DisplayMath(text) => self.push_replaced(range, text),
            _ => {}
        }
    }

    /// Adds original text that starts at `start`; line breaks in it are breaks.
    pub(crate) fn push_lines(&mut self, start: usize, text: &str) {
        let mut at = start;
        for line in text.split_inclusive('\n') {
            let bare = line.trim_end_matches(['\n', '\r']);
            self.text.push_folded(at, bare);
            if bare.len() < line.len() {
                self.push_break(Span::new(at + bare.len(), at + line.len()));
            }
            at += line.len();
        }
    }

    fn push_replaced(&mut self, range: Span, text: &str) {
        if text.chars().all(char::is_whitespace) {
            self.text.push_space(range);
        } else {
            let words: Vec<&str> = text.split_whitespace().collect();
            self.text.push_replacement(range, &words.join(" "));
        }
    }

    fn push_code(&mut self, range: Span, source: &str, code: &str) {
        let start = self.text.len();
        let fence = source.bytes().take_while(|byte| *byte == b'`').count();
        let inner = source.get(fence..source.len().saturating_sub(fence)).unwrap_or("");
        let offset = inner.find(code).filter(|_| !code.is_empty());
        match offset {
            Some(offset) => self.text.push_folded(range.start + fence + offset, code),
            None => self.push_replaced(range, code),
        }
        if self.text.len() > start {
            self.code.push(start..self.text.len());
        }
    }

    fn push_break(&mut self, range: Span) {
        self.text.push_space(range);
        if self.text.len() > 0 && self.breaks.last() != Some(&self.text.len()) {
            self.breaks.push(self.text.len());
        }
    }

    /// The block, as one.
    pub(crate) fn into_block(self, kind: BlockKind) -> Option<Block> {
        if self.text.is_blank() {
            return None;
        }
        let Inline { text, breaks, code, links, emphasis, .. } = self;
        let block = Block { kind, text, breaks, code, links, emphasis, leaf: 0, is_reread: false };
        Some(if kind == BlockKind::Code { block } else { marks::without_marks(block) })
    }

    /// The block, cut at lines that stand in bold as headings.
    pub(crate) fn into_paragraphs(self) -> Vec<Block> {
        let lines = self.lines();
        let is_heading = self.heading_lines(&lines);
        let mut blocks = Vec::new();
        let mut start = 0;
        for (index, line) in lines.iter().enumerate() {
            if is_heading[index] {
                blocks.extend(self.part(start..line.start).into_block(BlockKind::Paragraph));
                blocks.extend(self.part(line.clone()).into_block(BlockKind::HeadingLike));
                start = line.end;
            }
        }
        if start == 0 {
            return self.into_block(BlockKind::Paragraph).into_iter().collect();
        }
        blocks.extend(self.part(start..self.text.len()).into_block(BlockKind::Paragraph));
        blocks
    }

    fn lines(&self) -> Vec<Range<usize>> {
        let ends = self.breaks.iter().copied().filter(|at| *at < self.text.len()).chain([self.text.len()]);
        let mut start = 0;
        let mut lines = Vec::new();
        for end in ends {
            lines.push(start..end);
            start = end;
        }
        lines
    }

    /// Which lines are all bold and start and end where a sentence may.
    fn heading_lines(&self, lines: &[Range<usize>]) -> Vec<bool> {
        let text = self.text.as_str();
        let mut bold = self.bold.iter().peekable();
        let mut ended = true;
        let mut found = Vec::with_capacity(lines.len());
        for (index, line) in lines.iter().enumerate() {
            while bold.peek().is_some_and(|range| range.start < line.start) {
                bold.next();
            }
            let content = text[line.clone()].trim_end();
            let covered = bold.peek().is_some_and(|range| {
                let rest = (line.start + content.len()).saturating_sub(range.end);
                range.start == line.start
                    && range.end <= line.end
                    && rest <= 1
                    && (rest == 0 || content.ends_with([':', '.']))
            });
            let next = lines.get(index + 1).and_then(|next| text[next.clone()].chars().next());
            let is_heading = covered && ended && !next.is_some_and(char::is_lowercase);
            ended = is_heading || content.ends_with(['.', '!', '?', ':', '。']);
            found.push(is_heading);
        }
        found
    }

    fn part(&self, range: Range<usize>) -> Inline {
        let within = |ranges: &[Range<usize>]| -> Vec<Range<usize>> {
            let inside = ranges.iter().filter(|r| r.start >= range.start && r.end <= range.end);
            inside.map(|r| r.start - range.start..r.end - range.start).collect()
        };
        let breaks = self.breaks.iter().filter(|at| **at > range.start && **at < range.end);
        Inline {
            text: self.text.piece(range.clone()),
            breaks: breaks.map(|at| at - range.start).collect(),
            code: within(&self.code),
            links: within(&self.links),
            emphasis: within(&self.emphasis),
            ..Inline::default()
        }
    }
}

/// The length of a marker that is no markup: a single "~" (Markdown's extension takes it for deleted text, people for
/// "about"), or an asterisk between digits ("5*3*2").
fn literal_marker(original: &str, range: Span, tilde: bool) -> Option<usize> {
    let text = &original[range.start..range.end];
    let sign = text.chars().next().filter(|sign| matches!(sign, '*' | '~'))?;
    let length = if text.starts_with("**") && text.ends_with("**") || text.starts_with("~~") { 2 } else { 1 };
    if tilde {
        return (length == 1).then_some(1);
    }
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let outside = digit(original[..range.start].chars().next_back());
    let after = digit(original[range.end..].chars().next());
    let inside = digit(text.trim_start_matches(sign).chars().next());
    let last = digit(text.trim_end_matches(sign).chars().next_back());
    ((outside && inside) || (after && last)).then_some(length)
}

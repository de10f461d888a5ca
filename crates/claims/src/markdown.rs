//! Blocks of a text, Markdown or plain, without their markup.
//!
//! `pulldown-cmark` finds the structure and gives each piece its place. Three things of CommonMark are read differently, since
//! a text that vanishes here is a claim that nobody checks:
//! - Lines indented by four spaces are text and not code: plain text is often indented. Only fenced blocks are code.
//! - HTML blocks lose their tags, and what is left is read as text.
//! - Link definitions (`[label]: target`), which Markdown shows nowhere, become blocks. `[Answer]: 42` is one to Markdown.

mod hidden;
mod html;
mod inline;
pub(crate) mod marks;
mod table;

#[cfg(test)]
mod tests;

use crate::mapped::MappedText;
use crate::sentences::sentences;
use groundline_types::Span;
use inline::Inline;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::ops::Range;
use table::Table;

/// An ordered list does not count this far: "1903. …" at the start of a line is a year, and stays in the text.
const MIN_YEAR_MARKER: u64 = 1000;
/// A list does not start this far, either: a line "42." by itself is a number.
const MIN_LONE_MARKER: u64 = 20;

/// What a block is by its markup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockKind {
    /// A paragraph, also in a list or quote.
    Paragraph,
    /// A heading with number signs.
    Heading,
    /// Something that may be a heading: underlined, or a line all in bold.
    HeadingLike,
    /// A fenced code block.
    Code,
    /// The header row of a table, cells joined by semicolons.
    TableHeader,
    /// A row of a table: "Header: cell; Header: cell", as one replacement of the row.
    TableRow,
}

/// A block of text without markup.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    pub(crate) kind: BlockKind,
    pub(crate) text: MappedText,
    /// Places in the text right behind a line break, in order.
    pub(crate) breaks: Vec<usize>,
    /// Inline code in the text.
    pub(crate) code: Vec<Range<usize>>,
    /// Link texts in the text.
    pub(crate) links: Vec<Range<usize>>,
    /// Emphasised, strong and struck parts of the text; in the order of their ends.
    pub(crate) emphasis: Vec<Range<usize>>,
    /// Which leaf of Markdown's structure it is of, in rising order. A paragraph that is cut at its bold lines gives several
    /// blocks of one leaf.
    pub(crate) leaf: usize,
    /// Whether it was read again from an indented or HTML block, or from a text that was all markup.
    pub(crate) is_reread: bool,
}

impl Block {
    /// The ranges of its sentences, as running text. Inline code and replacements are not cut.
    pub(crate) fn sentences(&self) -> Vec<Range<usize>> {
        let can_cut = |at: usize| {
            let after = self.code.partition_point(|range| range.end <= at);
            let in_code = self.code.get(after).is_some_and(|range| range.start < at);
            !in_code && self.text.can_cut(at)
        };
        sentences(self.text.as_str(), &self.breaks, can_cut)
    }
}

/// The blocks of `text` in order. Their places in `text` do not overlap.
pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Collector::new(text, true).run();
    blocks.retain(|block| !block.text.is_blank());
    if blocks.is_empty() && !text.trim().is_empty() {
        // All of it looked like markup, such as "42.": then it was none.
        let mut whole = Inline::default();
        whole.push_lines(0, text);
        let whole = whole.into_block(BlockKind::Paragraph);
        blocks.extend(whole.map(|block| Block { is_reread: true, ..block }));
    }
    blocks
}

/// Turns the parser's events into blocks.
struct Collector<'a> {
    original: &'a str,
    /// Whether indented lines and HTML are read again as text; false while that is being done.
    nested: bool,
    blocks: Vec<Block>,
    open: Option<Inline>,
    table: Option<Table>,
    /// The fenced block that is being read.
    code: bool,
    /// Lines of an indented or HTML block.
    raw: Option<MappedText>,
    /// A list marker that belongs to the text of its item.
    marker: Option<Span>,
    /// The first number of each list that is open; none for bullets.
    lists: Vec<Option<u64>>,
    /// Everything before this was in some event.
    seen: usize,
    /// A link that is taken as it is written.
    literal: Option<Span>,
    next_leaf: usize,
}

impl<'a> Collector<'a> {
    fn new(original: &'a str, nested: bool) -> Self {
        Self {
            original,
            nested,
            blocks: Vec::new(),
            open: None,
            table: None,
            code: false,
            raw: None,
            marker: None,
            lists: Vec::new(),
            seen: 0,
            literal: None,
            next_leaf: 0,
        }
    }

    fn run(mut self) -> Vec<Block> {
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_TASKLISTS
            | Options::ENABLE_FOOTNOTES;
        for (event, range) in Parser::new_ext(self.original, options).into_offset_iter() {
            let range = Span::new(range.start, range.end);
            if self.literal.is_some_and(|link| link.contains(range)) {
                continue;
            }
            match event {
                Event::Start(tag) => self.start(&tag, range),
                Event::End(tag) => self.end(tag, range),
                Event::Rule => {
                    self.flush();
                    self.see(range);
                }
                event => self.content(&event, range),
            }
        }
        self.flush();
        let end = self.original.len();
        self.see(Span::new(end, end));
        self.blocks.sort_by_key(|block| block.text.span(0..block.text.len()).start);
        self.blocks
    }

    /// Notes that the parser has shown `range`, and takes in what it left out before it.
    fn see(&mut self, range: Span) {
        if range.start > self.seen && self.table.is_none() && self.open.as_ref().is_none_or(Inline::is_empty)
        {
            let gap = &self.original[self.seen..range.start];
            self.add(hidden::blocks(self.seen, gap));
        }
        self.seen = self.seen.max(range.end);
    }

    /// Takes in the blocks of one leaf.
    fn add(&mut self, blocks: impl IntoIterator<Item = Block>) {
        let leaf = self.next_leaf;
        self.next_leaf += 1;
        self.blocks.extend(blocks.into_iter().map(|block| Block { leaf, ..block }));
    }

    fn start(&mut self, tag: &Tag<'_>, range: Span) {
        match tag {
            Tag::Link { .. } if marks::is_chain(&self.original[range.start..range.end]) => {
                // A citation mark is one whether or not a definition of its label follows somewhere.
                self.open_for(range);
                self.literal = Some(range);
                if let Some(open) = &mut self.open {
                    open.push_lines(range.start, &self.original[range.start..range.end]);
                }
            }
            Tag::Paragraph | Tag::Heading { .. } => {
                self.flush();
                self.see(range);
                self.open();
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                self.see(range);
                self.code = matches!(kind, CodeBlockKind::Fenced(_));
                self.open();
                self.raw = (!self.code).then(MappedText::default);
            }
            Tag::HtmlBlock => {
                self.flush();
                self.see(range);
                self.raw = Some(MappedText::default());
            }
            Tag::Table(_) => {
                self.flush();
                self.see(range);
                self.table = Some(Table::default());
            }
            Tag::TableCell => self.open = Some(Inline::default()),
            Tag::List(first) => {
                self.flush();
                self.lists.push(*first);
            }
            Tag::Item => {
                self.flush();
                self.note_marker(range);
            }
            Tag::BlockQuote(_) | Tag::FootnoteDefinition(_) => self.flush(),
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. } => {
                self.open_for(range);
                if let Some(open) = &mut self.open {
                    open.start(tag, self.original, range);
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd, range: Span) {
        match tag {
            TagEnd::Paragraph => self.flush(),
            TagEnd::Heading(_) => {
                let written = self.original[range.start..].trim_start().starts_with('#');
                self.flush_as(if written { BlockKind::Heading } else { BlockKind::HeadingLike });
            }
            TagEnd::CodeBlock if self.code => {
                self.code = false;
                self.flush_as(BlockKind::Code);
            }
            TagEnd::CodeBlock | TagEnd::HtmlBlock => self.flush_raw(tag == TagEnd::HtmlBlock),
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
            }
            TagEnd::Item => {
                if self.marker.is_some() {
                    self.open();
                }
                self.flush();
            }
            TagEnd::TableCell => {
                let cell = self.open.take().unwrap_or_default();
                if let Some(table) = &mut self.table {
                    table.cell(cell, range);
                }
            }
            TagEnd::TableHead => {
                let line = &self.original[range.start..];
                let blocks = self.table.as_mut().map(|table| table.header(line)).unwrap_or_default();
                blocks.into_iter().flatten().for_each(|block| self.add([block]));
            }
            TagEnd::TableRow => {
                let row = self.table.as_mut().and_then(|table| table.row(self.original, range));
                self.add(row);
            }
            TagEnd::Table => self.table = None,
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image => {
                if let Some(open) = &mut self.open {
                    open.end(tag, self.original, range);
                }
            }
            _ => {}
        }
    }

    fn content(&mut self, event: &Event<'_>, range: Span) {
        if let Some(raw) = &mut self.raw {
            if let Event::Text(text) | Event::Html(text) = event {
                push_raw(raw, self.original, range, text);
            }
            return;
        }
        self.open_for(range);
        if let Some(open) = &mut self.open {
            open.content(event, self.original, range);
        }
    }

    /// Opens a paragraph for inline text that has none, as in a tight list.
    fn open_for(&mut self, range: Span) {
        if self.table.is_some() {
            return;
        }
        self.see(range);
        if self.open.is_none() {
            self.open();
        }
    }

    fn open(&mut self) {
        let mut inline = Inline::default();
        if let Some(marker) = self.marker.take() {
            inline.push_lines(marker.start, &self.original[marker.start..marker.end]);
        }
        self.open = Some(inline);
    }

    /// Keeps the marker of an item as text where it is a year or an answer.
    fn note_marker(&mut self, item: Span) {
        self.marker = None;
        let Some(Some(first)) = self.lists.last() else { return };
        let text = &self.original[item.start..item.end];
        let start = text.len() - text.trim_start().len();
        let digits = text[start..].bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = text[start..start + digits].parse().unwrap_or(0);
        let mark = text[start + digits..].chars().next().map_or(0, char::len_utf8);
        // "The answer is:\n\n42." is to Markdown a list of one item without text.
        let empty = text[start + digits + mark..].trim().is_empty() && *first == number;
        let alone = empty && (number >= MIN_LONE_MARKER || self.original[item.end..].trim().is_empty());
        if number >= MIN_YEAR_MARKER || alone {
            let end = (start + digits + mark + 1).min(text.len());
            let end = if text.is_char_boundary(end) { end } else { start + digits + mark };
            self.marker = Some(Span::new(item.start + start, item.start + end));
        }
    }

    fn flush(&mut self) {
        self.flush_as(BlockKind::Paragraph);
    }

    fn flush_as(&mut self, kind: BlockKind) {
        let Some(open) = self.open.take() else { return };
        if kind == BlockKind::Paragraph {
            self.add(open.into_paragraphs());
        } else {
            self.add(open.into_block(kind));
        }
    }

    /// Reads the lines of an indented or HTML block again, as text.
    fn flush_raw(&mut self, html: bool) {
        self.open = None;
        let Some(raw) = self.raw.take() else { return };
        let raw = if html { html::without_tags(&raw) } else { raw };
        let raw = html::without_indentation(&raw);
        let over = |block: Block| Block { text: block.text.over(&raw), is_reread: true, ..block };
        if self.nested {
            let inner = Collector::new(raw.as_str(), false).run();
            self.add(inner.into_iter().map(over));
        } else {
            let mut inline = Inline::default();
            inline.push_lines(0, raw.as_str());
            let block = inline.into_block(BlockKind::Paragraph);
            self.add(block.map(over));
        }
    }
}

/// Adds a line of a raw block as it is.
fn push_raw(raw: &mut MappedText, original: &str, range: Span, text: &str) {
    if range.slice(original) == Some(text) {
        raw.push_exact(range.start, text);
    } else {
        raw.push_replacement(range, text);
    }
}

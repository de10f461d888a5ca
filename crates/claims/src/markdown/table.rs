//! Tables: each row as a text with its header.

use super::inline::Inline;
use super::{Block, BlockKind};
use crate::mapped::MappedText;
use groundline_types::Span;

/// A table as it is read.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// The first cell of the row that is read, as a paragraph.
    first: Option<Block>,
    header: Vec<MappedText>,
    cells: Vec<MappedText>,
    /// End of the last cell in the original.
    end: usize,
}

impl Table {
    pub(crate) fn cell(&mut self, cell: Inline, range: Span) {
        let block = cell.into_block(BlockKind::Paragraph);
        if self.cells.is_empty() {
            self.first.clone_from(&block);
        }
        self.cells.push(block.map(|block| block.text).unwrap_or_default());
        self.end = range.end;
    }

    /// Ends the header row, which begins with `line`. Without a pipe at its start it was a line of prose until the row of
    /// dashes was read. Where its first cell is more than a sentence it stays one, as a block of its own: nobody writes the
    /// name of a column so, and what a reader of a growing text was shown holds.
    pub(crate) fn header(&mut self, line: &str) -> [Option<Block>; 2] {
        self.header = std::mem::take(&mut self.cells);
        let is_open = !line.trim_start().starts_with('|');
        let prose = self.first.take().filter(|first| is_open && first.sentences().len() > 1);
        if prose.is_some() {
            self.header[0] = MappedText::default();
        }
        let names: Vec<&str> =
            self.header.iter().map(|cell| cell.as_str().trim()).filter(|name| !name.is_empty()).collect();
        [prose, block(BlockKind::TableHeader, &self.header, &names.join("; "))]
    }

    /// Ends a row of the body. `row` is its place in `original`; cells beyond the header's, which Markdown leaves out, are
    /// taken in.
    pub(crate) fn row(&mut self, original: &str, row: Span) -> Option<Block> {
        let mut at = self.end;
        for cell in original.get(self.end..row.end)?.split_inclusive('|') {
            let mut text = MappedText::default();
            text.push_folded(at, cell.trim_end_matches('|'));
            at += cell.len();
            if !text.is_blank() {
                self.cells.push(text);
            }
        }
        let cells = std::mem::take(&mut self.cells);
        let names = self.header.iter().map(|cell| cell.as_str().trim()).chain(std::iter::repeat(""));
        let texts =
            cells.iter().map(|cell| cell.as_str().trim()).zip(names).filter(|(cell, _)| !cell.is_empty());
        let texts: Vec<String> = texts
            .map(|(cell, name)| if name.is_empty() { cell.to_owned() } else { format!("{name}: {cell}") })
            .collect();
        block(BlockKind::TableRow, &cells, &texts.join("; "))
    }
}

/// The block of a row: `text` in place of everything from its first cell to its last.
fn block(kind: BlockKind, cells: &[MappedText], text: &str) -> Option<Block> {
    let mut filled = cells.iter().filter(|cell| !cell.is_blank());
    let first = filled.next()?;
    let last = filled.next_back().unwrap_or(first);
    let span = |cell: &MappedText| {
        let (start, end) = (cell.len() - cell.as_str().trim_start().len(), cell.as_str().trim_end().len());
        cell.span(start..end)
    };
    let mut mapped = MappedText::default();
    mapped.push_replacement(Span::new(span(first).start, span(last).end), text);
    let (breaks, code, links, emphasis) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    Some(Block { kind, text: mapped, breaks, code, links, emphasis, leaf: 0, is_reread: false })
}

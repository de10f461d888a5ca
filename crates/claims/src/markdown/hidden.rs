//! What the Markdown parser shows nowhere: link definitions.

use super::inline::Inline;
use super::{Block, BlockKind};

/// The definitions in `gap`, a stretch of the original from byte `start` on that is in no event. Container marks (bullets,
/// list numbers, quote marks, footnote labels) stand in such gaps too, and are no text.
pub(crate) fn blocks(start: usize, gap: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !gap.contains("]:") {
        return blocks;
    }
    let mut definition = Inline::default();
    let mut at = start;
    for line in gap.split_inclusive('\n') {
        let bare = line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '>' | '-' | '+' | '*'));
        let bare = without_number(bare);
        let opens = bare.starts_with('[') && bare.contains("]:") && !bare.starts_with("[^");
        if opens {
            blocks.extend(std::mem::take(&mut definition).into_block(BlockKind::Paragraph));
        }
        if opens || !definition.is_empty() {
            definition.push_lines(at + line.len() - bare.len(), bare);
        }
        at += line.len();
    }
    blocks.extend(definition.into_block(BlockKind::Paragraph));
    blocks
}

fn without_number(line: &str) -> &str {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = line[digits..].strip_prefix(['.', ')']);
    rest.filter(|_| digits > 0).map_or(line, str::trim_start)
}

//! Relative position tables, computed once: they do not depend on the input.

use super::buffer::Buffer;
use super::simd::LANES;
use crate::deberta::DebertaConfig;
use std::sync::OnceLock;

/// Longest sequence of the smallest length class; each further class doubles it.
const FIRST_CLASS: usize = 64;

/// Number of length classes: sequences up to 64 * 2^15 tokens.
const CLASSES: usize = 16;

/// Longest sequence any table serves.
pub(super) const LONGEST_SEQUENCE: usize = FIRST_CLASS << (CLASSES - 1);

/// Columns before the farthest distance that a strip of queries may read.
const MARGIN: usize = 2 * LANES;

/// Projected relative embeddings of one layer by slot, as the checkpoint orders them: `[2 * span][heads * head_width]`.
#[derive(Debug, Default)]
pub(super) struct SlotTables {
    /// Keys of positions, PK, for the content-to-position term.
    pub pk: Option<Buffer>,
    /// Queries of positions, PQ, scale folded in, for the position-to-content term.
    pub pq: Option<Buffer>,
}

/// The tables of one layer by distance, as attention reads them: `[heads * head_width][width]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeadTables<'a> {
    pub pk: Option<&'a [f32]>,
    pub pq: Option<&'a [f32]>,
    /// Numbers of one row.
    pub width: usize,
    /// Column of distance 0.
    pub origin: usize,
}

impl HeadTables<'_> {
    /// No relative attention.
    pub(super) const NONE: HeadTables<'static> = HeadTables { pk: None, pq: None, width: 0, origin: 0 };

    /// Panics where the tables do not serve a sequence of `length` tokens with `rows` numbers a token.
    pub(super) fn assert_fits(&self, length: usize, rows: usize) {
        if self.pk.is_some() || self.pq.is_some() {
            assert!(length + LANES <= self.origin, "table reaches back far enough");
            assert!(self.origin + length + LANES <= self.width, "table reaches on far enough");
        }
        for table in [self.pk, self.pq].into_iter().flatten() {
            assert!(rows * self.width <= table.len(), "a table row for each number of a token");
        }
    }
}

/// One length class, expanded for every layer.
#[derive(Debug)]
struct Class {
    width: usize,
    origin: usize,
    layers: Vec<(Option<Buffer>, Option<Buffer>)>,
}

/// Tables of all layers: by slot, and expanded by distance for a length class when it is first needed.
///
/// Expanding makes log buckets need no special case in the kernels, and small classes keep short sequences in cache.
#[derive(Debug)]
pub(super) struct RelativeTables {
    layers: Vec<SlotTables>,
    /// `heads * head_width`.
    rows: usize,
    config: DebertaConfig,
    classes: [OnceLock<Class>; CLASSES],
}

impl RelativeTables {
    pub(super) fn new(config: &DebertaConfig, rows: usize, layers: Vec<SlotTables>) -> Self {
        Self { layers, rows, config: config.clone(), classes: std::array::from_fn(|_| OnceLock::new()) }
    }

    /// The tables of `layer` for a sequence of `length` tokens, at most [`LONGEST_SEQUENCE`].
    pub(super) fn for_length(&self, layer: usize, length: usize) -> HeadTables<'_> {
        let smallest = length.div_ceil(FIRST_CLASS).next_power_of_two().trailing_zeros() as usize;
        // A larger class that exists already serves as well and costs no memory.
        let class = self.classes[smallest..].iter().find_map(OnceLock::get);
        let class = class
            .unwrap_or_else(|| self.classes[smallest].get_or_init(|| self.expand(FIRST_CLASS << smallest)));
        let (pk, pq) = &class.layers[layer];
        HeadTables {
            pk: pk.as_ref().map(Buffer::as_slice),
            pq: pq.as_ref().map(Buffer::as_slice),
            width: class.width,
            origin: class.origin,
        }
    }

    fn expand(&self, longest: usize) -> Class {
        // The width is no multiple of 1024 numbers, else all rows would fall into the same cache sets.
        let (origin, width) = (longest + MARGIN, 2 * (longest + MARGIN));
        let slots: Vec<usize> =
            (0..width).map(|column| self.config.slot(origin as isize - column as isize)).collect();
        let expand = |table: &Option<Buffer>| table.as_ref().map(|table| self.by_distance(table, &slots));
        let layers = self.layers.iter().map(|layer| (expand(&layer.pk), expand(&layer.pq))).collect();
        Class { width, origin, layers }
    }

    fn by_distance(&self, table: &Buffer, slots: &[usize]) -> Buffer {
        let mut out = Buffer::zeros(self.rows * slots.len());
        let table = table.as_slice();
        for (row, columns) in out.as_mut_slice().chunks_exact_mut(slots.len()).take(self.rows).enumerate() {
            for (number, slot) in columns.iter_mut().zip(slots) {
                *number = table[slot * self.rows + row];
            }
        }
        out
    }
}

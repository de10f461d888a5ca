//! Relative position tables, computed once: they do not depend on the input.

use super::buffer::Buffer;
use super::pack::Format;
use super::simd::{LANES, to_bf16};
use crate::encoder::Distances;
use std::sync::OnceLock;

/// Longest sequence of the smallest length class; each further class doubles it.
const FIRST_CLASS: usize = 64;

/// Number of length classes: sequences up to 64 * 2^15 tokens.
const CLASSES: usize = 16;

/// Longest sequence any table serves.
pub(super) const LONGEST_SEQUENCE: usize = FIRST_CLASS << (CLASSES - 1);

/// Columns before the farthest distance that a strip of queries may read.
const MARGIN: usize = 2 * LANES;

/// What one layer adds to scores by slot, as the checkpoint orders them: `[slots][heads * head_width]` for keys and queries.
/// Once expanded, with distances in place of slots and transposed.
#[derive(Debug, Default)]
pub(super) struct SlotTables {
    /// Keys of positions, PK, for the content-to-position term.
    pub pk: Option<Buffer>,
    /// Queries of positions, PQ, scale folded in, for the position-to-content term.
    pub pq: Option<Buffer>,
    /// What is added for each head, `[slots][heads]`, or for all heads alike, `[slots][1]`.
    pub bias: Option<Buffer>,
}

/// The tables of one layer by distance, as attention reads them: `[heads * head_width][width]`, biases `[heads][width]`.
///
/// In single precision the column of query i and key j is `origin + j - i` in all of them. As bf16 pairs, PK and PQ have units
/// in place of numbers, half as many rows, and PQ's column is `origin + i - j`.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeadTables<'a> {
    /// Of PK and PQ.
    pub format: Format,
    pub pk: Option<&'a [f32]>,
    pub pq: Option<&'a [f32]>,
    pub bias: Option<&'a [f32]>,
    /// Numbers from one head's biases to the next head's: 0 where all heads have the same.
    pub bias_step: usize,
    /// Numbers of one row.
    pub width: usize,
    /// Column of distance 0.
    pub origin: usize,
}

impl HeadTables<'_> {
    /// No relative attention.
    pub(super) const NONE: HeadTables<'static> = HeadTables {
        format: Format::Single,
        pk: None,
        pq: None,
        bias: None,
        bias_step: 0,
        width: 0,
        origin: 0,
    };

    /// Whether there is any.
    pub(super) fn is_some(&self) -> bool {
        self.has_positions() || self.bias.is_some()
    }

    /// Whether keys or queries of positions are among them.
    pub(super) fn has_positions(&self) -> bool {
        self.pk.is_some() || self.pq.is_some()
    }

    /// Panics where the tables do not serve a sequence of `length` tokens.
    pub(super) fn assert_fits(&self, length: usize, heads: usize, head_width: usize) {
        if self.is_some() {
            assert!(length + LANES <= self.origin, "table reaches back far enough");
            assert!(self.origin + length + LANES <= self.width, "table reaches on far enough");
        }
        let rows = heads * head_width / self.format.of_unit();
        for table in [self.pk, self.pq].into_iter().flatten() {
            assert!(rows * self.width <= table.len(), "a table row for each unit of a token");
        }
        if let Some(bias) = self.bias {
            assert!((heads - 1) * self.bias_step + self.width <= bias.len(), "biases for each head");
        }
    }
}

/// One length class, expanded for every layer.
#[derive(Debug)]
struct Class {
    width: usize,
    origin: usize,
    layers: Vec<SlotTables>,
}

/// Tables of all layers: by slot, and expanded by distance for a length class when it is first needed.
///
/// Expanding makes log buckets need no special case in the kernels, and small classes keep short sequences in cache.
#[derive(Debug)]
pub(super) struct RelativeTables {
    layers: Vec<SlotTables>,
    /// Numbers of a slot's row in the tables of keys and queries: `heads * head_width`.
    rows: usize,
    /// Numbers of a slot's row in the tables of biases.
    bias_rows: usize,
    /// What the tables of keys and queries are expanded to.
    format: Format,
    distances: Distances,
    classes: [OnceLock<Class>; CLASSES],
}

impl RelativeTables {
    /// `layers` are told apart by their place; layers that have the same tables may share one. In single precision, or as
    /// bf16 pairs where `rows` is even.
    pub(super) fn new(
        distances: &Distances,
        format: Format,
        (rows, bias_rows): (usize, usize),
        layers: Vec<SlotTables>,
    ) -> Self {
        let classes = std::array::from_fn(|_| OnceLock::new());
        Self { layers, rows, bias_rows, format, distances: distances.clone(), classes }
    }

    /// The tables at place `layer` for a sequence of `length` tokens, at most [`LONGEST_SEQUENCE`].
    pub(super) fn for_length(&self, layer: usize, length: usize) -> HeadTables<'_> {
        let smallest = length.div_ceil(FIRST_CLASS).next_power_of_two().trailing_zeros() as usize;
        // A larger class that exists already serves as well and costs no memory.
        let class = self.classes[smallest..].iter().find_map(OnceLock::get);
        let class = class
            .unwrap_or_else(|| self.classes[smallest].get_or_init(|| self.expand(FIRST_CLASS << smallest)));
        let tables = &class.layers[layer];
        HeadTables {
            format: self.format,
            pk: tables.pk.as_ref().map(Buffer::as_slice),
            pq: tables.pq.as_ref().map(Buffer::as_slice),
            bias: tables.bias.as_ref().map(Buffer::as_slice),
            bias_step: if self.bias_rows > 1 { class.width } else { 0 },
            width: class.width,
            origin: class.origin,
        }
    }

    fn expand(&self, longest: usize) -> Class {
        // The width is no multiple of 1024 numbers, else all rows would fall into the same cache sets.
        let (origin, width) = (longest + MARGIN, 2 * (longest + MARGIN));
        let slots: Vec<usize> =
            (0..width).map(|column| self.distances.slot(origin as isize - column as isize)).collect();
        let other_way: Vec<usize> =
            (0..width).map(|column| self.distances.slot(column as isize - origin as isize)).collect();
        let of_layer = |layer: &SlotTables| {
            let (pk, pq, bias) = (layer.pk.as_ref(), layer.pq.as_ref(), layer.bias.as_ref());
            let bias = bias.map(|table| by_distance(table, self.bias_rows, &slots));
            match self.format {
                Format::Pairs => SlotTables {
                    pk: pk.map(|table| pairs_by_distance(table, self.rows, &slots)),
                    pq: pq.map(|table| pairs_by_distance(table, self.rows, &other_way)),
                    bias,
                },
                _ => SlotTables {
                    pk: pk.map(|table| by_distance(table, self.rows, &slots)),
                    pq: pq.map(|table| by_distance(table, self.rows, &slots)),
                    bias,
                },
            }
        };
        let layers = self.layers.iter().map(of_layer).collect();
        Class { width, origin, layers }
    }
}

/// A table of `rows` numbers a slot with one row for each number, by distance.
fn by_distance(table: &Buffer, rows: usize, slots: &[usize]) -> Buffer {
    let mut out = Buffer::zeros(rows * slots.len());
    let table = table.as_slice();
    for (row, columns) in out.as_mut_slice().chunks_exact_mut(slots.len()).take(rows).enumerate() {
        for (number, slot) in columns.iter_mut().zip(slots) {
            *number = table[slot * rows + row];
        }
    }
    out
}

/// The same as bf16 pairs of neighbouring numbers: one row for every two.
fn pairs_by_distance(table: &Buffer, rows: usize, slots: &[usize]) -> Buffer {
    let mut out = Buffer::zeros(rows / 2 * slots.len());
    let table = table.as_slice();
    for (pair, columns) in out.as_mut_words().chunks_exact_mut(slots.len()).take(rows / 2).enumerate() {
        for (unit, slot) in columns.iter_mut().zip(slots) {
            let at = slot * rows + 2 * pair;
            *unit = u32::from(to_bf16(table[at])) | u32::from(to_bf16(table[at + 1])) << 16;
        }
    }
    out
}

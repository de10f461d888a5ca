//! Safe calls of attention in either format.

use super::super::attention::AttentionArgs;
use super::super::attention::pairs::{KEY_BAND, KEY_STRIP, PairsArgs, QUERY_BLOCK};
use super::super::buffer::{Rows, RowsMut};
use super::super::pack::Format;
use super::super::simd::LANES;
use super::super::tables::HeadTables;
use super::Kernels;

/// One sequence's part of the queries, keys and values, and the room that attention needs.
#[derive(Debug)]
pub(in super::super) struct AttentionCall<'a> {
    /// Single precision, or bf16 pairs where heads are a multiple of 32 wide.
    pub format: Format,
    pub heads: usize,
    pub head_width: usize,
    /// Query rows, from token 0 on.
    pub q: Rows<'a>,
    pub k: Rows<'a>,
    pub v: Rows<'a>,
    /// As many rows as `q`.
    pub out: RowsMut<'a>,
    /// In the same format.
    pub tables: HeadTables<'a>,
    /// Keys farther from a query than so many tokens are not looked at.
    pub reach: usize,
    /// At least [`Kernels::attention_scratch`] numbers.
    pub scratch: &'a mut [f32],
}

/// Numbers from row to row of attention's scratch matrices.
fn pitch(length: usize) -> usize {
    length.next_multiple_of(LANES) + LANES
}

/// Numbers in each part of the scratch.
#[derive(Debug, Clone, Copy)]
struct Room {
    keys: usize,
    values: usize,
    /// For a strip's band, and for its scores.
    strip: usize,
    queries: usize,
    /// Of pairs: key rows, a strip's weights, a block's position terms, and a band of keys.
    pairs: [usize; 4],
}

impl Room {
    fn new(call: (Format, usize, usize, usize), strip_rows: usize) -> Self {
        let (format, queries, length, head_width) = call;
        let pitch = pitch(length);
        let strip = strip_rows * pitch;
        if format == Format::Single {
            let (keys, queries) = (head_width * pitch, strip_rows * head_width);
            return Self { keys, values: keys, strip, queries, pairs: [0; 4] };
        }
        let units = head_width / 2;
        let block = QUERY_BLOCK.min(queries.next_multiple_of(LANES));
        Self {
            keys: units * pitch,
            values: length.div_ceil(2) * head_width,
            strip,
            queries: queries.next_multiple_of(8) * units,
            pairs: [
                length.next_multiple_of(LANES) * units,
                strip_rows * (pitch / 2),
                block * pitch,
                KEY_STRIP * KEY_BAND,
            ],
        }
    }

    fn total(&self) -> usize {
        self.keys + self.values + 2 * self.strip + self.queries + self.pairs.iter().sum::<usize>()
    }
}

/// Cuts `length` numbers off the front.
fn take<'a>(scratch: &mut &'a mut [f32], length: usize) -> &'a mut [f32] {
    let (front, rest) = std::mem::take(scratch).split_at_mut(length);
    *scratch = rest;
    front
}

impl Kernels {
    /// Numbers of scratch that attention needs for `queries` of a sequence of `length` tokens.
    pub(in super::super) fn attention_scratch(
        &self,
        format: Format,
        (queries, length): (usize, usize),
        head_width: usize,
    ) -> usize {
        Room::new((format, queries, length, head_width), self.strip_rows).total()
    }

    /// Self-attention of one sequence.
    pub(in super::super) fn attention(&self, call: AttentionCall<'_>) {
        let AttentionCall { format, heads, head_width, q, k, v, out, tables, reach, mut scratch } = call;
        let (length, stride, pitch) = (k.count, k.stride, pitch(k.count));
        assert!(length > 0 && v.count == length, "a key and a value for each token");
        let has_positions = tables.is_some() || reach < length;
        assert!(!has_positions || q.count <= length, "queries are tokens of the sequence");
        assert!(q.count == out.count && [q.stride, v.stride, out.stride] == [stride; 3], "rows alike");
        assert!(head_width.is_multiple_of(LANES) && heads * head_width <= stride, "heads fit in a row");
        for data in [q.data.len() / stride, out.data.len() / stride] {
            assert!(q.count <= data, "query rows in their buffer");
        }
        assert!(length <= k.data.len() / stride && length <= v.data.len() / stride, "rows in their buffer");
        let room = Room::new((format, q.count, length, head_width), self.strip_rows);
        assert!(room.total() <= scratch.len(), "enough scratch");
        tables.assert_fits(length, heads, head_width);
        assert!(!tables.has_positions() || tables.format == format, "tables in the format of the call");
        let table = |table: Option<&[f32]>| table.map_or(std::ptr::null(), <[f32]>::as_ptr);
        let rows = AttentionArgs {
            length,
            queries: q.count,
            heads,
            head_width,
            q: q.data.as_ptr(),
            k: k.data.as_ptr(),
            v: v.data.as_ptr(),
            out: out.data.as_mut_ptr(),
            stride,
            pk: table(tables.pk),
            pq: table(tables.pq),
            bias: table(tables.bias),
            bias_step: tables.bias_step,
            reach,
            table_width: tables.width,
            table_origin: tables.origin,
            strip_queries: take(&mut scratch, room.queries).as_mut_ptr(),
            keys: take(&mut scratch, room.keys).as_mut_ptr(),
            values: take(&mut scratch, room.values).as_mut_ptr(),
            band: take(&mut scratch, room.strip).as_mut_ptr(),
            scores: take(&mut scratch, room.strip).as_mut_ptr(),
            pitch,
        };
        match format {
            // SAFETY: the asserts above; without positions the number of queries is free; a strip reads at most 16 columns before
            // and after the distances of a sequence, which `assert_fits` checked; `Room` has the sizes that the fields say; the
            // instruction set is available (`Kernels::of`).
            Format::Single => unsafe { (self.attention)(&rows) },
            Format::Pairs => {
                assert!(head_width.is_multiple_of(2 * LANES), "heads of whole vectors of pairs");
                let [key_rows, weights, positions, key_band] =
                    room.pairs.map(|length| take(&mut scratch, length).as_mut_ptr());
                let args = PairsArgs { rows, key_rows, weights, positions, key_band };
                // SAFETY: as above, and heads are whole vectors of pairs.
                unsafe { (self.attention_pairs)(&args) }
            }
            Format::Quads => panic!("attention in bytes"),
        }
    }
}

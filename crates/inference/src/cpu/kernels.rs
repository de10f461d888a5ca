//! The kernels of each instruction set behind plain function pointers, and safe calls to them.

mod products;

use super::attention::AttentionArgs;
use super::buffer::{Rows, RowsMut};
use super::gemm::GemmArgs;
use super::isa::Isa;
use super::math::NormArgs;
use super::narrow::NarrowArgs;
use super::simd::LANES;
use super::tables::HeadTables;
use crate::encoder::NormKind;

/// The kernels of one instruction set.
#[derive(Debug)]
pub(super) struct Kernels {
    /// Whose they are.
    pub isa: Isa,
    /// Vectors of a wide panel of weights.
    pub panel_vectors: usize,
    /// Depth of a matrix product walked at a time.
    block_depth: usize,
    /// Query rows of an attention strip.
    strip_rows: usize,
    gemm: unsafe fn(&GemmArgs),
    gemm_pairs: unsafe fn(&GemmArgs),
    gemm_quads: unsafe fn(&GemmArgs),
    to_pairs: unsafe fn(&NarrowArgs),
    to_bytes: unsafe fn(&NarrowArgs),
    attention: unsafe fn(&AttentionArgs),
    layer_norm: unsafe fn(&NormArgs),
    peak: unsafe fn(usize) -> f32,
    /// Floating-point operations of one round of `peak`.
    peak_flop: usize,
}

/// Compiles every kernel for one instruction set. Tiles are chosen so that accumulators, weights and one broadcast number
/// fill the registers: 16 of 8 lanes on AVX2 (a vector is two), 32 of 16 lanes on AVX-512. A strip of attention has fewer rows
/// where its sums of query and position would not fit beside the accumulators; a look at the assembly shows it.
macro_rules! entries {
    ($(#[$feature:meta])* $table:ident = $isa:expr, $simd:ty, tile $rows:literal x $vectors:literal,
     strip $strip_rows:literal x $strip_vectors:literal, depth $depth:literal) => {
        static $table: Kernels = {
            /// The product in one format.
            macro_rules! product {
                ($name:ident, $product:ident) => {
                    $(#[$feature])*
                    unsafe fn $name(args: &GemmArgs) {
                        // SAFETY: the caller promises what `GemmArgs` says; the instruction set is on in this function.
                        unsafe { super::gemm::gemm::<$simd, super::gemm::$product, $rows, $vectors>(args) }
                    }
                };
            }
            product!(gemm, Single);
            product!(gemm_pairs, Pairs);
            product!(gemm_quads, Quads);
            $(#[$feature])*
            unsafe fn to_pairs(args: &NarrowArgs) {
                // SAFETY: the caller promises what `NarrowArgs` says; the instruction set is on in this function.
                unsafe { super::narrow::to_pairs::<$simd>(args) }
            }
            $(#[$feature])*
            unsafe fn to_bytes(args: &NarrowArgs) {
                // SAFETY: the caller promises what `NarrowArgs` says; the instruction set is on in this function.
                unsafe { super::narrow::to_bytes::<$simd>(args) }
            }
            $(#[$feature])*
            unsafe fn attention(args: &AttentionArgs) {
                // SAFETY: the caller promises what `AttentionArgs` says; the instruction set is on in this function.
                unsafe { super::attention::attention::<$simd, $strip_rows, $strip_vectors>(args) }
            }
            $(#[$feature])*
            unsafe fn layer_norm(args: &NormArgs) {
                // SAFETY: the caller promises what `NormArgs` says; the instruction set is on in this function.
                unsafe { super::math::layer_norm::<$simd>(args) }
            }
            $(#[$feature])*
            unsafe fn peak(rounds: usize) -> f32 {
                // SAFETY: the instruction set is on in this function.
                unsafe { super::bench::multiply_adds::<$simd, { $rows * $vectors }>(rounds) }
            }
            Kernels {
                isa: $isa,
                panel_vectors: $vectors,
                block_depth: $depth,
                strip_rows: $strip_rows,
                gemm,
                gemm_pairs,
                gemm_quads,
                to_pairs,
                to_bytes,
                attention,
                layer_norm,
                peak,
                peak_flop: $rows * $vectors * LANES * 2,
            }
        };
    };
}

#[cfg(target_arch = "aarch64")]
entries!(PORTABLE = Isa::Portable, super::simd::Portable, tile 4 x 1, strip 4 x 1, depth 512);
#[cfg(not(target_arch = "aarch64"))]
entries!(PORTABLE = Isa::Portable, super::simd::Portable, tile 2 x 1, strip 2 x 1, depth 512);
#[cfg(target_arch = "x86_64")]
entries!(
    #[target_feature(enable = "avx2,fma")]
    AVX2 = Isa::Avx2, super::x86::Avx2, tile 6 x 1, strip 4 x 1, depth 192
);
#[cfg(target_arch = "x86_64")]
entries!(
    #[target_feature(enable = "avx512f,avx2,fma")]
    AVX512 = Isa::Avx512, super::x86::Avx512, tile 8 x 3, strip 8 x 2, depth 1024
);

#[cfg(target_arch = "x86_64")]
entries!(
    #[target_feature(enable = "avx512f,avx512bf16,avx512vnni,avx2,fma")]
    AVX512_BF16 = Isa::Avx512Bf16, super::x86::Avx512Bf16, tile 8 x 3, strip 8 x 2, depth 1024
);

/// Parameters of a norm.
#[derive(Debug, Clone, Copy)]
pub(super) struct NormCall<'a> {
    /// A number for each of a row, and zeros up to a whole vector.
    pub gain: &'a [f32],
    /// Likewise.
    pub offset: &'a [f32],
    pub eps: f32,
    pub kind: NormKind,
}

/// One sequence's part of the queries, keys and values, and the room that attention needs.
#[derive(Debug)]
pub(super) struct AttentionCall<'a> {
    pub heads: usize,
    pub head_width: usize,
    /// Query rows, from token 0 on.
    pub q: Rows<'a>,
    pub k: Rows<'a>,
    pub v: Rows<'a>,
    /// As many rows as `q`.
    pub out: RowsMut<'a>,
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

impl Kernels {
    /// The kernels of `isa`.
    ///
    /// # Panics
    /// Where this machine does not have it.
    pub(super) fn of(isa: Isa) -> &'static Kernels {
        assert!(isa.is_available(), "{isa} is not available");
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => &AVX2,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => &AVX512,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512Bf16 => &AVX512_BF16,
            _ => &PORTABLE,
        }
    }

    /// The norm of every row in place.
    pub(super) fn norm(&self, x: RowsMut<'_>, width: usize, norm: NormCall<'_>) {
        let NormCall { gain, offset, eps, kind } = norm;
        let padded = width.next_multiple_of(LANES);
        assert!(padded <= x.stride && x.count * x.stride <= x.data.len(), "rows in their buffer");
        assert!(padded <= gain.len() && padded <= offset.len(), "a gain and an offset for each number");
        let args = NormArgs {
            x: x.data.as_mut_ptr(),
            rows: x.count,
            stride: x.stride,
            width,
            gain: gain.as_ptr(),
            offset: offset.as_ptr(),
            eps,
            centred: kind == NormKind::Layer,
        };
        // SAFETY: the asserts above; the instruction set is available (`Kernels::of`).
        unsafe { (self.layer_norm)(&args) }
    }

    /// Numbers of scratch that attention needs for a sequence of `length` tokens.
    pub(super) fn attention_scratch(&self, length: usize, head_width: usize) -> usize {
        (2 * head_width + 2 * self.strip_rows) * pitch(length) + self.strip_rows * head_width
    }

    /// Self-attention of one sequence.
    pub(super) fn attention(&self, call: AttentionCall<'_>) {
        let AttentionCall { heads, head_width, q, k, v, out, tables, reach, scratch } = call;
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
        assert!(self.attention_scratch(length, head_width) <= scratch.len(), "enough scratch");
        tables.assert_fits(length, heads, head_width);
        let (keys, rest) = scratch.split_at_mut(head_width * pitch);
        let (values, rest) = rest.split_at_mut(head_width * pitch);
        let (band, rest) = rest.split_at_mut(self.strip_rows * pitch);
        let (scores, strip_queries) = rest.split_at_mut(self.strip_rows * pitch);
        let table = |table: Option<&[f32]>| table.map_or(std::ptr::null(), <[f32]>::as_ptr);
        let args = AttentionArgs {
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
            strip_queries: strip_queries.as_mut_ptr(),
            keys: keys.as_mut_ptr(),
            values: values.as_mut_ptr(),
            band: band.as_mut_ptr(),
            scores: scores.as_mut_ptr(),
            pitch,
        };
        // SAFETY: the asserts above; without positions the number of queries is free; a strip reads at most 16 columns before and after the distances of a sequence, which
        // `assert_fits` checked; the instruction set is available (`Kernels::of`).
        unsafe { (self.attention)(&args) }
    }

    /// `rounds` times one multiply-add on as many vectors as the matrix tile has, from registers alone; returns how many
    /// floating-point operations that was.
    pub(super) fn run_peak(&self, rounds: usize) -> f64 {
        // SAFETY: the instruction set is available (`Kernels::of`).
        std::hint::black_box(unsafe { (self.peak)(rounds) });
        (rounds * self.peak_flop) as f64
    }
}

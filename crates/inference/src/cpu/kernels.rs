//! The kernels of each instruction set behind plain function pointers, and safe calls to them.

mod attend;
mod products;

pub(super) use attend::AttentionCall;

use super::attention::AttentionArgs;
use super::attention::pairs::PairsArgs;
use super::buffer::RowsMut;
use super::gemm::GemmArgs;
use super::isa::Isa;
use super::math::NormArgs;
use super::narrow::NarrowArgs;
use super::pack::Format;
use super::simd::LANES;
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
    attention_pairs: unsafe fn(&PairsArgs),
    layer_norm: unsafe fn(&NormArgs),
    peak: unsafe fn(usize) -> f32,
    peak_pairs: unsafe fn(usize) -> f32,
    peak_quads: unsafe fn(usize) -> f32,
    /// Products of units in one round of a peak.
    peak_units: usize,
}

/// Compiles every kernel for one instruction set. Tiles are chosen so that accumulators, weights and one broadcast number
/// fill the registers: 16 of 8 lanes on AVX2 (a vector is two), 32 of 16 lanes on AVX-512, 32 of 4 lanes on NEON (a vector is
/// four). A strip of attention has fewer rows
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
            unsafe fn attention_pairs(args: &PairsArgs) {
                // SAFETY: the caller promises what `PairsArgs` says; the instruction set is on in this function.
                unsafe { super::attention::pairs::attention::<$simd, $strip_rows, $vectors>(args) }
            }
            $(#[$feature])*
            unsafe fn layer_norm(args: &NormArgs) {
                // SAFETY: the caller promises what `NormArgs` says; the instruction set is on in this function.
                unsafe { super::math::layer_norm::<$simd>(args) }
            }
            /// Products from registers alone, in one format.
            macro_rules! peak {
                ($name:ident, $product:ident) => {
                    $(#[$feature])*
                    unsafe fn $name(rounds: usize) -> f32 {
                        // SAFETY: the instruction set is on in this function.
                        unsafe {
                            super::bench::products::<$simd, super::gemm::$product, { $rows * $vectors }>(rounds)
                        }
                    }
                };
            }
            peak!(peak, Single);
            peak!(peak_pairs, Pairs);
            peak!(peak_quads, Quads);
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
                attention_pairs,
                layer_norm,
                peak,
                peak_pairs,
                peak_quads,
                peak_units: $rows * $vectors * LANES,
            }
        };
    };
}

entries!(PORTABLE = Isa::Portable, super::simd::Portable, tile 2 x 1, strip 2 x 1, depth 512);
#[cfg(target_arch = "aarch64")]
entries!(NEON = Isa::Neon, super::neon::Neon, tile 6 x 1, strip 4 x 1, depth 512);
#[cfg(target_arch = "aarch64")]
entries!(
    #[target_feature(enable = "bf16,i8mm")]
    NEON_BF16 = Isa::NeonBf16, super::neon::NeonBf16, tile 6 x 1, strip 4 x 1, depth 512
);
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
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16,avx512vnni,avx2,fma")]
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
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => &NEON,
            #[cfg(target_arch = "aarch64")]
            Isa::NeonBf16 => &NEON_BF16,
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

    /// `rounds` times one product of a format on as many vectors as the matrix tile has, from registers alone; returns how
    /// many operations that was, two for each pair of numbers.
    pub(super) fn run_peak(&self, format: Format, rounds: usize) -> f64 {
        let peak = match format {
            Format::Single => self.peak,
            Format::Pairs => self.peak_pairs,
            Format::Quads => self.peak_quads,
        };
        // SAFETY: the instruction set is available (`Kernels::of`).
        std::hint::black_box(unsafe { peak(rounds) });
        (rounds * self.peak_units * format.of_unit() * 2) as f64
    }
}

//! Tensors of a checkpoint: shape and raw data, converted on demand.

use half::slice::HalfFloatSliceExt as _;
use half::{bf16, f16};
use memmap2::Mmap;
use std::ops::Range;
use std::sync::Arc;

/// How the numbers of a tensor are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// IEEE single precision.
    F32,
    /// IEEE half precision.
    F16,
    /// bfloat16: the upper half of a single.
    Bf16,
}

impl Dtype {
    /// Bytes of one number.
    pub fn size_bytes(self) -> usize {
        match self {
            Dtype::F32 => 4,
            Dtype::F16 | Dtype::Bf16 => 2,
        }
    }
}

/// A tensor: row-major, little-endian numbers, either in a mapped file or owned.
///
/// Linear weights are `[out, in]`, as PyTorch stores them.
#[derive(Clone)]
pub struct Tensor {
    shape: Vec<usize>,
    dtype: Dtype,
    data: Data,
}

#[derive(Clone)]
enum Data {
    Mapped { map: Arc<Mmap>, bytes: Range<usize> },
    Owned(Arc<[u8]>),
}

impl std::fmt::Debug for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tensor({:?}, {:?})", self.dtype, self.shape)
    }
}

impl Tensor {
    /// A tensor in a mapped file; `None` where `bytes` lies outside the map or has another size than the shape says.
    pub fn mapped(map: Arc<Mmap>, bytes: Range<usize>, dtype: Dtype, shape: Vec<usize>) -> Option<Self> {
        let fits = map.get(bytes.clone())?.len() == shape.iter().product::<usize>() * dtype.size_bytes();
        fits.then_some(Self { shape, dtype, data: Data::Mapped { map, bytes } })
    }

    /// A tensor of given numbers, for tests and toy models; `None` where their count is another than the shape's.
    pub fn from_f32(values: &[f32], shape: Vec<usize>) -> Option<Self> {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let fits = values.len() == shape.iter().product::<usize>();
        fits.then(|| Self { shape, dtype: Dtype::F32, data: Data::Owned(bytes.into()) })
    }

    /// Sizes of the dimensions, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// How its numbers are stored.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn bytes(&self) -> &[u8] {
        match &self.data {
            Data::Mapped { map, bytes } => &map[bytes.clone()],
            Data::Owned(bytes) => bytes,
        }
    }

    /// All numbers in single precision, row-major. Exact for every dtype.
    pub fn to_f32(&self) -> Vec<f32> {
        let mut out = vec![0.0; self.shape.iter().product()];
        convert(self.dtype, self.bytes(), &mut out);
        out
    }

    /// Row `row` of a matrix (all but the first dimension flattened) into `out`, whose length is the row's.
    ///
    /// # Panics
    /// Where `row` is outside the tensor or `out` has another length than a row.
    pub fn read_row(&self, row: usize, out: &mut [f32]) {
        let width: usize = self.shape[1..].iter().product();
        assert_eq!(out.len(), width, "row buffer");
        let size = width * self.dtype.size_bytes();
        convert(self.dtype, &self.bytes()[row * size..(row + 1) * size], out);
    }
}

/// Half-precision numbers converted at a time.
const HALVES: usize = 64;

fn convert(dtype: Dtype, bytes: &[u8], out: &mut [f32]) {
    match dtype {
        Dtype::F32 => {
            for (value, raw) in out.iter_mut().zip(bytes.chunks_exact(4)) {
                *value = f32::from_le_bytes([raw[0], raw[1], raw[2], raw[3]]);
            }
        }
        Dtype::F16 => {
            // In blocks, which the library converts with vector instructions; loading a model is mostly this.
            let mut halves = [f16::ZERO; HALVES];
            for (values, raw) in out.chunks_mut(HALVES).zip(bytes.chunks(2 * HALVES)) {
                for (half, raw) in halves.iter_mut().zip(raw.chunks_exact(2)) {
                    *half = f16::from_le_bytes([raw[0], raw[1]]);
                }
                halves[..values.len()].convert_to_f32_slice(values);
            }
        }
        Dtype::Bf16 => {
            for (value, raw) in out.iter_mut().zip(bytes.chunks_exact(2)) {
                *value = bf16::from_le_bytes([raw[0], raw[1]]).to_f32();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_is_converted_exactly_wherever_it_stands() {
        let halves: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
        for count in [1, HALVES - 1, HALVES, HALVES + 1, halves.len()] {
            let bytes: Vec<u8> = halves[..count].iter().flat_map(|half| half.to_le_bytes()).collect();
            let tensor = Tensor { shape: vec![count], dtype: Dtype::F16, data: Data::Owned(bytes.into()) };
            for (converted, half) in tensor.to_f32().into_iter().zip(&halves) {
                let wanted = half.to_f32();
                assert!(converted == wanted || (converted.is_nan() && wanted.is_nan()), "{half:?}");
            }
        }
    }
}

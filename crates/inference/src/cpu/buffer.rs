//! Memory for kernels: numbers on a cache-line boundary.

use super::simd::LANES;

/// One cache line of 64 bytes, the length of a vector of 16 numbers.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; LANES]);

/// Numbers that start on a cache line.
#[derive(Debug, Clone, Default)]
pub(super) struct Buffer {
    lines: Vec<Line>,
}

impl Buffer {
    /// At least `length` zeros: a whole number of cache lines.
    pub(super) fn zeros(length: usize) -> Self {
        Self { lines: vec![Line([0.0; LANES]); length.div_ceil(LANES)] }
    }

    /// `values`, then zeros up to the end of the cache line.
    pub(super) fn from_values(values: &[f32]) -> Self {
        let mut buffer = Self::zeros(values.len());
        buffer.as_mut_slice()[..values.len()].copy_from_slice(values);
        buffer
    }

    /// The first `length` numbers for writing, with whatever they held before; grows where it is shorter.
    ///
    /// In this crate's tests they hold NaN, so that a number used before it is written shows.
    pub(super) fn scratch(&mut self, length: usize) -> &mut [f32] {
        if self.lines.len() * LANES < length {
            *self = Self::zeros(length);
        }
        let scratch = &mut self.as_mut_slice()[..length];
        if cfg!(test) {
            scratch.fill(f32::NAN);
        }
        scratch
    }

    pub(super) fn as_slice(&self) -> &[f32] {
        // SAFETY: a `Line` is 16 numbers without padding, and lines lie side by side.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.lines.len() * LANES) }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [f32] {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.lines.len() * LANES) }
    }
}

impl Buffer {
    /// The same memory as units of four bytes, of whatever kind.
    pub(super) fn as_mut_words(&mut self) -> &mut [u32] {
        // SAFETY: as above; numbers of 32 bits, of which any is valid.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.lines.len() * LANES) }
    }
}

/// Rows of numbers: `count` of them, `stride` apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows<'a> {
    pub data: &'a [f32],
    pub stride: usize,
    pub count: usize,
}

impl<'a> Rows<'a> {
    pub(super) fn new(data: &'a [f32], stride: usize, count: usize) -> Self {
        assert!(count * stride <= data.len(), "rows fit their buffer");
        Self { data, stride, count }
    }

    /// `count` rows from `first` on.
    pub(super) fn part(self, first: usize, count: usize) -> Self {
        Self::new(&self.data[first * self.stride..], self.stride, count)
    }
}

/// Rows of numbers for writing.
#[derive(Debug)]
pub(super) struct RowsMut<'a> {
    pub data: &'a mut [f32],
    pub stride: usize,
    pub count: usize,
}

impl<'a> RowsMut<'a> {
    pub(super) fn new(data: &'a mut [f32], stride: usize, count: usize) -> Self {
        assert!(count * stride <= data.len(), "rows fit their buffer");
        Self { data, stride, count }
    }

    /// `count` rows from `first` on.
    pub(super) fn part(&mut self, first: usize, count: usize) -> RowsMut<'_> {
        RowsMut::new(&mut self.data[first * self.stride..], self.stride, count)
    }

    pub(super) fn as_rows(&self) -> Rows<'_> {
        Rows { data: self.data, stride: self.stride, count: self.count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_start_on_a_cache_line_and_end_in_zeros() {
        let buffer = Buffer::from_values(&[1.0, 2.0, 3.0]);
        assert_eq!(buffer.as_slice().as_ptr() as usize % 64, 0);
        assert_eq!(buffer.as_slice()[..4], [1.0, 2.0, 3.0, 0.0]);
        assert_eq!(buffer.as_slice().len(), 16);
    }

    #[test]
    fn scratch_grows_and_never_shrinks() {
        let mut buffer = Buffer::default();
        assert_eq!(buffer.scratch(20).len(), 20);
        let address = buffer.as_slice().as_ptr();
        assert!(buffer.scratch(3).iter().all(|x| x.is_nan()));
        assert_eq!(buffer.as_slice().as_ptr(), address, "a smaller request keeps the memory");
    }
}

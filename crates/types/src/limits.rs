//! Limits on inputs, each with a number.

/// Bounds on what one request may hold. Nothing over a bound is cut in silence: it is refused with [`crate::Code::TOO_LARGE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest response in bytes.
    pub response_bytes: usize,
    /// Largest sum of all sources in bytes.
    pub source_bytes: usize,
    /// Most sources.
    pub sources: usize,
    /// Largest sum of all samples in bytes.
    pub sample_bytes: usize,
    /// Most samples.
    pub samples: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            response_bytes: 1 << 20,
            source_bytes: 8 << 20,
            sources: 256,
            sample_bytes: 4 << 20,
            samples: 128,
        }
    }
}

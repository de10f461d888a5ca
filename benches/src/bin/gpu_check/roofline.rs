//! What a device could do at most: the arithmetic of a pass over its tensor cores' rate.

use super::models::Size;

/// Dense half-precision rate that products reach on a device, in FLOP/s, by part of its name. Published peaks are about a fifth
/// higher, and no library reaches them.
const RATES: [(&str, f64); 3] = [("H200", 790e12), ("H100", 790e12), ("A100", 280e12)];

/// The rate of a device; `None` where it is not known.
pub(crate) fn rate(device: &str) -> Option<f64> {
    RATES.iter().find(|(name, _)| device.contains(name)).map(|(_, rate)| *rate)
}

/// FLOPs of one sequence of `tokens`: products, and attention with its two bands (9 d a pair of tokens).
pub(crate) fn flops(size: &Size, tokens: usize) -> f64 {
    let (hidden, layers, tokens) = (size.hidden as f64, size.layers as f64, tokens as f64);
    let products = 2.0 * tokens * 12.0 * hidden * hidden;
    let padded = (tokens / 64.0).ceil() * 64.0;
    let attention = 9.0 * hidden * padded * padded;
    layers * (products + attention)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::SIZES;

    #[test]
    fn a_large_model_at_128_tokens_takes_about_81_gigaflops() {
        let gigaflops = flops(&SIZES[0], 128) / 1e9;
        assert!((80.0..82.0).contains(&gigaflops), "{gigaflops}");
        assert_eq!((rate("NVIDIA H200"), rate("another")), (Some(790e12), None));
    }
}

use super::super::buffer::{Rows, RowsMut};
use super::super::kernels::{Kernels, NormCall};
use super::super::math;
use super::super::pack::Packed;
use super::super::simd::{Portable, Simd};
use super::{Random, all_kernels, assert_same_bits};
use crate::encoder::{Activation, NormKind};

/// `activation(x)` of every number, through a layer of one weight that is 1.
fn activate(kernels: &Kernels, activation: Activation, xs: &[f32]) -> Vec<f32> {
    let mut layer = Packed::zeros(kernels, 1, 1);
    layer.set_column(0, &[1.0], 0.0);
    let mut out = vec![f32::NAN; xs.len() * 16];
    let input = Rows::new(xs, 1, xs.len());
    kernels.linear_activated(&layer, input, RowsMut::new(&mut out, 16, xs.len()), activation);
    out.chunks_exact(16).map(|row| row[0]).collect()
}

/// The error function by its series, or its continued fraction where the series converges slowly.
fn erf(x: f64) -> f64 {
    if x.abs() < 3.0 {
        let (mut term, mut sum) = (x, x);
        for n in 1..200 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        return sum * std::f64::consts::FRAC_2_SQRT_PI;
    }
    let z = x.abs();
    let tail = (1..200).rev().fold(0.0, |tail, n| f64::from(n) / 2.0 / (z + tail));
    x.signum() * (1.0 - (-z * z).exp() / std::f64::consts::PI.sqrt() / (z + tail))
}

fn check_activation(activation: Activation, bound: f64, exact: impl Fn(f64) -> f64) {
    let mut xs: Vec<f32> = (-12_000..=12_000).map(|i| i as f32 * 1e-3).collect();
    xs.extend([0.0, -0.0, 1e-30, -1e-38, 1e4, -1e4]);
    let mut results = Vec::new();
    for kernels in all_kernels() {
        let ys = activate(kernels, activation, &xs);
        for (&x, &y) in xs.iter().zip(&ys) {
            let wanted = exact(f64::from(x));
            let error = (f64::from(y) - wanted).abs();
            assert!(error <= bound * wanted.abs().max(1.0), "{}: {activation:?}({x}) = {y}", kernels.isa);
        }
        results.push((kernels.isa, ys));
    }
    assert_same_bits(&results, "activation");
}

#[test]
fn gelu_is_the_one_with_the_error_function() {
    check_activation(Activation::Gelu, 1e-6, |x| x / 2.0 * (1.0 + erf(x / std::f64::consts::SQRT_2)));
}

#[test]
fn gelu_tanh_is_the_approximation_with_the_hyperbolic_tangent() {
    let exact =
        |x: f64| x / 2.0 * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh());
    check_activation(Activation::GeluTanh, 2e-6, exact);
}

#[test]
fn tanh_and_relu_are_what_they_say() {
    check_activation(Activation::Tanh, 1e-6, f64::tanh);
    check_activation(Activation::Relu, 0.0, |x| x.max(0.0));
}

#[test]
fn activations_keep_what_is_not_a_number() {
    for kernels in all_kernels() {
        for activation in [Activation::Gelu, Activation::GeluTanh, Activation::Tanh, Activation::Relu] {
            assert!(
                activate(kernels, activation, &[f32::NAN])[0].is_nan(),
                "{activation:?} on {}",
                kernels.isa
            );
        }
    }
}

#[inline(always)]
unsafe fn exp_all<S: Simd>(xs: &mut [f32]) {
    for chunk in xs.chunks_exact_mut(16) {
        // SAFETY: a chunk is 16 numbers; the caller promises the instruction set.
        unsafe { S::store(chunk.as_mut_ptr(), math::exp::<S>(S::load(chunk.as_ptr()))) };
    }
}

#[cfg(target_arch = "x86_64")]
mod entries {
    use super::super::super::x86::{Avx2, Avx512};

    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn avx2(xs: &mut [f32]) {
        // SAFETY: the caller promises the instruction set.
        unsafe { super::exp_all::<Avx2>(xs) }
    }

    #[target_feature(enable = "avx512f,avx2,fma")]
    pub(super) unsafe fn avx512(xs: &mut [f32]) {
        // SAFETY: the caller promises the instruction set.
        unsafe { super::exp_all::<Avx512>(xs) }
    }
}

#[test]
fn exp_is_accurate_to_two_units_in_the_last_place() {
    let xs: Vec<f32> = (-80_000..80_000).map(|i| i as f32 * 1e-3).collect();
    for kernels in all_kernels() {
        let mut ys = xs.clone();
        // SAFETY: only instruction sets that are available are listed.
        unsafe {
            match kernels.isa {
                #[cfg(target_arch = "x86_64")]
                super::Isa::Avx2 => entries::avx2(&mut ys),
                #[cfg(target_arch = "x86_64")]
                super::Isa::Avx512 | super::Isa::Avx512Bf16 => entries::avx512(&mut ys),
                #[cfg(target_arch = "aarch64")]
                super::Isa::Neon | super::Isa::NeonBf16 => exp_all::<super::super::neon::Neon>(&mut ys),
                _ => exp_all::<Portable>(&mut ys),
            }
        }
        for (&x, &y) in xs.iter().zip(&ys) {
            let wanted = f64::from(x).exp();
            assert!((f64::from(y) / wanted - 1.0).abs() < 2e-7, "{}: exp({x}) = {y}", kernels.isa);
        }
    }
}

#[test]
fn a_norm_by_root_mean_square_does_not_centre() {
    let mut x = vec![0.0; 32];
    x[..20].iter_mut().enumerate().for_each(|(k, x)| *x = k as f32 - 3.0);
    let (mut gain, offset) = (vec![0.0; 32], vec![0.0; 32]);
    gain[..20].fill(2.0);
    let square: f64 = x[..20].iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / 20.0;
    for kernels in all_kernels() {
        let mut y = x.clone();
        let norm = NormCall { gain: &gain, offset: &offset, eps: 0.5, kind: NormKind::RootMeanSquare };
        kernels.norm(RowsMut::new(&mut y, 32, 1), 20, norm);
        for (&x, &y) in x.iter().zip(&y).take(20) {
            let wanted = 2.0 * f64::from(x) / (square + 0.5).sqrt();
            assert!((f64::from(y) - wanted).abs() < 1e-5, "{}", kernels.isa);
        }
    }
}

#[test]
fn layer_norm_agrees_with_f64_even_far_from_zero() {
    for width in [1_usize, 15, 16, 17, 31, 32, 48, 100, 128, 384] {
        let mut random = Random::new(width as u64);
        let (rows, stride) = (3, width.next_multiple_of(16) + 16);
        let padded = |numbers: Vec<f32>| {
            let mut numbers = numbers;
            numbers.resize(width.next_multiple_of(16), 0.0);
            numbers
        };
        let (gain, offset) = (padded(random.numbers(width)), padded(random.numbers(width)));
        // A mean a hundred times the deviation: one pass over squares would lose four digits.
        let mut x = vec![f32::NAN; rows * stride];
        for row in x.chunks_exact_mut(stride) {
            row[..width].iter_mut().for_each(|x| *x = 100.0 + random.number());
        }
        let mut results = Vec::new();
        for kernels in all_kernels() {
            let mut y = x.clone();
            let norm = NormCall { gain: &gain, offset: &offset, eps: 1e-7, kind: NormKind::Layer };
            kernels.norm(RowsMut::new(&mut y, stride, rows), width, norm);
            for (row, result) in x.chunks_exact(stride).zip(y.chunks_exact(stride)) {
                let row: Vec<f64> = row[..width].iter().map(|&x| f64::from(x)).collect();
                let mean = row.iter().sum::<f64>() / width as f64;
                let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / width as f64;
                for k in 0..width {
                    let normal = (row[k] - mean) / (variance + 1e-7).sqrt();
                    let wanted = normal * f64::from(gain[k]) + f64::from(offset[k]);
                    assert!((f64::from(result[k]) - wanted).abs() < 1e-4, "{} width {width}", kernels.isa);
                }
            }
            results
                .push((kernels.isa, y.chunks_exact(stride).flat_map(|row| row[..width].to_vec()).collect()));
        }
        assert_same_bits(&results, "layer norm");
    }
}

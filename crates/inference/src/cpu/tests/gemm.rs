use super::super::buffer::{Rows, RowsMut};
use super::super::isa::Isa;
use super::super::kernels::Kernels;
use super::super::pack::{Format, Packed};
use super::super::simd::to_bf16;
use super::{Random, all_kernels, assert_same_bits};

struct Case {
    rows: usize,
    depth: usize,
    columns: usize,
    /// `rows` rows of `depth` numbers, `a_stride` apart; NaN between.
    a: Vec<f32>,
    a_stride: usize,
    /// `[columns][depth]`.
    weights: Vec<f32>,
    bias: Vec<f32>,
}

impl Case {
    fn new(rows: usize, depth: usize, columns: usize) -> Self {
        let mut random = Random::new((rows * 31 + depth * 7 + columns) as u64);
        let a_stride = depth + 3;
        let mut a = vec![f32::NAN; rows * a_stride];
        for row in a.chunks_exact_mut(a_stride) {
            row[..depth].iter_mut().for_each(|x| *x = random.number());
        }
        let (weights, bias) = (random.numbers(columns * depth), random.numbers(columns));
        Self { rows, depth, columns, a, a_stride, weights, bias }
    }

    fn packed(&self, kernels: &Kernels) -> Packed {
        self.packed_as(Format::Single, kernels)
    }

    fn packed_as(&self, format: Format, kernels: &Kernels) -> Packed {
        let mut packed = Packed::zeros_as(format, kernels, self.depth, self.columns);
        for (column, weights) in self.weights.chunks_exact(self.depth).enumerate() {
            packed.set_column(column, weights, self.bias[column]);
        }
        packed
    }

    fn input(&self) -> Rows<'_> {
        Rows::new(&self.a, self.a_stride, self.rows)
    }

    /// Numbers from row to row of the result: one vector more than is written.
    fn stride(&self) -> usize {
        self.columns.next_multiple_of(16) + 16
    }

    fn run(&self, kernels: &Kernels) -> Vec<f32> {
        self.run_as(Format::Single, kernels)
    }

    fn run_as(&self, format: Format, kernels: &Kernels) -> Vec<f32> {
        let mut c = vec![f32::NAN; self.rows * self.stride()];
        let packed = self.packed_as(format, kernels);
        assert_eq!(packed.format(), format);
        kernels.linear(&packed, self.input(), RowsMut::new(&mut c, self.stride(), self.rows));
        c
    }

    fn check(&self, kernels: &Kernels, c: &[f32]) {
        for (r, result) in c.chunks_exact(self.stride()).enumerate() {
            let a = &self.a[r * self.a_stride..][..self.depth];
            for (n, weights) in self.weights.chunks_exact(self.depth).enumerate() {
                let products = || a.iter().zip(weights).map(|(&a, &w)| f64::from(a) * f64::from(w));
                let wanted = products().sum::<f64>() + f64::from(self.bias[n]);
                let bound = (products().map(f64::abs).sum::<f64>() + 1.0) * self.depth as f64 * 6e-8 + 1e-7;
                assert!(
                    (f64::from(result[n]) - wanted).abs() <= bound,
                    "{} {}x{}x{} at ({r}, {n}): {} for {wanted}",
                    kernels.isa,
                    self.rows,
                    self.depth,
                    self.columns,
                    result[n]
                );
            }
            self.check_padding(result);
        }
    }

    fn check_padding(&self, row: &[f32]) {
        let padded = self.stride() - 16;
        assert!(row[self.columns..padded].iter().all(|&x| x == 0.0), "padding columns are zeros");
        assert!(row[padded..].iter().all(|x| x.is_nan()), "nothing is written past the padding");
    }
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = (1..=17).map(|rows| Case::new(rows, 37, 100)).collect();
    cases.extend([95, 96, 97, 203].map(|rows| Case::new(rows, 24, 33)));
    cases.extend([1, 2, 511, 512, 513, 1024, 1025, 2500].map(|depth| Case::new(9, depth, 51)));
    cases.extend([1, 3, 15, 16, 17, 47, 48, 49, 64, 96, 128, 160].map(|columns| Case::new(13, 65, columns)));
    cases
}

#[test]
fn the_product_agrees_with_f64_for_every_tail_and_touches_no_padding() {
    for case in cases() {
        let mut results = Vec::new();
        for kernels in all_kernels() {
            let c = case.run(kernels);
            case.check(kernels, &c);
            results.push((kernels.isa, c));
        }
        assert_same_bits(&results, "product");
    }
}

#[test]
fn a_row_is_the_same_to_the_last_bit_alone_and_among_others() {
    for (depth, columns) in [(384, 96), (1100, 51)] {
        let case = Case::new(103, depth, columns);
        for kernels in all_kernels() {
            let together = case.run(kernels);
            let packed = case.packed(kernels);
            for row in 0..case.rows {
                let mut alone = vec![f32::NAN; case.stride()];
                kernels.linear(
                    &packed,
                    case.input().part(row, 1),
                    RowsMut::new(&mut alone, case.stride(), 1),
                );
                let wanted = &together[row * case.stride()..][..columns];
                assert_eq!(&alone[..columns], wanted, "{} row {row}", kernels.isa);
            }
        }
    }
}

#[test]
fn a_residual_is_added_after_the_bias() {
    let case = Case::new(19, 600, 70);
    let residual = Random::new(5).numbers(19 * 80);
    for kernels in all_kernels() {
        let plain = case.run(kernels);
        let mut c = vec![f32::NAN; 19 * case.stride()];
        let out = RowsMut::new(&mut c, case.stride(), 19);
        kernels.linear_added(&case.packed(kernels), case.input(), out, Rows::new(&residual, 80, 19));
        for (r, row) in c.chunks_exact(case.stride()).enumerate() {
            for n in 0..70 {
                assert_eq!(row[n], plain[r * case.stride() + n] + residual[r * 80 + n], "{}", kernels.isa);
            }
        }
    }
}

#[test]
#[should_panic(expected = "result rows as wide as the layer")]
fn a_result_that_is_too_narrow_is_refused() {
    let case = Case::new(2, 4, 40);
    let kernels = all_kernels()[0];
    let mut c = vec![0.0; 2 * 40];
    kernels.linear(&case.packed(kernels), case.input(), RowsMut::new(&mut c, 40, 2));
}

/// Shapes for short formats: every tail of rows, columns and depth, and more than a block of each.
fn short_cases() -> Vec<Case> {
    let mut cases: Vec<Case> = (1..=17).map(|rows| Case::new(rows, 36, 100)).collect();
    cases.extend([4, 8, 60, 512, 1024, 2052, 4100].map(|depth| Case::new(9, depth, 51)));
    cases.extend(
        [(95, 24, 33), (97, 28, 49), (203, 128, 160)]
            .map(|(rows, depth, columns)| Case::new(rows, depth, columns)),
    );
    cases
}

fn rounded(x: f32) -> f64 {
    f64::from(f32::from_bits(u32::from(to_bf16(x)) << 16))
}

#[test]
fn bf16_is_the_product_of_rounded_numbers() {
    for case in short_cases() {
        let mut emulated = Vec::new();
        for kernels in all_kernels() {
            let c = case.run_as(Format::Pairs, kernels);
            for (r, result) in c.chunks_exact(case.stride()).enumerate() {
                let a = &case.a[r * case.a_stride..][..case.depth];
                for (n, weights) in case.weights.chunks_exact(case.depth).enumerate() {
                    let products = || a.iter().zip(weights).map(|(&a, &w)| rounded(a) * rounded(w));
                    let wanted = products().sum::<f64>() + f64::from(case.bias[n]);
                    // The instruction rounds to odd inside, and drops what is denormal.
                    let bound =
                        (products().map(f64::abs).sum::<f64>() + 1.0) * case.depth as f64 * 6e-8 + 1e-6;
                    let found = f64::from(result[n]);
                    assert!(
                        (found - wanted).abs() <= bound,
                        "{} at ({r}, {n}): {found} for {wanted}",
                        kernels.isa
                    );
                }
                case.check_padding(result);
            }
            if !kernels.isa.has_short_products() {
                emulated.push((kernels.isa, c));
            }
        }
        assert_same_bits(&emulated, "bf16 in plain multiply-adds");
    }
}

/// What a row becomes as bytes: its zero, its scale, and the bytes.
fn as_bytes(row: &[f32]) -> (f64, f64, Vec<f64>) {
    let low = row.iter().copied().fold(0.0, f32::min);
    let high = row.iter().copied().fold(0.0, f32::max);
    let (range, inverse) = (high - low, 255.0 / (high - low));
    let zero = (-low * inverse).round_ties_even();
    let byte = |x: f32| f64::from(x.mul_add(inverse, zero).round_ties_even().clamp(0.0, 255.0));
    (f64::from(zero), f64::from(range / 255.0), row.iter().map(|&x| byte(x)).collect())
}

#[test]
fn int8_is_the_exact_product_of_bytes_on_every_instruction_set() {
    for case in short_cases() {
        let mut results = Vec::new();
        for kernels in all_kernels() {
            let c = case.run_as(Format::Quads, kernels);
            for (r, result) in c.chunks_exact(case.stride()).enumerate() {
                let (zero, scale, bytes) = as_bytes(&case.a[r * case.a_stride..][..case.depth]);
                for (n, weights) in case.weights.chunks_exact(case.depth).enumerate() {
                    let top = weights.iter().fold(0.0_f32, |top, w| top.max(w.abs()));
                    let of_column = top / 127.0;
                    let sum: f64 = bytes
                        .iter()
                        .zip(weights)
                        .map(|(byte, w)| (byte - zero) * f64::from((w / of_column).round_ties_even()))
                        .sum();
                    let wanted = sum * scale * f64::from(of_column) + f64::from(case.bias[n]);
                    let found = f64::from(result[n]);
                    // Portable code rounds twice where others round once, so that a byte may differ by 1 at a tie.
                    let slack = if kernels.isa == Isa::Portable { scale * f64::from(top) * 2.0 } else { 0.0 };
                    let bound = slack + 1e-5 * (1.0 + wanted.abs());
                    assert!(
                        (found - wanted).abs() <= bound,
                        "{} at ({r}, {n}): {found} for {wanted}",
                        kernels.isa
                    );
                }
                case.check_padding(result);
            }
            results.push((kernels.isa, c));
        }
        assert_same_bits(&results, "int8");
    }
}

#[test]
fn a_row_of_short_numbers_depends_on_that_row_alone() {
    for format in [Format::Pairs, Format::Quads] {
        for kernels in all_kernels() {
            let case = Case::new(97, 64, 48);
            let all = case.run_as(format, kernels);
            let packed = case.packed_as(format, kernels);
            for r in [0, 1, 40, 96] {
                let mut alone = vec![f32::NAN; case.stride()];
                let row = Rows::new(&case.a[r * case.a_stride..], case.a_stride, 1);
                kernels.linear(&packed, row, RowsMut::new(&mut alone, case.stride(), 1));
                let bits = |numbers: &[f32]| numbers[..48].iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&alone), bits(&all[r * case.stride()..]), "{} row {r}", kernels.isa);
            }
        }
    }
}

#[test]
fn rows_that_bytes_cannot_hold_are_told() {
    for kernels in all_kernels() {
        for (bad, finite) in
            [(f32::NAN, false), (f32::INFINITY, false), (f32::NEG_INFINITY, false), (0.0, true)]
        {
            let mut case = Case::new(2, 20, 16);
            case.a[..case.depth].fill(0.0);
            case.a[7] = bad;
            for format in [Format::Pairs, Format::Quads] {
                let c = case.run_as(format, kernels);
                assert_eq!(c[..16].iter().all(|x| x.is_finite()), finite, "{} {format:?} {bad}", kernels.isa);
                let other = &c[case.stride()..][..16];
                assert!(other.iter().all(|x| x.is_finite()), "the other row is as it was");
                if finite {
                    assert_eq!(c[..16], case.bias[..], "a row of zeros gives the bias");
                }
            }
        }
    }
}

use super::super::buffer::{Rows, RowsMut};
use super::super::kernels::Kernels;
use super::super::pack::Packed;
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
        let mut packed = Packed::zeros(kernels, self.depth, self.columns);
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
        let mut c = vec![f32::NAN; self.rows * self.stride()];
        kernels.linear(&self.packed(kernels), self.input(), RowsMut::new(&mut c, self.stride(), self.rows));
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
            let padded = self.stride() - 16;
            assert!(result[self.columns..padded].iter().all(|&x| x == 0.0), "padding columns are zeros");
            assert!(result[padded..].iter().all(|x| x.is_nan()), "nothing is written past the padding");
        }
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

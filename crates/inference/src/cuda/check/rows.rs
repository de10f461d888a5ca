//! The kernels beside attention against their definitions in f64.

use super::super::arguments::{
    ActivationArgs, ClassifierArgs, EmbedArgs, GatherArgs, MeanArgs, NormArgs, PoolerArgs, UnfoldArgs,
};
use super::super::arguments::{Arguments, Ptr};
use super::case::{Case, EXACT, HALVES, Kind, LaunchOf, Maker, Numbers, SINGLES};
use half::f16;

const ROW_THREADS: usize = 128;
const ROWS_A_BLOCK: usize = 4;
const EPS: f32 = 1e-7;
const ROWS: usize = 13;

fn by_rows(kernel: &'static str, rows: usize) -> LaunchOf {
    LaunchOf { kernel, grid: (rows.div_ceil(ROWS_A_BLOCK), 1), threads: ROW_THREADS, shared_bytes: 0 }
}

/// LayerNorm of rows.
fn normed(x: &[f64], gain: &[f64], offset: &[f64]) -> Vec<f64> {
    let width = gain.len();
    let row = |row: &[f64]| -> Vec<f64> {
        let mean = row.iter().sum::<f64>() / width as f64;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / width as f64;
        let scale = 1.0 / (variance + f64::from(EPS)).sqrt();
        let numbers = row.iter().zip(gain).zip(offset);
        numbers.map(|((x, gain), offset)| (x - mean) * scale * gain + offset).collect()
    };
    x.chunks_exact(width).flat_map(row).collect()
}

fn gather(width: usize) -> Case {
    let mut maker = Maker::new(width as u64);
    let table = maker.halves(50 * width, 0.0, 1.0);
    let index: Vec<usize> = (0..ROWS).map(|_| maker.random.below(50)).collect();
    let right = index.iter().flat_map(|&row| table.values[row * width..][..width].to_vec()).collect();
    let arguments = GatherArgs {
        table: table.at,
        index: maker.integers(&index),
        out: maker.expect(Kind::Halves, right, EXACT),
        rows: ROWS as i32,
        width: width as i32,
    };
    maker.case(format!("{width} wide"), by_rows("gather_rows", ROWS), arguments)
}

/// `tables` of words, positions and types; with the copy in f32 or not.
fn embed(kernel: &'static str, width: usize, tables: usize, is_wide: bool) -> Case {
    let mut maker = Maker::new((width + tables) as u64);
    let counts = [50, 16, 2];
    let mut given: Vec<(Numbers, Vec<usize>)> = Vec::new();
    for (number, &count) in counts.iter().enumerate() {
        let is_given = number < tables;
        let table = if is_given { maker.halves(count * width, 0.1, 0.1) } else { Numbers::none() };
        given.push((table, (0..ROWS).map(|_| maker.random.below(count)).collect()));
    }
    let (gain, offset) = (maker.halves(width, 1.0, 0.3), maker.halves(width, 0.0, 0.3));
    let mut sum = vec![0.0; ROWS * width];
    for (table, index) in given.iter().take(tables) {
        for (sums, &row) in sum.chunks_exact_mut(width).zip(index) {
            sums.iter_mut().zip(&table.values[row * width..]).for_each(|(sum, number)| *sum += number);
        }
    }
    let right = normed(&sum, &gain.values, &offset.values);
    let [ids, position, r#type] =
        [0, 1, 2].map(|number| if number < tables { maker.integers(&given[number].1) } else { Ptr::Null });
    let arguments = EmbedArgs {
        words: given[0].0.at,
        positions: given[1].0.at,
        types: given[2].0.at,
        ids,
        position,
        r#type,
        gain: gain.at,
        offset: offset.at,
        wide: if is_wide { maker.expect(Kind::Singles, right.clone(), SINGLES) } else { Ptr::Null },
        out: maker.expect(Kind::Halves, right, HALVES),
        rows: ROWS as i32,
        width: width as i32,
        eps: EPS,
    };
    let what = format!("{width} wide, {tables} tables{}", if is_wide { ", and in f32" } else { "" });
    maker.case(what, by_rows(kernel, ROWS), arguments)
}

fn add_norm(kernel: &'static str, width: usize, is_wide: bool) -> Case {
    let mut maker = Maker::new(1 + width as u64);
    let count = ROWS * width;
    let mut input =
        |most: f64| if is_wide { maker.singles(count, most) } else { maker.halves(count, 0.0, most) };
    let (x, residual) = (input(2.0), input(1.0));
    let (gain, offset) = (maker.halves(width, 1.0, 0.3), maker.halves(width, 0.0, 0.3));
    let sum: Vec<f64> = x.values.iter().zip(&residual.values).map(|(x, y)| x + y).collect();
    let right = normed(&sum, &gain.values, &offset.values);
    let arguments = NormArgs {
        x: x.at,
        residual: residual.at,
        gain: gain.at,
        offset: offset.at,
        wide: if is_wide { maker.expect(Kind::Singles, right.clone(), SINGLES) } else { Ptr::Null },
        out: maker.expect(Kind::Halves, right, HALVES),
        rows: ROWS as i32,
        width: width as i32,
        eps: EPS,
    };
    maker.case(format!("{width} wide"), by_rows(kernel, ROWS), arguments)
}

/// The complement of the error function: its series near zero, its continued fraction further out.
fn erfc(x: f64) -> f64 {
    let near = x.abs();
    let tail = if near < 3.0 {
        let (mut term, mut sum, mut n) = (near, near, 0.0);
        while term > sum * 1e-17 {
            n += 1.0;
            term *= 2.0 * near * near / (2.0 * n + 1.0);
            sum += term;
        }
        1.0 - 2.0 / std::f64::consts::PI.sqrt() * (-near * near).exp() * sum
    } else {
        let fraction = (1..60).rev().fold(near, |below, n| near + f64::from(n) / 2.0 / below);
        (-near * near).exp() / std::f64::consts::PI.sqrt() / fraction
    };
    if x < 0.0 { 2.0 - tail } else { tail }
}

/// The functions by the kernels' numbers.
fn activated(function: i32, x: f64) -> f64 {
    match function {
        1 => 0.5 * x * erfc(-x / std::f64::consts::SQRT_2),
        2 => x.tanh(),
        3 => x.max(0.0),
        _ => x,
    }
}

fn activation(kernel: &'static str, function: i32, has_bias: bool) -> Case {
    let (mut maker, rows, width) = (Maker::new(function as u64), 37, 136);
    let bias = if has_bias { maker.halves(width, 0.0, 1.0) } else { Numbers::none() };
    let before: Vec<f16> = (0..rows * width).map(|_| f16::from_f64(maker.random.spread(8.0))).collect();
    let sum = |(index, x): (usize, &f16)| x.to_f64() + bias.values.get(index % width).copied().unwrap_or(0.0);
    let right = before.iter().enumerate().map(sum).map(|x| activated(function, x)).collect();
    let bytes: Vec<u8> = before.iter().flat_map(|half| half.to_ne_bytes()).collect();
    let x = maker.update(Kind::Halves, &bytes, right, HALVES);
    let arguments = ActivationArgs { x, bias: bias.at, rows: rows as i32, width: width as i32 };
    let grid = ((rows * width / 8).div_ceil(256), 1);
    let launch = LaunchOf { kernel, grid, threads: 256, shared_bytes: 0 };
    maker.case(if has_bias { "with a bias" } else { "without a bias" }.to_owned(), launch, arguments)
}

fn unfold(taps: usize) -> Case {
    let (mut maker, width, lengths) = (Maker::new(taps as u64), 136, [9, 1, 2, 4]);
    let x = maker.halves(lengths.iter().sum::<usize>() * width, 0.0, 1.0);
    let (mut right, mut place, mut first) = (Vec::new(), Vec::new(), 0);
    for length in lengths {
        for i in 0..length {
            place.push(i);
            for tap in 0..taps {
                match (i + tap).checked_sub(taps / 2).filter(|&from| from < length) {
                    Some(from) => right.extend_from_slice(&x.values[(first + from) * width..][..width]),
                    None => right.extend(vec![0.0; width]),
                }
            }
        }
        first += length;
    }
    let arguments = UnfoldArgs {
        x: x.at,
        place: maker.integers(&place),
        out: maker.expect(Kind::Halves, right, EXACT),
        rows: first as i32,
        width: width as i32,
        taps: taps as i32,
    };
    let launch = LaunchOf { grid: (first.div_ceil(ROWS_A_BLOCK), taps), ..by_rows("conv_unfold", first) };
    maker.case(format!("{taps} taps"), launch, arguments)
}

/// `x weight^T + bias`.
fn product(x: &[f64], weight: &[f64], bias: &[f64]) -> Vec<f64> {
    let inputs = weight.len() / bias.len();
    let dot = |row: &[f64], of: &[f64]| row.iter().zip(of).map(|(a, b)| a * b).sum::<f64>();
    let row = |row: &[f64]| -> Vec<f64> {
        weight.chunks_exact(inputs).zip(bias).map(|(of, bias)| dot(row, of) + bias).collect()
    };
    x.chunks_exact(inputs).flat_map(row).collect()
}

fn pooler(width: usize, sequences: usize, function: i32) -> Case {
    let mut maker = Maker::new((width + sequences) as u64);
    let x = maker.halves(sequences * width, 0.0, 1.0);
    let (weight, bias) = (maker.halves(width * width, 0.0, 0.1), maker.halves(width, 0.0, 0.1));
    let right = product(&x.values, &weight.values, &bias.values);
    let right = right.into_iter().map(|x| activated(function, x)).collect();
    let arguments = PoolerArgs {
        x: x.at,
        weight: weight.at,
        bias: bias.at,
        out: maker.expect(Kind::Singles, right, SINGLES),
        sequences: sequences as i32,
        width: width as i32,
        function,
    };
    let launch =
        LaunchOf { grid: (width.div_ceil(ROWS_A_BLOCK), sequences.div_ceil(8)), ..by_rows("pooler", 1) };
    maker.case(format!("{width} wide, {sequences} sequences, function {function}"), launch, arguments)
}

/// The first of the sequences has an infinity among its numbers, the second a NaN.
fn classifier(width: usize, labels: usize) -> Case {
    let (mut maker, sequences) = (Maker::new(width as u64), 5);
    let mut numbers: Vec<f64> = (0..sequences * width).map(|_| maker.random.spread(1.0)).collect();
    (numbers[3], numbers[width]) = (f64::INFINITY, f64::NAN);
    let pooled = maker.these_singles(&numbers);
    let (weight, bias) = (maker.halves(labels * width, 0.2, 0.1), maker.halves(labels, 0.0, 0.1));
    let right = product(&pooled.values, &weight.values, &bias.values);
    let arguments = ClassifierArgs {
        pooled: pooled.at,
        weight: weight.at,
        bias: bias.at,
        logits: maker.expect(Kind::Singles, right, SINGLES),
        not_finite: maker.update(Kind::Counts, &[0; 4], vec![2.0 * labels as f64], EXACT),
        labels: labels as i32,
        width: width as i32,
    };
    let grid = (labels.div_ceil(ROWS_A_BLOCK), sequences);
    let launch = LaunchOf { grid, ..by_rows("classifier", 1) };
    maker.case(format!("{width} wide, {labels} labels, two sequences not finite"), launch, arguments)
}

fn mean(width: usize) -> Case {
    let (mut maker, lengths) = (Maker::new(width as u64), [40, 9, 8, 1, 0]);
    let tokens = lengths.iter().sum::<usize>();
    let x = maker.halves(tokens * width, 0.5, 1.0);
    let (mut right, mut cu) = (Vec::new(), vec![0]);
    for (sequence, &length) in lengths.iter().enumerate() {
        let first = cu[sequence];
        let column =
            |column: usize| (first..first + length).map(|row| x.values[row * width + column]).sum::<f64>();
        right.extend((0..width).map(|at| column(at) / length.max(1) as f64));
        cu.push(first + length);
    }
    let arguments = MeanArgs {
        x: x.at,
        cu: maker.integers(&cu),
        out: maker.expect(Kind::Singles, right, SINGLES),
        width: width as i32,
    };
    let grid = (lengths.len(), width.div_ceil(256));
    let launch = LaunchOf { kernel: "mean_pool", grid, threads: 256, shared_bytes: 8 * 256 * 4 };
    maker.case(format!("{width} wide"), launch, Arguments::from(arguments))
}

/// Kernels for rows, by the widths that each takes.
const WIDTHS: [(&str, &str, &str, [usize; 2]); 3] = [
    ("embed_norm_512", "add_norm_512", "add_norm_f32_512", [264, 512]),
    ("embed_norm_1024", "add_norm_1024", "add_norm_f32_1024", [768, 1024]),
    ("embed_norm_2048", "add_norm_2048", "add_norm_f32_2048", [1536, 2048]),
];
const FUNCTIONS: [(&str, i32); 3] = [("bias_gelu", 1), ("bias_tanh", 2), ("bias_relu", 3)];

/// Every kernel, at widths at both ends of what it takes.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![pooler(264, 2, 0), classifier(384, 3), classifier(1024, 5)];
    for (embed_kernel, norm, norm_f32, widths) in WIDTHS {
        for width in widths {
            cases.extend((1..=3).map(|tables| embed(embed_kernel, width, tables, tables != 2)));
            cases.extend([add_norm(norm, width, false), add_norm(norm_f32, width, true)]);
            cases.extend([gather(width), mean(width)]);
        }
    }
    for (kernel, function) in FUNCTIONS {
        cases.extend([false, true].map(|has_bias| activation(kernel, function, has_bias)));
        cases.push(pooler(128, 9, function));
    }
    cases.extend([1, 3, 5].map(unfold));
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_function_is_that_of_tables() {
        // Abramowitz and Stegun, table 7.1, and the tail by its series.
        for (x, right) in [(0.0, 1.0), (0.5, 0.479_500_122), (2.0, 0.004_677_735), (-1.0, 1.842_700_793)] {
            assert!((erfc(x) - right).abs() < 1e-9, "{x}");
        }
        assert!((erfc(4.0) / 1.541_725_79e-8 - 1.0).abs() < 1e-6);
        assert!((erfc(3.0) / erfc(3.0 - 1e-12) - 1.0).abs() < 1e-9, "both ways meet");
    }
}

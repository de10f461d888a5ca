//! Each wrapper of kernels/device.h on a device against its twin in kernels/host/shim.h: kernels/conformance.cu runs on both.

use super::super::arguments::{Arguments, ConformanceArgs, Ptr};
use super::super::runner::Fault;
use super::super::steps::Launch;
use super::Alone;
use super::case::Random;
use half::f16;

const THREADS: usize = 128;
const SHARED_BYTES: usize = 2 * THREADS * 16;
/// Threads of a launch: as many as it takes to see every half, eight a thread.
const ROWS: usize = 8192;
const WORDS_IN: usize = 12;
const WORDS_OUT: usize = 8;

/// How one wrapper differs from its twin.
#[derive(Debug, Clone, PartialEq)]
pub struct WrapperDifference {
    /// What was run.
    pub wrapper: &'static str,
    /// What it may be off by, in words.
    pub allowed: String,
    /// Words that were compared.
    pub words: usize,
    /// How many differ by more than is allowed.
    pub different: usize,
    /// The largest distance between numbers that may differ, in units in the last place or, for products of matrices, absolute.
    pub largest: f64,
    /// The first that differs: which word, what the device wrote, what the twin.
    pub first: Option<String>,
}

/// What is put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Table {
    /// Every half there is.
    Halves,
    /// Numbers in f32: every triple of special ones, and others of all sizes.
    Singles,
    /// Small whole numbers as halves, some of them times the smallest half, some not finite: every order of summation gives the same.
    Whole,
    /// Halves up to 2.
    Spread,
}

/// When two words are the same.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Rule {
    /// The same bits.
    Bits,
    /// The same bits of f32, or both NaN: which NaN is nobody's promise.
    Single,
    /// Two halves; the same.
    Pair,
    /// Numbers in f32 within so many units in the last place.
    Units(u32),
    /// Numbers in f32 that differ by this at most.
    Absolute(f64),
}

struct Operation {
    number: i32,
    wrapper: &'static str,
    table: Table,
    rule: Rule,
}

const fn op(number: i32, wrapper: &'static str, table: Table, rule: Rule) -> Operation {
    Operation { number, wrapper, table, rule }
}

/// The PTX manual allows ex2.approx and rsqrt.approx 2 units (2^-22.9 of the number); the twin, from the C library, is off by one at
/// most, and the two may be so in opposite ways.
const APPROXIMATE: Rule = Rule::Units(4);
/// Sixteen products of numbers up to 2 and a sum, added in another order with at least 20 bits: (16 * 4 + 2) * 2^-20.
const SUMMED: Rule = Rule::Absolute(66.0 / 1_048_576.0);

/// The numbers are those of kernels/conformance.cu.
const OPERATIONS: [Operation; 16] = [
    op(0, "load_16, load_u16, load_f32, load_uniform, recomputed", Table::Halves, Rule::Bits),
    op(1, "store_16, store_u32, store_f32, shared_address", Table::Singles, Rule::Bits),
    op(2, "half_to_f32, low_half, high_half", Table::Halves, Rule::Single),
    op(3, "pack_halves", Table::Singles, Rule::Pair),
    op(4, "fused, larger, magnitude, infinity", Table::Singles, Rule::Single),
    op(5, "exp_base2", Table::Singles, APPROXIMATE),
    op(6, "reciprocal", Table::Singles, Rule::Single),
    op(7, "reciprocal_root", Table::Singles, APPROXIMATE),
    op(8, "shuffle_xor", Table::Singles, Rule::Bits),
    op(9, "mma_16x8x16, sums that are exact", Table::Whole, Rule::Single),
    op(9, "mma_16x8x16, sums that are rounded", Table::Spread, SUMMED),
    op(10, "load_matrices, straight and turned", Table::Halves, Rule::Bits),
    op(11, "copy_async_16, copy_commit, copy_wait", Table::Halves, Rule::Bits),
    op(12, "barrier_block, barrier_group, barrier_warp", Table::Halves, Rule::Bits),
    op(13, "count_one", Table::Halves, Rule::Bits),
    op(14, "thread_x, block_x, block_y, grid_x, block_threads", Table::Halves, Rule::Bits),
];

/// Zeros, denormals, limits of halves and of f32 and their neighbours, infinities, NaN (quiet and signalling).
const SPECIAL: [u32; 20] = [
    0x0000_0000,
    0x8000_0000,
    0x0000_0001,
    0x807f_ffff,
    0x0080_0000,
    0x3380_0000,
    0x3300_0000,
    0x387f_c000,
    0x3f80_0000,
    0xbf80_0000,
    0x3f80_1000,
    0x477f_e000,
    0x477f_efff,
    0x477f_f000,
    0xc2fc_0000,
    0x42ff_ffff,
    0x7f7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
];
const SIGNALLING: u32 = 0x7f80_0001;

impl Table {
    fn words(self) -> Vec<u32> {
        let mut random = Random::new(7);
        (0..ROWS).flat_map(|row| self.row(row, &mut random)).collect()
    }

    fn row(self, row: usize, random: &mut Random) -> [u32; WORDS_IN] {
        let mut any = |below: usize| random.below(below) as u32;
        match self {
            Self::Halves => std::array::from_fn(|word| {
                let half = (row * 8 + word % 4 * 2) as u32;
                if word < 4 { half | (half + 1) << 16 } else { half.rotate_left(word as u32) ^ any(1 << 16) }
            }),
            // A cube of the special ones, then numbers whose exponents are near those of halves, then any bits.
            Self::Singles => std::array::from_fn(|word| match (row, word) {
                (..8000, ..3) => SPECIAL[row / 20_usize.pow(word as u32) % 20],
                (8000..8016, ..3) => SIGNALLING,
                (_, 3) if row < 4096 => any(1 << 31) ^ (any(2) << 31),
                _ => (any(1 << 23) | (97 + any(50)) << 23) ^ (any(2) << 31),
            }),
            Self::Whole => std::array::from_fn(|word| {
                let (warp, is_sum) = (row / 32, (6..10).contains(&word));
                let mut whole = || any(17) as f32 - 8.0;
                // One in eight warps has factors that are denormal, and one in eight numbers that are not finite.
                let step = if warp % 8 == 1 && word < 4 { 2.0_f32.powi(-24) } else { 1.0 };
                if is_sum {
                    return (whole() * step).to_bits();
                }
                let pair = [whole() * step, whole() * step].map(|x| u32::from(f16::from_f32(x).to_bits()));
                match (warp % 8, any(64)) {
                    (2, 0) => 0x7c00 | pair[1] << 16,
                    (2, 1) => pair[0] | 0xfe00 << 16,
                    _ => pair[0] | pair[1] << 16,
                }
            }),
            Self::Spread => std::array::from_fn(|word| {
                let mut number = || (any(1 << 16) as f32 / 16_384.0) - 2.0;
                if (6..10).contains(&word) {
                    return number().to_bits();
                }
                let pair = [number(), number()].map(|x| u32::from(f16::from_f32(x).to_bits()));
                pair[0] | pair[1] << 16
            }),
        }
    }
}

impl Operation {
    /// The words that it gives: those of every thread, then the counter.
    fn run(&self, on: &dyn Alone) -> Result<Vec<u32>, Fault> {
        let input: Vec<u8> = self.table.words().into_iter().flat_map(u32::to_ne_bytes).collect();
        let counter = ROWS * WORDS_OUT * 4;
        let mut output = vec![0xff; counter];
        output.extend([0; 16]);
        let arguments = ConformanceArgs {
            r#in: Ptr::Input(0),
            out: Ptr::Output(0),
            counter: Ptr::Output(counter),
            operation: self.number,
        };
        let launch = Launch {
            kernel: "conformance",
            grid: (ROWS / THREADS, 1),
            threads: THREADS,
            shared_bytes: SHARED_BYTES,
            arguments: Arguments::from(arguments),
        };
        on.run_alone(&launch, &input, &mut output)?;
        Ok(output.chunks_exact(4).map(|raw| u32::from_ne_bytes([raw[0], raw[1], raw[2], raw[3]])).collect())
    }

    fn compare(&self, found: &[u32], right: &[u32]) -> WrapperDifference {
        let mut difference = WrapperDifference {
            wrapper: self.wrapper,
            allowed: self.rule.in_words(),
            words: right.len(),
            different: 0,
            largest: 0.0,
            first: None,
        };
        for (place, (&found, &right)) in found.iter().zip(right).enumerate() {
            let distance = self.rule.distance(found, right);
            if self.rule.allows(distance) {
                difference.largest = difference.largest.max(distance);
                continue;
            }
            difference.different += 1;
            let (thread, word) = (place / WORDS_OUT, place % WORDS_OUT);
            difference.first.get_or_insert_with(|| {
                format!("word {word} of thread {thread}: {found:#010x}, and the twin {right:#010x}")
            });
        }
        difference
    }
}

impl Rule {
    fn in_words(self) -> String {
        match self {
            Self::Bits => "the same bits".to_owned(),
            Self::Single | Self::Pair => "the same bits, or both NaN".to_owned(),
            Self::Units(units) => format!("{units} units in the last place"),
            Self::Absolute(most) => format!("{most:e}"),
        }
    }

    fn allows(self, distance: f64) -> bool {
        match self {
            Self::Bits | Self::Single | Self::Pair => distance == 0.0,
            Self::Units(units) => distance <= f64::from(units),
            Self::Absolute(most) => distance <= most,
        }
    }

    /// 0 where the words are the same; infinite where they cannot be compared.
    fn distance(self, found: u32, right: u32) -> f64 {
        let (a, b) = (f32::from_bits(found), f32::from_bits(right));
        if found == right || (self != Self::Bits && self != Self::Pair && a.is_nan() && b.is_nan()) {
            return 0.0;
        }
        let is_number = a.is_finite() && b.is_finite();
        match self {
            Self::Pair if [0, 16].iter().all(|&shift| same_half(found >> shift, right >> shift)) => 0.0,
            // Where a result is flushed to zero, the other may be the smallest number that is not, or a few units above.
            Self::Units(units) if is_number && (a == 0.0 || b == 0.0) => {
                let above = (a + b).abs().to_bits().abs_diff(f32::MIN_POSITIVE.to_bits());
                if above <= units { f64::from(above) } else { f64::INFINITY }
            }
            Self::Units(_) if a.is_sign_negative() == b.is_sign_negative() && is_number => {
                f64::from(found.abs_diff(right))
            }
            Self::Absolute(_) if is_number => f64::from(a - b).abs(),
            _ => f64::INFINITY,
        }
    }
}

fn same_half(a: u32, b: u32) -> bool {
    let (a, b) = ((a & 0xffff) as u16, (b & 0xffff) as u16);
    a == b || (f16::from_bits(a).is_nan() && f16::from_bits(b).is_nan())
}

/// Runs every wrapper on both, and compares.
pub(super) fn compare(device: &dyn Alone, twin: &dyn Alone) -> Result<Vec<WrapperDifference>, Fault> {
    let both = |operation: &Operation| Ok(operation.compare(&operation.run(device)?, &operation.run(twin)?));
    OPERATIONS.iter().map(both).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::host::tests::kernels;

    fn operation(number: i32) -> &'static Operation {
        OPERATIONS.iter().find(|operation| operation.number == number).unwrap()
    }

    /// What a twin gives, each thread's eight words beside the twelve that it was given.
    fn rows(number: i32) -> Vec<([u32; WORDS_IN], [u32; WORDS_OUT])> {
        let (given, found) = (operation(number).table.words(), operation(number).run(&*kernels()).unwrap());
        let given = given.chunks_exact(WORDS_IN).map(|row| row.try_into().unwrap());
        given.zip(found.chunks_exact(WORDS_OUT).map(|row| row.try_into().unwrap())).collect()
    }

    /// Each word of each row is what `right` says.
    fn expect(number: i32, words: usize, right: impl Fn(&[u32; WORDS_IN], usize) -> u32) {
        for (given, found) in rows(number) {
            for (word, &found) in found.iter().enumerate().take(words) {
                let (rule, right) = (operation(number).rule, right(&given, word));
                let is_right = rule.allows(rule.distance(found, right));
                assert!(is_right, "{number} {word} {given:x?}: {found:x} for {right:x}");
            }
        }
    }

    #[test]
    fn the_twins_give_what_rust_gives() {
        let single = |given: &[u32; WORDS_IN], word: usize| f32::from_bits(given[word % 4]);
        let half = |x: f32| u32::from(f16::from_f32(x).to_bits());
        expect(2, 8, |given, word| {
            f16::from_bits((given[word / 2] >> (word % 2 * 16)) as u16).to_f32().to_bits()
        });
        expect(3, 4, |given, word| half(single(given, word)) | half(single(given, word + 1)) << 16);
        expect(5, 4, |given, word| {
            let power = single(given, word).exp2();
            if power < f32::MIN_POSITIVE { 0 } else { power.to_bits() }
        });
        expect(6, 4, |given, word| (1.0 / single(given, word)).to_bits());
        expect(7, 4, |given, word| (1.0 / single(given, word).sqrt()).to_bits());
        expect(4, 5, |given, word| {
            let [a, b, c] = [0, 1, 2].map(|word| single(given, word));
            let larger = if a == b && a == 0.0 { a + b } else { a.max(b) };
            let larger = if a.to_bits() ^ b.to_bits() == 1 << 31 && a == 0.0 { 0.0 } else { larger };
            // Rust's maximum of a signalling NaN and a number is either.
            let larger = if a.is_nan() {
                b
            } else if b.is_nan() {
                a
            } else {
                larger
            };
            [a.mul_add(b, c), larger, larger, a.abs(), f32::INFINITY][word].to_bits()
        });
    }

    #[test]
    fn a_device_that_differs_in_one_bit_is_seen_and_one_that_is_as_exact_as_it_must_be_is_right() {
        let twin = kernels();
        for operation in &OPERATIONS {
            let right = operation.run(&*twin).unwrap();
            assert_eq!(operation.compare(&right, &right).different, 0, "{}", operation.wrapper);
            // The sign of a number that is none of the smallest.
            let word = right
                .iter()
                .position(|&word| f32::from_bits(word).is_normal() && word & 0x7fff_ffff > 0x3f00_0000);
            let mut wrong = right.clone();
            let word = word.unwrap_or(0);
            wrong[word] ^= 1 << 31;
            let difference = operation.compare(&wrong, &right);
            assert_eq!(difference.different, 1, "{}: {difference:?}", operation.wrapper);
            assert!(difference.first.is_some_and(|first| first.contains(&format!("thread {}:", word / 8))));
        }
    }

    #[test]
    fn how_far_two_numbers_may_be_apart_is_as_said() {
        let units = |a: f32, b: f32| APPROXIMATE.distance(a.to_bits(), b.to_bits());
        assert_eq!(units(1.0, f32::from_bits(1.0_f32.to_bits() + 3)), 3.0);
        assert_eq!(units(0.0, f32::MIN_POSITIVE), 0.0);
        assert_eq!(units(0.0, 1e-30), f64::INFINITY);
        assert_eq!(units(f32::NAN, f32::from_bits(0x7fff_ffff)), 0.0);
        assert_eq!(units(f32::INFINITY, f32::MAX), f64::INFINITY);
        assert_eq!(Rule::Pair.distance(0x7e00_3c00, 0x7fff_3c00), 0.0);
        assert!(!Rule::Single.allows(Rule::Single.distance(0x8000_0000, 0)));
        assert!(SUMMED.allows(SUMMED.distance(1.0_f32.to_bits(), 1.000_05_f32.to_bits())));
    }

    #[test]
    fn every_wrapper_of_the_kernels_is_run() {
        let header = include_str!("../../../../../kernels/device.h");
        let names = header.lines().filter_map(|line| {
            let (_, rest) = line.split_once("DEVICE ")?;
            rest.split_once('(')?.0.split_whitespace().last()
        });
        let run: Vec<&str> = OPERATIONS.iter().flat_map(|it| it.wrapper.split([',', ' '])).collect();
        let mut count = 0;
        for name in names.filter(|name| !["bits_to_f32", "f32_to_bits"].contains(name)) {
            assert!(run.contains(&name), "{name} is not compared with its twin");
            count += 1;
        }
        assert!(count > 30, "{count}");
    }
}

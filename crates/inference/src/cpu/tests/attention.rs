use super::super::buffer::{Buffer, Rows, RowsMut};
use super::super::kernels::{AttentionCall, Kernels};
use super::super::pack::Format;
use super::super::simd::to_bf16;
use super::super::tables::{HeadTables, RelativeTables, SlotTables};
use super::{Random, all_kernels, assert_same_bits};
use crate::deberta::{Activation, DebertaConfig};
use crate::encoder::Distances;

const HEADS: usize = 2;

fn config(position_buckets: Option<usize>, c2p: bool, p2c: bool) -> DebertaConfig {
    DebertaConfig {
        hidden_size: 16,
        embedding_size: 16,
        heads: HEADS,
        head_size: 16,
        intermediate_size: 16,
        layers: 1,
        vocab_size: 16,
        max_position_embeddings: 200,
        max_relative_positions: 200,
        position_buckets,
        position_biased_input: false,
        type_vocab_size: 0,
        relative_attention: true,
        c2p,
        p2c,
        share_att_key: true,
        norm_rel_embeddings: false,
        conv: None,
        layer_norm_eps: 1e-7,
        hidden_act: Activation::Gelu,
        pooler_act: Activation::Gelu,
        label_names: Vec::new(),
        pad_token_id: 0,
    }
}

/// Random inputs of one sequence with the formula's own tables, by slot.
struct Case {
    config: DebertaConfig,
    format: Format,
    length: usize,
    width: usize,
    stride: usize,
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
    pk: Vec<f32>,
    pq: Vec<f32>,
    tables: RelativeTables,
    /// What is added by distance: by slot, with so many numbers a slot.
    bias: Option<(Distances, usize, Vec<f32>)>,
    reach: usize,
}

impl Case {
    fn new(config: DebertaConfig, length: usize, width: usize) -> Self {
        Self::new_as(Format::Single, config, length, width)
    }

    fn new_as(format: Format, config: DebertaConfig, length: usize, width: usize) -> Self {
        let mut random = Random::new((length * 100 + width) as u64);
        let inner = HEADS * width;
        let stride = inner + 16;
        let slots = 2 * config.span();
        // Large enough that softmax is far from uniform.
        let mut scaled = |count: usize| random.numbers(count).iter().map(|x| x * 0.9).collect::<Vec<f32>>();
        let (q, k, v) = (scaled(length * stride), scaled(length * stride), scaled(length * stride));
        let (pk, pq) = (scaled(slots * inner), scaled(slots * inner));
        let table = |wanted: bool, values: &[f32]| wanted.then(|| Buffer::from_values(values));
        let by_slot = SlotTables { pk: table(config.c2p, &pk), pq: table(config.p2c, &pq), bias: None };
        let distances = Distances::Disentangled(Box::new(config.clone()));
        let tables = RelativeTables::new(&distances, format, (inner, 1), vec![by_slot]);
        Self { config, format, length, width, stride, q, k, v, pk, pq, tables, bias: None, reach: usize::MAX }
    }

    fn run(&self, kernels: &Kernels, queries: usize, tables: HeadTables<'_>) -> Vec<f32> {
        let mut out = vec![f32::NAN; queries * self.stride];
        let room = kernels.attention_scratch(self.format, (queries, self.length), self.width);
        let mut scratch = vec![f32::NAN; room];
        kernels.attention(AttentionCall {
            format: self.format,
            heads: HEADS,
            head_width: self.width,
            q: Rows::new(&self.q, self.stride, queries),
            k: Rows::new(&self.k, self.stride, self.length),
            v: Rows::new(&self.v, self.stride, self.length),
            out: RowsMut::new(&mut out, self.stride, queries),
            tables,
            reach: self.reach,
            scratch: &mut scratch,
        });
        out
    }

    /// A number as the format holds it.
    fn held(&self, x: f32) -> f64 {
        match self.format {
            Format::Pairs => f64::from(f32::from_bits(u32::from(to_bf16(x)) << 16)),
            _ => f64::from(x),
        }
    }

    /// The largest difference from the formula over the held numbers. Pairs also round softmax's weights, by at most 2^-9 of
    /// each, which moves a mean of values by at most as much of the largest of them, 0.9.
    fn tolerance(&self) -> f64 {
        if self.format == Format::Pairs { 0.9 / 512.0 + 2e-5 } else { 2e-5 }
    }

    /// The literal formula, for query `i` and head `head`.
    fn literal(&self, i: usize, head: usize) -> Vec<f64> {
        let inner = HEADS * self.width;
        let dot = |a: &[f32], b: &[f32]| -> f64 {
            a.iter().zip(b).map(|(&a, &b)| self.held(a) * self.held(b)).sum()
        };
        let part = |data: &[f32], row: usize, stride: usize| -> Vec<f32> {
            data[row * stride + head * self.width..][..self.width].to_vec()
        };
        let q = part(&self.q, i, self.stride);
        let scores: Vec<f64> = (0..self.length)
            .map(|j| {
                let k = part(&self.k, j, self.stride);
                let slot = self.config.slot(i as isize - j as isize);
                let c2p = if self.config.c2p { dot(&q, &part(&self.pk, slot, inner)) } else { 0.0 };
                let p2c = if self.config.p2c { dot(&k, &part(&self.pq, slot, inner)) } else { 0.0 };
                let bias = self.bias.as_ref().map_or(0.0, |(distances, rows, values)| {
                    let slot = distances.slot(i as isize - j as isize);
                    f64::from(values[slot * rows + head % rows])
                });
                dot(&q, &k) + c2p + p2c + bias
            })
            .collect();
        let top = scores.iter().copied().fold(f64::MIN, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - top).exp()).collect();
        let sum: f64 = weights.iter().sum();
        (0..self.width)
            .map(|d| {
                let column = head * self.width + d;
                let value = |j: usize| self.held(self.v[j * self.stride + column]);
                weights.iter().enumerate().map(|(j, weight)| weight * value(j)).sum::<f64>() / sum
            })
            .collect()
    }

    fn check(&self) {
        let mut results = Vec::new();
        let wanted: Vec<Vec<f64>> =
            (0..self.length * HEADS).map(|n| self.literal(n / HEADS, n % HEADS)).collect();
        for kernels in all_kernels() {
            let tables = self.tables.for_length(0, self.length);
            let out = self.run(kernels, self.length, tables);
            for (i, row) in out.chunks_exact(self.stride).enumerate() {
                for head in 0..HEADS {
                    for (d, wanted) in wanted[i * HEADS + head].iter().enumerate() {
                        let error = (f64::from(row[head * self.width + d]) - wanted).abs();
                        let (isa, length, width) = (kernels.isa, self.length, self.width);
                        assert!(
                            error < self.tolerance(),
                            "{isa} length {length} width {width} at ({i}, {head}, {d}): {error:e}"
                        );
                    }
                }
                assert!(
                    row[HEADS * self.width..].iter().all(|x| x.is_nan()),
                    "nothing is written past the heads"
                );
            }
            self.check_fewer_queries(kernels, &out);
            // The instruction for pairs rounds once where the others do it twice.
            if self.format == Format::Single || !kernels.isa.has_short_products() {
                results.push((kernels.isa, out));
            }
        }
        assert_same_bits(&results, "attention");
    }

    /// A query's result is the same to the last bit however many queries are asked for.
    fn check_fewer_queries(&self, kernels: &Kernels, all: &[f32]) {
        let inner = HEADS * self.width;
        for queries in [1, 2, self.length.div_ceil(2)] {
            let queries = queries.min(self.length);
            let out = self.run(kernels, queries, self.tables.for_length(0, self.length));
            for (row, wanted) in out.chunks_exact(self.stride).zip(all.chunks_exact(self.stride)) {
                assert_eq!(row[..inner], wanted[..inner], "{} with {queries} queries", kernels.isa);
            }
        }
    }
}

fn formats_and_kernels() -> impl Iterator<Item = (Format, &'static Kernels)> {
    let formats = [Format::Single, Format::Pairs];
    formats.into_iter().flat_map(|format| all_kernels().into_iter().map(move |kernels| (format, kernels)))
}

#[test]
fn attention_agrees_with_the_formula_for_every_length() {
    for length in (1..=100).chain([130, 300]) {
        let width = if length % 2 == 0 { 32 } else { 64 };
        Case::new(config(Some(32), true, true), length, width).check();
    }
}

#[test]
fn attention_agrees_with_the_formula_for_each_choice_of_terms_and_buckets() {
    for length in [1, 7, 33, 70] {
        for buckets in [None, Some(8), Some(256)] {
            for (c2p, p2c) in [(true, false), (false, true), (true, true), (false, false)] {
                for width in [16, 32, 48, 64] {
                    Case::new(config(buckets, c2p, p2c), length, width).check();
                }
            }
        }
    }
}

#[test]
fn attention_in_pairs_agrees_with_the_formula_over_rounded_numbers_for_every_length() {
    for length in (1..=100).chain([127, 128, 129, 143, 144, 145, 160, 300]) {
        let width = if length % 2 == 0 { 32 } else { 64 };
        Case::new_as(Format::Pairs, config(Some(32), true, true), length, width).check();
    }
}

#[test]
fn attention_in_pairs_agrees_with_the_formula_for_each_choice_of_terms_and_buckets() {
    for length in [1, 7, 33, 70, 150] {
        for buckets in [None, Some(8), Some(256)] {
            for (c2p, p2c) in [(true, false), (false, true), (true, true), (false, false)] {
                for width in [32, 64, 96] {
                    Case::new_as(Format::Pairs, config(buckets, c2p, p2c), length, width).check();
                }
            }
        }
    }
}

#[test]
fn tables_of_a_longer_class_give_the_same_bits() {
    for (format, kernels) in formats_and_kernels() {
        let case = Case::new_as(format, config(Some(8), true, true), 40, 32);
        let small = case.run(kernels, 40, case.tables.for_length(0, 40));
        let fresh = Case::new_as(format, config(Some(8), true, true), 40, 32);
        let width = fresh.tables.for_length(0, 1000).width;
        let large = fresh.tables.for_length(0, 40);
        assert_eq!(large.width, width, "the class that exists is used");
        let large = case.run(kernels, 40, large);
        let bits = |numbers: &[f32]| numbers.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert!(bits(&small) == bits(&large), "{}", kernels.isa);
    }
}

#[test]
fn one_bad_token_spoils_only_what_it_reaches() {
    for (format, kernels) in formats_and_kernels() {
        let mut case = Case::new_as(format, config(Some(8), true, true), 20, 32);
        case.q[7 * case.stride] = f32::INFINITY;
        let out = case.run(kernels, 20, case.tables.for_length(0, 20));
        for (i, row) in out.chunks_exact(case.stride).enumerate() {
            let finite = row[..32].iter().all(|x| x.is_finite());
            assert_eq!(finite, i != 7, "{} row {i}", kernels.isa);
        }
    }
}

#[test]
fn scores_far_apart_leave_one_value() {
    for (format, kernels) in formats_and_kernels() {
        let width = if format == Format::Pairs { 32 } else { 16 };
        let mut case = Case::new_as(format, config(None, false, false), 17, width);
        case.q.iter_mut().for_each(|q| *q = 100.0);
        case.k.iter_mut().for_each(|k| *k = -1.0);
        let stride = case.stride;
        case.k[5 * stride..6 * stride].fill(1.0);
        let out = case.run(kernels, 17, HeadTables::NONE);
        for row in out.chunks_exact(stride) {
            for (x, value) in row.iter().zip(&case.v[5 * stride..]).take(2 * width) {
                assert_eq!(f64::from(*x), case.held(*value), "{}", kernels.isa);
            }
        }
    }
}

/// A sequence with a bias for each head and distance, and keys beyond `reach` hidden.
fn biased(format: Format, length: usize, width: usize, reach: Option<usize>) -> Case {
    let mut case = Case::new_as(format, config(None, false, false), length, width);
    let distances = match reach {
        Some(reach) => Distances::Local { reach },
        None => Distances::Bias { buckets: 8, max_distance: 20 },
    };
    let (rows, values) = match reach {
        Some(_) => (1, vec![-1e30, 0.0]),
        None => (HEADS, Random::new(3).numbers(8 * HEADS)),
    };
    let by_slot = SlotTables { bias: Some(Buffer::from_values(&values)), ..SlotTables::default() };
    case.tables = RelativeTables::new(&distances, case.format, (HEADS * width, rows), vec![by_slot]);
    case.bias = Some((distances, rows, values));
    case.reach = reach.unwrap_or(usize::MAX);
    case
}

#[test]
fn attention_agrees_with_the_formula_with_a_bias_by_distance() {
    for length in (1..=40).chain([100, 300]) {
        for format in [Format::Single, Format::Pairs] {
            biased(format, length, 32, None).check();
        }
    }
}

#[test]
fn a_local_layer_sees_near_keys_only_for_every_length_and_reach() {
    for length in (1..=40).chain([100, 300]) {
        for reach in [0, 1, 8, 16, 33, 1000] {
            biased(Format::Single, length, 16, Some(reach)).check();
            biased(Format::Pairs, length, 32, Some(reach)).check();
        }
    }
}

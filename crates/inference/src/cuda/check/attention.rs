//! Attention kernels against the definition in f64: every variant, forced, as no device would choose all of them by itself.

use super::super::arguments::{ClsArgs, DisentangledArgs, PlainArgs, Ptr};
use super::super::attention::{
    AttentionLaunch, GROUP_THREADS, PREFERENCE, SlotWindow, TILE, disentangled_bytes, plain_bytes,
};
use super::case::{Case, HALVES, Kind, LaunchOf, Maker, Numbers};
use std::f64::consts::LOG2_E;

const HEADS: usize = 2;
const CLS_THREADS: usize = 128;
const CLS_SHARED_BYTES: usize = CLS_THREADS * 8 * 4 + 2 * CLS_THREADS * 4;
/// From here on the bias of a distance no longer changes, as in T5.
const BIAS_REACH: usize = 129;

/// Buckets on either side (0 for none), and the distance at which they end.
#[derive(Debug, Clone, Copy)]
struct Distances {
    buckets: usize,
    most: usize,
}

impl Distances {
    fn span(self) -> usize {
        if self.buckets > 0 { self.buckets } else { self.most }
    }

    /// The slot of a distance, by the definition of He et al. (2021).
    fn slot(self, distance: isize) -> usize {
        let (middle, far) = ((self.buckets / 2) as f64, distance.unsigned_abs() as f64);
        let mut bucket = distance;
        if self.buckets > 0 && far > middle {
            let share = (far / middle).ln() / ((self.most as f64 - 1.0) / middle).ln();
            bucket = ((share * (middle - 1.0)).ceil() + middle) as isize * distance.signum();
        }
        let span = self.span() as isize;
        (bucket + span).clamp(0, 2 * span - 1) as usize
    }

    fn linear(self) -> usize {
        if self.buckets > 0 { self.buckets / 2 } else { self.most - 1 }
    }
}

/// Packed sequences, the longest first.
struct Packed {
    lengths: Vec<usize>,
    cu: Vec<usize>,
    tiles: Vec<usize>,
}

impl Packed {
    fn new(lengths: &[usize]) -> Self {
        let mut lengths = lengths.to_vec();
        lengths.sort_by_key(|&length| std::cmp::Reverse(length));
        let (mut cu, mut tiles) = (vec![0], Vec::new());
        for (sequence, &length) in lengths.iter().enumerate() {
            cu.push(cu[sequence] + length);
            tiles.extend((0..length).step_by(TILE).flat_map(|query| [sequence, query]));
        }
        Self { lengths, cu, tiles }
    }

    fn tokens(&self) -> usize {
        self.cu[self.lengths.len()]
    }

    fn window(&self) -> usize {
        self.lengths[0].next_multiple_of(TILE)
    }
}

/// Keys, values and a query of one head, in f64.
struct HeadOf<'a> {
    query: &'a [f64],
    keys: Vec<&'a [f64]>,
    values: Vec<&'a [f64]>,
}

impl HeadOf<'_> {
    /// Softmax in base 2 over `scale q k_j + more(j)`, times the values.
    fn attend(&self, scale: f64, more: impl Fn(usize) -> f64) -> Vec<f64> {
        let score = |(j, key): (usize, &&[f64])| dot(self.query, key) * scale + more(j);
        let scores: Vec<f64> = self.keys.iter().enumerate().map(score).collect();
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - top).exp2()).collect();
        let total: f64 = weights.iter().sum();
        let mut out = vec![0.0; self.query.len()];
        for (weight, value) in weights.iter().zip(&self.values) {
            out.iter_mut().zip(*value).for_each(|(out, value)| *out += weight / total * value);
        }
        out
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Rows `first..first + length` of head `head`, of `which` of `parts` tensors side by side.
fn rows(
    numbers: &[f64],
    (which, parts, head, width): (usize, usize, usize, usize),
    (first, length): (usize, usize),
) -> Vec<&[f64]> {
    let row = |token: usize| &numbers[((token * parts + which) * HEADS + head) * width..][..width];
    (first..first + length).map(row).collect()
}

/// What attention of queries `queries(length)` of every sequence gives: `[..][heads][width]`, in the order of sequences and queries.
fn every_row(
    packed: &Packed,
    (qkv, width): (&[f64], usize),
    queries: fn(usize) -> usize,
    score: impl Fn(&HeadOf<'_>, usize, usize) -> Vec<f64>,
) -> Vec<f64> {
    let mut out = Vec::new();
    for (sequence, &length) in packed.lengths.iter().enumerate() {
        let range = (packed.cu[sequence], length);
        for i in 0..queries(length) {
            for head in 0..HEADS {
                let of = |which: usize| rows(qkv, (which, 3, head, width), range);
                let (query, keys, values) = (of(0)[i], of(1), of(2));
                out.extend(score(&HeadOf { query, keys, values }, head, i));
            }
        }
    }
    out
}

/// Tables of relative positions, scaled, and the slots of distances.
struct Tables {
    distances: Distances,
    window: SlotWindow,
    pk: Numbers,
    pq: Numbers,
    /// The slot of distance 0.
    lut: Ptr,
    scale: f64,
}

impl Tables {
    fn new(maker: &mut Maker, distances: Distances, window: usize, width: usize) -> Self {
        let scale = LOG2_E / (3.0 * width as f64).sqrt();
        let count = HEADS * 2 * distances.span() * width;
        let (pk, pq) = (maker.halves(count, 0.0, 1.7 * scale), maker.halves(count, 0.0, 1.7 * scale));
        let far = window as isize - 1;
        let first = distances.slot(-far);
        let reach = window.min(distances.most + 1);
        let window = SlotWindow { first, slots: distances.slot(far) - first + 1, reach };
        let near = reach as isize - 1;
        let slots: Vec<usize> = (-near..=near).map(|distance| distances.slot(distance)).collect();
        let lut = maker.shorts(&slots).after(2 * (reach - 1));
        Self { distances, window, pk, pq, lut, scale }
    }

    /// The two terms of distance `i - j`.
    fn terms(&self, head: usize, distance: isize, query: &[f64], key: &[f64]) -> f64 {
        let width = query.len();
        let at = (head * 2 * self.distances.span() + self.distances.slot(distance)) * width;
        dot(query, &self.pk.values[at..][..width]) + dot(key, &self.pq.values[at..][..width])
    }

    fn right(&self, of: &HeadOf<'_>, head: usize, i: usize) -> Vec<f64> {
        let terms = |j: usize| self.terms(head, i as isize - j as isize, of.query, of.keys[j]);
        of.attend(self.scale, terms)
    }
}

fn disentangled(
    width: usize,
    distances: Distances,
    lengths: &[usize],
    (resident, groups, stages): (bool, usize, usize),
    limit: usize,
) -> Option<Case> {
    let mut maker = Maker::new((width + distances.most) as u64);
    let packed = Packed::new(lengths);
    let qkv = maker.halves(packed.tokens() * 3 * HEADS * width, 0.0, 1.7);
    let tables = Tables::new(&mut maker, distances, packed.window(), width);
    let launch = AttentionLaunch { resident, groups, stages, shared_bytes: 0 };
    let shared_bytes = disentangled_bytes(width, tables.window, launch);
    if shared_bytes > limit {
        return None;
    }
    let right =
        every_row(&packed, (&qkv.values, width), |length| length, |of, head, i| tables.right(of, head, i));
    let arguments = DisentangledArgs {
        qkv: qkv.at,
        pk: tables.pk.at,
        pq: tables.pq.at,
        lut: tables.lut,
        cu: maker.integers(&packed.cu),
        tiles: maker.integers(&packed.tiles),
        n_tiles: maker.integers(&[packed.tiles.len() / 2]),
        out: maker.expect(Kind::Halves, right, HALVES),
        heads: HEADS as i32,
        table_slots: 2 * distances.span() as i32,
        first_slot: tables.window.first as i32,
        slots: tables.window.slots as i32,
        reach: tables.window.reach as i32,
        linear: distances.linear() as i32,
        stages: stages as i32,
        scale: tables.scale as f32,
    };
    let kernel = match (width, resident) {
        (64, true) => "attention_disentangled_d64_resident",
        (64, false) => "attention_disentangled_d64_streaming",
        (_, true) => "attention_disentangled_d32_resident",
        (_, false) => "attention_disentangled_d32_streaming",
    };
    // Fewer blocks than there is work for, so that each takes several tiles.
    let launch = LaunchOf { kernel, grid: (2, HEADS), threads: GROUP_THREADS * groups, shared_bytes };
    let what = format!("{distances:?}, {groups} groups, {stages} stages, lengths {lengths:?}");
    Some(maker.case(what, launch, arguments))
}

/// A bias for each head and distance, or none.
struct Bias {
    numbers: Numbers,
    reach: usize,
}

impl Bias {
    fn new(maker: &mut Maker, wanted: bool) -> Self {
        if !wanted {
            return Self { numbers: Numbers::none(), reach: 0 };
        }
        Self { numbers: maker.singles(HEADS * (2 * BIAS_REACH - 1), 3.0), reach: BIAS_REACH }
    }

    fn stride(&self) -> usize {
        (2 * self.reach).saturating_sub(1)
    }

    /// Of distance 0 of head 0.
    fn start(&self) -> Ptr {
        self.numbers.at.after(4 * self.reach.saturating_sub(1))
    }

    fn of(&self, head: usize, distance: isize) -> f64 {
        if self.reach == 0 {
            return 0.0;
        }
        let far = self.reach as isize - 1;
        self.numbers.values[head * self.stride() + (far + distance.clamp(-far, far)) as usize]
    }

    /// What it takes of a block's shared memory.
    fn shared_bytes(&self) -> usize {
        if self.reach == 0 { 0 } else { 2 * (2 * self.stride()).next_multiple_of(64) }
    }
}

fn plain(
    width: usize,
    has_bias: bool,
    lengths: &[usize],
    (groups, stages): (usize, usize),
    limit: usize,
) -> Option<Case> {
    let mut maker = Maker::new(10 + width as u64);
    let packed = Packed::new(lengths);
    let qkv = maker.halves(packed.tokens() * 3 * HEADS * width, 0.0, 1.7);
    let bias = Bias::new(&mut maker, has_bias);
    let launch = AttentionLaunch { resident: true, groups, stages, shared_bytes: 0 };
    let shared_bytes = bias.shared_bytes() + plain_bytes(width, launch);
    if shared_bytes > limit {
        return None;
    }
    let scale = LOG2_E / (width as f64).sqrt();
    let right = every_row(
        &packed,
        (&qkv.values, width),
        |length| length,
        |of, head, i| of.attend(scale, |j| bias.of(head, i as isize - j as isize)),
    );
    let arguments = PlainArgs {
        qkv: qkv.at,
        bias: bias.start(),
        cu: maker.integers(&packed.cu),
        tiles: maker.integers(&packed.tiles),
        n_tiles: maker.integers(&[packed.tiles.len() / 2]),
        out: maker.expect(Kind::Halves, right, HALVES),
        heads: HEADS as i32,
        reach: bias.reach as i32,
        bias_stride: bias.stride() as i32,
        stages: stages as i32,
        scale: scale as f32,
    };
    let kernel = match (width, has_bias) {
        (64, false) => "attention_plain_d64",
        (64, true) => "attention_plain_d64_bias",
        (_, false) => "attention_plain_d32",
        (_, true) => "attention_plain_d32_bias",
    };
    let launch = LaunchOf { kernel, grid: (2, HEADS), threads: GROUP_THREADS * groups, shared_bytes };
    Some(maker.case(format!("{groups} groups, {stages} stages, lengths {lengths:?}"), launch, arguments))
}

/// First tokens: with tables, or without, or with a bias. One sequence more than there are has no tokens.
fn first_tokens(width: usize, has_tables: bool, has_bias: bool, lengths: &[usize]) -> Case {
    let mut maker = Maker::new(20 + width as u64);
    let packed = Packed::new(lengths);
    let (tokens, row) = (packed.tokens(), HEADS * width);
    let qkv = maker.halves(tokens * 3 * row, 0.0, 1.7);
    let tables = has_tables
        .then(|| Tables::new(&mut maker, Distances { buckets: 256, most: 512 }, packed.window(), width));
    let bias = Bias::new(&mut maker, has_bias);
    let scale = tables.as_ref().map_or(LOG2_E / (width as f64).sqrt(), |tables| tables.scale);
    let mut right = every_row(
        &packed,
        (&qkv.values, width),
        |_| 1,
        |of, head, _| match &tables {
            Some(tables) => tables.right(of, head, 0),
            None => of.attend(scale, |j| bias.of(head, -(j as isize))),
        },
    );
    right.extend(vec![0.0; row]);
    let mut firsts: Vec<f64> = packed.cu[..lengths.len()]
        .iter()
        .flat_map(|&first| qkv.values[first * 3 * row..][..row].to_vec())
        .collect();
    firsts.extend(vec![0.0; row]);
    let (mut cu, sequences) = (packed.cu, lengths.len() + 1);
    cu.push(tokens);
    let table = |of: fn(&Tables) -> Ptr| tables.as_ref().map_or(Ptr::Null, of);
    let arguments = ClsArgs {
        q: maker.these_halves(&firsts).at,
        k: qkv.at.after(2 * row),
        v: qkv.at.after(4 * row),
        pk: table(|tables| tables.pk.at),
        pq: table(|tables| tables.pq.at),
        lut: table(|tables| tables.lut),
        bias: bias.start(),
        cu: maker.integers(&cu),
        out: maker.expect(Kind::Halves, right, HALVES),
        heads: HEADS as i32,
        kv_stride: 3 * row as i32,
        table_slots: tables.as_ref().map_or(0, |tables| 2 * tables.distances.span() as i32),
        reach: tables.as_ref().map_or(bias.reach, |tables| tables.window.reach) as i32,
        bias_stride: bias.stride() as i32,
        scale: scale as f32,
    };
    let kernel = match (width, has_tables) {
        (64, true) => "attention_cls_disentangled_d64",
        (64, false) => "attention_cls_plain_d64",
        (_, true) => "attention_cls_disentangled_d32",
        (_, false) => "attention_cls_plain_d32",
    };
    let (threads, shared_bytes) = (CLS_THREADS, CLS_SHARED_BYTES);
    let launch = LaunchOf { kernel, grid: (sequences, HEADS), threads, shared_bytes };
    let what = format!("{}lengths {lengths:?}", if has_bias { "with a bias, " } else { "" });
    maker.case(what, launch, arguments)
}

/// Every variant in every layout of shared memory that a block of `limit` bytes has room for, over these lengths.
pub(super) fn cases(limit: usize, lengths: &[usize]) -> Vec<Case> {
    let mut cases = Vec::new();
    for width in [32, 64] {
        for (buckets, most) in [(256, 512), (256, 1680), (0, 512)] {
            let variants = PREFERENCE.iter();
            let distances = Distances { buckets, most };
            cases.extend(variants.filter_map(|&way| disentangled(width, distances, lengths, way, limit)));
        }
        for has_bias in [false, true] {
            let ways = PREFERENCE.iter().filter(|way| way.0).map(|&(_, groups, stages)| (groups, stages));
            cases.extend(ways.filter_map(|way| plain(width, has_bias, lengths, way, limit)));
            cases.push(first_tokens(width, false, has_bias, lengths));
        }
        cases.push(first_tokens(width, true, false, lengths));
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_engine() {
        let config = crate::testing::Opened::golden("deberta-v3-like").config;
        for (buckets, most) in [(256, 512), (256, 1680), (0, 512)] {
            let position_buckets = Some(buckets).filter(|&buckets| buckets > 0);
            let config = crate::deberta::DebertaConfig {
                position_buckets,
                max_relative_positions: most,
                ..config.clone()
            };
            let distances = Distances { buckets, most };
            assert_eq!(distances.span(), config.span());
            assert!((-2000..2000).all(|distance| distances.slot(distance) == config.slot(distance)));
        }
    }
}

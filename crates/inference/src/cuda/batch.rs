//! A batch of sequences as kernels read it: packed one after another, the longest first, in a bucket of fixed size.
//!
//! A captured graph is as long as its launches are wide, so batches are computed in a few sizes. What a bucket has too many of is harmless:
//! rows of padding belong to no sequence, and sequences of padding have no tokens.

use super::arguments::Ptr;
use super::attention::TILE;
use super::shape::Shape;
use crate::engine::Encoded;

/// Sizes below this double; above, they are its multiples.
const TOKEN_STEP: usize = 512;
/// The smallest bucket.
const FEWEST_TOKENS: usize = 64;
const FEWEST_SEQUENCES: usize = 4;
/// What is copied starts at a multiple of this.
const SECTION_BYTES: usize = 16;

/// What a pass answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Ask {
    /// Logits of every head; the last layer computes first tokens only.
    Logits,
    /// The mean of the last hidden state.
    Mean,
}

/// Everything that a list of launches depends on beside the model and the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Bucket {
    /// Rows.
    pub tokens: usize,
    pub sequences: usize,
    /// No sequence is longer; a multiple of [`TILE`].
    pub window: usize,
    pub ask: Ask,
    /// The residual stream in f32, for sequences that left the range of halves.
    pub wide: bool,
}

/// The size of the bucket that holds `tokens`.
pub(super) fn bucket_tokens(tokens: usize) -> usize {
    if tokens > TOKEN_STEP / 2 {
        return tokens.next_multiple_of(TOKEN_STEP);
    }
    tokens.next_power_of_two().max(FEWEST_TOKENS)
}

impl Bucket {
    /// The smallest that holds sequences of these lengths.
    pub(super) fn of(lengths: &[usize], ask: Ask, wide: bool) -> Self {
        let longest = lengths.iter().copied().max().unwrap_or(1);
        let window = longest.next_multiple_of(TILE);
        let window = if window > TOKEN_STEP { window.next_power_of_two() } else { window };
        let sequences = lengths.len().next_power_of_two().max(FEWEST_SEQUENCES);
        Self { tokens: bucket_tokens(lengths.iter().sum()), sequences, window, ask, wide }
    }

    /// The largest of all that hold `tokens`: its memory is enough for each of them.
    pub(super) fn largest(shape: &Shape, tokens: usize, ask: Ask, wide: bool) -> Self {
        let tokens = bucket_tokens(tokens);
        let window = shape.longest.next_multiple_of(TILE);
        Self { tokens, sequences: tokens.next_power_of_two(), window, ask, wide }
    }

    /// Most tiles of queries that its sequences can have.
    pub(super) fn tiles(&self) -> usize {
        self.tokens / TILE + self.sequences
    }

    /// Where the parts of its input lie.
    pub(super) fn input(&self) -> InputLayout {
        let mut bytes = 0;
        let mut section = |numbers: usize| {
            let at = bytes;
            bytes += (numbers * size_of::<i32>()).next_multiple_of(SECTION_BYTES);
            at
        };
        let (ids, places, types) = (section(self.tokens), section(self.tokens), section(self.tokens));
        let (cu, firsts) = (section(self.sequences + 1), section(self.sequences));
        let (tiles, n_tiles) = (section(2 * self.tiles()), section(1));
        InputLayout { ids, places, types, cu, firsts, tiles, n_tiles, bytes }
    }

    /// Where the parts of its output lie.
    pub(super) fn output(&self, shape: &Shape) -> OutputLayout {
        let mut bytes = SECTION_BYTES;
        let mut section = |numbers: usize| {
            let at = bytes;
            bytes += (numbers * size_of::<f32>()).next_multiple_of(SECTION_BYTES);
            at
        };
        let numbers = match self.ask {
            Ask::Logits => {
                shape.classifiers.iter().map(|head| section(self.sequences * head.labels)).collect()
            }
            Ask::Mean => vec![section(self.sequences * shape.hidden)],
        };
        OutputLayout { numbers, bytes }
    }
}

/// Offsets of a batch's input, in bytes. All of it are `i32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InputLayout {
    /// `[tokens]`.
    pub ids: usize,
    /// `[tokens]`, from 0 in each sequence.
    pub places: usize,
    /// `[tokens]`.
    pub types: usize,
    /// `[sequences + 1]`, the first token of each.
    pub cu: usize,
    /// `[sequences]`, the first token of each that there is; 0 for padding, where `cu` would lead past the end.
    pub firsts: usize,
    /// `[tiles][2]`, sequence and first query.
    pub tiles: usize,
    /// `[1]`.
    pub n_tiles: usize,
    /// Of everything.
    pub bytes: usize,
}

/// Offsets of a batch's output, in bytes. The number of logits that are not finite comes first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutputLayout {
    /// `[sequences][labels]` of each head, or `[sequences][hidden]`; `f32`.
    pub numbers: Vec<usize>,
    pub bytes: usize,
}

/// How many logits are not finite.
pub(super) const NOT_FINITE: Ptr = Ptr::Output(0);
/// Bytes of that number.
pub(super) const NOT_FINITE_BYTES: usize = size_of::<u32>();

/// A batch, ready to be copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Packed {
    pub bucket: Bucket,
    pub bytes: Vec<u8>,
}

/// Packs sequences. They fit the model, and the longest comes first.
pub(super) fn pack(sequences: &[&Encoded], ask: Ask, wide: bool) -> Packed {
    let lengths: Vec<usize> = sequences.iter().map(|sequence| sequence.ids.len()).collect();
    let bucket = Bucket::of(&lengths, ask, wide);
    let layout = bucket.input();
    let mut bytes = vec![0; layout.bytes];
    let mut put = |section: usize, index: usize, number: usize| {
        let at = section + index * size_of::<i32>();
        bytes[at..at + size_of::<i32>()].copy_from_slice(&(number as i32).to_ne_bytes());
    };
    let (mut token, mut tile) = (0, 0);
    for (index, sequence) in sequences.iter().enumerate() {
        put(layout.cu, index, token);
        put(layout.firsts, index, token);
        for query in (0..sequence.ids.len()).step_by(TILE) {
            put(layout.tiles, 2 * tile, index);
            put(layout.tiles, 2 * tile + 1, query);
            tile += 1;
        }
        for (place, &id) in sequence.ids.iter().enumerate() {
            put(layout.ids, token, id as usize);
            put(layout.places, token, place);
            put(layout.types, token, sequence.type_ids.get(place).copied().unwrap_or(0).into());
            token += 1;
        }
    }
    (sequences.len()..=bucket.sequences).for_each(|index| put(layout.cu, index, token));
    put(layout.n_tiles, 0, tile);
    Packed { bucket, bytes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Task;
    use groundline_types::Head;

    fn sequence(length: usize) -> Encoded {
        let ids = (0..length as u32).map(|id| 100 + id).collect();
        Encoded { ids, type_ids: vec![1; length], task: Task::Classify(Head::Nli), asked: Vec::new() }
    }

    fn numbers(packed: &Packed, section: usize, count: usize) -> Vec<i32> {
        let bytes = &packed.bytes[section..section + 4 * count];
        bytes.chunks_exact(4).map(|raw| i32::from_ne_bytes(raw.try_into().unwrap())).collect()
    }

    #[test]
    fn sequences_are_packed_and_what_is_left_of_a_bucket_has_no_tokens() {
        let (long, short) = (sequence(70), sequence(3));
        let packed = pack(&[&long, &short], Ask::Logits, false);
        let bucket = packed.bucket;
        assert_eq!((bucket.tokens, bucket.sequences, bucket.window), (128, 4, 128));
        let layout = bucket.input();
        assert_eq!(numbers(&packed, layout.cu, 5), [0, 70, 73, 73, 73]);
        assert_eq!(numbers(&packed, layout.firsts, 4), [0, 70, 0, 0]);
        assert_eq!(numbers(&packed, layout.tiles, 6), [0, 0, 0, 64, 1, 0]);
        assert_eq!(numbers(&packed, layout.n_tiles, 1), [3]);
        assert_eq!(numbers(&packed, layout.ids, 75)[69..], [169, 100, 101, 102, 0, 0]);
        assert_eq!(numbers(&packed, layout.places, 75)[69..], [69, 0, 1, 2, 0, 0]);
        assert_eq!(numbers(&packed, layout.types, 75)[72..], [1, 0, 0]);
    }

    #[test]
    fn there_are_few_sizes_of_buckets_and_each_holds_what_it_is_for() {
        let sizes: std::collections::BTreeSet<usize> = (1..=4096).map(bucket_tokens).collect();
        assert_eq!(sizes.iter().copied().take(5).collect::<Vec<_>>(), [64, 128, 256, 512, 1024]);
        assert_eq!(sizes.len(), 11);
        assert!((1..=4096).all(|tokens| bucket_tokens(tokens) >= tokens));
        for lengths in [vec![1], vec![700, 1, 2], vec![64; 9], vec![1; 100]] {
            let bucket = Bucket::of(&lengths, Ask::Mean, true);
            let tiles: usize = lengths.iter().map(|length| length.div_ceil(TILE)).sum();
            assert!(tiles <= bucket.tiles() && lengths.len() <= bucket.sequences, "{bucket:?}");
            assert!(lengths.iter().all(|&length| length <= bucket.window), "{bucket:?}");
        }
    }
}

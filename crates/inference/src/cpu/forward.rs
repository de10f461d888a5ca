//! The forward pass of one group of sequences, packed one after another without padding, on one thread.

mod answers;
mod convolution;
mod decoder;

use super::Output;
use super::buffer::{Buffer, Rows, RowsMut};
use super::kernels::AttentionCall;
use super::model::{Layer, Model, Norm};
use super::phases::{Lap, Phase, Stopwatch};
use super::tables::HeadTables;
use crate::engine::{Encoded, Task};
use std::cell::RefCell;

/// Token rows that go through attention output and feed-forward together, so that the wide strip between them stays in the
/// second-level cache; a multiple of every register tile.
const STRIP_ROWS: usize = 96;

/// Memory of one thread, kept from group to group and grown to the largest so far.
#[derive(Debug, Default)]
struct Arena {
    sequences: Vec<Sequence>,
    /// Hidden state of every token.
    hidden: Buffer,
    /// Hidden state of the tokens that are read after the last layer, where those are fewer.
    selected: Buffer,
    /// Embeddings before projection.
    embedded: Buffer,
    /// Hidden state before layer 0, for the convolution.
    input: Buffer,
    /// Normed hidden state, where norms come first.
    normed: Buffer,
    /// The same of the tokens that are read after the last layer.
    selected_normed: Buffer,
    q: Buffer,
    k: Buffer,
    v: Buffer,
    context: Buffer,
    attended: Buffer,
    /// Between the two feed-forward layers.
    wide: Buffer,
    /// The same, multiplied with its gate.
    gated: Buffer,
    /// For attention.
    scratch: Buffer,
    /// Neighbouring rows side by side, for the convolution.
    windows: Buffer,
    convolved: Buffer,
    /// What a head reads.
    firsts: Buffer,
    pooled: Buffer,
    logits: Buffer,
    /// Of the decoder, for each sequence: hidden state, and what it makes of it.
    step: Buffer,
    step_normed: Buffer,
    step_heads: Buffer,
    /// For each sequence and head, what the encoder's result is multiplied with, and the weighted sum of it.
    cross_queries: Buffer,
    cross_sums: Buffer,
}

/// Where a sequence's tokens lie in the group.
#[derive(Debug, Clone, Copy)]
struct Sequence {
    /// Its number in the batch.
    index: usize,
    /// Row of token 0.
    start: usize,
    /// Tokens.
    length: usize,
    /// Row of token 0 among the rows read after the last layer.
    query_start: usize,
    /// How many of its tokens are read: all for a mean, else the first.
    queries: usize,
}

thread_local! {
    static ARENA: RefCell<Arena> = RefCell::default();
}

/// Answers the sequences of `batch` that `members` names, in that order. They fit the model (see `CpuEncoder::check`).
pub(super) fn run_group(model: &Model, batch: &[Encoded], members: &[usize]) -> Vec<Output> {
    run_watched(model, batch, members, Stopwatch::default()).0
}

/// The times that the parts of [`run_group`] take on this thread.
pub(super) fn time_group(model: &Model, batch: &[Encoded], members: &[usize]) -> Vec<Lap> {
    run_watched(model, batch, members, Stopwatch::started()).1
}

fn run_watched(
    model: &Model,
    batch: &[Encoded],
    members: &[usize],
    watch: Stopwatch,
) -> (Vec<Output>, Vec<Lap>) {
    ARENA.with_borrow_mut(|arena| {
        let mut pass = Pass { model, batch, arena, tokens: 0, query_rows: 0, watch };
        pass.place(members);
        pass.embed();
        for index in 0..model.layers.len() {
            pass.layer(index);
        }
        pass.finish();
        let answers = pass.answers();
        (answers, pass.watch.into_laps())
    })
}

struct Pass<'a> {
    model: &'a Model,
    batch: &'a [Encoded],
    arena: &'a mut Arena,
    /// Rows of all sequences.
    tokens: usize,
    /// Rows read after the last layer.
    query_rows: usize,
    watch: Stopwatch,
}

/// The rows of a buffer that was filled before.
fn rows(buffer: &Buffer, stride: usize, count: usize) -> Rows<'_> {
    Rows::new(buffer.as_slice(), stride, count)
}

/// Rows of a buffer to be filled.
fn fresh(buffer: &mut Buffer, stride: usize, count: usize) -> RowsMut<'_> {
    RowsMut::new(buffer.scratch(stride * count), stride, count)
}

impl Pass<'_> {
    fn place(&mut self, members: &[usize]) {
        self.arena.sequences.clear();
        for &index in members {
            let length = self.batch[index].ids.len();
            let queries = match self.batch[index].task {
                Task::Classify(head) if self.model.reads_first_token(head) => 1,
                _ => length,
            };
            let sequence =
                Sequence { index, start: self.tokens, length, query_start: self.query_rows, queries };
            self.arena.sequences.push(sequence);
            self.tokens += length;
            self.query_rows += queries;
        }
    }

    fn embed(&mut self) {
        let Model { config, kernels, widths, embedding, .. } = self.model;
        let Arena { sequences, hidden, embedded, .. } = &mut *self.arena;
        let size = config.embedding_size;
        let target = if embedding.projection.is_some() { &mut *embedded } else { &mut *hidden };
        let target = fresh(target, widths.embedding, self.tokens);
        for sequence in sequences.iter() {
            let work = &self.batch[sequence.index];
            let token_rows = target.data[sequence.start * target.stride..].chunks_exact_mut(target.stride);
            for (position, (row, &id)) in token_rows.zip(&work.ids).enumerate() {
                let row = &mut row[..size];
                embedding.words.read_row(id as usize, row);
                if let Some(table) = &embedding.positions {
                    add(row, &table[position * size..][..size]);
                }
                if let Some(table) = &embedding.token_types {
                    add(row, &table[usize::from(work.type_ids[position]) * size..][..size]);
                }
            }
        }
        if let Some(projection) = &embedding.projection {
            let input = rows(embedded, widths.embedding, self.tokens);
            kernels.linear(projection, input, fresh(hidden, widths.hidden, self.tokens));
        }
        if let Some(norm) = &embedding.norm {
            let x = RowsMut::new(hidden.as_mut_slice(), widths.hidden, self.tokens);
            kernels.norm(x, config.hidden_size, norm.call());
        }
        if self.model.conv.is_some() {
            let length = self.tokens * widths.hidden;
            self.arena.input.scratch(length).copy_from_slice(&self.arena.hidden.as_slice()[..length]);
        }
        self.watch.lap(Phase::Embedding);
    }

    /// Whether the last layer computes fewer rows than there are tokens.
    fn selects(&self) -> bool {
        self.query_rows < self.tokens
    }

    fn layer(&mut self, index: usize) {
        let Model { kernels, widths, layers, .. } = self.model;
        let layer = &layers[index];
        let selects = index + 1 == layers.len() && self.selects();
        let query_rows = if selects { self.query_rows } else { self.tokens };
        let norm_first = self.model.config.norm_first;
        let Arena { sequences, hidden, normed, selected, selected_normed, q, k, v, .. } = &mut *self.arena;
        let x = rows(hidden, widths.hidden, self.tokens);
        let mut normed_rows = norm_first.then(|| fresh(normed, widths.hidden, self.tokens));
        let mut keys = fresh(k, widths.inner, self.tokens);
        let mut values = fresh(v, widths.inner, self.tokens);
        let mut queries = fresh(q, widths.inner, query_rows);
        for first in (0..self.tokens).step_by(STRIP_ROWS) {
            let count = STRIP_ROWS.min(self.tokens - first);
            if let Some(normed) = &mut normed_rows {
                copy_normed(
                    self.model,
                    layer.attention_norm.as_ref(),
                    x.part(first, count),
                    normed.part(first, count),
                );
                self.watch.lap(Phase::Norms);
            }
            let strip = normed_rows.as_ref().map_or(x, RowsMut::as_rows).part(first, count);
            let (key, value) =
                ((&layer.key, keys.part(first, count)), (&layer.value, values.part(first, count)));
            if selects {
                kernels.linear_each(strip, &mut [key, value]);
            } else {
                let query = (&layer.query, queries.part(first, count));
                kernels.linear_each(strip, &mut [key, value, query]);
            }
            self.watch.lap(Phase::Projections);
        }
        if selects {
            let gather = |from: Rows<'_>, target: &mut [f32]| {
                for sequence in sequences.iter() {
                    let (from_row, to_row) =
                        (sequence.start * widths.hidden, sequence.query_start * widths.hidden);
                    let length = sequence.queries * widths.hidden;
                    target[to_row..to_row + length].copy_from_slice(&from.data[from_row..from_row + length]);
                }
            };
            gather(x, selected.scratch(query_rows * widths.hidden));
            let read = match &normed_rows {
                Some(normed) => {
                    gather(normed.as_rows(), selected_normed.scratch(query_rows * widths.hidden));
                    selected_normed
                }
                None => selected,
            };
            kernels.linear(&layer.query, rows(read, widths.hidden, query_rows), queries);
        }
        self.watch.lap(Phase::Projections);
        self.attend(layer, selects, query_rows);
        self.feed_forward(layer, selects, query_rows);
        if index == 0 && self.model.conv.is_some() {
            self.convolve(selects);
            self.watch.lap(Phase::Heads);
        }
    }

    fn attend(&mut self, layer: &Layer, selects: bool, query_rows: usize) {
        let Model { config, kernels, widths, tables, rotations, attention, .. } = self.model;
        let attention = *attention;
        let Arena { sequences, q, k, v, context, scratch, .. } = &mut *self.arena;
        let tables = tables.as_ref().zip(layer.tables);
        let rotation = layer.rotation.map(|place| &rotations[place]);
        let mut context = fresh(context, widths.inner, query_rows);
        for sequence in sequences.iter() {
            let Sequence { start, length, .. } = *sequence;
            let (query_start, queries) =
                if selects { (sequence.query_start, sequence.queries) } else { (start, length) };
            if let Some(rotation) = rotation {
                let mut q = RowsMut::new(q.as_mut_slice(), widths.inner, query_rows);
                rotation.apply(q.part(query_start, queries), config.heads, widths.head);
                let mut k = RowsMut::new(k.as_mut_slice(), widths.inner, self.tokens);
                rotation.apply(k.part(start, length), config.heads, widths.head);
            }
            let room = kernels.attention_scratch(attention, (queries, length), widths.head);
            kernels.attention(AttentionCall {
                format: attention,
                heads: config.heads,
                head_width: widths.head,
                q: rows(q, widths.inner, query_rows).part(query_start, queries),
                k: rows(k, widths.inner, self.tokens).part(start, length),
                v: rows(v, widths.inner, self.tokens).part(start, length),
                out: context.part(query_start, queries),
                tables: tables.map_or(HeadTables::NONE, |(tables, place)| tables.for_length(place, length)),
                reach: layer.reach,
                scratch: scratch.scratch(room),
            });
            self.watch.lap(Phase::Attention);
        }
    }

    /// From the heads' results to the layer's result, which replaces the hidden state.
    fn feed_forward(&mut self, layer: &Layer, selects: bool, query_rows: usize) {
        let Model { config, kernels, widths, .. } = self.model;
        let Arena { hidden, selected, context, attended, normed, wide, gated, .. } = &mut *self.arena;
        let x = if selects { selected } else { hidden };
        let mut x = RowsMut::new(x.as_mut_slice(), widths.hidden, query_rows);
        let context = rows(context, widths.inner, query_rows);
        for first in (0..query_rows).step_by(STRIP_ROWS) {
            let count = STRIP_ROWS.min(query_rows - first);
            let mut x = x.part(first, count);
            let mut attended = fresh(attended, widths.hidden, count);
            let all = RowsMut { data: &mut *attended.data, ..attended };
            kernels.linear_added(&layer.attention_output, context.part(first, count), all, x.as_rows());
            self.watch.lap(Phase::AttentionOutput);
            let mut normed = config.norm_first.then(|| fresh(normed, widths.hidden, count));
            match (&mut normed, &layer.attention_norm) {
                (Some(normed), _) => {
                    copy_normed(
                        self.model,
                        Some(&layer.output_norm),
                        attended.as_rows(),
                        normed.part(0, count),
                    );
                }
                (None, Some(norm)) => kernels.norm(attended.part(0, count), config.hidden_size, norm.call()),
                (None, None) => {}
            }
            self.watch.lap(Phase::Norms);
            let input = normed.as_ref().map_or(attended.as_rows(), RowsMut::as_rows);
            let mut wide = fresh(wide, widths.intermediate, count);
            kernels.linear_activated(&layer.intermediate, input, wide.part(0, count), config.activation);
            if let Some(gate) = &layer.gate {
                let gated = fresh(gated, widths.intermediate, count);
                kernels.linear_gated(
                    gate,
                    input,
                    RowsMut { data: &mut *gated.data, ..gated },
                    wide.as_rows(),
                );
                wide = gated;
            }
            self.watch.lap(Phase::Intermediate);
            kernels.linear_added(&layer.output, wide.as_rows(), x.part(0, count), attended.as_rows());
            self.watch.lap(Phase::Output);
            if !config.norm_first {
                kernels.norm(x, config.hidden_size, layer.output_norm.call());
            }
            self.watch.lap(Phase::Norms);
        }
    }
}

/// Copies rows and norms the copy.
fn copy_normed(model: &Model, norm: Option<&Norm>, from: Rows<'_>, to: RowsMut<'_>) {
    let length = from.count * from.stride;
    to.data[..length].copy_from_slice(&from.data[..length]);
    if let Some(norm) = norm {
        model.kernels.norm(to, model.config.hidden_size, norm.call());
    }
}

fn add(target: &mut [f32], other: &[f32]) {
    for (number, other) in target.iter_mut().zip(other) {
        *number += other;
    }
}

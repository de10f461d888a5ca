//! The forward pass of one group of sequences, packed one after another without padding, on one thread.

use super::Output;
use super::buffer::{Buffer, Rows, RowsMut};
use super::kernels::AttentionCall;
use super::model::{Conv, Layer, Model};
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
    q: Buffer,
    k: Buffer,
    v: Buffer,
    context: Buffer,
    attended: Buffer,
    /// Between the two feed-forward layers.
    wide: Buffer,
    /// For attention.
    scratch: Buffer,
    /// Neighbouring rows side by side, for the convolution.
    windows: Buffer,
    convolved: Buffer,
    /// First tokens of the sequences that a head reads.
    firsts: Buffer,
    pooled: Buffer,
    logits: Buffer,
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
                Task::Embed => length,
                Task::Classify(_) => 1,
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
        let x = RowsMut::new(hidden.as_mut_slice(), widths.hidden, self.tokens);
        kernels.layer_norm(x, config.hidden_size, embedding.norm.parameters(), config.layer_norm_eps);
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
        let Arena { sequences, hidden, selected, q, k, v, .. } = &mut *self.arena;
        let x = rows(hidden, widths.hidden, self.tokens);
        let mut keys = fresh(k, widths.inner, self.tokens);
        let mut values = fresh(v, widths.inner, self.tokens);
        let mut queries = fresh(q, widths.inner, query_rows);
        for first in (0..self.tokens).step_by(STRIP_ROWS) {
            let count = STRIP_ROWS.min(self.tokens - first);
            let strip = x.part(first, count);
            kernels.linear(&layer.key, strip, keys.part(first, count));
            kernels.linear(&layer.value, strip, values.part(first, count));
            if !selects {
                kernels.linear(&layer.query, strip, queries.part(first, count));
            }
            self.watch.lap(Phase::Projections);
        }
        if selects {
            let target = selected.scratch(query_rows * widths.hidden);
            for sequence in sequences.iter() {
                let (from, to) = (sequence.start * widths.hidden, sequence.query_start * widths.hidden);
                let length = sequence.queries * widths.hidden;
                target[to..to + length].copy_from_slice(&x.data[from..from + length]);
            }
            kernels.linear(&layer.query, rows(selected, widths.hidden, query_rows), queries);
        }
        self.watch.lap(Phase::Projections);
        self.attend(index, selects, query_rows);
        self.feed_forward(layer, selects, query_rows);
        if let (0, Some(conv)) = (index, &self.model.conv) {
            self.convolve(conv, selects);
            self.watch.lap(Phase::Heads);
        }
    }

    fn attend(&mut self, index: usize, selects: bool, query_rows: usize) {
        let Model { config, kernels, widths, tables, .. } = self.model;
        let Arena { sequences, q, k, v, context, scratch, .. } = &mut *self.arena;
        let (q, k) = (rows(q, widths.inner, query_rows), rows(k, widths.inner, self.tokens));
        let v = rows(v, widths.inner, self.tokens);
        let mut context = fresh(context, widths.inner, query_rows);
        for sequence in sequences.iter() {
            let Sequence { start, length, .. } = *sequence;
            let (query_start, queries) =
                if selects { (sequence.query_start, sequence.queries) } else { (start, length) };
            kernels.attention(AttentionCall {
                heads: config.heads,
                head_width: widths.head,
                q: q.part(query_start, queries),
                k: k.part(start, length),
                v: v.part(start, length),
                out: context.part(query_start, queries),
                tables: tables.as_ref().map_or(HeadTables::NONE, |tables| tables.for_length(index, length)),
                scratch: scratch.scratch(kernels.attention_scratch(length, widths.head)),
            });
            self.watch.lap(Phase::Attention);
        }
    }

    /// From the heads' results to the layer's result, which replaces the hidden state.
    fn feed_forward(&mut self, layer: &Layer, selects: bool, query_rows: usize) {
        let Model { config, kernels, widths, .. } = self.model;
        let Arena { hidden, selected, context, attended, wide, .. } = &mut *self.arena;
        let x = if selects { selected } else { hidden };
        let mut x = RowsMut::new(x.as_mut_slice(), widths.hidden, query_rows);
        let context = rows(context, widths.inner, query_rows);
        let (size, eps) = (config.hidden_size, config.layer_norm_eps);
        for first in (0..query_rows).step_by(STRIP_ROWS) {
            let count = STRIP_ROWS.min(query_rows - first);
            let mut x = x.part(first, count);
            let mut attended = fresh(attended, widths.hidden, count);
            let all = RowsMut { data: &mut *attended.data, ..attended };
            kernels.linear_added(&layer.attention_output, context.part(first, count), all, x.as_rows());
            self.watch.lap(Phase::AttentionOutput);
            kernels.layer_norm(attended.part(0, count), size, layer.attention_norm.parameters(), eps);
            self.watch.lap(Phase::Norms);
            let mut wide = fresh(wide, widths.intermediate, count);
            let inner = wide.part(0, count);
            kernels.linear_activated(&layer.intermediate, attended.as_rows(), inner, config.hidden_act);
            self.watch.lap(Phase::Intermediate);
            let out = x.part(0, count);
            kernels.linear_added(&layer.output, wide.as_rows(), out, attended.as_rows());
            self.watch.lap(Phase::Output);
            kernels.layer_norm(x, size, layer.output_norm.parameters(), eps);
            self.watch.lap(Phase::Norms);
        }
    }

    /// Adds the convolution of layer 0's input to its output, each sequence as if between zeros.
    fn convolve(&mut self, conv: &Conv, selects: bool) {
        let Model { config, kernels, widths, .. } = self.model;
        let Arena { sequences, hidden, selected, input, windows, convolved, .. } = &mut *self.arena;
        let x = if selects { selected } else { hidden };
        let size = config.hidden_size;
        let in_group = size / conv.config.groups;
        for sequence in sequences.iter() {
            let (first, count) = if selects {
                (sequence.query_start, sequence.queries)
            } else {
                (sequence.start, sequence.length)
            };
            let x = &mut x.as_mut_slice()[first * widths.hidden..][..count * widths.hidden];
            for (group, weights) in conv.groups.iter().enumerate() {
                let channels = group * in_group..(group + 1) * in_group;
                let windows = fresh(windows, weights.depth(), count);
                for (position, window) in windows.data.chunks_exact_mut(windows.stride).enumerate() {
                    for (tap, part) in window.chunks_exact_mut(in_group).enumerate() {
                        let token = (position + tap).checked_sub(conv.config.kernel_size / 2);
                        match token.filter(|&token| token < sequence.length) {
                            Some(token) => {
                                let row = &input.as_slice()[(sequence.start + token) * widths.hidden..];
                                part.copy_from_slice(&row[channels.clone()]);
                            }
                            None => part.fill(0.0),
                        }
                    }
                }
                let mut convolved = fresh(convolved, weights.padded_columns(), count);
                let out = convolved.part(0, count);
                kernels.linear_activated(weights, windows.as_rows(), out, conv.config.activation);
                let pairs =
                    x.chunks_exact_mut(widths.hidden).zip(convolved.data.chunks_exact(convolved.stride));
                for (row, convolved) in pairs {
                    add(&mut row[channels.clone()], &convolved[..in_group]);
                }
            }
            let x = RowsMut::new(x, widths.hidden, count);
            kernels.layer_norm(x, size, conv.norm.parameters(), config.layer_norm_eps);
        }
    }

    fn answers(&mut self) -> Vec<Output> {
        let mut outputs = vec![Output::HeadMissing; self.arena.sequences.len()];
        for head in 0..self.model.heads.len() {
            self.classify(head, &mut outputs);
        }
        let last = self.last_rows();
        for (output, sequence) in outputs.iter_mut().zip(&self.arena.sequences) {
            if self.batch[sequence.index].task == Task::Embed {
                let token_rows = last[sequence.query_start * self.model.widths.hidden..]
                    .chunks_exact(self.model.widths.hidden)
                    .take(sequence.queries);
                let mut mean = vec![0.0; self.model.config.hidden_size];
                for row in token_rows {
                    add(&mut mean, row);
                }
                mean.iter_mut().for_each(|number| *number /= sequence.queries as f32);
                *output = Output::finite(mean, Output::Mean);
            }
        }
        self.watch.lap(Phase::Heads);
        outputs
    }

    fn last_rows(&self) -> &[f32] {
        if self.selects() { self.arena.selected.as_slice() } else { self.arena.hidden.as_slice() }
    }

    /// Fills in the outputs of the sequences that ask for head number `head`.
    fn classify(&mut self, head: usize, outputs: &mut [Output]) {
        let Model { kernels, widths, heads, .. } = self.model;
        let head = &heads[head];
        let selects = self.selects();
        let Arena { sequences, hidden, selected, firsts, pooled, logits, .. } = &mut *self.arena;
        let asks = |sequence: &Sequence| self.batch[sequence.index].task == Task::Classify(head.head);
        let count = sequences.iter().filter(|sequence| asks(sequence)).count();
        if count == 0 {
            return;
        }
        let last = if selects { selected.as_slice() } else { hidden.as_slice() };
        let mut firsts = fresh(firsts, widths.hidden, count);
        let targets = firsts.data.chunks_exact_mut(widths.hidden);
        for (target, sequence) in targets.zip(sequences.iter().filter(|sequence| asks(sequence))) {
            target.copy_from_slice(&last[sequence.query_start * widths.hidden..][..widths.hidden]);
        }
        let mut pooled = fresh(pooled, head.dense.padded_columns(), count);
        kernels.linear_activated(
            &head.dense,
            firsts.part(0, count).as_rows(),
            pooled.part(0, count),
            head.activation,
        );
        let mut logits = fresh(logits, head.out.padded_columns(), count);
        kernels.linear(&head.out, pooled.as_rows(), logits.part(0, count));
        let answered = outputs.iter_mut().zip(sequences.iter()).filter(|(_, sequence)| asks(sequence));
        for ((output, _), row) in answered.zip(logits.data.chunks_exact(logits.stride)) {
            *output = Output::finite(row[..head.labels].to_vec(), Output::Logits);
        }
    }
}

fn add(target: &mut [f32], other: &[f32]) {
    for (number, other) in target.iter_mut().zip(other) {
        *number += other;
    }
}

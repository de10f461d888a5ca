//! From the last hidden state to what was asked.

use super::super::Output;
use super::super::buffer::{Buffer, RowsMut};
use super::super::model::{HeadLayers, Model};
use super::super::phases::Phase;
use super::{Arena, Pass, Sequence, add, fresh};
use crate::encoder::HeadInput;
use crate::engine::Task;

impl Pass<'_> {
    /// The last norm, where norms come first.
    pub(super) fn finish(&mut self) {
        let Model { config, kernels, widths, final_norm, .. } = self.model;
        let count = self.last_count();
        let last = if self.selects() { &mut self.arena.selected } else { &mut self.arena.hidden };
        if let Some(norm) = final_norm {
            let x = RowsMut::new(last.as_mut_slice(), widths.hidden, count);
            kernels.norm(x, config.hidden_size, norm.call());
        }
    }

    pub(super) fn answers(&mut self) -> Vec<Output> {
        let mut outputs = vec![Output::HeadMissing; self.arena.sequences.len()];
        self.decode();
        for head in 0..self.model.heads.len() {
            self.classify(head, &mut outputs);
        }
        for (output, sequence) in outputs.iter_mut().zip(&self.arena.sequences) {
            match self.batch[sequence.index].task {
                Task::Embed => *output = Output::finite(self.mean(sequence), Output::Mean),
                Task::Hidden => *output = Output::finite(self.hidden(sequence), Output::Hidden),
                Task::Classify(_) | Task::Tokens(_) | Task::Similarity { .. } => {}
            }
        }
        self.watch.lap(Phase::Heads);
        outputs
    }

    /// Rows that are read after the last layer.
    fn last_count(&self) -> usize {
        if self.selects() { self.query_rows } else { self.tokens }
    }

    pub(super) fn last_rows(&self) -> &[f32] {
        if self.selects() { self.arena.selected.as_slice() } else { self.arena.hidden.as_slice() }
    }

    /// The last hidden state of a sequence's tokens, all of which are there.
    fn hidden(&self, sequence: &Sequence) -> Vec<f32> {
        let (stride, width) = (self.model.widths.hidden, self.model.config.hidden_size);
        let token_rows = self.last_rows()[sequence.query_start * stride..].chunks_exact(stride);
        token_rows.take(sequence.queries).flat_map(|row| &row[..width]).copied().collect()
    }

    /// Mean of the last hidden state over a sequence's tokens, all of which are there.
    fn mean(&self, sequence: &Sequence) -> Vec<f32> {
        let stride = self.model.widths.hidden;
        let token_rows = self.last_rows()[sequence.query_start * stride..].chunks_exact(stride);
        let mut mean = vec![0.0; self.model.config.hidden_size];
        for row in token_rows.take(sequence.queries) {
            add(&mut mean, row);
        }
        mean.iter_mut().for_each(|number| *number /= sequence.queries as f32);
        mean
    }

    /// How many rows of what `head` reads a sequence asks for: one, or one for each token.
    fn rows_asked(&self, head: &HeadLayers, sequence: &Sequence) -> usize {
        match self.batch[sequence.index].task {
            Task::Classify(wanted) if wanted == head.head => 1,
            Task::Tokens(wanted) if wanted == head.head => sequence.length,
            _ => 0,
        }
    }

    /// Fills in the outputs of the sequences that ask for head number `head`.
    fn classify(&mut self, head: usize, outputs: &mut [Output]) {
        let Model { config, kernels, widths, heads, .. } = self.model;
        let head = &heads[head];
        let asked: Vec<usize> =
            self.arena.sequences.iter().map(|sequence| self.rows_asked(head, sequence)).collect();
        let count = asked.iter().sum();
        if count == 0 {
            return;
        }
        let mut firsts = std::mem::take(&mut self.arena.firsts);
        self.gather(head, &mut firsts, count);
        let Arena { sequences, pooled, logits, .. } = &mut *self.arena;
        let input = super::rows(&firsts, widths.hidden, count);
        let mut logits = fresh(logits, head.out.padded_columns(), count);
        if let Some((dense, activation)) = &head.dense {
            let mut pooled = fresh(pooled, dense.padded_columns(), count);
            kernels.linear_activated(dense, input, pooled.part(0, count), *activation);
            if let Some(norm) = &head.norm {
                kernels.norm(pooled.part(0, count), config.hidden_size, norm.call());
            }
            kernels.linear(&head.out, pooled.as_rows(), logits.part(0, count));
        } else {
            kernels.linear(&head.out, input, logits.part(0, count));
        }
        let mut row = logits.data.chunks_exact(logits.stride).map(|row| &row[..head.labels]);
        for ((output, sequence), asked) in outputs.iter_mut().zip(&*sequences).zip(asked) {
            let is_single = matches!(self.batch[sequence.index].task, Task::Classify(_));
            let kind: fn(Vec<f32>) -> Output = if is_single { Output::Logits } else { Output::TokenLogits };
            let numbers: Vec<f32> = row.by_ref().take(asked).flatten().copied().collect();
            if asked > 0 {
                *output = Output::finite(numbers, kind);
            }
        }
        self.arena.firsts = firsts;
    }

    /// Copies what `head` reads for every sequence that asks for it.
    fn gather(&self, head: &HeadLayers, target: &mut Buffer, count: usize) {
        let stride = self.model.widths.hidden;
        let target = fresh(target, stride, count);
        let mut targets = target.data.chunks_exact_mut(stride);
        let last = self.last_rows();
        for (number, sequence) in self.arena.sequences.iter().enumerate() {
            let is_single = matches!(self.batch[sequence.index].task, Task::Classify(_));
            let asked = self.rows_asked(head, sequence);
            for (place, target) in targets.by_ref().take(asked).enumerate() {
                match head.input {
                    HeadInput::DecoderStep if is_single => {
                        target.copy_from_slice(&self.arena.step.as_slice()[number * stride..][..stride]);
                    }
                    HeadInput::MeanOfTokens if is_single => {
                        let mean = self.mean(sequence);
                        target[..mean.len()].copy_from_slice(&mean);
                    }
                    _ => target.copy_from_slice(&last[(sequence.query_start + place) * stride..][..stride]),
                }
            }
        }
    }
}

//! One step of a decoder, for all sequences of a group at once: row n belongs to sequence n.

use super::super::buffer::{Buffer, Rows, RowsMut};
use super::super::kernels::AttentionCall;
use super::super::model::{Decoder, DecoderStep, Model};
use super::super::pack::Format;
use super::super::pack::Packed;
use super::super::tables::HeadTables;
use super::{Arena, Pass, copy_normed, fresh, rows};
use crate::encoder::HeadInput;
use crate::engine::Task;

impl Pass<'_> {
    /// Leaves the decoder's result in `step`, where any sequence asks for it.
    pub(super) fn decode(&mut self) {
        let Some(decoder) = &self.model.decoder else { return };
        let asks = |task: Task| {
            let mut heads = self.model.heads.iter().filter(|head| head.input == HeadInput::DecoderStep);
            heads.any(|head| task == Task::Classify(head.head))
        };
        if self.arena.sequences.iter().any(|sequence| asks(self.batch[sequence.index].task)) {
            self.run_decoder(decoder);
        }
    }

    fn run_decoder(&mut self, decoder: &Decoder) {
        let (hidden, count) = (self.model.widths.hidden, self.arena.sequences.len());
        let step = fresh(&mut self.arena.step, hidden, count);
        for row in step.data.chunks_exact_mut(hidden) {
            row.copy_from_slice(&decoder.start);
        }
        for layer in &decoder.steps {
            self.attend_to_itself(layer, count);
            self.attend_to_encoder(layer, count);
            self.decoder_feed_forward(layer, count);
        }
        let x = RowsMut::new(self.arena.step.as_mut_slice(), hidden, count);
        self.model.kernels.norm(x, self.model.config.hidden_size, decoder.final_norm.call());
    }

    /// A single token sees itself only: the result is its value.
    fn attend_to_itself(&mut self, layer: &DecoderStep, count: usize) {
        let Model { kernels, widths, .. } = self.model;
        let Arena { step, step_normed, step_heads, attended, .. } = &mut *self.arena;
        let mut normed = fresh(step_normed, widths.hidden, count);
        copy_normed(
            self.model,
            Some(&layer.self_norm),
            rows(step, widths.hidden, count),
            normed.part(0, count),
        );
        let mut values = fresh(step_heads, widths.inner, count);
        kernels.linear(&layer.self_value, normed.as_rows(), values.part(0, count));
        add_product(self.model, &layer.self_output, values.as_rows(), (step, attended));
    }

    /// Each head's query, carried to the hidden width, meets the encoder's result as keys and as values alike.
    fn attend_to_encoder(&mut self, layer: &DecoderStep, count: usize) {
        let Model { config, kernels, widths, .. } = self.model;
        let heads = config.heads;
        let Arena { step, step_normed, step_heads, cross_queries, .. } = &mut *self.arena;
        let mut normed = fresh(step_normed, widths.hidden, count);
        copy_normed(
            self.model,
            Some(&layer.cross_norm),
            rows(step, widths.hidden, count),
            normed.part(0, count),
        );
        // A row more than there is, for the views that start within a row.
        let mut queries = fresh(step_heads, widths.inner, count + 1);
        kernels.linear(&layer.cross_query, normed.as_rows(), queries.part(0, count));
        let wide = heads * widths.hidden;
        let carried = fresh(cross_queries, wide, count + 1);
        for (head, keys) in layer.cross_keys.iter().enumerate() {
            let query = Rows::new(&queries.data[head * widths.head..], widths.inner, count);
            let out = RowsMut::new(&mut carried.data[head * widths.hidden..], wide, count);
            kernels.linear(keys, query, out);
        }
        self.weigh_tokens(count);
        let Arena { step, step_heads, cross_sums, attended, .. } = &mut *self.arena;
        let mut values = fresh(step_heads, widths.inner, count + 1);
        for (head, weights) in layer.cross_values.iter().enumerate() {
            let sum = Rows::new(&cross_sums.as_slice()[head * widths.hidden..], wide, count);
            let out = RowsMut::new(&mut values.data[head * widths.head..], widths.inner, count);
            kernels.linear(weights, sum, out);
        }
        add_product(self.model, &layer.cross_output, values.part(0, count).as_rows(), (step, attended));
    }

    /// For each sequence and head, the sum of its tokens weighted by softmax.
    fn weigh_tokens(&mut self, count: usize) {
        let Model { config, kernels, widths, .. } = self.model;
        let selects = self.selects();
        let Arena { sequences, hidden, selected, scratch, cross_queries, cross_sums, .. } = &mut *self.arena;
        let (heads, width) = (config.heads, widths.hidden);
        let last = if selects { selected } else { hidden };
        let mut sums = fresh(cross_sums, width, (count + 1) * heads);
        for (number, sequence) in sequences.iter().enumerate() {
            let tokens = Rows::new(&last.as_slice()[sequence.query_start * width..], width, sequence.queries);
            let room = kernels.attention_scratch(Format::Single, (heads, sequence.queries), width);
            kernels.attention(AttentionCall {
                format: Format::Single,
                heads: 1,
                head_width: width,
                q: rows(cross_queries, width, count * heads).part(number * heads, heads),
                k: tokens,
                v: tokens,
                out: sums.part(number * heads, heads),
                tables: HeadTables::NONE,
                reach: usize::MAX,
                scratch: scratch.scratch(room),
            });
        }
    }

    fn decoder_feed_forward(&mut self, layer: &DecoderStep, count: usize) {
        let Model { config, kernels, widths, .. } = self.model;
        let Arena { step, step_normed, wide, gated, attended, .. } = &mut *self.arena;
        let mut normed = fresh(step_normed, widths.hidden, count);
        copy_normed(
            self.model,
            Some(&layer.output_norm),
            rows(step, widths.hidden, count),
            normed.part(0, count),
        );
        let mut wide = fresh(wide, widths.intermediate, count);
        kernels.linear_activated(
            &layer.intermediate,
            normed.as_rows(),
            wide.part(0, count),
            config.activation,
        );
        if let Some(gate) = &layer.gate {
            let gated = fresh(gated, widths.intermediate, count);
            let out = RowsMut { data: &mut *gated.data, ..gated };
            kernels.linear_gated(gate, normed.as_rows(), out, wide.as_rows());
            wide = gated;
        }
        add_product(self.model, &layer.output, wide.as_rows(), (step, attended));
    }
}

/// `step = input W + step`, with room to compute in.
fn add_product(model: &Model, weights: &Packed, input: Rows<'_>, (step, room): (&mut Buffer, &mut Buffer)) {
    let width = model.widths.hidden;
    let mut sums = fresh(room, width, input.count);
    model.kernels.linear_added(weights, input, sums.part(0, input.count), rows(step, width, input.count));
    step.as_mut_slice()[..input.count * width].copy_from_slice(&sums.data[..input.count * width]);
}

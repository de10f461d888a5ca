//! The convolution beside layer 0 (DeBERTa-v2-xlarge).

use super::super::buffer::RowsMut;
use super::super::model::Model;
use super::{Arena, Pass, add, fresh};

impl Pass<'_> {
    /// Adds the convolution of layer 0's input to its output, each sequence as if between zeros.
    pub(super) fn convolve(&mut self, selects: bool) {
        let Model { config, kernels, widths, conv: Some(conv), .. } = self.model else { return };
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
            kernels.norm(x, size, conv.norm.call());
        }
    }
}

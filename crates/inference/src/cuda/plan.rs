//! The forward pass of one bucket as a list of steps, made without a device.
//!
//! Each launch says which kernel, how many blocks, how much shared memory and with which arguments; each product which matrices. Buffers are
//! written once (a layer's output is a new buffer), so how long each lives follows from the steps, and memory is shared by
//! [`super::memory::place`]. The same list runs on a GPU ([`super::device`]) and through the kernels' host run in the tests.

mod attend;

#[cfg(test)]
pub(super) use attend::CLS_SHARED_BYTES;

use super::arguments::{
    ActivationArgs, Arguments, ClassifierArgs, EmbedArgs, GatherArgs, MeanArgs, NormArgs, PoolerArgs, Ptr,
    UnfoldArgs,
};
use super::attention::DeviceLimits;
use super::batch::{Ask, Bucket, InputLayout, NOT_FINITE, NOT_FINITE_BYTES};
use super::memory::{Placement, place};
use super::shape::{Function, NormAt, Shape};
use super::steps::{Launch, Product, Step, lives};
use super::weights::{ConvAt, LayerAt, ProductAt, WeightLayout};
use groundline_types::Problem;

const HALF_BYTES: usize = 2;
/// Threads and rows of a block of the kernels that take a row a warp.
const ROW_THREADS: usize = 128;
const ROWS_A_BLOCK: usize = 4;
const ACTIVATION_THREADS: usize = 256;
const POOLER_ROWS: usize = 8;
const MEAN_THREADS: usize = 256;
const MEAN_COLUMNS: usize = 256;
pub(super) const MEAN_SHARED_BYTES: usize = 8 * MEAN_COLUMNS * 4;

/// The steps of a bucket, and where its buffers lie.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    pub steps: Vec<Step>,
    /// Bytes of each buffer.
    pub buffers: Vec<usize>,
    pub placement: Placement,
}

impl Plan {
    /// The plan of `bucket`.
    ///
    /// # Errors
    /// [`Code::MODEL_UNSUPPORTED`] where attention fits no block of the device.
    pub(super) fn of(
        shape: &Shape,
        weights: &WeightLayout,
        device: &DeviceLimits,
        bucket: Bucket,
    ) -> Result<Self, Problem> {
        let input = bucket.input();
        let mut planner =
            Planner { shape, weights, device, bucket, input, steps: Vec::new(), buffers: Vec::new() };
        planner.forward()?;
        let Planner { steps, buffers, .. } = planner;
        let placement = place(&buffers, &lives(&steps, buffers.len()));
        Ok(Self { steps, buffers, placement })
    }
}

/// The residual stream: halves for the next product, and f32 beside them in the f32 variant.
#[derive(Debug, Clone, Copy)]
struct Stream {
    halves: Ptr,
    wide: Ptr,
    rows: usize,
}

struct Planner<'a> {
    shape: &'a Shape,
    weights: &'a WeightLayout,
    device: &'a DeviceLimits,
    bucket: Bucket,
    input: InputLayout,
    steps: Vec<Step>,
    buffers: Vec<usize>,
}

impl Planner<'_> {
    fn forward(&mut self) -> Result<(), Problem> {
        self.steps.push(Step::Clear { to: NOT_FINITE, bytes: NOT_FINITE_BYTES });
        let input = self.embed();
        let mut x = input;
        for (number, layer) in self.weights.layers.iter().enumerate() {
            let is_last = number + 1 == self.shape.layers && self.bucket.ask == Ask::Logits;
            let (context, residual) =
                if is_last { self.attend_first(layer, x) } else { (self.attend(layer, x)?, x) };
            x = self.after_attention(layer, context, residual);
            if let (0, Some(conv)) = (number, &self.weights.conv) {
                x = self.convolve(conv, input, x, is_last);
            }
        }
        match self.bucket.ask {
            Ask::Logits => self.classify(x),
            Ask::Mean => self.mean(x),
        }
        Ok(())
    }

    fn buffer(&mut self, bytes: usize) -> Ptr {
        self.buffers.push(bytes);
        Ptr::Work(self.buffers.len() - 1, 0)
    }

    fn halves(&mut self, rows: usize, width: usize) -> Ptr {
        self.buffer(rows * width * HALF_BYTES)
    }

    fn singles(&mut self, rows: usize, width: usize) -> Ptr {
        self.buffer(rows * width * size_of::<f32>())
    }

    /// A row of the residual stream's f32 half, where there is one.
    fn wide_rows(&mut self, rows: usize) -> Ptr {
        if self.bucket.wide { self.singles(rows, self.shape.hidden) } else { Ptr::Null }
    }

    /// `grid_y` is 1.
    fn launch_rows(&mut self, kernel: &'static str, rows: usize, arguments: impl Into<Arguments>) {
        let (grid, threads) = ((rows.div_ceil(ROWS_A_BLOCK), 1), ROW_THREADS);
        self.launch(Launch { kernel, grid, threads, shared_bytes: 0, arguments: arguments.into() });
    }

    fn launch(&mut self, launch: Launch) {
        self.steps.push(Step::Launch(launch));
    }

    fn embed(&mut self) -> Stream {
        let (hidden, rows) = (self.shape.hidden, self.bucket.tokens);
        let x = Stream { halves: self.halves(rows, hidden), wide: self.wide_rows(rows), rows };
        let (weights, input) = (self.weights, self.input);
        let NormAt { gain, offset } = weights.embedding_norm;
        let given = |table: Ptr, index: usize| if table == Ptr::Null { Ptr::Null } else { Ptr::Input(index) };
        let arguments = EmbedArgs {
            words: weights.words,
            positions: weights.positions,
            types: weights.types,
            ids: Ptr::Input(input.ids),
            position: given(weights.positions, input.places),
            r#type: given(weights.types, input.types),
            gain,
            offset,
            out: x.halves,
            wide: x.wide,
            rows: rows as i32,
            width: hidden as i32,
            eps: self.shape.eps,
        };
        self.launch_rows(
            by_width(hidden, ["embed_norm_512", "embed_norm_1024", "embed_norm_2048"]),
            rows,
            arguments,
        );
        x
    }

    /// The row of each sequence's first token.
    fn gather(&mut self, table: Ptr, width: usize) -> Ptr {
        let rows = self.bucket.sequences;
        let out = self.halves(rows, width);
        let index = Ptr::Input(self.input.firsts);
        let arguments = GatherArgs { table, index, out, rows: rows as i32, width: width as i32 };
        self.launch_rows("gather_rows", rows, arguments);
        out
    }

    fn after_attention(&mut self, layer: &LayerAt, context: Ptr, x: Stream) -> Stream {
        let (hidden, wide) = (self.shape.hidden, self.shape.intermediate);
        let y = self.product_into_stream(layer.attention_output, context, x.rows, self.shape.inner());
        let attended = self.add_norm(y, x, layer.attention_norm);
        let strip = self.halves(x.rows, wide);
        self.steps.push(Step::Product(Product {
            x: attended.halves,
            weight: layer.intermediate,
            bias: Ptr::Null,
            out: strip,
            rows: x.rows,
            inputs: hidden,
            outputs: wide,
            wide: false,
        }));
        self.activate(strip, layer.intermediate_bias, (x.rows, wide), self.shape.activation);
        let y = self.product_into_stream(layer.output, strip, x.rows, wide);
        self.add_norm(y, attended, layer.output_norm)
    }

    /// A product that goes into the residual stream: in f32 where that is.
    fn product_into_stream(&mut self, at: ProductAt, x: Ptr, rows: usize, inputs: usize) -> Ptr {
        let (outputs, wide) = (self.shape.hidden, self.bucket.wide);
        let out = if wide { self.singles(rows, outputs) } else { self.halves(rows, outputs) };
        let bias = if wide { at.bias_wide } else { at.bias };
        let product = Product { x, weight: at.weight, bias, out, rows, inputs, outputs, wide };
        self.steps.push(Step::Product(product));
        out
    }

    /// `LayerNorm(y + residual)`.
    fn add_norm(&mut self, y: Ptr, residual: Stream, norm: NormAt) -> Stream {
        let (hidden, rows) = (self.shape.hidden, residual.rows);
        let out = Stream { halves: self.halves(rows, hidden), wide: self.wide_rows(rows), rows };
        let names = if self.bucket.wide {
            ["add_norm_f32_512", "add_norm_f32_1024", "add_norm_f32_2048"]
        } else {
            ["add_norm_512", "add_norm_1024", "add_norm_2048"]
        };
        let arguments = NormArgs {
            x: y,
            residual: if self.bucket.wide { residual.wide } else { residual.halves },
            gain: norm.gain,
            offset: norm.offset,
            out: out.halves,
            wide: out.wide,
            rows: rows as i32,
            width: hidden as i32,
            eps: self.shape.eps,
        };
        self.launch_rows(by_width(hidden, names), rows, arguments);
        out
    }

    fn activate(&mut self, x: Ptr, bias: Ptr, (rows, width): (usize, usize), function: Function) {
        let arguments = ActivationArgs { x, bias, rows: rows as i32, width: width as i32 };
        self.launch(Launch {
            kernel: function.kernel(),
            grid: ((rows * width / 8).div_ceil(ACTIVATION_THREADS), 1),
            threads: ACTIVATION_THREADS,
            shared_bytes: 0,
            arguments: arguments.into(),
        });
    }

    /// The convolution of layer 0's input, added to its output.
    fn convolve(&mut self, at: &ConvAt, input: Stream, x: Stream, is_last: bool) -> Stream {
        let (hidden, rows) = (self.shape.hidden, self.bucket.tokens);
        let Some(conv) = &self.shape.conv else { return x };
        let windows = self.halves(rows, conv.taps * hidden);
        let place = Ptr::Input(self.input.places);
        let (taps, width) = (conv.taps as i32, hidden as i32);
        let unfold = UnfoldArgs { x: input.halves, place, out: windows, rows: rows as i32, width, taps };
        self.launch(Launch {
            kernel: "conv_unfold",
            grid: (rows.div_ceil(ROWS_A_BLOCK), conv.taps),
            threads: ROW_THREADS,
            shared_bytes: 0,
            arguments: unfold.into(),
        });
        let convolved = self.halves(rows, hidden);
        let product = Product {
            x: windows,
            weight: at.weight,
            bias: Ptr::Null,
            out: convolved,
            rows,
            inputs: conv.taps * hidden,
            outputs: hidden,
            wide: false,
        };
        self.steps.push(Step::Product(product));
        self.activate(convolved, at.bias, (rows, hidden), conv.activation);
        let mut y = if is_last { self.gather(convolved, hidden) } else { convolved };
        if self.bucket.wide {
            // Exact: each sum has one number that is not zero. Rare, and less than a kernel of its own.
            let out = self.singles(x.rows, hidden);
            let weight = at.identity;
            let widened = Product { x: y, weight, out, rows: x.rows, inputs: hidden, wide: true, ..product };
            self.steps.push(Step::Product(widened));
            y = out;
        }
        self.add_norm(y, x, at.norm)
    }

    fn classify(&mut self, x: Stream) {
        let (hidden, sequences) = (self.shape.hidden, self.bucket.sequences);
        let output = self.bucket.output(self.shape);
        let (shape, weights) = (self.shape, self.weights);
        for ((head, at), logits) in shape.classifiers.iter().zip(&weights.classifiers).zip(output.numbers) {
            let pooled = self.singles(sequences, hidden);
            let pooler = PoolerArgs {
                x: x.halves,
                weight: at.dense,
                bias: at.dense_bias,
                out: pooled,
                sequences: sequences as i32,
                width: hidden as i32,
                function: head.activation.code(),
            };
            let classifier = ClassifierArgs {
                pooled,
                weight: at.out,
                bias: at.out_bias,
                logits: Ptr::Output(logits),
                not_finite: NOT_FINITE,
                labels: head.labels as i32,
                width: hidden as i32,
            };
            let heads = [
                (
                    "pooler",
                    (hidden.div_ceil(ROWS_A_BLOCK), sequences.div_ceil(POOLER_ROWS)),
                    Arguments::from(pooler),
                ),
                ("classifier", (head.labels.div_ceil(ROWS_A_BLOCK), sequences), classifier.into()),
            ];
            for (kernel, grid, arguments) in heads {
                self.launch(Launch { kernel, grid, threads: ROW_THREADS, shared_bytes: 0, arguments });
            }
        }
    }

    fn mean(&mut self, x: Stream) {
        let (hidden, sequences) = (self.shape.hidden, self.bucket.sequences);
        let out = Ptr::Output(self.bucket.output(self.shape).numbers[0]);
        let arguments = MeanArgs { x: x.halves, cu: Ptr::Input(self.input.cu), out, width: hidden as i32 };
        self.launch(Launch {
            kernel: "mean_pool",
            grid: (sequences, hidden.div_ceil(MEAN_COLUMNS)),
            threads: MEAN_THREADS,
            shared_bytes: MEAN_SHARED_BYTES,
            arguments: arguments.into(),
        });
    }
}

/// The kernel whose rows are as wide as `width` or wider.
fn by_width(width: usize, [narrow, middle, wide]: [&'static str; 3]) -> &'static str {
    match width {
        ..=512 => narrow,
        513..=1024 => middle,
        _ => wide,
    }
}

#[cfg(test)]
pub(super) mod tests;

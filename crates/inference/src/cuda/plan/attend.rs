//! Attention: of every token, and of first tokens in the last layer.

use super::{HALF_BYTES, Planner, Stream};
use crate::cuda::arguments::{ClsArgs, DisentangledArgs, PlainArgs, Ptr};
use crate::cuda::attention::{GROUP_THREADS, SlotWindow, blocks, disentangled_launch, plain_launch};
use crate::cuda::steps::{Launch, Product, Step};
use crate::cuda::weights::LayerAt;
use groundline_types::{Code, Problem};

const CLS_THREADS: usize = 128;
pub(in crate::cuda) const CLS_SHARED_BYTES: usize = CLS_THREADS * 8 * 4 + 2 * CLS_THREADS * 4;

impl Planner<'_> {
    /// Attention of every token.
    pub(super) fn attend(&mut self, layer: &LayerAt, x: Stream) -> Result<Ptr, Problem> {
        let inner = self.shape.inner();
        let qkv = self.halves(x.rows, 3 * inner);
        self.steps.push(Step::Product(Product {
            x: x.halves,
            weight: layer.qkv,
            bias: layer.qkv_bias,
            out: qkv,
            rows: x.rows,
            inputs: self.shape.hidden,
            outputs: 3 * inner,
            wide: false,
        }));
        let context = self.halves(x.rows, inner);
        match &self.shape.relative {
            Some(relative) => {
                let window = SlotWindow::of(relative, self.bucket.window);
                self.attend_disentangled(layer, qkv, context, window)?;
            }
            None => self.attend_plain(qkv, context)?,
        }
        Ok(context)
    }

    fn attend_disentangled(
        &mut self,
        layer: &LayerAt,
        qkv: Ptr,
        out: Ptr,
        window: SlotWindow,
    ) -> Result<(), Problem> {
        let (shape, input) = (self.shape, self.input);
        let (table_slots, linear) = shape.relative.as_ref().map_or((0, 0), |it| (it.slots, it.linear));
        let launch = disentangled_launch(self.device.block_shared_bytes, shape.head_width, window)
            .ok_or_else(|| no_room(self.bucket.window))?;
        let kernel = match (shape.head_width, launch.resident) {
            (64, true) => "attention_disentangled_d64_resident",
            (64, false) => "attention_disentangled_d64_streaming",
            (_, true) => "attention_disentangled_d32_resident",
            (_, false) => "attention_disentangled_d32_streaming",
        };
        let arguments = DisentangledArgs {
            qkv,
            pk: layer.position_keys,
            pq: layer.position_queries,
            lut: self.weights.lut,
            out,
            cu: Ptr::Input(input.cu),
            tiles: Ptr::Input(input.tiles),
            n_tiles: Ptr::Input(input.n_tiles),
            heads: shape.heads as i32,
            table_slots: table_slots as i32,
            first_slot: window.first as i32,
            slots: window.slots as i32,
            reach: window.reach as i32,
            linear: linear as i32,
            stages: launch.stages as i32,
            scale: shape.scale,
        };
        let grid = (blocks(self.device, launch, shape.heads, self.bucket.tiles()), shape.heads);
        let (threads, shared_bytes) = (GROUP_THREADS * launch.groups, launch.shared_bytes);
        self.launch(Launch { kernel, grid, threads, shared_bytes, arguments: arguments.into() });
        Ok(())
    }

    fn attend_plain(&mut self, qkv: Ptr, out: Ptr) -> Result<(), Problem> {
        let (shape, input) = (self.shape, self.input);
        let launch = plain_launch(self.device.block_shared_bytes, shape.head_width)
            .ok_or_else(|| no_room(self.bucket.window))?;
        let kernel = if shape.head_width == 64 { "attention_plain_d64" } else { "attention_plain_d32" };
        let arguments = PlainArgs {
            qkv,
            bias: Ptr::Null,
            out,
            cu: Ptr::Input(input.cu),
            tiles: Ptr::Input(input.tiles),
            n_tiles: Ptr::Input(input.n_tiles),
            heads: shape.heads as i32,
            reach: 0,
            bias_stride: 0,
            stages: launch.stages as i32,
            scale: shape.scale,
        };
        let grid = (blocks(self.device, launch, shape.heads, self.bucket.tiles()), shape.heads);
        let (threads, shared_bytes) = (GROUP_THREADS * launch.groups, launch.shared_bytes);
        self.launch(Launch { kernel, grid, threads, shared_bytes, arguments: arguments.into() });
        Ok(())
    }

    /// Attention of first tokens only: keys and values of all, queries of the first. The context, and the stream of first
    /// tokens.
    pub(super) fn attend_first(&mut self, layer: &LayerAt, x: Stream) -> (Ptr, Stream) {
        let (hidden, inner, sequences) = (self.shape.hidden, self.shape.inner(), self.bucket.sequences);
        let keys_values = self.halves(x.rows, 2 * inner);
        let queries = Product {
            x: x.halves,
            weight: layer.qkv,
            bias: layer.qkv_bias,
            out: Ptr::Null,
            rows: sequences,
            inputs: hidden,
            outputs: inner,
            wide: false,
        };
        self.steps.push(Step::Product(Product {
            weight: layer.qkv.after(inner * hidden * HALF_BYTES),
            bias: layer.qkv_bias.after(inner * HALF_BYTES),
            out: keys_values,
            rows: x.rows,
            outputs: 2 * inner,
            ..queries
        }));
        let first = Stream {
            halves: self.gather(x.halves, hidden),
            // Twice as many halves are as many bytes as f32 has.
            wide: if self.bucket.wide { self.gather(x.wide, 2 * hidden) } else { Ptr::Null },
            rows: sequences,
        };
        let q = self.halves(sequences, inner);
        self.steps.push(Step::Product(Product { x: first.halves, out: q, ..queries }));
        let out = self.halves(sequences, inner);
        self.launch_cls(layer, q, keys_values, out);
        (out, first)
    }

    fn launch_cls(&mut self, layer: &LayerAt, q: Ptr, k: Ptr, out: Ptr) {
        let (shape, inner) = (self.shape, self.shape.inner());
        let arguments = ClsArgs {
            q,
            k,
            v: k.after(inner * HALF_BYTES),
            pk: layer.position_keys,
            pq: layer.position_queries,
            lut: self.weights.lut,
            bias: Ptr::Null,
            out,
            cu: Ptr::Input(self.input.cu),
            heads: shape.heads as i32,
            kv_stride: 2 * inner as i32,
            table_slots: shape.relative.as_ref().map_or(0, |it| it.slots as i32),
            reach: shape.relative.as_ref().map_or(0, |it| it.reach as i32),
            bias_stride: 0,
            scale: shape.scale,
        };
        let kernel = match (shape.head_width, shape.relative.is_some()) {
            (64, true) => "attention_cls_disentangled_d64",
            (64, false) => "attention_cls_plain_d64",
            (_, true) => "attention_cls_disentangled_d32",
            (_, false) => "attention_cls_plain_d32",
        };
        self.launch(Launch {
            kernel,
            grid: (self.bucket.sequences, shape.heads),
            threads: CLS_THREADS,
            shared_bytes: CLS_SHARED_BYTES,
            arguments: arguments.into(),
        });
    }
}

fn no_room(window: usize) -> Problem {
    Problem::new(
        Code::MODEL_UNSUPPORTED,
        format!("attention over {window} tokens needs more shared memory than the device has"),
    )
}

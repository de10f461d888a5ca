//! What kernels are called with: the structs of kernels/*.cu, in the same order, with pointers that are not addresses yet.
//!
//! A plan names places ("12 bytes into buffer 3"); only whoever runs it knows addresses. So one plan serves a device and the
//! kernels' host run. Every struct of the kernels has its pointers first and its 4-byte numbers after them, which is all that
//! [`Arguments::bytes`] has to know; a test compares each struct with the kernels' source.

/// A place in one of the memories of a run, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ptr {
    /// No such input.
    Null,
    /// Written once, when the model is loaded.
    Weights(usize),
    /// What differs from batch to batch, copied to the device before it runs.
    Input(usize),
    /// Copied back after it.
    Output(usize),
    /// Into a buffer of the plan: its number, and an offset.
    Work(usize, usize),
}

impl Ptr {
    /// `bytes` further on.
    pub(super) fn after(self, bytes: usize) -> Self {
        match self {
            Ptr::Null => Ptr::Null,
            Ptr::Weights(at) => Ptr::Weights(at + bytes),
            Ptr::Input(at) => Ptr::Input(at + bytes),
            Ptr::Output(at) => Ptr::Output(at + bytes),
            Ptr::Work(buffer, at) => Ptr::Work(buffer, at + bytes),
        }
    }
}

/// What a kernel does with what a pointer leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    /// Both, in place.
    Update,
}

/// The one argument of a kernel.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Arguments {
    /// The struct's name in the kernels.
    pub name: &'static str,
    /// Names of the fields, in order.
    pub fields: &'static [&'static str],
    pub pointers: Vec<(Access, Ptr)>,
    /// Bits of the numbers after the pointers.
    pub numbers: Vec<[u8; 4]>,
}

impl Arguments {
    /// The struct as C++ lays it out, with the addresses that `address` gives.
    pub(super) fn bytes(&self, address: impl Fn(Ptr) -> u64) -> Vec<u8> {
        let pointers = self.pointers.iter().flat_map(|(_, pointer)| address(*pointer).to_ne_bytes());
        let mut bytes: Vec<u8> = pointers.chain(self.numbers.iter().flatten().copied()).collect();
        bytes.resize(bytes.len().next_multiple_of(size_of::<u64>()), 0);
        bytes
    }
}

macro_rules! arguments {
    ($($name:ident { $($access:ident $pointer:ident),+ ; $($number:ident : $kind:ident),+ })+) => {
        $(
            #[derive(Debug, Clone, Copy)]
            pub(super) struct $name {
                $(pub $pointer: Ptr,)+
                $(pub $number: $kind,)+
            }

            impl From<$name> for Arguments {
                fn from(it: $name) -> Self {
                    Self {
                        name: stringify!($name),
                        fields: &[$(stringify!($pointer),)+ $(stringify!($number),)+],
                        pointers: vec![$((Access::$access, it.$pointer)),+],
                        numbers: vec![$(it.$number.to_ne_bytes()),+],
                    }
                }
            }
        )+
    };
}

arguments! {
    GatherArgs { Read table, Read index, Write out; rows: i32, width: i32 }
    EmbedArgs {
        Read words, Read positions, Read types, Read ids, Read position, Read r#type, Read gain, Read offset, Write out,
        Write wide; rows: i32, width: i32, eps: f32
    }
    DisentangledArgs {
        Read qkv, Read pk, Read pq, Read lut, Write out, Read cu, Read tiles, Read n_tiles;
        heads: i32, table_slots: i32, first_slot: i32, slots: i32, reach: i32, linear: i32, stages: i32, scale: f32
    }
    PlainArgs {
        Read qkv, Read bias, Write out, Read cu, Read tiles, Read n_tiles;
        heads: i32, reach: i32, bias_stride: i32, stages: i32, scale: f32
    }
    ClsArgs {
        Read q, Read k, Read v, Read pk, Read pq, Read lut, Read bias, Write out, Read cu;
        heads: i32, kv_stride: i32, table_slots: i32, reach: i32, bias_stride: i32, scale: f32
    }
    NormArgs {
        Read x, Read residual, Read gain, Read offset, Write out, Write wide; rows: i32, width: i32, eps: f32
    }
    ActivationArgs { Update x, Read bias; rows: i32, width: i32 }
    UnfoldArgs { Read x, Read place, Write out; rows: i32, width: i32, taps: i32 }
    PoolerArgs { Read x, Read weight, Read bias, Write out; sequences: i32, width: i32, function: i32 }
    ClassifierArgs {
        Read pooled, Read weight, Read bias, Write logits, Update not_finite; labels: i32, width: i32
    }
    MeanArgs { Read x, Read cu, Write out; width: i32 }
}

// Of the kernel that only a check launches.
#[cfg(any(test, feature = "kernels-host"))]
arguments! {
    ConformanceArgs { Read r#in, Write out, Update counter; operation: i32 }
}

#[cfg(test)]
mod tests;

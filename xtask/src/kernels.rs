//! The GPU kernels in kernels/, checked without a GPU: on the CPU (`cargo xtask kernels-host`) and by NVIDIA's compiler
//! (`cargo xtask kernels`).

mod faults;
mod gate;
mod host;

pub(crate) use gate::Options as GateOptions;
pub(crate) use gate::run as gate;
pub(crate) use host::Options as HostOptions;
pub(crate) use host::library;
pub(crate) use host::run as host;

/// Why kernels are not in order.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The tools could not be had, so nothing is known.
    Tools(anyhow::Error),
    /// Something is wrong with the kernels.
    Kernels(anyhow::Error),
}

impl From<Trouble> for anyhow::Error {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Tools(error) => error.context("the tools that check the kernels cannot be had"),
            Trouble::Kernels(error) => error,
        }
    }
}

//! One response: a pure machine, and the actor around it.

mod actor;
mod asking;
mod drawing;
mod machine;
mod message;
mod observed;
mod short;
mod work;

pub(crate) use actor::Check;
pub(crate) use message::{CheckMessage, CheckSetup, Reply, Shared};
pub(crate) use observed::Observed;

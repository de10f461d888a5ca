//! One response: a pure machine, and the actor around it.

mod actor;
mod machine;
mod work;

pub(crate) use actor::{Check, CheckMessage, CheckSetup, Reply, Shared};

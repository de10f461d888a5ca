//! Detection methods as pure start + resume machines.
//!
//! A [`Detector`] is asked to [`start`](Detector::start) on a prepared check and answers what it wants to know ([`Next::Work`]);
//! given the [`Outcome`](groundline_types::Outcome)s it [`resume`](Detector::resume)s, until it is [`Next::Done`] with its
//! [`Report`](groundline_types::Report). Who computes is not its concern, so each runs embedded, over a network and in a test on
//! fixed numbers.
//!
//! # Adding a method
//! One file with a type that implements [`Detector`], one entry in [`methods`] and one line in [`create`]. The entry says what users
//! should know of it, and is what `groundline methods`, the gateway's listing and docs/methods.md are made from.
//!
//! Invariant of absence: this crate knows no async runtime, no engine, no file, no clock and no network. It depends on
//! `claims`, `evidence` and `types`.

#![forbid(unsafe_code)]

mod answers;
mod detector;
mod entailment;
mod features;
mod hedges;
mod judge;
mod judged;
mod layout;
mod learned;
mod notation;
mod numeric;
mod options;
mod reading;
mod registry;
mod rounds;
pub mod selfcheck;
pub mod summac;
mod summac_conv;
mod support;
mod tally;
#[cfg(test)]
mod testing;
mod tokens;

pub use detector::{Detector, Next};
pub use hedges::mark_hedges;
pub use options::{
    DetectorOptions, JudgeMethodOptions, NliPremise, SelfcheckOptions, SummacOperator, SummacOptions,
};
pub use registry::{MethodInfo, Need, create, method, methods, methods_table, resolve};

//! One calibrated probability from several methods, with an account of what each adds.
//!
//! A [`EnsembleProfile`] holds the weights of a logistic model: inputs are read from a result ([`INPUTS`]), brought to a common
//! scale, and added up in log-odds. Inputs stand in groups: those that compare with sources, and those that compare with samples.
//! Each group adds what it knows beyond the prior, so that any of them may be missing.
//!
//! **Missing inputs.** Inputs of one group are close to each other: what one says can be guessed from the others. The profile
//! holds their correlation, a missing input counts as what the present ones lead to expect, and the group's log-odds shrink by what
//! remains uncertain. A group without any input adds nothing. Where all groups are silent there is no number.
//!
//! A profile belongs to one model and one way of reading it ([`Binding`]); for any other it is refused.

mod apply;
mod binding;
mod combine;
mod inputs;
mod linear;
mod profile;

pub use apply::{EnsembleUse, apply};
pub use binding::Binding;
pub use inputs::{INPUTS, InputInfo, Transform, input_values};
pub use linear::solve;
pub use profile::{
    ENSEMBLE_SCHEMA, Ensemble, EnsembleProfile, FittedSet, GroupProfile, InputProfile, MAX_INPUTS,
};

//! How good numbers are, on labelled responses: metrics with intervals, and weights fitted to them.
//!
//! Labelled sets become requests ([`prepare`]); a checker answers them; results and labels together are [`Item`]s. [`fit`] turns
//! items into the weights of an ensemble, and [`compare`] says how it does beside each of its inputs on sets that it has not seen.
//!
//! Everything here is deterministic: selections, folds, draws and fits depend on the items alone.
//!
//! Invariant of absence: this crate checks nothing itself. It knows no model, no file and no network.

#![forbid(unsafe_code)]

mod bootstrap;
mod compare;
mod fit;
mod items;
mod logistic;
mod metrics;

pub use bootstrap::{BOOTSTRAP_SEED, Interval, ScoredSet, draw_areas, interval};
pub use compare::{Comparison, ENSEMBLE, SetFigures, WithoutMethod, compare};
pub use fit::{FitOutcome, GroupPlan, Trial, default_groups, fit};
pub use items::{Item, Label, PreparedSet, Selection, by_set, labels, prepare};
pub use metrics::{CALIBRATION_BINS, Ranking, Scored, auc, brier, expected_calibration_error};

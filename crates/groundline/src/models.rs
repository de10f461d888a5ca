//! Models on disk: finding, describing and verifying them.

mod baseline;
mod describe;
mod find;
mod load;
mod precision;
mod texts;
mod verify;

pub use baseline::{BaselineOptions, MeasuredBaseline, measure_baseline};
pub use describe::{ModelDetails, describe_model};
pub use find::{FoundModel, find_model, list_models, model_folders};
pub(crate) use load::read_model_facts;
pub use load::{load_engine, load_model};
pub use precision::{MeasuredModel, measure_precision};
pub use verify::{Verification, verify_model};

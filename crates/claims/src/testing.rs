//! How many cases a property is tried on.

use proptest::prelude::ProptestConfig;

/// So many, or as many as `PROPTEST_CASES` says: a search for what the usual ones miss wants a million.
pub(crate) fn cases(usual: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { failure_persistence: None, cases: asked.unwrap_or(usual), ..ProptestConfig::default() }
}

//! A secret that is never shown.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// What stands for a secret wherever it would be shown.
const HIDDEN: &str = "(hidden)";

/// An API key. `Debug` and `Serialize` show only whether there is one, so that neither a log nor a printed configuration gives
/// it away.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A secret; white space around it (the line end of a file) is no part of it.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self(text.as_ref().trim().to_owned())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The secret itself, for the one place that sends it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "(none)" } else { HIDDEN })
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(if self.is_empty() { "" } else { HIDDEN })
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Secret::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_shown_by_nothing() {
        let secret = Secret::new("sk-canary\n");
        assert_eq!(secret.reveal(), "sk-canary");
        assert_eq!(format!("{secret:?}"), HIDDEN);
        assert_eq!(serde_json::to_string(&secret).unwrap(), "\"(hidden)\"");
        assert_eq!(serde_json::to_string(&Secret::default()).unwrap(), "\"\"");
    }
}

//! Names that are safe in a subject.

use std::fmt;
use std::sync::Arc;

/// Longest token in bytes; a longer name is hashed.
const MAX_TOKEN_BYTES: usize = 64;

/// One part of a subject: 1 to 64 characters of `A-Z a-z 0-9 _ -`.
///
/// Subjects are split at dots and have wildcards, so a tenant's name must not reach one unseen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubjectToken(Arc<str>);

impl SubjectToken {
    /// The token of `name`: the name itself where it is one, else `h-` and the first 32 hexadecimal digits of its BLAKE3.
    pub fn from_name(name: &str) -> Self {
        // Names that look like a hash are hashed too, so that no name can pose as another one's token.
        if is_token(name) && !name.starts_with("h-") {
            return Self(name.into());
        }
        let hash = blake3::hash(name.as_bytes()).to_hex();
        Self(format!("h-{}", &hash[..32]).into())
    }

    /// What is a token already, such as one of another machine's; `None` where it is none.
    #[cfg(feature = "nats")]
    pub(crate) fn parse(token: &str) -> Option<Self> {
        is_token(token).then(|| Self(token.into()))
    }

    /// The token as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_token(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=MAX_TOKEN_BYTES).contains(&text.len()) && text.bytes().all(allowed)
}

impl fmt::Display for SubjectToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_names_stay_readable_and_others_are_hashed() {
        assert_eq!(SubjectToken::from_name("team_a-1").as_str(), "team_a-1");
        for odd in ["", "a.b", "*", ">", "größe", "h-0123", &"x".repeat(65)] {
            let token = SubjectToken::from_name(odd);
            assert_eq!((token.as_str().len(), &token.as_str()[..2]), (34, "h-"), "{odd}");
        }
    }

    proptest! {
        #[test]
        fn every_name_becomes_a_legal_token_and_different_names_stay_different(a: String, b: String) {
            let (x, y) = (SubjectToken::from_name(&a), SubjectToken::from_name(&b));
            prop_assert!(x.as_str().bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b'-'));
            prop_assert!((1..=64).contains(&x.as_str().len()));
            prop_assert_eq!(a == b, x == y);
        }
    }
}

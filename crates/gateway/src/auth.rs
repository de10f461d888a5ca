//! Who calls: API keys and JSON Web Tokens. The tenant comes from here and from nowhere else.

mod jwt;
mod keys;

pub use keys::{NewKey, new_key};

pub(crate) use jwt::JwtKeys;
pub(crate) use keys::KeySet;

use crate::admission::TenantLimits;
use arc_swap::ArcSwap;
use axum::http::{HeaderMap, header};
use groundline_types::{Code, Problem};
use std::sync::Arc;

/// The tenant of those who need no credentials.
const ANONYMOUS: &str = "anonymous";
/// Longest name of a tenant in a token.
const MAX_TENANT_BYTES: usize = 256;
/// The header for a key besides `authorization`.
const KEY_HEADER: &str = "x-api-key";

/// What a caller may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Checks in every form.
    Check,
    /// Rewards.
    Reward,
    /// What any caller may see: which models and methods there are.
    Read,
}

/// A set of scopes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Scopes {
    check: bool,
    reward: bool,
}

impl Scopes {
    pub(crate) const ALL: Scopes = Scopes { check: true, reward: true };

    /// Adds a scope by its name; whether there is one of that name.
    pub(crate) fn add(&mut self, name: &str) -> bool {
        match name {
            "check" => self.check = true,
            "reward" => self.reward = true,
            _ => return false,
        }
        true
    }

    fn has(self, scope: Scope) -> bool {
        match scope {
            Scope::Check => self.check,
            Scope::Reward => self.reward,
            Scope::Read => true,
        }
    }
}

/// Somebody who proved who it is.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// Whose budget and whose queue.
    pub(crate) tenant: Arc<str>,
    /// Which key, for logs: its id, never the key.
    pub(crate) key_id: Arc<str>,
    /// What it may do.
    pub(crate) scopes: Scopes,
    /// What its tenant may send.
    pub(crate) limits: TenantLimits,
}

impl Caller {
    /// Refuses what the caller may not do.
    pub(crate) fn require(&self, scope: Scope) -> Result<(), Problem> {
        if self.scopes.has(scope) {
            return Ok(());
        }
        let name = match scope {
            Scope::Check => "check",
            Scope::Reward => "reward",
            Scope::Read => "read",
        };
        Err(Problem::new(Code::FORBIDDEN, format!("these credentials lack the scope `{name}`")))
    }
}

/// Tells callers by their credentials. What it knows can be replaced while it works.
#[derive(Debug)]
pub(crate) struct Authenticator {
    keys: Option<ArcSwap<KeySet>>,
    jwt: Option<ArcSwap<JwtKeys>>,
    default_limits: TenantLimits,
}

impl Authenticator {
    /// Knows these; with neither, everybody is the anonymous tenant.
    pub(crate) fn new(keys: Option<KeySet>, jwt: Option<JwtKeys>, default_limits: TenantLimits) -> Self {
        let (keys, jwt) = (keys.map(ArcSwap::from_pointee), jwt.map(ArcSwap::from_pointee));
        Self { keys, jwt, default_limits }
    }

    /// Knows these keys from now on.
    pub(crate) fn replace_keys(&self, keys: KeySet) {
        if let Some(known) = &self.keys {
            known.store(Arc::new(keys));
        }
    }

    /// Trusts these issuers' keys from now on.
    pub(crate) fn replace_jwt(&self, keys: JwtKeys) {
        if let Some(known) = &self.jwt {
            known.store(Arc::new(keys));
        }
    }

    /// Whether callers need credentials.
    pub(crate) fn is_on(&self) -> bool {
        self.keys.is_some() || self.jwt.is_some()
    }

    /// Who sent these headers.
    ///
    /// # Errors
    /// [`Code::UNAUTHENTICATED`]; the message does not tell an unknown key from a withdrawn one.
    pub(crate) fn authenticate(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        if !self.is_on() {
            return Ok(Caller {
                tenant: ANONYMOUS.into(),
                key_id: ANONYMOUS.into(),
                scopes: Scopes::ALL,
                limits: self.default_limits,
            });
        }
        let secret = secret_of(headers)?;
        let keys = self.keys.as_ref().map(ArcSwap::load);
        if let Some(caller) = keys.as_ref().and_then(|keys| keys.find(&secret, &self.default_limits)) {
            return Ok(caller);
        }
        // A key of ours has no dots, a token has two.
        let Some(jwt) = self.jwt.as_ref().filter(|_| secret.matches('.').count() == 2) else {
            return Err(unauthenticated("the key is not known here"));
        };
        let (tenant, scopes) = jwt.load().verify(&secret)?;
        let limits = keys.as_ref().and_then(|keys| keys.limits_of(&tenant, &self.default_limits));
        Ok(Caller {
            tenant: tenant.into(),
            key_id: "jwt".into(),
            scopes,
            limits: limits.unwrap_or(self.default_limits),
        })
    }
}

/// The credentials in a request's headers: `authorization: Bearer`, `x-api-key`, or the password of `authorization: Basic`.
///
/// Basic is for callers that can be given an address and nothing else, such as `http://any:KEY@host/get_reward`.
fn secret_of(headers: &HeaderMap) -> Result<String, Problem> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(key) = text(KEY_HEADER) {
        return Ok(key.to_owned());
    }
    let Some((kind, rest)) = text(header::AUTHORIZATION.as_str()).and_then(|value| value.split_once(' '))
    else {
        return Err(unauthenticated("send a key: `Authorization: Bearer KEY` or `X-API-Key: KEY`"));
    };
    if kind.eq_ignore_ascii_case("bearer") {
        return Ok(rest.trim().to_owned());
    }
    let password = if kind.eq_ignore_ascii_case("basic") { basic_password(rest.trim()) } else { None };
    password
        .ok_or_else(|| unauthenticated("the `Authorization` header is neither Bearer nor Basic with a key"))
}

/// The password in `base64(name:password)`.
fn basic_password(encoded: &str) -> Option<String> {
    let mut bits = 0_u32;
    let mut held = 0;
    let mut bytes = Vec::new();
    for byte in encoded.bytes().filter(|byte| *byte != b'=') {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held & 0xff) as u8);
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    text.split_once(':').map(|(_, password)| password.to_owned())
}

/// The error of a caller that did not prove who it is.
pub(crate) fn unauthenticated(message: &str) -> Problem {
    Problem::new(Code::UNAUTHENTICATED, message)
}

#[cfg(test)]
pub(crate) mod tests;

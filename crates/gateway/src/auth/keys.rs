//! API keys: who holds which, known by hash alone.

use super::{Caller, Scopes};
use crate::admission::TenantLimits;
use groundline_types::{Code, Problem};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// Random bytes of a key. With 256 random bits there is nothing to guess, so a plain SHA-256 is right for the hash:
/// a slow hash such as Argon2 protects passwords that people choose, and would let anybody burn our time here.
const KEY_BYTES: usize = 32;
/// What keys begin with, so that scanners for secrets find a leaked one.
const KEY_PREFIX: &str = "gl_";
/// Longest name of a tenant or key.
const MAX_NAME_BYTES: usize = 64;

/// A key that was just made.
#[derive(Clone)]
pub struct NewKey {
    /// The key, for its holder. It is kept nowhere.
    pub key: String,
    /// Hexadecimal SHA-256 of the key, for the keys file.
    pub sha256: String,
}

impl std::fmt::Debug for NewKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewKey").field("sha256", &self.sha256).finish_non_exhaustive()
    }
}

/// Makes an API key of 32 random bytes, and its hash.
///
/// # Errors
/// [`Code::INTERNAL`] where the system gives no random bytes.
pub fn new_key() -> Result<NewKey, Problem> {
    let mut bytes = [0; KEY_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        Problem::new(Code::INTERNAL, format!("the system gives no random bytes: {error}"))
    })?;
    let key = format!("{KEY_PREFIX}{}", hex(&bytes));
    let sha256 = hex(&Sha256::digest(key.as_bytes()));
    Ok(NewKey { key, sha256 })
}

/// The keys file.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct KeysFile {
    keys: Vec<KeyEntry>,
    tenants: BTreeMap<String, TenantEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyEntry {
    id: String,
    sha256: String,
    tenant: String,
    scopes: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TenantEntry {
    in_flight_tokens: Option<u64>,
    tokens_per_second: Option<u64>,
    burst_tokens: Option<u64>,
}

/// The keys that are known.
#[derive(Default)]
pub(crate) struct KeySet {
    keys: Vec<Key>,
    tenants: BTreeMap<String, TenantEntry>,
}

impl std::fmt::Debug for KeySet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeySet").field("keys", &self.keys.len()).finish_non_exhaustive()
    }
}

struct Key {
    id: Arc<str>,
    hash: [u8; 32],
    tenant: Arc<str>,
    scopes: Scopes,
}

impl KeySet {
    /// Reads a keys file:
    ///
    /// ```toml
    /// [[keys]]
    /// id = "team-a-ci"              # shown in logs
    /// sha256 = "…"                  # hexadecimal SHA-256 of the key
    /// tenant = "team-a"
    /// scopes = ["check", "reward"]  # absent: both
    ///
    /// [tenants.team-a]              # absent: the limits of gateway.admission
    /// in_flight_tokens = 1000000
    /// tokens_per_second = 50000
    /// burst_tokens = 500000
    /// ```
    ///
    /// Limits belong to the tenant: a second key must not double its share.
    ///
    /// # Errors
    /// [`Code::INVALID_CONFIG`], which never shows a line of the file.
    pub(crate) fn parse(text: &str) -> Result<Self, Problem> {
        let file: KeysFile = toml::from_str(text).map_err(|error| {
            // The parser's own words would show what stands there, which may be a key.
            let line =
                error.span().map_or(1, |span| 1 + text[..span.start.min(text.len())].matches('\n').count());
            invalid(&format!("line {line} is not what a keys file holds"))
        })?;
        let (mut keys, mut ids, mut hashes) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        for entry in file.keys {
            let key = Key::new(&entry)?;
            if !ids.insert(entry.id.clone()) || !hashes.insert(key.hash) {
                return Err(invalid(&format!("the key {} stands twice", entry.id)));
            }
            keys.push(key);
        }
        for (tenant, limits) in &file.tenants {
            check_name("tenant", tenant)?;
            if limits.in_flight_tokens == Some(0) {
                return Err(invalid(&format!(
                    "tenant {tenant}: in_flight_tokens is 0, so nothing could be sent"
                )));
            }
        }
        Ok(Self { keys, tenants: file.tenants })
    }

    /// How many keys are known.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The holder of a key. Every key is compared, each in constant time, so that time tells nothing.
    pub(crate) fn find(&self, secret: &str, default: &TenantLimits) -> Option<Caller> {
        let hash: [u8; 32] = Sha256::digest(secret.as_bytes()).into();
        let mut found = None;
        for key in &self.keys {
            if bool::from(key.hash.ct_eq(&hash)) {
                found = Some(key);
            }
        }
        found.map(|key| Caller {
            tenant: Arc::clone(&key.tenant),
            key_id: Arc::clone(&key.id),
            scopes: key.scopes,
            limits: self.limits_of(&key.tenant, default).unwrap_or(*default),
        })
    }

    /// A tenant's own limits, what it leaves out taken from `default`.
    pub(crate) fn limits_of(&self, tenant: &str, default: &TenantLimits) -> Option<TenantLimits> {
        self.tenants.get(tenant).map(|entry| TenantLimits {
            in_flight_tokens: entry.in_flight_tokens.unwrap_or(default.in_flight_tokens),
            tokens_per_second: entry.tokens_per_second.unwrap_or(default.tokens_per_second),
            burst_tokens: entry.burst_tokens.unwrap_or(default.burst_tokens),
        })
    }
}

impl Key {
    fn new(entry: &KeyEntry) -> Result<Self, Problem> {
        check_name("key", &entry.id)?;
        check_name("tenant", &entry.tenant)?;
        let hash = unhex(&entry.sha256).ok_or_else(|| {
            let message =
                format!("key {}: sha256 is not 64 hexadecimal digits; is it the key itself?", entry.id);
            invalid(&message)
        })?;
        let mut scopes = Scopes::default();
        match &entry.scopes {
            None => scopes = Scopes::ALL,
            Some(names) => {
                if let Some(unknown) = names.iter().find(|name| !scopes.add(name)) {
                    let message =
                        format!("key {}: unknown scope `{unknown}`; there are check and reward", entry.id);
                    return Err(invalid(&message));
                }
            }
        }
        Ok(Self { id: entry.id.as_str().into(), hash, tenant: entry.tenant.as_str().into(), scopes })
    }
}

fn check_name(what: &str, name: &str) -> Result<(), Problem> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(allowed) {
        return Err(invalid(&format!(
            "the name of a {what} is not 1 to {MAX_NAME_BYTES} letters, digits, dots, hyphens and underscores"
        )));
    }
    Ok(())
}

fn invalid(message: &str) -> Problem {
    Problem::new(Code::INVALID_CONFIG, format!("keys file: {message}"))
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *byte = u8::try_from(digit(0)? * 16 + digit(1)?).ok()?;
    }
    Some(bytes)
}

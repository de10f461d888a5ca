//! JSON Web Tokens of an identity provider: RS256, ES256 and EdDSA, with public keys from files.

use super::{MAX_TENANT_BYTES, Scopes, unauthenticated};
use groundline::GatewayJwtConfig;
use groundline_types::{Code, Problem};
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::{Map, Value};

/// How far the clocks of the issuer and of this machine may be apart.
const LEEWAY_SECONDS: u64 = 60;

/// The keys that tokens may be signed with, and what else a token must say.
pub(crate) struct JwtKeys {
    keys: Vec<TrustedKey>,
    config: GatewayJwtConfig,
}

impl std::fmt::Debug for JwtKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JwtKeys").field("keys", &self.keys.len()).finish_non_exhaustive()
    }
}

struct TrustedKey {
    id: Option<String>,
    algorithm: Algorithm,
    key: DecodingKey,
}

/// What is read of a token. The times are typed, because the library takes a time of another type for one that is missing.
#[derive(Deserialize)]
struct Claims {
    #[serde(rename = "exp")]
    _expires: f64,
    #[serde(rename = "nbf", default)]
    _not_before: Option<f64>,
    #[serde(default)]
    scope: String,
    #[serde(flatten)]
    others: Map<String, Value>,
}

impl JwtKeys {
    /// Trusts the key of a PEM file and the keys of a JWKS file.
    ///
    /// # Errors
    /// [`Code::INVALID_CONFIG`] where a file holds no key that can be used.
    pub(crate) fn parse(
        pem: Option<&[u8]>,
        jwks: Option<&[u8]>,
        config: &GatewayJwtConfig,
    ) -> Result<Self, Problem> {
        let mut keys = Vec::new();
        if let Some(pem) = pem {
            let (algorithm, key) = key_of_pem(pem).ok_or_else(|| {
                invalid("public_key_file holds no public key in PEM that is RSA, EC P-256 or Ed25519")
            })?;
            keys.push(TrustedKey { id: None, algorithm, key });
        }
        if let Some(jwks) = jwks {
            let set: JwkSet =
                serde_json::from_slice(jwks).map_err(|_| invalid("jwks_file is not a JSON Web Key Set"))?;
            let found = set.keys.iter().filter_map(key_of_jwk).collect::<Vec<_>>();
            if found.is_empty() {
                return Err(invalid("jwks_file holds no key that is RSA, EC P-256 or Ed25519"));
            }
            keys.extend(found);
        }
        Ok(Self { keys, config: config.clone() })
    }

    /// The tenant and the scopes of a token.
    ///
    /// # Errors
    /// [`Code::UNAUTHENTICATED`] saying what is wrong with the token, without anything of it.
    pub(crate) fn verify(&self, token: &str) -> Result<(String, Scopes), Problem> {
        let header = decode_header(token).map_err(|_| unauthenticated("the token cannot be read"))?;
        // Every key of the algorithm is tried where the token does not say which it is.
        let fits = |key: &&TrustedKey| {
            key.algorithm == header.alg && (header.kid.is_none() || key.id.is_none() || key.id == header.kid)
        };
        let mut wrong = unauthenticated("no key that is trusted here has the token's `kid` and algorithm");
        for key in self.keys.iter().filter(fits) {
            match decode::<Claims>(token, &key.key, &self.validation(key.algorithm)) {
                Ok(decoded) => return self.caller_of(decoded.claims),
                Err(error) => wrong = unauthenticated(complaint(error.kind())),
            }
        }
        Err(wrong)
    }

    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.leeway = LEEWAY_SECONDS;
        validation.validate_nbf = true;
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        validation.set_issuer(&[&self.config.issuer]);
        validation.set_audience(&[&self.config.audience]);
        validation
    }

    fn caller_of(&self, claims: Claims) -> Result<(String, Scopes), Problem> {
        let tenant = claims.others.get(&self.config.tenant_claim).and_then(Value::as_str).unwrap_or_default();
        if tenant.is_empty() || tenant.len() > MAX_TENANT_BYTES {
            return Err(unauthenticated("the token names no tenant, or one with too long a name"));
        }
        let mut scopes = Scopes::default();
        for name in claims.scope.split_whitespace() {
            // Scopes of other services are none of ours.
            scopes.add(name);
        }
        Ok((tenant.to_owned(), scopes))
    }
}

fn key_of_pem(pem: &[u8]) -> Option<(Algorithm, DecodingKey)> {
    let ec = || DecodingKey::from_ec_pem(pem).ok().map(|key| (Algorithm::ES256, key));
    let ed = || DecodingKey::from_ed_pem(pem).ok().map(|key| (Algorithm::EdDSA, key));
    let rsa = || DecodingKey::from_rsa_pem(pem).ok().map(|key| (Algorithm::RS256, key));
    ec().or_else(ed).or_else(rsa)
}

fn key_of_jwk(jwk: &Jwk) -> Option<TrustedKey> {
    let algorithm = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => Algorithm::RS256,
        AlgorithmParameters::EllipticCurve(curve) if curve.curve == EllipticCurve::P256 => Algorithm::ES256,
        AlgorithmParameters::OctetKeyPair(_) => Algorithm::EdDSA,
        // A shared secret is no public key: whoever could check tokens could make them.
        AlgorithmParameters::EllipticCurve(_) | AlgorithmParameters::OctetKey(_) => return None,
    };
    let key = DecodingKey::from_jwk(jwk).ok()?;
    Some(TrustedKey { id: jwk.common.key_id.clone(), algorithm, key })
}

fn complaint(kind: &jsonwebtoken::errors::ErrorKind) -> &'static str {
    use jsonwebtoken::errors::ErrorKind;
    match kind {
        ErrorKind::ExpiredSignature => "the token has expired",
        ErrorKind::ImmatureSignature => "the token is not valid yet",
        ErrorKind::InvalidIssuer => "the token is from another issuer",
        ErrorKind::InvalidAudience => "the token is for another audience",
        ErrorKind::InvalidSignature => "the token's signature is wrong",
        ErrorKind::MissingRequiredClaim(_) => "the token lacks exp, iss or aud",
        _ => "the token cannot be read",
    }
}

fn invalid(message: &str) -> Problem {
    Problem::new(Code::INVALID_CONFIG, format!("gateway.jwt: {message}"))
}

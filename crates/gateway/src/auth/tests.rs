use super::*;
use crate::files;
use groundline::{GatewayConfig, GatewayJwtConfig};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, get_current_timestamp};
use serde_json::{Value, json};

const LIMITS: TenantLimits = TenantLimits { in_flight_tokens: 100, tokens_per_second: 7, burst_tokens: 9 };
const RSA: &[u8] = include_bytes!("../../testdata/jwt_rsa.pem");
const EC: &[u8] = include_bytes!("../../testdata/jwt_ec.pem");
const ED: &[u8] = include_bytes!("../../testdata/jwt_ed.pem");
const JWKS: &[u8] = include_bytes!("../../testdata/jwks.json");

fn headers(name: &'static str, value: &str) -> HeaderMap {
    HeaderMap::from_iter([(header::HeaderName::from_static(name), value.parse().unwrap())])
}

fn keys_file(key: &NewKey) -> String {
    format!(
        "[[keys]]\nid = \"ci\"\nsha256 = \"{}\"\ntenant = \"team-a\"\nscopes = [\"check\"]\n\
         [tenants.team-a]\nin_flight_tokens = 50\n",
        key.sha256
    )
}

fn authenticator(keys: &str) -> Authenticator {
    Authenticator::new(Some(KeySet::parse(keys).unwrap()), None, LIMITS)
}

#[test]
fn a_key_opens_in_every_way_it_can_be_sent_and_nothing_else_does() {
    let key = new_key().unwrap();
    let auth = authenticator(&keys_file(&key));
    assert!(key.key.len() > 64 && key.key.starts_with("gl_") && !format!("{key:?}").contains(&key.key));
    assert_ne!(key.key, new_key().unwrap().key);
    let basic = |text: &str| headers("authorization", &format!("Basic {}", base64(text.as_bytes())));
    for sent in [
        headers("authorization", &format!("Bearer {}", key.key)),
        headers("authorization", &format!("bearer  {}", key.key)),
        headers("x-api-key", &key.key),
        basic(&format!("any:{}", key.key)),
    ] {
        let caller = auth.authenticate(&sent).unwrap();
        assert_eq!((&*caller.tenant, &*caller.key_id), ("team-a", "ci"));
        assert_eq!(caller.limits, TenantLimits { in_flight_tokens: 50, ..LIMITS });
        assert!(caller.require(Scope::Check).is_ok() && caller.require(Scope::Read).is_ok());
        assert_eq!(caller.require(Scope::Reward).unwrap_err().code, Code::FORBIDDEN);
    }
    for sent in [
        HeaderMap::new(),
        headers("x-api-key", ""),
        headers("x-api-key", &key.sha256),
        headers("authorization", &key.key),
        headers("authorization", &format!("Digest {}", key.key)),
        headers("authorization", "Basic !"),
        basic(&key.key),
    ] {
        let problem = auth.authenticate(&sent).unwrap_err();
        assert_eq!(problem.code, Code::UNAUTHENTICATED);
        assert!(!problem.message.contains(&key.key));
    }
}

#[test]
fn without_keys_everybody_is_the_anonymous_tenant() {
    let auth = Authenticator::new(None, None, LIMITS);
    let caller = auth.authenticate(&HeaderMap::new()).unwrap();
    assert_eq!((&*caller.tenant, caller.limits), ("anonymous", LIMITS));
    assert!(caller.require(Scope::Reward).is_ok());
    // A file without keys is not the same: it lets nobody in.
    assert!(authenticator("").authenticate(&HeaderMap::new()).is_err());
}

#[test]
fn a_withdrawn_key_opens_no_more() {
    let (old, new) = (new_key().unwrap(), new_key().unwrap());
    let auth = authenticator(&keys_file(&old));
    auth.replace_keys(KeySet::parse(&keys_file(&new)).unwrap());
    assert!(auth.authenticate(&headers("x-api-key", &old.key)).is_err());
    assert!(auth.authenticate(&headers("x-api-key", &new.key)).is_ok());
}

#[test]
fn a_bad_keys_file_is_refused_without_showing_what_it_holds() {
    let key = new_key().unwrap();
    let good = keys_file(&key);
    for (bad, word) in [
        (good.replace(&key.sha256, &key.key), "64 hexadecimal digits"),
        (good.replace("\"check\"", "\"chek\""), "unknown scope"),
        (good.replace("tenant = \"team-a\"", "tenant = \"team a\""), "tenant"),
        (format!("{good}\n{}", good.replace("[tenants.team-a]\nin_flight_tokens = 50\n", "")), "twice"),
        (good.replace("tenant =", "tenent ="), "not what a keys file holds"),
        (good.replace("= 50", "= 0"), "in_flight_tokens"),
        ("nonsense".to_owned(), "line 1"),
    ] {
        let problem = KeySet::parse(&bad).unwrap_err();
        assert_eq!(problem.code, Code::INVALID_CONFIG);
        assert!(problem.message.contains(word), "{}", problem.message);
        assert!(!problem.message.contains(&key.key) && !problem.message.contains(&key.sha256));
    }
}

fn jwt_config() -> GatewayJwtConfig {
    GatewayJwtConfig {
        issuer: "https://issuer".to_owned(),
        audience: "groundline".to_owned(),
        ..Default::default()
    }
}

fn claims() -> Value {
    let now = get_current_timestamp();
    json!({
        "iss": "https://issuer", "aud": ["other", "groundline"], "exp": now + 300, "nbf": now,
        "tenant": "team-b", "scope": "openid reward"
    })
}

fn token(claims: &Value) -> String {
    let mut header = Header::new(Algorithm::EdDSA);
    header.kid = Some("ed".to_owned());
    encode(&header, claims, &EncodingKey::from_ed_pem(ED).unwrap()).unwrap()
}

fn verifier() -> JwtKeys {
    JwtKeys::parse(None, Some(JWKS), &jwt_config()).unwrap()
}

#[test]
fn tokens_of_three_algorithms_name_tenant_and_scopes() {
    let keys = verifier();
    for (algorithm, key) in [
        (Algorithm::RS256, EncodingKey::from_rsa_pem(RSA).unwrap()),
        (Algorithm::ES256, EncodingKey::from_ec_pem(EC).unwrap()),
        (Algorithm::EdDSA, EncodingKey::from_ed_pem(ED).unwrap()),
    ] {
        let token = encode(&Header::new(algorithm), &claims(), &key).unwrap();
        let (tenant, scopes) = keys.verify(&token).unwrap();
        assert_eq!(tenant, "team-b");
        assert!(scopes.has(Scope::Reward) && !scopes.has(Scope::Check), "{algorithm:?}");
    }
    for pem in [
        &include_bytes!("../../testdata/jwt_rsa.pub.pem")[..],
        include_bytes!("../../testdata/jwt_ec.pub.pem"),
        include_bytes!("../../testdata/jwt_ed.pub.pem"),
    ] {
        assert!(JwtKeys::parse(Some(pem), None, &jwt_config()).is_ok());
    }
    let ed =
        JwtKeys::parse(Some(include_bytes!("../../testdata/jwt_ed.pub.pem")), None, &jwt_config()).unwrap();
    assert!(ed.verify(&token(&claims())).is_ok());
    assert!(JwtKeys::parse(Some(b"no key"), None, &jwt_config()).is_err());
    assert!(JwtKeys::parse(None, Some(b"{\"keys\": []}"), &jwt_config()).is_err());
}

#[test]
fn a_token_that_is_not_meant_for_this_service_now_is_refused() {
    let (keys, now) = (verifier(), get_current_timestamp());
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut claims = claims();
        change(&mut claims);
        keys.verify(&token(&claims)).unwrap_err().message
    };
    assert!(refused(&|c| c["exp"] = json!(now - 61)).contains("expired"));
    assert!(refused(&|c| c["nbf"] = json!(now + 120)).contains("not valid yet"));
    assert!(refused(&|c| c["iss"] = json!("https://evil")).contains("issuer"));
    assert!(refused(&|c| c["aud"] = json!("other")).contains("audience"));
    assert!(refused(&|c| drop(c.as_object_mut().unwrap().remove("aud"))).contains("lacks"));
    assert!(refused(&|c| c["tenant"] = json!("")).contains("tenant"));
    // Times of another type are no times, rather than none.
    assert!(refused(&|c| c["nbf"] = json!("tomorrow")).contains("cannot be read"));
    assert!(refused(&|c| c["exp"] = json!("never")).contains("cannot be read"));
    // Clocks may be a minute apart.
    let mut late = claims();
    late["exp"] = json!(now - 30);
    assert!(keys.verify(&token(&late)).is_ok());
}

#[test]
fn a_token_signed_with_something_else_is_refused() {
    let keys = verifier();
    let secret = b"0123456789abcdef0123456789abcdef";
    // The set holds this secret. Whoever can check such a token could make one, so none is trusted.
    let shared =
        encode(&Header::new(Algorithm::HS256), &claims(), &EncodingKey::from_secret(secret)).unwrap();
    assert!(keys.verify(&shared).is_err());
    // The public key taken for a shared secret.
    let confused = EncodingKey::from_secret(include_bytes!("../../testdata/jwt_rsa.pub.pem"));
    assert!(keys.verify(&encode(&Header::new(Algorithm::HS256), &claims(), &confused).unwrap()).is_err());
    let good = token(&claims());
    let (body, signature) = good.rsplit_once('.').unwrap();
    assert!(keys.verify(&format!("{body}.")).is_err());
    assert!(keys.verify(&format!("{body}.{}", signature.chars().rev().collect::<String>())).is_err());
    assert!(keys.verify("a.b.c").is_err());
    let mut unknown = Header::new(Algorithm::EdDSA);
    unknown.kid = Some("other".to_owned());
    let unknown = encode(&unknown, &claims(), &EncodingKey::from_ed_pem(ED).unwrap()).unwrap();
    assert!(keys.verify(&unknown).unwrap_err().message.contains("kid"));
}

#[test]
fn keys_and_tokens_work_side_by_side_and_limits_are_the_tenants() {
    let key = new_key().unwrap();
    let file = keys_file(&key).replace("[tenants.team-a]", "[tenants.team-b]");
    let auth = Authenticator::new(Some(KeySet::parse(&file).unwrap()), Some(verifier()), LIMITS);
    assert_eq!(auth.authenticate(&headers("x-api-key", &key.key)).unwrap().limits, LIMITS);
    let bearer = headers("authorization", &format!("Bearer {}", token(&claims())));
    let caller = auth.authenticate(&bearer).unwrap();
    assert_eq!((&*caller.tenant, &*caller.key_id), ("team-b", "jwt"));
    assert_eq!(caller.limits.in_flight_tokens, 50);
    assert!(auth.authenticate(&headers("x-api-key", "gl_unknown")).is_err());
}

#[test]
fn default_limits_come_from_the_configuration() {
    let limits = files::default_limits(&GatewayConfig::default());
    assert_eq!((limits.in_flight_tokens, limits.tokens_per_second), (4_000_000, 0));
}

#[test]
fn passwords_are_read_from_base64_of_any_length() {
    for password in ["", "a", "ab", "abc", "größe:with:colons"] {
        let encoded = base64(format!("name:{password}").as_bytes());
        assert_eq!(basic_password(&encoded).unwrap(), password);
    }
    assert_eq!(basic_password("bmFtZQ=="), None);
    assert_eq!(basic_password("$$$"), None);
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits =
            three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for index in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * index) & 63) as usize];
            text.push(if index <= three.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

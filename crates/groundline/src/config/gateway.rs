//! The section `[gateway]`: HTTP and gRPC in front of a checker.

use groundline_types::{Code, Problem};
use groundline_verdict::reward::{RewardProfile, RewardShape};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;

/// HTTP and gRPC in front of a checker. Meanings, units and reasons are in [`OPTIONS`](super::OPTIONS).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GatewayConfig {
    /// Address and port of the service.
    pub listen: String,
    /// Address and port of health and metrics; empty: none.
    pub admin_listen: String,
    /// Whether the main port answers `/livez` and `/readyz` too.
    pub health_on_main: bool,
    /// Whether callers need no credentials although others than this machine can connect.
    pub allow_anonymous: bool,
    /// File of API keys; empty: none.
    pub keys_file: PathBuf,
    /// How often files of keys and certificates are looked at.
    pub reload_every_ms: u64,
    /// How long it goes on serving after saying that it is not ready.
    pub drain_notice_ms: u64,
    /// How long stopping waits for requests under way.
    pub drain_timeout_ms: u64,
    /// Tokens of an identity provider.
    pub jwt: GatewayJwtConfig,
    /// Encryption of the main port.
    pub tls: GatewayTlsConfig,
    /// Connections and bodies.
    pub http: GatewayHttpConfig,
    /// How much work is taken at once.
    pub admission: GatewayAdmissionConfig,
    /// The reward routes.
    pub reward: GatewayRewardConfig,
}

impl Default for GatewayConfig {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:8080".to_owned(),
            admin_listen: "127.0.0.1:9090".to_owned(),
            health_on_main: false,
            allow_anonymous: false,
            keys_file: PathBuf::new(),
            reload_every_ms: 5_000,
            drain_notice_ms: 0,
            drain_timeout_ms: 25_000,
            jwt: GatewayJwtConfig::default(),
            tls: GatewayTlsConfig::default(),
            http: GatewayHttpConfig::default(),
            admission: GatewayAdmissionConfig::default(),
            reward: GatewayRewardConfig::default(),
        }
    }
}

/// JSON Web Tokens of an identity provider, besides API keys. Off where both files are empty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GatewayJwtConfig {
    /// PEM file with one public key (RSA, EC P-256 or Ed25519).
    pub public_key_file: PathBuf,
    /// JWKS file with any number of public keys.
    pub jwks_file: PathBuf,
    /// What the claim `iss` must be.
    pub issuer: String,
    /// What the claim `aud` must hold.
    pub audience: String,
    /// Which claim names the tenant.
    pub tenant_claim: String,
}

impl Default for GatewayJwtConfig {
    fn default() -> Self {
        Self {
            public_key_file: PathBuf::new(),
            jwks_file: PathBuf::new(),
            issuer: String::new(),
            audience: String::new(),
            tenant_claim: "tenant".to_owned(),
        }
    }
}

impl GatewayJwtConfig {
    /// Whether tokens are accepted at all.
    pub fn is_on(&self) -> bool {
        !self.public_key_file.as_os_str().is_empty() || !self.jwks_file.as_os_str().is_empty()
    }
}

/// TLS of the main port. Off where both files are empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GatewayTlsConfig {
    /// PEM file with the certificate and its chain.
    pub cert_file: PathBuf,
    /// PEM file with the private key.
    pub key_file: PathBuf,
}

impl GatewayTlsConfig {
    /// Whether the main port speaks TLS.
    pub fn is_on(&self) -> bool {
        !self.cert_file.as_os_str().is_empty() || !self.key_file.as_os_str().is_empty()
    }
}

/// Connections and bodies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GatewayHttpConfig {
    /// Connections open at once.
    pub max_connections: usize,
    /// Largest body of a request.
    pub body_bytes: usize,
    /// How long a client may take for the head of a request.
    pub header_timeout_ms: u64,
    /// How long a client may take for a body.
    pub body_timeout_ms: u64,
    /// How long a response that is being written may pause.
    pub stream_idle_ms: u64,
    /// Most requests in one call.
    pub max_items: usize,
    /// How many items of one call are checked at once.
    pub items_at_once: usize,
    /// Longest deadline that a request may ask for.
    pub max_deadline_ms: u64,
}

impl Default for GatewayHttpConfig {
    fn default() -> Self {
        Self {
            max_connections: 10_000,
            body_bytes: 16 << 20,
            header_timeout_ms: 30_000,
            body_timeout_ms: 30_000,
            stream_idle_ms: 120_000,
            max_items: 256,
            items_at_once: 32,
            max_deadline_ms: 900_000,
        }
    }
}

/// How much work is taken at once. A token is 4 bytes of a request's body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GatewayAdmissionConfig {
    /// Tokens of all requests under way.
    pub in_flight_tokens: u64,
    /// Tokens of one tenant's requests under way, where the keys file gives the tenant no limits of its own.
    pub tenant_in_flight_tokens: u64,
    /// Tokens that one tenant may send a second; 0: any number.
    pub tenant_tokens_per_second: u64,
    /// Tokens that a tenant may send at once after a pause; 0: ten seconds' worth.
    pub tenant_burst_tokens: u64,
}

impl Default for GatewayAdmissionConfig {
    fn default() -> Self {
        Self {
            in_flight_tokens: 16_000_000,
            tenant_in_flight_tokens: 4_000_000,
            tenant_tokens_per_second: 0,
            tenant_burst_tokens: 0,
        }
    }
}

/// The reward routes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GatewayRewardConfig {
    /// Reward calls that are worked on at once; others wait.
    pub concurrency: usize,
    /// Tokens of all reward calls that wait.
    pub max_waiting_tokens: u64,
    /// When a reward call is answered with what there is.
    pub deadline_ms: u64,
    /// Reward of a sample that could not be scored, where the caller needs a number.
    pub fallback: f64,
    /// The formula for those who name none.
    pub profile: RewardShape,
    /// What a sentence counts that the sources do not mention.
    pub not_mentioned_reward: f64,
}

impl Default for GatewayRewardConfig {
    fn default() -> Self {
        let profile = RewardProfile::default();
        Self {
            concurrency: 64,
            max_waiting_tokens: 32_000_000,
            deadline_ms: 150_000,
            fallback: 0.0,
            profile: profile.profile,
            not_mentioned_reward: profile.not_mentioned_reward,
        }
    }
}

impl GatewayRewardConfig {
    /// The profile of those who name none.
    pub fn profile(&self) -> RewardProfile {
        RewardProfile { profile: self.profile, not_mentioned_reward: self.not_mentioned_reward }
    }
}

impl GatewayConfig {
    /// Whether a caller can prove who it is.
    pub fn has_authentication(&self) -> bool {
        !self.keys_file.as_os_str().is_empty() || self.jwt.is_on()
    }

    /// Checks what types cannot.
    ///
    /// # Errors
    /// [`Code::INVALID_CONFIG`] naming the option.
    pub fn validate(&self) -> Result<(), Problem> {
        let refuse = |message: String| Err(Problem::new(Code::INVALID_CONFIG, message));
        for (key, text) in [("gateway.listen", &self.listen), ("gateway.admin_listen", &self.admin_listen)] {
            let may_be_empty = key == "gateway.admin_listen";
            if !(may_be_empty && text.is_empty()) && text.parse::<SocketAddr>().is_err() {
                return refuse(format!(
                    "{key} is no address with a port, such as 127.0.0.1:8080 or [::]:8080"
                ));
            }
        }
        let files = [&self.tls.cert_file, &self.tls.key_file];
        if self.tls.is_on() && files.iter().any(|file| file.as_os_str().is_empty()) {
            return refuse(
                "gateway.tls.cert_file and gateway.tls.key_file go together; one is empty".to_owned(),
            );
        }
        if self.jwt.is_on() && (self.jwt.issuer.is_empty() || self.jwt.audience.is_empty()) {
            return refuse(
                "gateway.jwt needs issuer and audience: a token made for another service must not open this one"
                    .to_owned(),
            );
        }
        if !(-1.0..=1.0).contains(&self.reward.fallback) {
            return refuse(format!(
                "gateway.reward.fallback is {}, not within -1 to 1",
                self.reward.fallback
            ));
        }
        self.reward
            .profile()
            .validate()
            .map_err(|problem| Problem::new(problem.code, format!("gateway.reward.{}", problem.message)))?;
        let at_least_one = [
            ("reload_every_ms", self.reload_every_ms),
            ("http.max_connections", self.http.max_connections as u64),
            ("http.body_bytes", self.http.body_bytes as u64),
            ("http.header_timeout_ms", self.http.header_timeout_ms),
            ("http.body_timeout_ms", self.http.body_timeout_ms),
            ("http.stream_idle_ms", self.http.stream_idle_ms),
            ("http.max_items", self.http.max_items as u64),
            ("http.items_at_once", self.http.items_at_once as u64),
            ("http.max_deadline_ms", self.http.max_deadline_ms),
            ("admission.in_flight_tokens", self.admission.in_flight_tokens),
            ("admission.tenant_in_flight_tokens", self.admission.tenant_in_flight_tokens),
            ("reward.concurrency", self.reward.concurrency as u64),
            ("reward.max_waiting_tokens", self.reward.max_waiting_tokens),
            ("reward.deadline_ms", self.reward.deadline_ms),
        ];
        match at_least_one.iter().find(|(_, value)| *value == 0) {
            Some((name, _)) => refuse(format!("gateway.{name} is 0: nothing could be served")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_that_could_not_serve_or_would_trust_any_token_is_refused() {
        assert_eq!(GatewayConfig::default().validate(), Ok(()));
        let refused = |change: fn(&mut GatewayConfig)| {
            let mut config = GatewayConfig::default();
            change(&mut config);
            config.validate().unwrap_err().message
        };
        assert!(refused(|c| c.listen = "localhost".to_owned()).contains("gateway.listen"));
        assert!(refused(|c| c.listen.clear()).contains("gateway.listen"));
        assert!(refused(|c| c.tls.cert_file = "a.pem".into()).contains("key_file"));
        assert!(refused(|c| c.jwt.jwks_file = "jwks.json".into()).contains("audience"));
        assert!(refused(|c| c.reward.fallback = f64::NAN).contains("fallback"));
        assert!(refused(|c| c.reward.concurrency = 0).contains("reward.concurrency"));
        let mut no_admin = GatewayConfig::default();
        no_admin.admin_listen.clear();
        assert_eq!(no_admin.validate(), Ok(()));
    }
}

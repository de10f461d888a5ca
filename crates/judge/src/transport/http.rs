//! HTTP with reqwest, TLS with rustls and ring.

use super::{Incoming, Outgoing, Transport, TransportError};
use crate::JudgeOptions;
use bytes::BytesMut;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use groundline_types::{Code, Problem};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::sync::Arc;
use std::time::Duration;

/// How long an idle connection is kept.
const IDLE: Duration = Duration::from_secs(60);

/// One backend behind HTTP. Redirects are not followed: they would carry the key and the texts elsewhere.
#[derive(Debug)]
pub(crate) struct HttpTransport {
    client: reqwest::Client,
    url: reqwest::Url,
    headers: HeaderMap,
}

impl HttpTransport {
    /// A client for valid options. Connects to nothing yet.
    pub(crate) fn new(options: &JudgeOptions) -> Result<Self, Problem> {
        let address = format!("{}/chat/completions", options.base_url.trim_end_matches('/'));
        let url = reqwest::Url::parse(&address).map_err(|error| {
            Problem::new(Code::JUDGE_OPTIONS, format!("base_url is not an address: {error}"))
        })?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let key = options.load_api_key()?;
        if !key.is_empty() {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.reveal())).map_err(|_| {
                Problem::new(Code::JUDGE_OPTIONS, "the API key holds characters that no HTTP header takes")
            })?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls(options)?)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .retry(reqwest::retry::never())
            .connect_timeout(Duration::from_millis(options.connect_timeout_ms))
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(options.max_concurrent_calls)
            .user_agent(concat!("groundline/", env!("CARGO_PKG_VERSION")));
        if !options.use_environment_proxy {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| {
            Problem::new(Code::JUDGE_OPTIONS, format!("cannot set up HTTP: {}", error.without_url()))
        })?;
        Ok(Self { client, url, headers })
    }

    async fn exchange(&self, request: Outgoing) -> Result<Incoming, TransportError> {
        let call = self.client.post(self.url.clone()).headers(self.headers.clone()).body(request.body);
        let mut response = call.send().await.map_err(|error| kind(&error))?;
        let headers = response.headers();
        let mut answer = Incoming {
            status: response.status().as_u16(),
            retry_after: header(headers, RETRY_AFTER.as_str()),
            rate_reset: exhausted(headers),
            ..Incoming::default()
        };
        let announced = response.content_length().unwrap_or(0);
        if announced > request.max_answer_bytes as u64 {
            return Err(TransportError::TooLong);
        }
        let mut body = BytesMut::with_capacity(announced as usize);
        while let Some(chunk) = response.chunk().await.map_err(|error| kind(&error))? {
            if body.len() + chunk.len() > request.max_answer_bytes {
                // Dropping the response closes the connection: the backend learns that nobody listens any more.
                return Err(TransportError::TooLong);
            }
            body.extend_from_slice(&chunk);
        }
        answer.body = body.freeze();
        Ok(answer)
    }
}

impl Transport for HttpTransport {
    fn send(&self, request: Outgoing) -> BoxFuture<'_, Result<Incoming, TransportError>> {
        let timeout = request.timeout;
        async move {
            tokio::time::timeout(timeout, self.exchange(request))
                .await
                .unwrap_or(Err(TransportError::TimedOut))
        }
        .boxed()
    }
}

fn kind(error: &reqwest::Error) -> TransportError {
    if error.is_connect() {
        TransportError::Unreachable
    } else if error.is_timeout() {
        TransportError::TimedOut
    } else {
        TransportError::BrokenOff
    }
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

/// What `x-ratelimit-reset-*` says of an allowance of which nothing remains.
fn exhausted(headers: &HeaderMap) -> Option<String> {
    ["requests", "tokens"].iter().find_map(|what| {
        let remaining = header(headers, &format!("x-ratelimit-remaining-{what}"))?;
        (remaining.trim() == "0").then(|| header(headers, &format!("x-ratelimit-reset-{what}")))?
    })
}

/// TLS with ring, whatever provider the process has, and the certificates of the system and of `ca_file`.
fn tls(options: &JudgeOptions) -> Result<rustls::ClientConfig, Problem> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if !options.ca_file.as_os_str().is_empty() {
        let path = options.ca_file.display();
        let wrong = |what: &str| Problem::new(Code::JUDGE_OPTIONS, format!("ca_file {path} {what}"));
        let pem = std::fs::read(&options.ca_file).map_err(|_| wrong("cannot be read"))?;
        let certificates = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
        let certificates = certificates.map_err(|_| wrong("is not PEM"))?;
        if certificates.is_empty() {
            return Err(wrong("holds no certificate"));
        }
        for certificate in certificates {
            roots.add(certificate).map_err(|_| wrong("holds a certificate that is malformed"))?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Problem::new(Code::INTERNAL, format!("cannot set up TLS: {error}")))?;
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

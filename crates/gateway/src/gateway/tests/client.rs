//! A small HTTP client for tests.

use super::super::GatewayAddresses;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

/// Speaks to one gateway.
#[derive(Debug, Clone)]
pub(super) struct Client {
    addresses: GatewayAddresses,
    client: hyper_util::client::legacy::Client<HttpConnector, Body>,
    headers: HeaderMap,
}

/// An answer that is all here.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    pub(super) fn header(&self, name: header::HeaderName) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Checks that this is a problem of a kind.
    #[track_caller]
    pub(super) fn expect_problem(&self, status: u16, code: &str) {
        let body = self.json();
        assert_eq!((self.status.as_u16(), body["code"].as_str()), (status, Some(code)), "{body}");
        assert_eq!(self.header(header::CONTENT_TYPE), "application/problem+json");
        assert_eq!(body["status"], status);
        assert_eq!(body["type"], format!("urn:groundline:error:{code}"));
        assert!(body["detail"].as_str().is_some_and(|detail| !detail.is_empty()));
    }

    /// Checks that this is a good answer, and gives its JSON.
    #[track_caller]
    pub(super) fn expect_ok(&self) -> Value {
        assert_eq!(self.status, 200, "{:?}", self.body);
        self.json()
    }
}

impl Client {
    pub(super) fn new(addresses: GatewayAddresses) -> Self {
        let client = hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build_http();
        Self { addresses, client, headers: HeaderMap::new() }
    }

    /// The same with a header on every request.
    pub(super) fn with(&self, name: header::HeaderName, value: &str) -> Self {
        let mut client = self.clone();
        client.headers.insert(name, value.parse().unwrap());
        client
    }

    pub(super) fn addresses(&self) -> GatewayAddresses {
        self.addresses
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        whole(self.open("GET", path, Body::empty()).await).await
    }

    /// Asks the admin port.
    pub(super) async fn admin(&self, path: &str) -> Answer {
        let admin = GatewayAddresses { main: self.addresses.admin.unwrap(), admin: None };
        let client = Self { addresses: admin, ..self.clone() };
        client.get(path).await
    }

    pub(super) async fn post(&self, path: &str, body: Value) -> Answer {
        self.post_text(path, body.to_string()).await
    }

    pub(super) async fn post_text(&self, path: &str, body: impl Into<Body>) -> Answer {
        whole(self.post_open(path, body).await).await
    }

    /// An answer whose body is still coming.
    pub(super) async fn post_open(&self, path: &str, body: impl Into<Body>) -> Response<Body> {
        let mut client = self.clone();
        let json = || "application/json".parse().unwrap();
        client.headers.entry(header::CONTENT_TYPE).or_insert_with(json);
        client.open("POST", path, body.into()).await
    }

    pub(super) async fn open(&self, method: &str, path: &str, body: Body) -> Response<Body> {
        let uri = format!("http://{}{path}", self.addresses.main);
        let mut request = Request::builder().method(method).uri(uri).body(body).unwrap();
        request.headers_mut().extend(self.headers.clone());
        self.client.request(request).await.unwrap().map(Body::new)
    }
}

async fn whole(response: Response<Body>) -> Answer {
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Answer { status: parts.status, headers: parts.headers, body }
}

//! What no proper client sends.

use super::*;
use crate::grpc::wire::{GetCheckRequest, ModelInfo};
use axum::body::{Body, Bytes};
use axum::http::Request as HttpRequest;
use http_body_util::BodyExt as _;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::rt::TokioExecutor;
use prost::Message;

/// What came back: the status of HTTP, and the status and stable code of gRPC wherever they are.
#[derive(Debug, PartialEq)]
struct Raw {
    http: u16,
    grpc: Option<String>,
    code: Option<String>,
}

/// A message as it stands in a body.
fn framed(message: &impl Message) -> Vec<u8> {
    let bytes = message.encode_to_vec();
    let length = u32::try_from(bytes.len()).unwrap().to_be_bytes();
    [&[0], &length[..], &bytes].concat()
}

async fn send(site: &Site, path: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Raw {
    let client = HttpClient::builder(TokioExecutor::new()).http2_only(true).build_http::<Body>();
    let mut request = HttpRequest::post(format!("http://{}{path}", site.gateway.addresses().main));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = client.request(request.body(body.into()).unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap();
    let trailers = body.trailers().cloned().unwrap_or_default();
    let json = serde_json::from_slice::<Value>(&body.to_bytes()).unwrap_or_default();
    let text = |name: &str| {
        let value = parts.headers.get(name).or_else(|| trailers.get(name));
        value.map(|value| value.to_str().unwrap().to_owned())
    };
    let code = text("groundline-code").or_else(|| json["code"].as_str().map(str::to_owned));
    Raw { http: parts.status.as_u16(), grpc: text("grpc-status"), code }
}

fn raw(http: u16, grpc: Option<Code>, code: Option<&str>) -> Raw {
    Raw { http, grpc: grpc.map(|code| (code as i32).to_string()), code: code.map(str::to_owned) }
}

const CHECK: &str = "/groundline.v1.Groundline/Check";
const GRPC: (&str, &str) = ("content-type", "application/grpc");

#[tokio::test]
async fn what_is_no_grpc_is_refused_as_http() {
    let site = Site::start(config()).await;
    let body = framed(&check(GOOD));
    assert_eq!(send(&site, CHECK, &[GRPC], body.clone()).await, raw(200, Some(Code::Ok), None));
    for kind in ["text/plain", "application/json", "application/grpc-web", "application/grpc+json"] {
        let found = send(&site, CHECK, &[("content-type", kind)], body.clone()).await;
        assert_eq!(found, raw(415, None, Some("GL6007")), "{kind}");
    }
    let over_http1 = site.client.with(axum::http::header::CONTENT_TYPE, "application/grpc");
    over_http1.post_text(CHECK, body.clone()).await.expect_problem(415, "GL6007");
    let health = "/grpc.health.v1.Health/Check";
    assert_eq!(send(&site, health, &[], Bytes::new()).await, raw(415, None, Some("GL6007")));
    // Clients take 404 for a call that is not implemented.
    let unknown = send(&site, "/groundline.v1.Groundline/Chek", &[GRPC], body).await;
    assert_eq!(unknown, raw(404, None, Some("GL6006")));
    assert_eq!(site.get(CHECK).await.status, 405);
}

#[tokio::test]
async fn bytes_that_are_no_message_of_the_call_are_refused() {
    let site = Site::start(config()).await;
    let invalid = raw(200, Some(Code::InvalidArgument), Some("GL1006"));
    // A number where a text is, an unfinished frame, a compressed one, and nothing.
    let other = ModelInfo { max_tokens: 5, ..ModelInfo::default() };
    let whole = framed(&check(GOOD));
    let compressed = [&[1], &whole[1..]].concat();
    for body in [framed(&other), whole[..whole.len() - 3].to_vec(), compressed, Vec::new()] {
        assert_eq!(send(&site, CHECK, &[GRPC], body).await, invalid);
    }
    let long = GetCheckRequest { id: "x".repeat(5000) };
    let found = send(&site, "/groundline.v1.Groundline/GetCheck", &[GRPC], framed(&long)).await;
    assert_eq!(found, raw(200, Some(Code::ResourceExhausted), Some("GL1005")));
}

#[tokio::test]
async fn the_time_that_a_caller_waits_counts_here_too() {
    let mut config = config();
    config.gateway.http.body_timeout_ms = 400;
    let site = Site::start(config).await;
    let body = framed(&check(GOOD));
    for bad in ["soon", "5", "123456789S", "-1S"] {
        let found = send(&site, CHECK, &[GRPC, ("grpc-timeout", bad)], body.clone()).await;
        assert_eq!(found, raw(200, Some(Code::InvalidArgument), Some("GL1007")), "{bad}");
    }
    assert_eq!(
        send(&site, CHECK, &[GRPC, ("grpc-timeout", "10S")], body).await,
        raw(200, Some(Code::Ok), None)
    );
    let silent = || Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
    let late = send(&site, CHECK, &[GRPC, ("grpc-timeout", "100m")], silent()).await;
    assert_eq!(late.grpc, Some((Code::DeadlineExceeded as i32).to_string()));
    assert_ne!(late.code.as_deref(), Some("GL6008"));
    let slow = send(&site, CHECK, &[GRPC], silent()).await;
    assert_eq!(slow, raw(200, Some(Code::DeadlineExceeded), Some("GL6008")));
}

//! The calls, through real sockets.

mod calls;
mod health;
mod limits;
mod raw;
mod streams;

use super::*;
use crate::grpc::wire::groundline_client::GroundlineClient;
use crate::grpc::wire::{CheckRequest, Source};
use tonic::metadata::MetadataValue;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};

type Caller = GroundlineClient<Channel>;

/// A connection of its own to a gateway.
async fn channel(gateway: &Gateway) -> Channel {
    let address = format!("http://{}", gateway.addresses().main);
    Endpoint::from_shared(address).unwrap().connect().await.unwrap()
}

async fn caller(gateway: &Gateway) -> Caller {
    GroundlineClient::new(channel(gateway).await)
}

fn check(response: &str) -> CheckRequest {
    let source = Source { text: SOURCE.to_owned(), ..Source::default() };
    CheckRequest { response: response.to_owned(), sources: vec![source], ..CheckRequest::default() }
}

/// A request with a header.
fn with<T>(message: T, name: &'static str, value: &str) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert(name, MetadataValue::try_from(value).unwrap());
    request
}

/// Checks that a call failed in a way, with the stable code beside it.
#[track_caller]
fn expect_status(status: &Status, code: Code, stable: &str) {
    let found = status.metadata().get("groundline-code").map(|code| code.to_str().unwrap());
    assert_eq!((status.code(), found), (code, Some(stable)), "{status:?}");
    assert!(!status.message().is_empty());
}

fn retry_after(status: &Status) -> Option<&str> {
    status.metadata().get("retry-after").map(|seconds| seconds.to_str().unwrap())
}

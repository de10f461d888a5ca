//! The stub behind HTTP.

use super::StubJudge;
use super::brain::Body as StubBody;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::post;
use futures_util::stream;
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// Longest time that a hanging answer is held open: its client has given up long before.
const MAX_HANG: Duration = Duration::from_secs(120);
/// Size of one piece of an endless answer.
const PIECE_BYTES: usize = 16 * 1024;
/// Pieces after which even an endless answer ends, should its client read on: 256 MiB.
const MAX_PIECES: usize = 16 * 1024;

/// A stub that listens. Dropping it closes the port and waits for its thread.
#[derive(Debug)]
pub struct StubServer {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl StubServer {
    pub(super) fn start(stub: StubJudge, port: u16) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let router = Router::new().route("/v1/chat/completions", post(answer)).with_state(stub);
        // A thread of its own: a test may pause its clock, and a test's runtime may end before its connections do.
        let thread = std::thread::Builder::new().name("stub-judge".to_owned()).spawn(move || {
            runtime.block_on(async move {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
                tokio::select! {
                    _ = axum::serve(listener, router) => {}
                    _ = stopped => {}
                }
            });
            // The runtime goes with the thread: hanging answers are not waited for.
        })?;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }

    /// The address for [`crate::JudgeOptions::base_url`].
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

impl Drop for StubServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn answer(State(stub): State<StubJudge>, headers: HeaderMap, body: Bytes) -> Response {
    let _under_way = stub.begin();
    let options = &stub.state.options;
    let key = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    if let Some(wanted) = &options.api_key
        && key != Some(&format!("Bearer {wanted}"))
    {
        return whole(StatusCode::UNAUTHORIZED, None, r#"{"error": {"code": "invalid_api_key"}}"#.to_owned());
    }
    let Ok(request) = serde_json::from_slice::<Value>(&body) else {
        return whole(StatusCode::BAD_REQUEST, None, r#"{"error": {"message": "no JSON"}}"#.to_owned());
    };
    let reply = stub.take(&request);
    tokio::time::sleep(options.latency).await;
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    match reply.body {
        StubBody::Whole(value) => whole(status, reply.retry_after, value.to_string()),
        StubBody::Half(text) => whole(status, None, text),
        StubBody::Endless => {
            let piece = Bytes::from(vec![b'9'; PIECE_BYTES]);
            let pieces = std::iter::repeat_n(piece, MAX_PIECES).map(Ok::<_, std::io::Error>);
            Response::new(Body::from_stream(stream::iter(pieces)))
        }
        StubBody::Reset => {
            let broken = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
            let pieces = [Ok(Bytes::from_static(b"{\"choices\": [")), Err(broken)];
            Response::new(Body::from_stream(stream::iter(pieces)))
        }
        StubBody::Never => {
            tokio::time::sleep(MAX_HANG).await;
            whole(StatusCode::GATEWAY_TIMEOUT, None, String::new())
        }
    }
}

fn whole(status: StatusCode, retry_after: Option<String>, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, axum::http::HeaderValue::from_static("application/json"));
    if let Some(value) = retry_after.and_then(|text| text.parse().ok()) {
        headers.insert(RETRY_AFTER, value);
    }
    response
}

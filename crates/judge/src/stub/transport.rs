//! The stub behind a transport, without a network.

use super::StubJudge;
use super::brain::Body;
use crate::{Incoming, Outgoing, Transport, TransportError};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

#[derive(Debug)]
pub(super) struct InsideTransport {
    pub(super) stub: StubJudge,
}

impl InsideTransport {
    async fn exchange(&self, request: &Outgoing) -> Result<Incoming, TransportError> {
        let _under_way = self.stub.begin();
        let body = serde_json::from_slice(&request.body).map_err(|_| TransportError::BrokenOff)?;
        let reply = self.stub.take(&body);
        tokio::time::sleep(self.stub.state.options.latency).await;
        let body = match reply.body {
            Body::Whole(value) => Bytes::from(value.to_string()),
            Body::Half(text) => Bytes::from(text),
            Body::Endless => return Err(TransportError::TooLong),
            Body::Reset => return Err(TransportError::BrokenOff),
            Body::Never => std::future::pending().await,
        };
        if body.len() > request.max_answer_bytes {
            return Err(TransportError::TooLong);
        }
        Ok(Incoming { status: reply.status, retry_after: reply.retry_after, rate_reset: None, body })
    }
}

impl Transport for InsideTransport {
    fn send(&self, request: Outgoing) -> BoxFuture<'_, Result<Incoming, TransportError>> {
        async move {
            let answer = tokio::time::timeout(request.timeout, self.exchange(&request)).await;
            answer.unwrap_or(Err(TransportError::TimedOut))
        }
        .boxed()
    }
}

//! Connections: how many there may be at once.

use axum_server::accept::Accept;
use std::io::{Error, IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Takes connections up to a limit and closes those above it at once: in a queue they would only find out later.
#[derive(Debug, Clone)]
pub(crate) struct LimitedAcceptor {
    places: Arc<Semaphore>,
}

impl LimitedAcceptor {
    /// Takes so many connections at once.
    pub(crate) fn new(max_connections: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(max_connections.min(Semaphore::MAX_PERMITS))) }
    }
}

impl<S: Send + 'static> Accept<TcpStream, S> for LimitedAcceptor {
    type Stream = CountedStream;
    type Service = S;
    type Future = std::future::Ready<Result<(CountedStream, S)>>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        let place = Arc::clone(&self.places).try_acquire_owned();
        let place = place.map_err(|_| Error::other("as many connections are open as may be"));
        // Answers are short and someone waits for them.
        let counted = place.and_then(|place| {
            stream.set_nodelay(true)?;
            Ok((CountedStream { stream, _place: place }, service))
        });
        std::future::ready(counted)
    }
}

/// A connection that counts until it is dropped.
#[derive(Debug)]
pub(crate) struct CountedStream {
    stream: TcpStream,
    _place: OwnedSemaphorePermit,
}

impl AsyncRead for CountedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for CountedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

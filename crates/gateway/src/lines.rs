//! The lines of a body, as they arrive.

use axum::body::{Body, BodyDataStream};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use groundline_types::{Code, Problem};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Reads a body line by line. Blank lines are left out: they keep a connection awake.
#[derive(Debug)]
pub(crate) struct Lines {
    pieces: BodyDataStream,
    held: BytesMut,
    /// How much of `held` has no line end.
    searched: usize,
    has_ended: bool,
    heard_at: Instant,
    bytes_read: usize,
    max_bytes: usize,
}

impl Lines {
    /// The lines of a body of at most `max_bytes`.
    pub(crate) fn new(body: Body, max_bytes: usize) -> Self {
        Self {
            pieces: body.into_data_stream(),
            held: BytesMut::new(),
            searched: 0,
            has_ended: false,
            heard_at: Instant::now(),
            bytes_read: 0,
            max_bytes,
        }
    }

    /// The next line; `None` behind the last. `patience` is how long nothing at all may come, counted from what came last.
    /// Dropping the future loses nothing.
    ///
    /// # Errors
    /// [`Code::TOO_LARGE`], [`Code::BODY_TIMEOUT`]; [`Code::MALFORMED_JSON`] where the body breaks off.
    pub(crate) async fn next(&mut self, patience: Duration) -> Result<Option<Bytes>, Problem> {
        loop {
            while let Some(line) = self.take_line() {
                if !line.trim_ascii().is_empty() {
                    return Ok(Some(line));
                }
            }
            if self.has_ended {
                return Ok(None);
            }
            let too_slow = |_| {
                let message = format!("nothing came for {} ms", patience.as_millis());
                Problem::new(Code::BODY_TIMEOUT, message)
            };
            let piece = timeout_at(self.heard_at + patience, self.pieces.next()).await.map_err(too_slow)?;
            self.heard_at = Instant::now();
            match piece {
                Some(Ok(piece)) => self.keep(&piece)?,
                Some(Err(_)) => return Err(Problem::new(Code::MALFORMED_JSON, "the body ended too early")),
                None => self.has_ended = true,
            }
        }
    }

    /// How many bytes of the body have come.
    pub(crate) fn bytes_read(&self) -> usize {
        self.bytes_read
    }

    fn keep(&mut self, piece: &[u8]) -> Result<(), Problem> {
        self.bytes_read += piece.len();
        if self.bytes_read > self.max_bytes {
            let message = format!("the body is larger than the limit of {} bytes", self.max_bytes);
            return Err(Problem::new(Code::TOO_LARGE, message));
        }
        self.held.extend_from_slice(piece);
        Ok(())
    }

    /// Takes a whole line, or what is left at the end.
    fn take_line(&mut self) -> Option<Bytes> {
        let found = self.held[self.searched..].iter().position(|byte| *byte == b'\n');
        let length = match found {
            Some(at) => self.searched + at + 1,
            None if self.has_ended && !self.held.is_empty() => self.held.len(),
            None => {
                self.searched = self.held.len();
                return None;
            }
        };
        self.searched = 0;
        Some(self.held.split_to(length).freeze())
    }
}

#[cfg(test)]
mod tests;

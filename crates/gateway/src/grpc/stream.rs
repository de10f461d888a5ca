//! A response that is still being written, over gRPC.

use super::convert::{json_of_head, message_of, result_of};
use super::guard::{Called, too_late};
use super::status::{status_of, unreadable};
use super::wire::stream_event::Event;
use super::wire::stream_piece::Piece;
use super::wire::{StreamEvent as EventMessage, StreamPiece};
use crate::admission::tokens_of_bytes;
use crate::admit::Metered;
use crate::app::App;
use crate::intake;
use crate::problem::ApiError;
use crate::routes::check::check_deadline;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use groundline::{StreamEvent, StreamEvents, StreamInput};
use groundline_types::{Code, Problem, StreamRequest};
use prost::Message as _;
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout_at};
use tonic::{Status, Streaming};

/// The messages of a caller, as they come.
struct Pieces {
    messages: Streaming<StreamPiece>,
    heard_at: Instant,
    bytes_read: usize,
    max_bytes: usize,
}

impl Pieces {
    /// The next message; `None` behind the last. Dropping the future loses nothing.
    async fn next(&mut self, patience: Duration) -> Result<Option<Piece>, Problem> {
        let too_slow = |_| {
            let message = format!("nothing came for {} ms", patience.as_millis());
            Problem::new(Code::BODY_TIMEOUT, message)
        };
        let came = timeout_at(self.heard_at + patience, self.messages.message()).await.map_err(too_slow)?;
        self.heard_at = Instant::now();
        let Some(message) = came.map_err(|status| self.broken(&status))? else { return Ok(None) };
        self.bytes_read += message.encoded_len();
        if self.bytes_read > self.max_bytes {
            return Err(self.too_large());
        }
        let empty =
            || Problem::new(Code::INVALID_FIELD, "a message of the stream holds neither head nor text");
        message.piece.map(Some).ok_or_else(empty)
    }

    fn broken(&self, status: &Status) -> Problem {
        match status.code() {
            // What tonic says of a message over its limit.
            tonic::Code::OutOfRange => self.too_large(),
            _ => unreadable(),
        }
    }

    fn too_large(&self) -> Problem {
        let message = format!("the stream is larger than the limit of {} bytes", self.max_bytes);
        Problem::new(Code::TOO_LARGE, message)
    }
}

/// A stream that somebody follows. It ends with this value, which is dropped when the caller hangs up.
///
/// Events are made and pieces are read only as fast as the caller takes events.
struct Following {
    pieces: Pieces,
    patience: Duration,
    until: Option<Instant>,
    /// Gone once the response is complete.
    input: Option<StreamInput>,
    events: StreamEvents,
    metered: Metered,
    is_over: bool,
}

/// Reads the head of a stream and begins to check what follows.
///
/// # Errors
/// What is wrong with the head, as [`Code::INVALID_FIELD`] and those of [`StreamRequest::validate`]; those of admission.
pub(super) async fn follow(
    app: &App,
    called: &Called,
    messages: Streaming<StreamPiece>,
) -> Result<BoxStream<'static, Result<EventMessage, Status>>, ApiError> {
    let http = &app.config().http;
    let mut metered = Metered::new(intake::admit(app, &called.caller, tokens_of_bytes(0))?);
    let mut pieces = Pieces { messages, heard_at: Instant::now(), bytes_read: 0, max_bytes: http.body_bytes };
    let Some(Piece::Head(head)) = pieces.next(Duration::from_millis(http.body_timeout_ms)).await? else {
        return Err(
            Problem::new(Code::INVALID_FIELD, "the first message of a stream must be its head").into()
        );
    };
    metered.has_read(pieces.bytes_read);
    let request = StreamRequest::from_value(json_of_head(head)?)?;
    check_deadline(app, &request.check)?;
    let (input, events) = app.checker().stream(&called.caller.tenant, request).await?;
    let patience = Duration::from_millis(http.stream_idle_ms);
    let until = called.until;
    let following =
        Following { pieces, patience, until, input: Some(input), events, metered, is_over: false };
    let events = futures_util::stream::unfold(following, |mut following| async move {
        let event = following.next().await?;
        Some((event, following))
    });
    Ok(events.boxed())
}

impl Following {
    async fn next(&mut self) -> Option<Result<EventMessage, Status>> {
        while !self.is_over {
            let Self { pieces, patience, until, input, events, .. } = self;
            let told = tokio::select! {
                biased;
                () = past(*until) => Some(Err(too_late())),
                event = events.next() => Some(self.told(event?)),
                piece = pieces.next(*patience), if input.is_some() => {
                    piece.and_then(|piece| self.read(piece)).err().map(Err)
                }
            };
            if let Some(told) = told {
                self.is_over |= told.is_err();
                return Some(told.map_err(status_of));
            }
        }
        None
    }

    fn told(&mut self, event: StreamEvent) -> Result<EventMessage, Problem> {
        let event = match event {
            StreamEvent::Sentence(sentence) => Event::Sentence(message_of(&sentence)?),
            StreamEvent::Done(result) => {
                self.is_over = true;
                Event::Done(result_of(*result)?)
            }
            StreamEvent::Failed(problem) => return Err(problem),
        };
        Ok(EventMessage { event: Some(event) })
    }

    /// Takes the next piece, or the end of the response.
    fn read(&mut self, piece: Option<Piece>) -> Result<(), Problem> {
        self.metered.has_read(self.pieces.bytes_read);
        match (piece, &self.input) {
            (Some(Piece::Text(text)), Some(input)) => input.push(&text),
            (Some(Piece::Head(_)), _) => {
                Err(Problem::new(Code::INVALID_FIELD, "a stream has one head, and this is another one"))
            }
            _ => {
                if let Some(input) = self.input.take() {
                    input.finish();
                }
                Ok(())
            }
        }
    }
}

/// Ends at a moment, where there is one.
async fn past(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => std::future::pending().await,
    }
}

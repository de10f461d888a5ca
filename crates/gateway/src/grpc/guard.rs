//! What happens to a call before anything of it is read as a message.

use super::deadline::deadline_in;
use super::status::{answer_of, marked};
use crate::admission::tokens_of_bytes;
use crate::admit::Metered;
use crate::app::App;
use crate::auth::{Caller, Scope};
use crate::intake;
use crate::problem::ApiError;
use crate::routes::reward;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use groundline_telemetry::Route;
use groundline_types::{Code, Problem};
use tokio::time::{Instant, timeout_at};

/// Largest message of a call that names something or nothing.
const SMALL_BYTES: usize = 4 << 10;

/// What a call is to the gateway.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    /// What it counts as.
    pub(super) route: Route,
    /// What the caller must be allowed to do.
    pub(super) scope: Scope,
    /// How it is let in.
    pub(super) taking: Taking,
}

/// How a call is let in.
#[derive(Debug, Clone, Copy)]
pub(super) enum Taking {
    /// Let in or refused at once, then read.
    AtOnce,
    /// Read, and then waits for a place.
    InLine,
    /// Costs nothing, and may hold next to nothing.
    Small,
    /// Its messages come one by one; the handler lets it in.
    Pieces,
}

/// What is known of a call, for its handler.
#[derive(Debug, Clone)]
pub(super) struct Called {
    /// Who calls.
    pub(super) caller: Caller,
    /// When the caller stops waiting.
    pub(super) until: Option<Instant>,
}

/// Lets a call in, reads it, and ends it when its caller stops waiting.
pub(super) async fn guarded(
    State((app, call)): State<(App, Call)>,
    request: Request,
    next: Next,
) -> Response {
    if let Err(error) = require_grpc(&request) {
        return error.into_response();
    }
    let until = match deadline_in(request.headers(), Instant::now()) {
        Ok(until) => until,
        Err(problem) => return answer_of(problem),
    };
    let answered = answered(&app, call, request, next, until);
    let answered = match until {
        Some(until) => timeout_at(until, answered).await.unwrap_or_else(|_| Err(too_late().into())),
        None => answered.await,
    };
    answered.map_or_else(answer_of, marked)
}

/// Takes calls alone.
pub(super) async fn require_call(request: Request, next: Next) -> Response {
    match require_grpc(&request) {
        Ok(()) => marked(next.run(request).await),
        Err(error) => error.into_response(),
    }
}

/// The error of a call whose caller does not wait any more.
pub(super) fn too_late() -> Problem {
    Problem::new(Code::DEADLINE, "the time in grpc-timeout has passed")
}

async fn answered(
    app: &App,
    call: Call,
    request: Request,
    next: Next,
    until: Option<Instant>,
) -> Result<Response, ApiError> {
    let (mut parts, body) = request.into_parts();
    let caller = intake::identify(app, &parts.headers, call.scope)?;
    let limit = match call.taking {
        Taking::Small => SMALL_BYTES,
        _ => app.config().http.body_bytes,
    };
    intake::said_length(&parts.headers, limit)?;
    parts.extensions.insert(Called { caller: caller.clone(), until });
    let body = match call.taking {
        Taking::Pieces => return Ok(next.run(Request::from_parts(parts, body)).await),
        _ => body,
    };
    // Held until the answer is made.
    let mut metered = match call.taking {
        Taking::AtOnce => Some(Metered::new(intake::admit(app, &caller, tokens_of_bytes(0))?)),
        _ => None,
    };
    let bytes = intake::read(app, body, limit).await?;
    if let Some(metered) = &mut metered {
        metered.has_read(bytes.len());
    }
    let _place = match call.taking {
        Taking::InLine => {
            let configured = reward::deadline(app);
            let until = until.map_or(configured, |until| until.min(configured));
            let tokens = tokens_of_bytes(bytes.len() as u64);
            Some(intake::place(app, &caller, tokens, until).await?.ok_or_else(reward::too_late)?)
        }
        _ => None,
    };
    Ok(next.run(Request::from_parts(parts, Body::from(bytes))).await)
}

/// Refuses what is no gRPC. A browser lets any page send plain text to an address of this machine, and gRPC only where the server
/// agrees.
fn require_grpc(request: &Request) -> Result<(), ApiError> {
    if request.version() == Version::HTTP_2 && is_grpc(request.headers()) {
        return Ok(());
    }
    let message = "this route takes gRPC over HTTP/2: `Content-Type: application/grpc`";
    Err(Problem::new(Code::UNSUPPORTED_MEDIA, message).into())
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    matches!(kind.split(';').next().map(str::trim), Some("application/grpc" | "application/grpc+proto"))
}

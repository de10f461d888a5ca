//! From a request to its JSON: who calls, whether there is room, and what the body says. In this order, so that nobody
//! without credentials costs more than headers, and nobody without room more than a body.

use crate::admission::{Ask, tokens_of_bytes};
use crate::admit::Permit;
use crate::app::App;
use crate::auth::{Caller, Scope};
use crate::problem::ApiError;
use axum::body::Body;
use axum::http::{HeaderMap, Request, header};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use groundline_actors::{TaskKind, run_blocking};
use groundline_telemetry::{GatewayRefusal, record};
use groundline_types::{CheckRequest, Code, Problem};
use serde_json::Value;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// Larger bodies are parsed on a thread for that: a megabyte takes some milliseconds.
const PARSE_HERE_BYTES: usize = 256 << 10;

/// A request that is let in.
#[derive(Debug)]
pub(crate) struct Intake {
    /// Who sent it.
    pub(crate) caller: Caller,
    /// Its share of the budgets, held until this is dropped.
    pub(crate) permit: Permit,
    /// Its body.
    pub(crate) json: Value,
}

/// Lets a request in at once or refuses it, and reads its JSON.
///
/// # Errors
/// [`Code::UNAUTHENTICATED`], [`Code::FORBIDDEN`], [`Code::UNSUPPORTED_MEDIA`], [`Code::TOO_LARGE`], [`Code::TENANT_LIMIT`],
/// [`Code::GATEWAY_OVERLOADED`], [`Code::DRAINING`], [`Code::BODY_TIMEOUT`], and what is wrong with the JSON.
pub(crate) async fn at_once(app: &App, request: Request<Body>, scope: Scope) -> Result<Intake, ApiError> {
    let (parts, body) = request.into_parts();
    let caller = identify(app, &parts.headers, scope)?;
    require_media(&parts.headers, &["application/json"])?;
    let said = said_length(&parts.headers, app.config().http.body_bytes)?;
    let mut permit = admit(app, &caller, said.map_or(0, tokens_of_bytes))?;
    let text = read(app, body, app.config().http.body_bytes).await?;
    if said.is_none() {
        permit.grow(tokens_of_bytes(text.len() as u64));
    }
    Ok(Intake { caller, permit, json: parse(text).await? })
}

/// A request that is read and has no place yet.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// Who sent it.
    pub(crate) caller: Caller,
    /// Its body.
    pub(crate) json: Value,
    /// What it costs.
    pub(crate) tokens: u64,
}

/// Reads a request that will wait in line: the body first, so that a caller who goes away is noticed while it waits.
///
/// # Errors
/// As [`at_once`], but for those of admission.
pub(crate) async fn for_line(app: &App, request: Request<Body>, scope: Scope) -> Result<Waiting, ApiError> {
    let (parts, body) = request.into_parts();
    let caller = identify(app, &parts.headers, scope)?;
    require_media(&parts.headers, &["application/json"])?;
    said_length(&parts.headers, app.config().http.body_bytes)?;
    let text = read(app, body, app.config().http.body_bytes).await?;
    let tokens = tokens_of_bytes(text.len() as u64);
    Ok(Waiting { caller, json: parse(text).await?, tokens })
}

/// Waits in line for a place, until a moment: `None` where that came first.
///
/// # Errors
/// [`Code::GATEWAY_OVERLOADED`] where the line is full.
pub(crate) async fn place(
    app: &App,
    caller: &Caller,
    tokens: u64,
    until: Instant,
) -> Result<Option<Permit>, ApiError> {
    let ask = ask(caller, tokens);
    let refused = |refusal| {
        record::request_refused(GatewayRefusal::Overload, Some(&caller.tenant));
        ApiError::from(refusal)
    };
    let permit = app.gate().wait(ask, until).await.map_err(refused)?;
    if permit.is_some() {
        note_admitted(caller, tokens);
    }
    Ok(permit)
}

/// Who sent these headers, if it may do this and the gateway is not stopping.
///
/// # Errors
/// [`Code::UNAUTHENTICATED`], [`Code::FORBIDDEN`], [`Code::DRAINING`].
pub(crate) fn identify(app: &App, headers: &HeaderMap, scope: Scope) -> Result<Caller, ApiError> {
    if app.refuses() {
        record::request_refused(GatewayRefusal::NotReady, None);
        return Err(Problem::new(Code::DRAINING, "the gateway is stopping; try another one").into());
    }
    let caller = app.auth().authenticate(headers).inspect_err(|_| {
        record::request_refused(GatewayRefusal::Unauthenticated, None);
    })?;
    caller.require(scope).inspect_err(|_| {
        record::request_refused(GatewayRefusal::Forbidden, Some(&caller.tenant));
    })?;
    Ok(caller)
}

/// Lets a caller in with so many tokens, or refuses it.
///
/// # Errors
/// [`Code::TENANT_LIMIT`], [`Code::GATEWAY_OVERLOADED`].
pub(crate) fn admit(app: &App, caller: &Caller, tokens: u64) -> Result<Permit, ApiError> {
    let permit = app.gate().admit(&ask(caller, tokens)).map_err(|refusal| {
        let error = ApiError::from(refusal);
        let is_tenants = error.code() == Code::TENANT_LIMIT;
        let why = if is_tenants { GatewayRefusal::TenantLimit } else { GatewayRefusal::Overload };
        record::request_refused(why, Some(&caller.tenant));
        error
    })?;
    note_admitted(caller, tokens);
    Ok(permit)
}

/// Refuses a body of another kind. JSON is asked for by name, because a browser lets any page send plain text to an address
/// of this machine, and JSON only where the server agrees.
///
/// # Errors
/// [`Code::UNSUPPORTED_MEDIA`].
pub(crate) fn require_media(headers: &HeaderMap, allowed: &[&str]) -> Result<(), ApiError> {
    let found = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let found = found.split(';').next().unwrap_or_default().trim();
    if allowed.iter().any(|kind| found.eq_ignore_ascii_case(kind)) {
        return Ok(());
    }
    let message = format!("send the header `Content-Type: {}`", allowed.join("` or `Content-Type: "));
    Err(Problem::new(Code::UNSUPPORTED_MEDIA, message).into())
}

/// The length that a request says it has, where it says one and it is not too large.
///
/// # Errors
/// [`Code::TOO_LARGE`].
pub(crate) fn said_length(headers: &HeaderMap, limit: usize) -> Result<Option<u64>, ApiError> {
    let said = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    match said {
        Some(length) if length > limit as u64 => Err(too_large(limit)),
        said => Ok(said),
    }
}

/// Reads a body of at most so many bytes.
///
/// # Errors
/// [`Code::TOO_LARGE`], [`Code::BODY_TIMEOUT`]; [`Code::MALFORMED_JSON`] where it breaks off.
pub(crate) async fn read(app: &App, body: Body, limit: usize) -> Result<Bytes, ApiError> {
    let wait = Duration::from_millis(app.config().http.body_timeout_ms);
    let mut pieces = body.into_data_stream();
    let read = async {
        let mut text = BytesMut::new();
        while let Some(piece) = pieces.next().await {
            // The client went away, or broke the protocol; nobody will read this.
            let piece = piece.map_err(|_| Problem::new(Code::MALFORMED_JSON, "the body ended too early"))?;
            if text.len() + piece.len() > limit {
                return Err(too_large(limit));
            }
            text.extend_from_slice(&piece);
        }
        Ok(text.freeze())
    };
    timeout(wait, read).await.unwrap_or_else(|_| Err(too_slow(wait)))
}

/// The error of a client that takes too long.
pub(crate) fn too_slow(wait: Duration) -> ApiError {
    let message = format!("the body did not arrive within {} ms", wait.as_millis());
    Problem::new(Code::BODY_TIMEOUT, message).into()
}

fn too_large(limit: usize) -> ApiError {
    record::request_refused(GatewayRefusal::TooLarge, None);
    Problem::new(Code::TOO_LARGE, format!("the body is larger than the limit of {limit} bytes")).into()
}

/// The JSON of a text.
///
/// # Errors
/// [`Code::INVALID_UTF8`], [`Code::MALFORMED_JSON`], [`Code::INVALID_FIELD`] for a name that stands twice.
pub(crate) async fn parse(text: Bytes) -> Result<Value, Problem> {
    let is_short = text.len() <= PARSE_HERE_BYTES;
    let parse = move || {
        let text = std::str::from_utf8(&text).map_err(|error| {
            let message = format!("the body is not UTF-8 at byte {}", error.valid_up_to());
            Problem::new(Code::INVALID_UTF8, message)
        })?;
        CheckRequest::value_from_json(text)
    };
    if is_short {
        return parse();
    }
    let parsed = run_blocking(TaskKind::Parse, parse).await;
    parsed.unwrap_or_else(|| Err(Problem::new(Code::INTERNAL, "reading the body failed")))
}

fn ask(caller: &Caller, tokens: u64) -> Ask {
    Ask { tenant: caller.tenant.clone(), limits: caller.limits, tokens }
}

fn note_admitted(caller: &Caller, tokens: u64) {
    tracing::trace!(key = &*caller.key_id, tokens, "let a request in");
    record::tokens_admitted(&caller.tenant, usize::try_from(tokens).unwrap_or(usize::MAX));
}

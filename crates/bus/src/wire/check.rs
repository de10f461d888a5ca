//! Checks of the durable queue, and their answers.

use super::{WireError, lane_from_wire, lane_to_wire, missing, pb, token};
use crate::CheckTicket;
use bytes::Bytes;
use prost::Message as _;

/// Where a body lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stored {
    /// In the message.
    Inline(Vec<u8>),
    /// In the object store, under this name.
    Object(String),
}

/// An answer whose body may lie elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WireAnswer {
    Waiting,
    Running,
    Done(Stored),
    Failed { code: String, message: String },
}

pub(crate) fn encode_check(ticket: &CheckTicket, body: Stored) -> Bytes {
    let message = pb::Check {
        id: ticket.id.clone(),
        tenant: ticket.tenant.as_str().into(),
        lane: lane_to_wire(ticket.lane),
        body: Some(body_to_wire(body)),
    };
    message.encode_to_vec().into()
}

pub(crate) fn decode_check(message: Bytes) -> Result<(CheckTicket, Stored), WireError> {
    let message = pb::Check::decode(message)?;
    let ticket = CheckTicket {
        id: message.id,
        tenant: token("tenant", &message.tenant)?,
        lane: lane_from_wire(message.lane)?,
    };
    Ok((ticket, body_from_wire(message.body)?))
}

pub(crate) fn encode_answer(answer: WireAnswer) -> Bytes {
    let kind = match answer {
        WireAnswer::Waiting => pb::answer::Kind::Waiting(pb::Waiting {}),
        WireAnswer::Running => pb::answer::Kind::Running(pb::Running {}),
        WireAnswer::Done(body) => pb::answer::Kind::Done(body_to_wire(body)),
        WireAnswer::Failed { code, message } => pb::answer::Kind::Failed(pb::Reason { code, message }),
    };
    pb::Answer { kind: Some(kind) }.encode_to_vec().into()
}

pub(crate) fn decode_answer(message: Bytes) -> Result<WireAnswer, WireError> {
    Ok(match pb::Answer::decode(message)?.kind.ok_or(missing("answer"))? {
        pb::answer::Kind::Waiting(pb::Waiting {}) => WireAnswer::Waiting,
        pb::answer::Kind::Running(pb::Running {}) => WireAnswer::Running,
        pb::answer::Kind::Done(body) => WireAnswer::Done(body_from_wire(Some(body))?),
        pb::answer::Kind::Failed(reason) => WireAnswer::Failed { code: reason.code, message: reason.message },
    })
}

fn body_to_wire(body: Stored) -> pb::Body {
    let place = match body {
        Stored::Inline(bytes) => pb::body::Place::Inline(bytes),
        Stored::Object(name) => pb::body::Place::Object(name),
    };
    pb::Body { place: Some(place) }
}

fn body_from_wire(body: Option<pb::Body>) -> Result<Stored, WireError> {
    match body.and_then(|body| body.place).ok_or(missing("body"))? {
        pb::body::Place::Inline(bytes) => Ok(Stored::Inline(bytes)),
        pb::body::Place::Object(name) => Ok(Stored::Object(name)),
    }
}

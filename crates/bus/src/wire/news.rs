//! What is told to whoever listens: cancelled checks and presences.

use super::{WireError, check_id_to_wire, out_of_range, pb, size, token};
use crate::{CheckId, Incarnation, Presence};
use bytes::Bytes;
use prost::Message as _;

pub(crate) fn encode_cancel(checks: &[CheckId]) -> Bytes {
    let checks = checks.iter().map(|id| check_id_to_wire(*id)).collect();
    pb::Cancel { checks }.encode_to_vec().into()
}

pub(crate) fn decode_cancel(message: Bytes) -> Result<Vec<CheckId>, WireError> {
    let id = |id: pb::CheckId| CheckId { reply_to: Incarnation::from_bits(id.reply_to), check: id.check };
    Ok(pb::Cancel::decode(message)?.checks.into_iter().map(id).collect())
}

pub(crate) fn encode_presence(presence: Presence) -> Bytes {
    let message = pb::Presence {
        worker: presence.worker.as_str().into(),
        model: presence.model.as_str().into(),
        engine: presence.engine,
        schema: presence.schema,
        is_ready: presence.is_ready,
        capacity_tokens: presence.capacity_tokens as u64,
        held_tokens: presence.held_tokens as u64,
        tokens_per_second: presence.tokens_per_second,
        coordinators: presence.coordinators,
    };
    message.encode_to_vec().into()
}

pub(crate) fn decode_presence(message: Bytes) -> Result<Presence, WireError> {
    let message = pb::Presence::decode(message)?;
    if !(message.tokens_per_second >= 0.0 && message.tokens_per_second.is_finite()) {
        return Err(out_of_range("tokens_per_second"));
    }
    Ok(Presence {
        worker: token("worker", &message.worker)?,
        model: token("model", &message.model)?,
        engine: message.engine,
        schema: message.schema,
        is_ready: message.is_ready,
        capacity_tokens: size("capacity_tokens", message.capacity_tokens)?,
        held_tokens: size("held_tokens", message.held_tokens)?,
        tokens_per_second: message.tokens_per_second,
        coordinators: message.coordinators,
    })
}

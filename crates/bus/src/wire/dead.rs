//! Dead jobs.

use super::{
    WireError, decode_job, lane_from_wire, lane_to_wire, missing, pb, reason_from_wire, reason_to_wire, token,
};
use crate::{DeadJob, LaneId, SubjectToken};
use bytes::Bytes;
use groundline_types::Reason;
use prost::Message as _;
use std::sync::Arc;

/// A dead job on its way to the dead stream.
#[derive(Debug)]
pub(crate) struct Burial {
    /// The message of the job as it was.
    pub(crate) job: Bytes,
    pub(crate) lane: LaneId,
    pub(crate) tenant: SubjectToken,
    pub(crate) reason: Reason,
    pub(crate) history: Vec<String>,
    pub(crate) died_at_ms: u64,
    pub(crate) trace: Option<Arc<str>>,
}

pub(crate) fn encode_dead(burial: Burial) -> Bytes {
    let message = pb::DeadJob {
        job: burial.job.into(),
        model: burial.lane.model.as_str().into(),
        lane: lane_to_wire(burial.lane.lane),
        tenant: burial.tenant.as_str().into(),
        reason: Some(reason_to_wire(burial.reason)),
        history: burial.history,
        died_at_ms: burial.died_at_ms,
        traceparent: burial.trace.as_deref().unwrap_or_default().into(),
    };
    message.encode_to_vec().into()
}

/// A dead job as it is stored under `sequence`.
pub(crate) fn decode_dead(message: Bytes, sequence: u64) -> Result<DeadJob, WireError> {
    let message = pb::DeadJob::decode(message)?;
    let trace = Some(message.traceparent).filter(|trace| !trace.is_empty()).map(Arc::from);
    Ok(DeadJob {
        sequence,
        job: decode_job(message.job.into(), trace).ok().map(Arc::new),
        lane: LaneId { model: token("model", &message.model)?, lane: lane_from_wire(message.lane)? },
        tenant: token("tenant", &message.tenant)?,
        reason: reason_from_wire(message.reason.ok_or(missing("reason"))?),
        history: message.history,
        died_at_ms: message.died_at_ms,
    })
}

//! Jobs.

use super::{
    WireError, head_from_wire, head_to_wire, job_id_from_wire, job_id_to_wire, lane_from_wire, lane_to_wire,
    out_of_range, pb, size, token,
};
use crate::{Job, JobItem, JobTexts, LaneId};
use bytes::Bytes;
use prost::Message as _;
use std::sync::Arc;
use std::time::Duration;

/// The message of a job. Its trace travels in a header.
pub(crate) fn encode_job(job: &Job) -> Bytes {
    let message = pb::Job {
        id: Some(job_id_to_wire(job.id)),
        attempt: job.attempt,
        model: job.lane.model.as_str().into(),
        lane: lane_to_wire(job.lane.lane),
        tenant: job.tenant.as_str().into(),
        time_left_ms: job.time_left.as_millis() as u64,
        estimated_tokens: job.estimated_tokens as u64,
        texts: job.texts.texts().iter().map(|text| text.as_ref().to_owned()).collect(),
        items: job.texts.items().iter().map(item_to_wire).collect(),
    };
    message.encode_to_vec().into()
}

/// The job of a message, with the trace of its header.
pub(crate) fn decode_job(message: Bytes, trace: Option<Arc<str>>) -> Result<Job, WireError> {
    let message = pb::Job::decode(message)?;
    let texts = message.texts.into_iter().map(Arc::from).collect();
    let items = message.items.into_iter().map(item_from_wire).collect::<Result<_, _>>()?;
    Ok(Job {
        id: job_id_from_wire(message.id)?,
        attempt: message.attempt,
        lane: LaneId { model: token("model", &message.model)?, lane: lane_from_wire(message.lane)? },
        tenant: token("tenant", &message.tenant)?,
        time_left: Duration::from_millis(message.time_left_ms),
        estimated_tokens: size("estimated_tokens", message.estimated_tokens)?,
        trace,
        texts: JobTexts::from_parts(texts, items).ok_or(out_of_range("items"))?,
    })
}

fn item_to_wire(item: &JobItem) -> pb::Item {
    let kind = match *item {
        JobItem::Pair { premise, hypothesis, head } => pb::item::Kind::Pair(pb::Pair {
            premise: premise.into(),
            hypothesis: hypothesis.into(),
            head: head_to_wire(head),
        }),
        JobItem::Embed { text } => pb::item::Kind::Embed(pb::Embed { text: text.into() }),
        JobItem::Similarity { candidate, reference } => pb::item::Kind::Similarity(pb::Similarity {
            candidate: candidate.into(),
            reference: reference.into(),
        }),
        JobItem::Tokens { context, text, head } => pb::item::Kind::Tokens(pb::Tokens {
            context: context.into(),
            text: text.into(),
            head: head_to_wire(head),
        }),
    };
    pb::Item { kind: Some(kind) }
}

fn item_from_wire(item: pb::Item) -> Result<JobItem, WireError> {
    let index = |field, number: u32| u16::try_from(number).map_err(|_| out_of_range(field));
    // An item of a later schema has a kind that is not decoded, and so looks like one without any.
    match item.kind.ok_or(WireError::UnknownValue { field: "item", value: 0 })? {
        pb::item::Kind::Pair(pair) => Ok(JobItem::Pair {
            premise: index("premise", pair.premise)?,
            hypothesis: index("hypothesis", pair.hypothesis)?,
            head: head_from_wire(pair.head)?,
        }),
        pb::item::Kind::Embed(embed) => Ok(JobItem::Embed { text: index("text", embed.text)? }),
        pb::item::Kind::Similarity(texts) => Ok(JobItem::Similarity {
            candidate: index("candidate", texts.candidate)?,
            reference: index("reference", texts.reference)?,
        }),
        pb::item::Kind::Tokens(tokens) => Ok(JobItem::Tokens {
            context: index("context", tokens.context)?,
            text: index("text", tokens.text)?,
            head: head_from_wire(tokens.head)?,
        }),
    }
}

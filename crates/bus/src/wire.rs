//! The messages as protobuf, and nothing else: what is malformed ends here, as an error with a name.
//!
//! Unknown fields are ignored, as protobuf does. An unknown value of an enumeration is an [`WireError::UnknownValue`]: whoever sent
//! it speaks a newer schema, and somebody else may understand it.

mod check;
mod dead;
#[rustfmt::skip]
#[expect(unreachable_pub, reason = "generated")]
mod generated;
mod job;
mod news;
mod result;

pub(crate) use check::{Stored, WireAnswer, decode_answer, decode_check, encode_answer, encode_check};
pub(crate) use dead::{Burial, decode_dead, encode_dead};
pub(crate) use job::{decode_job, encode_job};
pub(crate) use news::{decode_cancel, decode_presence, encode_cancel, encode_presence};
pub(crate) use result::{decode_result, encode_result};

use crate::{CheckId, Incarnation, JobId, SubjectToken};
use generated as pb;
use groundline_types::{Code, Head, Lane, PRESETS, Preset, Reason};

/// Schema of the messages that this program writes: `major.minor`. Whoever reads another major does not understand it.
pub(crate) const SCHEMA: &str = "1.0";

/// A message that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WireError {
    /// It is no protobuf of this type.
    #[error("the message cannot be decoded: {0}")]
    Undecodable(#[from] prost::DecodeError),
    /// A field that must be there is not.
    #[error("field {field} is missing")]
    Missing { field: &'static str },
    /// A field holds something that it must not hold.
    #[error("field {field} is out of range")]
    OutOfRange { field: &'static str },
    /// A field holds a value of a later schema.
    #[error("field {field} has the unknown value {value}")]
    UnknownValue { field: &'static str, value: i32 },
}

impl WireError {
    /// Whether another program may understand the message.
    pub(crate) fn is_of_later_schema(&self) -> bool {
        matches!(self, WireError::UnknownValue { .. })
    }
}

fn missing(field: &'static str) -> WireError {
    WireError::Missing { field }
}

fn out_of_range(field: &'static str) -> WireError {
    WireError::OutOfRange { field }
}

fn token(field: &'static str, text: &str) -> Result<SubjectToken, WireError> {
    SubjectToken::parse(text).ok_or(out_of_range(field))
}

fn size(field: &'static str, number: u64) -> Result<usize, WireError> {
    usize::try_from(number).map_err(|_| out_of_range(field))
}

fn lane_to_wire(lane: Lane) -> i32 {
    match lane {
        Lane::Online => pb::Lane::Online as i32,
        Lane::Bulk => pb::Lane::Bulk as i32,
    }
}

fn lane_from_wire(value: i32) -> Result<Lane, WireError> {
    match pb::Lane::try_from(value) {
        Ok(pb::Lane::Online) => Ok(Lane::Online),
        Ok(pb::Lane::Bulk) => Ok(Lane::Bulk),
        Ok(pb::Lane::Unspecified) => Err(missing("lane")),
        Err(_) => Err(WireError::UnknownValue { field: "lane", value }),
    }
}

fn head_to_wire(head: Head) -> i32 {
    match head {
        Head::Nli => pb::Head::Nli as i32,
        Head::Support => pb::Head::Support as i32,
        Head::Learned(preset) => pb_head(preset) as i32,
    }
}

fn pb_head(preset: Preset) -> pb::Head {
    match preset {
        Preset::Factcc => pb::Head::Factcc,
        Preset::MinicheckRoberta => pb::Head::MinicheckRoberta,
        Preset::MinicheckDeberta => pb::Head::MinicheckDeberta,
        Preset::MinicheckFlanT5 => pb::Head::MinicheckFlanT5,
        Preset::Alignscore => pb::Head::Alignscore,
        Preset::True => pb::Head::True,
        Preset::Hhem => pb::Head::Hhem,
        Preset::Lettucedetect => pb::Head::Lettucedetect,
    }
}

fn head_from_wire(value: i32) -> Result<Head, WireError> {
    match pb::Head::try_from(value) {
        Ok(pb::Head::Nli) => Ok(Head::Nli),
        Ok(pb::Head::Support) => Ok(Head::Support),
        Ok(pb::Head::Unspecified) => Err(missing("head")),
        Ok(learned) => PRESETS
            .iter()
            .find(|info| pb_head(info.preset) == learned)
            .map(|info| Head::Learned(info.preset))
            .ok_or(WireError::UnknownValue { field: "head", value }),
        Err(_) => Err(WireError::UnknownValue { field: "head", value }),
    }
}

fn job_id_to_wire(id: JobId) -> pb::JobId {
    pb::JobId { reply_to: id.reply_to.to_bits(), check: id.check, serial: id.serial }
}

fn job_id_from_wire(id: Option<pb::JobId>) -> Result<JobId, WireError> {
    let id = id.ok_or(missing("id"))?;
    Ok(JobId { reply_to: Incarnation::from_bits(id.reply_to), check: id.check, serial: id.serial })
}

fn check_id_to_wire(id: CheckId) -> pb::CheckId {
    pb::CheckId { reply_to: id.reply_to.to_bits(), check: id.check }
}

fn reason_to_wire(reason: Reason) -> pb::Reason {
    pb::Reason { code: reason.code.to_string(), message: reason.message }
}

/// A code that this program does not know is an internal error of somebody newer; its text is kept.
fn reason_from_wire(reason: pb::Reason) -> Reason {
    match Code::parse(&reason.code) {
        Some(code) => Reason::new(code, reason.message),
        None => Reason::new(Code::INTERNAL, format!("{}: {}", reason.code, reason.message)),
    }
}

#[cfg(test)]
mod tests;

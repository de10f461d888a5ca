//! What is asked of a response that is still being written.

use super::CheckRequest;
use super::json::{choice, take};
use crate::{Code, Limits, Problem};
use serde_json::Value;

/// A check of a response that comes in pieces.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamRequest {
    /// Everything but the response, which is empty here.
    pub check: CheckRequest,
    /// When to stop before the response has ended.
    pub stop_at: StopAt,
}

/// When a stream stops before the response has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum StopAt {
    /// Never: every sentence is checked.
    #[default]
    Never,
    /// At the first sentence that the sources contradict: nothing behind it is scored, and the result says so.
    FirstContradiction,
}

impl StreamRequest {
    /// A request from everything but the response; what `check` holds as its response is dropped.
    pub fn new(check: CheckRequest) -> Self {
        Self { check: CheckRequest { response: "".into(), ..check }, stop_at: StopAt::default() }
    }

    /// Reads a request from a JSON value: the fields of a [`CheckRequest`] without `response`, and `stop_at` (`never` or
    /// `first_contradiction`).
    ///
    /// # Errors
    /// [`Code::INVALID_FIELD`] as [`CheckRequest::from_value`], and where there is a `response`.
    pub fn from_value(mut value: Value) -> Result<Self, Problem> {
        let mut stop_at = None;
        if let Value::Object(fields) = &mut value {
            if take(fields, "response").is_some() {
                let message = "a stream has no `response`: it comes in pieces";
                return Err(Problem::new(Code::INVALID_FIELD, message));
            }
            let choices = [("never", StopAt::Never), ("first_contradiction", StopAt::FirstContradiction)];
            stop_at = choice(fields, "stop_at", &choices)?;
            fields.insert("response".to_owned(), "".into());
        }
        let check = CheckRequest::from_value(value)?;
        Ok(Self { check, stop_at: stop_at.unwrap_or_default() })
    }

    /// Checks what can be checked before the response is there.
    ///
    /// # Errors
    /// As [`CheckRequest::validate`], but for the response.
    pub fn validate(&self, limits: &Limits) -> Result<(), Problem> {
        self.check.validate_all_but_response(limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_stream_is_asked_for_as_a_check_without_its_response() {
        let value = json!({"id": "a", "source": "S.", "facts": true, "stop_at": "first_contradiction"});
        let request = StreamRequest::from_value(value).unwrap();
        assert_eq!((request.stop_at, request.check.facts), (StopAt::FirstContradiction, true));
        assert_eq!((&*request.check.response, request.check.id.as_deref()), ("", Some("a")));
        assert_eq!(request.validate(&Limits::default()), Ok(()));
        assert_eq!(StreamRequest::from_value(json!({"source": "S."})).unwrap().stop_at, StopAt::Never);
    }

    #[test]
    fn what_a_stream_cannot_be_is_refused_before_it_starts() {
        let refused = |value| StreamRequest::from_value(value).unwrap_err();
        assert!(refused(json!({"source": "S.", "response": "r"})).message.contains("in pieces"));
        assert!(refused(json!({"source": "S.", "stop_at": "now"})).message.contains("one of never"));
        assert!(refused(json!({"sorce": "S."})).message.contains("did you mean `source`?"));
        let empty = StreamRequest::from_value(json!({"source": " "})).unwrap();
        assert_eq!(empty.validate(&Limits::default()).unwrap_err().code, Code::EMPTY_SOURCE);
    }
}

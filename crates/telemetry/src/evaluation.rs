//! OpenTelemetry's GenAI evaluation event: one for each result.
//!
//! Names as in the GenAI semantic conventions (`open-telemetry/semantic-conventions-genai`, in development): the log record's event
//! name is `gen_ai.evaluation.result`, it belongs to the span of the check, and carries a name, a score and a label of few values.
//! The recommended `gen_ai.evaluation.explanation` is left out: it would be text.

use groundline_types::Code;

/// Name of the event.
pub const EVALUATION_EVENT: &str = "gen_ai.evaluation.result";
/// Target under which the event is logged.
pub const EVALUATION_TARGET: &str = "groundline::evaluation";
/// What is evaluated, as `gen_ai.evaluation.name`.
const EVALUATION_NAME: &str = "hallucination";
/// Longest id of a response that is passed on.
const MAX_ID_BYTES: usize = 64;

/// The verdict of an evaluation, as `gen_ai.evaluation.score.label`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvaluationLabel {
    /// Every sentence is supported.
    Supported,
    /// A sentence is contradicted.
    Contradicted,
    /// A sentence is not mentioned.
    NotMentioned,
    /// There was nothing to check.
    Abstained,
    /// Nothing could be checked.
    Failed,
}

impl EvaluationLabel {
    /// Every label's text.
    pub const TEXTS: &'static [&'static str] =
        &["supported", "contradicted", "not_mentioned", "abstained", "failed"];

    /// As the event has it.
    pub fn as_str(self) -> &'static str {
        match self {
            EvaluationLabel::Supported => "supported",
            EvaluationLabel::Contradicted => "contradicted",
            EvaluationLabel::NotMentioned => "not_mentioned",
            EvaluationLabel::Abstained => "abstained",
            EvaluationLabel::Failed => "failed",
        }
    }
}

/// What is told of a result.
#[derive(Debug, Clone, Copy)]
pub struct Evaluation<'a> {
    /// The lowest support probability of a sentence, 0 to 1; higher is better supported.
    pub min_support_probability: Option<f64>,
    /// The verdict.
    pub label: EvaluationLabel,
    /// The caller's id of the response. Passed on only where it looks like an id: at most 64 letters, digits, `_`, `-`, `.` and
    /// `:`.
    pub response_id: Option<&'a str>,
    /// Why there is no score.
    pub error: Option<Code>,
}

impl Evaluation<'_> {
    /// Sends the event, as part of the current span. Costs nothing where nobody listens.
    pub fn emit(&self) {
        let id = self.response_id.filter(|id| looks_like_an_id(id));
        tracing::event!(
            name: EVALUATION_EVENT,
            target: EVALUATION_TARGET,
            tracing::Level::INFO,
            {
                "gen_ai.evaluation.name" = EVALUATION_NAME,
                "gen_ai.evaluation.score.value" = self.min_support_probability,
                "gen_ai.evaluation.score.label" = self.label.as_str(),
                "gen_ai.response.id" = id,
                "error.type" = self.error.map(|code| code.as_str()),
            }
        );
    }
}

fn looks_like_an_id(id: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte);
    (1..=MAX_ID_BYTES).contains(&id.len()) && id.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};
    use tracing::field::{Field, Visit};
    use tracing::span;

    /// Keeps the fields of every event.
    #[derive(Clone, Default)]
    struct Catcher(Arc<Mutex<Vec<(String, String)>>>);

    impl Visit for Catcher {
        fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
            self.0.lock().unwrap().push((field.name().to_owned(), format!("{value:?}")));
        }
    }

    impl tracing::Subscriber for Catcher {
        fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
            span::Id::from_u64(1)
        }
        fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
        fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
        fn event(&self, event: &tracing::Event<'_>) {
            self.0.lock().unwrap().push(("event".to_owned(), event.metadata().name().to_owned()));
            event.record(&mut self.clone());
        }
        fn enter(&self, _: &span::Id) {}
        fn exit(&self, _: &span::Id) {}
    }

    fn fields(evaluation: Evaluation<'_>) -> Vec<(String, String)> {
        let catcher = Catcher::default();
        tracing::subscriber::with_default(catcher.clone(), || evaluation.emit());
        std::mem::take(&mut *catcher.0.lock().unwrap())
    }

    #[test]
    fn the_event_has_the_names_of_the_conventions() {
        let caught = fields(Evaluation {
            min_support_probability: Some(0.25),
            label: EvaluationLabel::NotMentioned,
            response_id: Some("chatcmpl-12"),
            error: None,
        });
        let expected = [
            ("event", EVALUATION_EVENT),
            ("gen_ai.evaluation.name", "\"hallucination\""),
            ("gen_ai.evaluation.score.value", "0.25"),
            ("gen_ai.evaluation.score.label", "\"not_mentioned\""),
            ("gen_ai.response.id", "\"chatcmpl-12\""),
        ];
        assert_eq!(caught, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn an_id_that_may_be_text_is_left_out_and_a_failure_names_its_code() {
        let caught = fields(Evaluation {
            min_support_probability: None,
            label: EvaluationLabel::Failed,
            response_id: Some("Ada Lovelace, born 1815"),
            error: Some(Code::DEADLINE),
        });
        let names = caught.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>();
        assert_eq!(names, ["event", "gen_ai.evaluation.name", "gen_ai.evaluation.score.label", "error.type"]);
        assert_eq!(caught.last().unwrap().1, "\"GL2002\"");
    }

    #[test]
    fn labels_are_listed() {
        assert!(EvaluationLabel::TEXTS.contains(&EvaluationLabel::Abstained.as_str()));
        assert_eq!(EvaluationLabel::TEXTS.len(), 5);
    }
}

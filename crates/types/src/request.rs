//! What is asked: a response and the sources to check it against.

mod json;
mod policy;
mod stream;
mod strict;

pub use policy::{Audit, CascadePolicy, GreyZone, PolicyChoice};
pub use stream::{StopAt, StreamRequest};

use crate::{Code, Limits, OffsetUnit, Problem};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A response to check. Schema `groundline.check/1`; field meanings in `docs/protocol.md`.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckRequest {
    /// Echoed in the result; made from the position where absent.
    pub id: Option<String>,
    /// The text to check.
    pub response: Arc<str>,
    /// The evidence. Several sources are kept apart; the best of all counts.
    pub sources: Vec<Source>,
    /// What was asked. Context, never evidence by itself.
    pub question: Option<String>,
    /// Earlier turns of the conversation.
    pub history: Vec<Turn>,
    /// Whether earlier turns count as evidence.
    pub history_is_evidence: bool,
    /// Other answers of the same model to the same prompt, for methods of self-consistency. Never evidence.
    pub samples: Vec<String>,
    /// Whether to draw samples from the judge's endpoint where `samples` is empty and a method needs some. Needs `question`.
    pub draw_samples: bool,
    /// Name of the model that wrote the response, such as `gpt-4o-mini`: a judge of its family is warned of.
    pub generator: Option<String>,
    /// Names of methods; `default` stands for entailment, summac, summac_conv and numeric.
    pub methods: Vec<String>,
    /// Methods in stages instead of `methods`.
    pub policy: Option<PolicyChoice>,
    /// Also score atomic facts.
    pub facts: bool,
    /// Also return the SummaC matrix.
    pub matrix: bool,
    /// Name of a calibration profile. No profile is installed in this version, so every name is refused.
    pub profile: Option<String>,
    /// What is missing after this time is unchecked, with a reason. `None`: the lane's default.
    pub deadline_ms: Option<u64>,
    /// Priority. `None`: not said, which is [`Lane::Online`] unless whoever takes the request knows better.
    pub lane: Option<Lane>,
    /// The unit of offsets in the result. `None`: not said, which is bytes unless whoever takes the request knows better.
    pub offsets: Option<OffsetUnit>,
}

/// Longest name of a generator.
const MAX_GENERATOR_BYTES: usize = 256;

/// A text that counts as evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Names the source in results, so no two may be alike; made from the position where absent.
    pub id: Option<String>,
    /// A title, for people.
    pub title: Option<String>,
    /// The text.
    pub text: Arc<str>,
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Who spoke, such as `user` or `assistant`.
    pub role: String,
    /// What was said.
    pub content: String,
}

/// Priority of a check.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Lane {
    /// Someone waits for the answer.
    #[default]
    Online,
    /// Nobody waits; runs in the capacity that online work leaves.
    Bulk,
}

impl Lane {
    /// The deadline of a check that names none, in milliseconds.
    pub fn default_deadline_ms(self) -> u64 {
        match self {
            Lane::Online => 30_000,
            Lane::Bulk => 900_000,
        }
    }
}

impl CheckRequest {
    /// A request with one source and every option at its default.
    pub fn new(response: impl Into<Arc<str>>, source: impl Into<Arc<str>>) -> Self {
        Self::with_sources(response, vec![Source { id: None, title: None, text: source.into() }])
    }

    /// A request with any number of sources and every option at its default.
    pub fn with_sources(response: impl Into<Arc<str>>, sources: Vec<Source>) -> Self {
        Self {
            id: None,
            response: response.into(),
            sources,
            question: None,
            history: Vec::new(),
            history_is_evidence: false,
            samples: Vec::new(),
            draw_samples: false,
            generator: None,
            methods: vec!["default".to_owned()],
            policy: None,
            facts: false,
            matrix: false,
            profile: None,
            deadline_ms: None,
            lane: None,
            offsets: None,
        }
    }

    /// Reads a request from JSON text.
    ///
    /// # Errors
    /// [`Code::MALFORMED_JSON`] where it is not JSON, [`Code::INVALID_FIELD`] where a field is missing, unknown (the nearest
    /// known one is named) or of the wrong type.
    pub fn from_json(text: &str) -> Result<Self, Problem> {
        json::parse(text)
    }

    /// Reads a request from a JSON value; errors as [`CheckRequest::from_json`].
    pub fn from_value(value: serde_json::Value) -> Result<Self, Problem> {
        json::from_value(value)
    }

    /// The names that a request's JSON object may have.
    pub const FIELDS: &'static [&'static str] = json::FIELDS;

    /// The JSON value of a request's text, for those who need it besides the request. A name that stands twice in one object
    /// is refused: which of the two was meant cannot be known.
    ///
    /// # Errors
    /// [`Code::MALFORMED_JSON`] with the place, [`Code::INVALID_FIELD`] for a name that stands twice.
    pub fn value_from_json(text: &str) -> Result<serde_json::Value, Problem> {
        strict::read(text)
    }

    /// The id that a request gives itself, also where the rest of it is refused.
    pub fn id_in(value: &serde_json::Value) -> Option<String> {
        match value.get("id")? {
            serde_json::Value::String(id) => Some(id.clone()),
            serde_json::Value::Number(id) => Some(id.to_string()),
            _ => None,
        }
    }

    /// Checks what can be checked without a model.
    ///
    /// # Errors
    /// [`Code::EMPTY_RESPONSE`]; [`Code::EMPTY_SOURCE`] where there are no samples either; [`Code::NUL_BYTE`],
    /// [`Code::TOO_LARGE`]; [`Code::INVALID_FIELD`] for two sources of one id and for a profile.
    pub fn validate(&self, limits: &Limits) -> Result<(), Problem> {
        if is_blank(&self.response) {
            return Err(Problem::new(Code::EMPTY_RESPONSE, "the response is empty or only white space"));
        }
        if self.response.len() > limits.response_bytes {
            return Err(too_large("response", self.response.len(), limits.response_bytes));
        }
        refuse_nul("response", &self.response)?;
        self.validate_all_but_response(limits)
    }

    fn validate_all_but_response(&self, limits: &Limits) -> Result<(), Problem> {
        self.validate_evidence(limits)?;
        self.validate_drawing()?;
        if self.profile.is_some() {
            let message =
                "no profile is installed in this version, so `profile` has nothing to name; leave it out";
            return Err(Problem::new(Code::INVALID_FIELD, message));
        }
        Ok(())
    }

    /// Checks everything that counts as evidence, earlier turns too where they do.
    fn validate_evidence(&self, limits: &Limits) -> Result<(), Problem> {
        let turns = if self.history_is_evidence { &*self.history } else { &[] };
        let (count, limit) = (self.sources.len() + turns.len(), limits.sources);
        if count > limit {
            let message = format!("the request has {count} sources, the limit is {limit}");
            return Err(Problem::new(Code::TOO_LARGE, message));
        }
        let sources = self.sources.iter().enumerate();
        let sources = sources.map(|(index, source)| (format!("source {}", index + 1), &*source.text));
        let history = turns.iter().enumerate();
        let history =
            history.map(|(index, turn)| (format!("turn {} of the history", index + 1), &*turn.content));
        let (mut total, mut blank) = (0, true);
        for (name, text) in sources.chain(history) {
            refuse_nul(&name, text)?;
            total += text.len();
            blank &= is_blank(text);
        }
        if total > limits.source_bytes {
            return Err(too_large("sources together", total, limits.source_bytes));
        }
        self.validate_samples(limits)?;
        if blank && self.samples.is_empty() && !self.draw_samples {
            let message =
                "there is no source to check against: every source is missing, empty or only white space";
            return Err(Problem::new(Code::EMPTY_SOURCE, message));
        }
        self.refuse_equal_ids()
    }

    fn validate_samples(&self, limits: &Limits) -> Result<(), Problem> {
        let (count, limit) = (self.samples.len(), limits.samples);
        if count > limit {
            let message = format!("the request has {count} samples, the limit is {limit}");
            return Err(Problem::new(Code::TOO_LARGE, message));
        }
        for (index, sample) in self.samples.iter().enumerate() {
            refuse_nul(&format!("sample {}", index + 1), sample)?;
        }
        let total = self.samples.iter().map(String::len).sum();
        if total > limits.sample_bytes {
            return Err(too_large("samples together", total, limits.sample_bytes));
        }
        Ok(())
    }

    fn validate_drawing(&self) -> Result<(), Problem> {
        if self.generator.as_ref().is_some_and(|name| name.len() > MAX_GENERATOR_BYTES) {
            let message = format!("`generator` is the name of a model, at most {MAX_GENERATOR_BYTES} bytes");
            return Err(Problem::new(Code::INVALID_FIELD, message));
        }
        if self.draw_samples && self.question.as_deref().is_none_or(is_blank) {
            let message = "`draw_samples` asks a model for other answers, so it needs `question`: the prompt that the response \
                           answers";
            return Err(Problem::new(Code::INVALID_FIELD, message));
        }
        Ok(())
    }

    /// Evidence names its source by id, so an id that stands twice would name neither.
    fn refuse_equal_ids(&self) -> Result<(), Problem> {
        let mut places = BTreeMap::new();
        for (index, source) in self.sources.iter().enumerate() {
            let Some(id) = &source.id else { continue };
            if let Some(first) = places.insert(id, index) {
                let message =
                    format!("sources[{first}] and sources[{index}] have the same `id`; give each its own");
                return Err(Problem::new(Code::INVALID_FIELD, message));
            }
        }
        Ok(())
    }
}

/// Whether a text holds nothing but white space. A byte order mark is none of the text.
fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c == '\u{feff}')
}

fn too_large(what: &str, size: usize, limit: usize) -> Problem {
    Problem::new(Code::TOO_LARGE, format!("the {what}: {size} bytes, the limit is {limit}"))
}

fn refuse_nul(what: &str, text: &str) -> Result<(), Problem> {
    match text.find('\0') {
        None => Ok(()),
        Some(at) => {
            let message = format!("the {what} has a NUL byte at byte {at}; is it a binary file?");
            Err(Problem::new(Code::NUL_BYTE, message))
        }
    }
}

#[cfg(test)]
mod tests;

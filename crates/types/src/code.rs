//! Stable codes of errors and notes.

use serde::{Serialize, Serializer};

/// A stable code of an error or note; its meaning never changes, and each has a page `docs/errors/<code>.md`.
///
/// `GL1xxx` input, `GL2xxx` internal, `GL3xxx` bus, `GL4xxx` model and device, `GL5xxx` the judge,
/// `GL6xxx` the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Code(&'static str);

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        impl Code {
            $($(#[$doc])* pub const $name: Code = Code($text);)*
            /// Every code there is, in order.
            pub const ALL: &'static [Code] = &[$(Code::$name),*];
        }
    };
}

codes! {
    /// The response is empty, or holds only white space.
    EMPTY_RESPONSE = "GL1001";
    /// No source was given, or every source is empty or only white space.
    EMPTY_SOURCE = "GL1002";
    /// A text is not valid UTF-8.
    INVALID_UTF8 = "GL1003";
    /// A text contains NUL bytes.
    NUL_BYTE = "GL1004";
    /// A line or file is larger than the configured limit.
    TOO_LARGE = "GL1005";
    /// A JSON document is malformed.
    MALFORMED_JSON = "GL1006";
    /// A JSON field is missing, unknown, of the wrong type, or asks for what cannot be done.
    INVALID_FIELD = "GL1007";
    /// The response holds no sentence with a claim (only greetings, questions, headings, code or punctuation).
    NO_CHECKABLE_CLAIM = "GL1008";
    /// The source seems to be in another language than the response; the model reads one language.
    LANGUAGE_MISMATCH = "GL1009";
    /// A file cannot be read.
    UNREADABLE_FILE = "GL1010";
    /// The output cannot be written (disk full, closed pipe).
    UNWRITABLE_OUTPUT = "GL1011";
    /// A method name is unknown, or no method was asked that gives what is wanted.
    UNKNOWN_METHOD = "GL1012";
    /// The configuration is invalid.
    INVALID_CONFIG = "GL1013";
    /// A sentence of the source is longer than the model's window and was cut at white space.
    SENTENCE_CUT = "GL1014";
    /// A claim of the response alone is longer than the model can read.
    CLAIM_TOO_LONG = "GL1015";
    /// A request's policy did not call for a method, or did: what was decided and why.
    POLICY_STAGE = "GL1016";
    /// A method that compares with samples was given none, or samples that say little.
    WEAK_SAMPLES = "GL1017";
    /// The ensemble gives no number: none of its methods scored every sentence.
    ENSEMBLE_SILENT = "GL1018";
    /// Claims were compared with the evidence nearest to them alone, as the settings ask; the result does not exhaust the sources.
    NEAREST_ONLY = "GL1019";
    /// A bug: a part failed that should not fail.
    INTERNAL = "GL2001";
    /// The deadline passed before every claim was checked.
    DEADLINE = "GL2002";
    /// The check was cancelled by its caller.
    CANCELLED = "GL2003";
    /// Too many checks are running already.
    OVERLOADED = "GL2004";
    /// A stream stopped at its first contradiction, as it was asked to; what came behind it is unchecked.
    STREAM_STOPPED = "GL2005";
    /// The bus refused or lost a job.
    BUS_UNAVAILABLE = "GL3001";
    /// A job was delivered as often as is allowed without an answer.
    JOB_DEAD = "GL3002";
    /// A job is larger than the bus carries.
    JOB_TOO_LARGE = "GL3003";
    /// The broker is too old, or its streams are not what this program needs and may not be changed.
    BROKER_UNSUITABLE = "GL3004";
    /// The broker does not accept these credentials.
    BROKER_DENIED = "GL3005";
    /// The broker cannot be trusted: its certificate is not of an authority that is known here, or it offers no TLS.
    BROKER_UNTRUSTED = "GL3006";
    /// No live worker serves the model.
    NO_WORKER = "GL3010";
    /// No model was found.
    MODEL_NOT_FOUND = "GL4001";
    /// A model file is missing, truncated or malformed.
    MODEL_CORRUPT = "GL4002";
    /// The checkpoint is of a kind that this engine does not run.
    MODEL_UNSUPPORTED = "GL4003";
    /// The label names of a checkpoint do not say which logit means entailment.
    UNKNOWN_LABELS = "GL4004";
    /// A tokenizer is missing or malformed.
    TOKENIZER_CORRUPT = "GL4005";
    /// The model gave a logit that is not a finite number, twice.
    NON_FINITE = "GL4006";
    /// The text is longer than the model can read at once.
    TEXT_TOO_LONG = "GL4007";
    /// A model has no head for the work asked of it.
    HEAD_MISSING = "GL4008";
    /// SummaC-Conv's layer was fitted to another NLI model than the one loaded.
    FOREIGN_BACKBONE = "GL4009";
    /// The device that scores is lost for this process: its driver answers nothing any more.
    DEVICE_LOST = "GL4010";
    /// The device that was asked for cannot be used: no driver, no library, no such GPU, or one that is too old.
    DEVICE_UNAVAILABLE = "GL4011";
    /// The device has not enough memory for the model, or for one sequence.
    DEVICE_MEMORY = "GL4012";
    /// A model has no baseline for the similarity of unrelated texts, and numbers are not rescaled.
    NO_BASELINE = "GL4013";
    /// An ensemble's profile is malformed, of a later version, or was fitted to another model or to other settings.
    ENSEMBLE_PROFILE = "GL4014";
    /// A precision is not used for this model: it was not measured, or answers too far from single precision.
    PRECISION_REFUSED = "GL4016";
    /// The options of the judge are invalid.
    JUDGE_OPTIONS = "GL5001";
    /// The judge's backend rejects the request: its credentials, its model name or its parameters.
    JUDGE_REJECTED = "GL5002";
    /// The judge's backend cannot be reached, breaks off, or fails, also after retries.
    JUDGE_UNAVAILABLE = "GL5003";
    /// The deadline of a question to the judge passed.
    JUDGE_DEADLINE = "GL5004";
    /// The judge's backend, or our own limit for it, lets no more calls through for now.
    JUDGE_LIMITED = "GL5005";
    /// The judge's budget of tokens or money is spent.
    JUDGE_BUDGET = "GL5006";
    /// The judge failed too often in a row and is left alone for a while.
    JUDGE_BREAKER_OPEN = "GL5007";
    /// The judge refused to answer.
    JUDGE_REFUSED = "GL5008";
    /// The judge's answer cannot be read: empty, cut off, endless, or not what was asked for.
    JUDGE_UNREADABLE = "GL5009";
    /// A text is longer than the judge is asked to read at once.
    JUDGE_TEXT_TOO_LONG = "GL5010";
    /// The judge took a text apart into facts that are not traceable to it.
    JUDGE_UNTRACEABLE = "GL5011";
    /// The judge is of the same model family as the generator.
    JUDGE_SAME_FAMILY = "GL5012";
    /// There is nothing to judge: a text is empty, only punctuation, or only an opening phrase.
    JUDGE_NOTHING_TO_JUDGE = "GL5013";
    /// The judge's votes do not agree.
    JUDGE_DISAGREES = "GL5014";
    /// A method needs a judge, and none is configured.
    JUDGE_MISSING = "GL5015";
    /// The judge and the method that decides say different things of a sentence.
    JUDGE_CONFLICT = "GL5016";
    /// Samples were drawn from the judge's endpoint, which need not be the model that wrote the response.
    JUDGE_SAMPLES = "GL5017";
    /// Credentials are missing, unknown or expired.
    UNAUTHENTICATED = "GL6001";
    /// The credentials do not allow this.
    FORBIDDEN = "GL6002";
    /// The tenant has as much under way, or has sent as much in a while, as it may.
    TENANT_LIMIT = "GL6003";
    /// The gateway has as much under way as it takes.
    GATEWAY_OVERLOADED = "GL6004";
    /// The gateway is stopping.
    DRAINING = "GL6005";
    /// There is no such route, check or method on it.
    NOT_FOUND = "GL6006";
    /// A body has a content type that the route does not read.
    UNSUPPORTED_MEDIA = "GL6007";
    /// A client took too long to send a body.
    BODY_TIMEOUT = "GL6008";
    /// This installation does not offer the route.
    NOT_OFFERED = "GL6009";
}

impl Code {
    /// The code as text, such as `GL1001`.
    pub fn as_str(self) -> &'static str {
        self.0
    }

    /// The code of this text; `None` where there is none, as where it comes from a later version.
    pub fn parse(text: &str) -> Option<Self> {
        Code::ALL.iter().copied().find(|code| code.0 == text)
    }

    /// The process exit status that goes with an error of this code: 2 where the input, the configuration, a limit or the
    /// caller is the cause, 75 where only a new process can use the device again, 70 otherwise.
    pub fn exit_status(self) -> u8 {
        if self == Code::DEVICE_LOST {
            return 75;
        }
        let by_caller = matches!(
            self,
            Code::DEADLINE
                | Code::CANCELLED
                | Code::OVERLOADED
                | Code::STREAM_STOPPED
                | Code::BROKER_UNSUITABLE
                | Code::BROKER_DENIED
                | Code::BROKER_UNTRUSTED
                | Code::JUDGE_OPTIONS
                | Code::JUDGE_REJECTED
                | Code::JUDGE_DEADLINE
                | Code::JUDGE_LIMITED
                | Code::JUDGE_BUDGET
                | Code::JUDGE_TEXT_TOO_LONG
                | Code::JUDGE_SAME_FAMILY
                | Code::JUDGE_NOTHING_TO_JUDGE
                | Code::JUDGE_MISSING
                | Code::JUDGE_CONFLICT
                | Code::JUDGE_SAMPLES
        );
        let by_caller = by_caller || ["GL1", "GL4", "GL6"].iter().any(|kind| self.0.starts_with(kind));
        if by_caller { 2 } else { 70 }
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl<'de> serde::Deserialize<'de> for Code {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Code::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("unknown code {text:?}")))
    }
}

/// An error with a stable code and a sentence that helps: what was found and what to do.
///
/// Messages are lowercase without a full stop, and never contain text of a response or a source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} [{code}]")]
pub struct Problem {
    /// What kind of error this is.
    pub code: Code,
    /// What happened and what to do.
    pub message: String,
}

impl Problem {
    /// An error of kind `code`.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_faults_of_groundline_its_broker_and_its_judge_end_as_internal_errors() {
        let internal = Code::ALL.iter().filter(|code| code.exit_status() == 70).map(|code| code.as_str());
        let expected = [
            "GL2001", "GL3001", "GL3002", "GL3003", "GL3010", "GL5003", "GL5007", "GL5008", "GL5009",
            "GL5011", "GL5014",
        ];
        assert_eq!(internal.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_lost_device_asks_for_a_new_process() {
        let again = Code::ALL.iter().filter(|code| code.exit_status() == 75).collect::<Vec<_>>();
        assert_eq!(again, [&Code::DEVICE_LOST]);
    }

    #[test]
    fn codes_are_unique_and_in_order() {
        assert!(Code::ALL.windows(2).all(|pair| pair[0] < pair[1]));
    }
}

//! The values that labels may have: closed lists, so that the number of time series is known before anything runs.

macro_rules! labels {
    ($($(#[$doc:meta])* $name:ident { $($(#[$value_doc:meta])* $value:ident = $text:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$value_doc])* $value,)* }

        impl $name {
            /// Every value's text, as the label has it.
            pub const TEXTS: &'static [&'static str] = &[$($text),*];
            /// Every value, in the order of [`Self::TEXTS`].
            pub const ALL: &'static [Self] = &[$(Self::$value),*];

            /// The text of this value.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$value => $text,)* }
            }
        }
    )*};
}

labels! {
    /// How a check ended.
    CheckEnd {
        /// Every checkable sentence has a verdict.
        Scored = "scored",
        /// Some checkable sentence has none.
        Partial = "partial",
        /// There was nothing to check.
        Abstained = "abstained",
        /// No checkable sentence has a verdict.
        Failed = "failed",
        /// It was answered with an error instead of a result.
        Error = "error",
        /// Its caller went away.
        Gone = "gone",
    }
    /// Why a check was not admitted by a coordinator.
    AdmissionRefusal {
        /// As many run as may.
        Full = "full",
        /// The process is stopping.
        Stopping = "stopping",
    }
    /// What became of a sentence of a response.
    SentenceEnd {
        /// The sources entail it.
        Supported = "supported",
        /// The sources contradict it.
        Contradicted = "contradicted",
        /// The sources say nothing of it.
        NotMentioned = "not_mentioned",
        /// It should have been scored and was not.
        Unchecked = "unchecked",
        /// It makes no claim.
        NoClaim = "no_claim",
    }
    /// What a piece of work is.
    ItemKind {
        /// A premise and a hypothesis to score.
        Pair = "pair",
        /// A text to embed.
        Embedding = "embedding",
    }
    /// What the bus said of a published job.
    PublishEnd {
        /// It is stored.
        Stored = "stored",
        /// The bus holds it already.
        Duplicate = "duplicate",
        /// The bus refused it, or could not be reached.
        Refused = "refused",
    }
    /// What a worker does with a job that it received.
    DeliveryFate {
        /// It is taken into batches.
        Accepted = "accepted",
        /// It was answered lately, and the same answer is sent again.
        Answered = "answered",
        /// A group that came back: its items are sent again one by one.
        Split = "split",
        /// It came back too often and is not run any more.
        Dead = "dead",
        /// Nobody waits for it.
        Cancelled = "cancelled",
        /// The worker is stopping and gave it back.
        HandedBack = "handed_back",
    }
    /// Why a batch was closed.
    CloseReason {
        /// Its token budget was used up.
        Full = "full",
        /// An item had waited long enough.
        Waited = "waited",
        /// The device had nothing to do.
        Idle = "idle",
    }
    /// What a judge is asked.
    JudgeTask {
        /// A verdict on a claim.
        Verdict = "verdict",
        /// Whether a sample supports a sentence.
        SelfCheck = "selfcheck",
        /// Samples of a response.
        Sample = "sample",
    }
    /// How a question to a judge ended.
    JudgeEnd {
        /// The backend answered.
        Answered = "answered",
        /// The answer was kept from before.
        Cached = "cached",
        /// There is no answer.
        Failed = "failed",
        /// Nobody waited for the answer any more.
        GivenUp = "given_up",
    }
    /// Which way tokens of a judge went.
    TokenKind {
        /// Read by the model.
        Input = "input",
        /// Written by it.
        Output = "output",
    }
    /// What a request to the gateway asked for.
    Route {
        /// `POST /v1/check`.
        Check = "check",
        /// `POST /v1/checks`.
        ChecksSubmit = "checks_submit",
        /// `GET /v1/checks/{id}`.
        ChecksStatus = "checks_status",
        /// Server-sent events about a check.
        ChecksEvents = "checks_events",
        /// `POST /v1/stream`.
        Stream = "stream",
        /// `POST /v1/reward`.
        Reward = "reward",
        /// `POST /get_reward`, as OpenRLHF asks.
        GetReward = "get_reward",
        /// `GET /v1/models`.
        Models = "models",
        /// The OpenAPI document.
        OpenApi = "openapi",
        /// A check over gRPC.
        GrpcCheck = "grpc_check",
        /// A stream over gRPC.
        GrpcStream = "grpc_stream",
        /// Any other call over gRPC.
        GrpcOther = "grpc_other",
        /// Anything else.
        Other = "other",
    }
    /// Why the gateway refused a request before any work was done.
    GatewayRefusal {
        /// No valid key or token.
        Unauthenticated = "unauthenticated",
        /// A valid key that may not do this.
        Forbidden = "forbidden",
        /// The body is larger than is read.
        TooLarge = "too_large",
        /// The tenant has used up its tokens.
        TenantLimit = "tenant_limit",
        /// The whole gateway has as much work as it takes.
        Overload = "overload",
        /// The gateway is not ready, or stopping.
        NotReady = "not_ready",
    }
}

/// Status codes that are told apart; any other counts as `other`.
pub(crate) const HTTP_STATUSES: &[&str] = &[
    "200", "202", "204", "400", "401", "403", "404", "405", "408", "409", "413", "415", "422", "429", "499",
    "500", "503", "504", "other",
];

/// The label of an HTTP status.
pub(crate) fn status_text(status: u16) -> &'static str {
    let known = HTTP_STATUSES.iter().find(|text| text.parse() == Ok(status));
    known.copied().unwrap_or("other")
}

/// `true` and `false`, as labels have them.
pub(crate) const FLAGS: &[&str] = &["false", "true"];

/// The label of a flag.
pub(crate) fn flag_text(flag: bool) -> &'static str {
    if flag { "true" } else { "false" }
}

/// The lanes, as labels have them.
pub(crate) const LANES: &[&str] = &["online", "bulk"];

/// The label of a lane.
pub(crate) fn lane_text(lane: groundline_types::Lane) -> &'static str {
    match lane {
        groundline_types::Lane::Online => "online",
        groundline_types::Lane::Bulk => "bulk",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_that_is_not_listed_counts_as_other() {
        assert_eq!((status_text(200), status_text(503), status_text(418)), ("200", "503", "other"));
    }

    #[test]
    fn every_value_of_a_label_has_its_own_text() {
        let texts = Route::ALL.iter().map(|route| route.as_str()).collect::<std::collections::BTreeSet<_>>();
        assert_eq!(texts.len(), Route::TEXTS.len());
        assert_eq!(CloseReason::Waited.as_str(), "waited");
    }
}

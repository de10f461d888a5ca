//! Spans: names and attributes from lists, parents passed by hand.
//!
//! An actor handles messages of many checks, so nothing here lives in a thread of its own accord: a span is a value that its owner
//! keeps, and a parent is passed along with the work. [`in_span`] and [`ActiveSpan::enter`] make a span the current one where a
//! library below looks for it, as logs do.

use crate::instruments::installed;
use crate::traceparent;
use groundline_types::{Code, Lane};
use opentelemetry::trace::{FutureExt, Link, SpanBuilder, SpanKind, Status, TraceContextExt, Tracer};
use opentelemetry::{Context, ContextGuard, KeyValue, Value};
use std::future::Future;
use std::sync::Arc;

/// Names of spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpanName {
    /// A request to the gateway.
    Request,
    /// One response, from admission to its answer.
    Check,
    /// Splitting the texts of a check.
    Prepare,
    /// One turn of a check's methods.
    Detect,
    /// Making the verdict.
    Decide,
    /// A question to the judge.
    Judge,
    /// A batch on a device. A batch mixes many traces, so it is a root with a link to each check in it.
    Batch,
}

impl SpanName {
    /// Every name, with what it covers.
    pub const ALL: &'static [(SpanName, &'static str)] = &[
        (SpanName::Request, "a request to the gateway; child of the caller's `traceparent`"),
        (SpanName::Check, "one response from admission to its answer; child of the request"),
        (SpanName::Prepare, "splitting the texts of a check; child of the check"),
        (SpanName::Detect, "one turn of a check's methods; child of the check"),
        (SpanName::Decide, "making the verdict; child of the check"),
        (SpanName::Judge, "a question to the judge, with all its calls; child of the check"),
        (SpanName::Batch, "a batch on a worker's device; a root, linked to the check of every job in it"),
    ];

    /// As it is exported.
    pub fn as_str(self) -> &'static str {
        match self {
            SpanName::Request => "groundline.request",
            SpanName::Check => "groundline.check",
            SpanName::Prepare => "groundline.prepare",
            SpanName::Detect => "groundline.detect",
            SpanName::Decide => "groundline.decide",
            SpanName::Judge => "groundline.judge",
            SpanName::Batch => "groundline.batch",
        }
    }

    fn kind(self) -> SpanKind {
        match self {
            SpanName::Request => SpanKind::Server,
            SpanName::Batch => SpanKind::Consumer,
            SpanName::Judge => SpanKind::Client,
            _ => SpanKind::Internal,
        }
    }
}

macro_rules! span_keys {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $help:literal;)*) => {
        impl SpanKey {
            $(#[doc = $help] pub const $name: SpanKey = SpanKey($text);)*
            /// Every attribute, with what it means.
            pub const ALL: &'static [(SpanKey, &'static str)] = &[$((SpanKey::$name, $help)),*];
        }
    };
}

/// Name of a span's attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanKey(&'static str);

span_keys! {
    LANE = "groundline.lane", "`online` or `bulk`";
    STATUS = "groundline.check.status", "how a check ended, as in `groundline_checks_finished_total`";
    SENTENCES = "groundline.check.sentences", "sentences of the response";
    SOURCES = "groundline.check.sources", "sources of the request";
    RESPONSE_BYTES = "groundline.check.response_bytes", "size of the response";
    SOURCE_BYTES = "groundline.check.source_bytes", "size of all sources together";
    PAIRS = "groundline.check.pairs", "pairs that the check needed";
    CACHE_HITS = "groundline.check.cache_hits", "how many of them needed no job";
    JUDGE_TASK = "groundline.judge.task", "what the judge was asked, as in `groundline_judge_questions_total`";
    JUDGE_CALLS = "groundline.judge.calls", "HTTP calls that the question took; 0 where the answer was kept from before";
    INPUT_TOKENS = "gen_ai.usage.input_tokens", "tokens that the judge read";
    OUTPUT_TOKENS = "gen_ai.usage.output_tokens", "tokens that the judge wrote";
    BATCH_ITEMS = "groundline.batch.items", "pairs and texts of a batch";
    BATCH_TOKENS = "groundline.batch.tokens", "tokens of a batch";
    BATCH_REASON = "groundline.batch.reason", "why the batch was closed, as in `groundline_batches_total`";
    ROUTE = "groundline.route", "what a request asked for, as in `groundline_requests_total`";
    HTTP_STATUS = "http.response.status_code", "status of the answer";
    ERROR = "error.type", "the code of a failure, such as `GL2001`";
}

impl SpanKey {
    /// As it is exported.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

/// Value of a span's attribute: a number, a flag, or a text that is part of the program. A text of a user is neither.
#[derive(Debug, Clone)]
pub struct SpanValue(Value);

impl From<&'static str> for SpanValue {
    fn from(value: &'static str) -> Self {
        Self(value.into())
    }
}

impl From<usize> for SpanValue {
    fn from(value: usize) -> Self {
        Self(i64::try_from(value).unwrap_or(i64::MAX).into())
    }
}

impl From<u16> for SpanValue {
    fn from(value: u16) -> Self {
        Self(i64::from(value).into())
    }
}

impl From<bool> for SpanValue {
    fn from(value: bool) -> Self {
        Self(value.into())
    }
}

impl From<Code> for SpanValue {
    fn from(value: Code) -> Self {
        Self(value.as_str().into())
    }
}

impl From<Lane> for SpanValue {
    fn from(value: Lane) -> Self {
        Self(crate::labels::lane_text(value).into())
    }
}

/// Where a span belongs: below another one, or nowhere.
#[derive(Debug, Clone, Default)]
pub struct Parent(Option<Context>);

impl Parent {
    /// The span that is current on this thread or in this task.
    pub fn current() -> Self {
        if installed().is_none() {
            return Self(None);
        }
        let current = Context::current();
        Self(current.span().span_context().is_valid().then_some(current))
    }
}

/// The span that a `traceparent` header names; nowhere, where it is malformed.
pub fn parent_from(traceparent: &str) -> Parent {
    let remote = traceparent::parse(traceparent);
    Parent(remote.map(|remote| Context::new().with_remote_span_context(remote)))
}

/// The `traceparent` of the span that is current here.
pub fn current_traceparent() -> Option<Arc<str>> {
    installed()?;
    let current = Context::current();
    let span = current.span();
    span.span_context().is_valid().then(|| traceparent::format(span.span_context()).into())
}

/// Links `span` to the one that a `traceparent` header names. A malformed header changes nothing.
pub fn link_span(span: &ActiveSpan, traceparent: &str) {
    if let (Some(context), Some(remote)) = (&span.context, traceparent::parse(traceparent)) {
        context.span().add_link(remote, Vec::new());
    }
}

/// A span that has begun. It ends when the last clone is dropped. Empty while nothing is installed.
#[derive(Debug, Clone, Default)]
pub struct ActiveSpan {
    context: Option<Context>,
}

impl ActiveSpan {
    /// Begins a span below `parent`, or a trace of its own where that is nowhere.
    pub fn start(name: SpanName, parent: &Parent) -> Self {
        Self::begin(name, parent.0.as_ref(), Vec::new())
    }

    /// Begins a trace of its own, linked to the spans that these `traceparent` headers name, each once.
    pub fn start_linked<'a>(name: SpanName, traceparents: impl IntoIterator<Item = &'a str>) -> Self {
        if installed().is_none() {
            return Self::default();
        }
        let mut links = Vec::<Link>::new();
        for remote in traceparents.into_iter().filter_map(traceparent::parse) {
            if links.iter().all(|link| link.span_context.span_id() != remote.span_id()) {
                links.push(Link::with_context(remote));
            }
        }
        Self::begin(name, None, links)
    }

    /// Begins a span below this one.
    pub fn child(&self, name: SpanName) -> Self {
        // Where this one is empty nothing is installed, or was not when it began: no orphan shall take its place.
        self.context.as_ref().map_or_else(Self::default, |own| Self::begin(name, Some(own), Vec::new()))
    }

    fn begin(name: SpanName, parent: Option<&Context>, links: Vec<Link>) -> Self {
        let Some(installed) = installed() else { return Self::default() };
        let builder = SpanBuilder::from_name(name.as_str()).with_kind(name.kind()).with_links(links);
        let root = Context::new();
        let span = installed.tracer.build_with_context(builder, parent.unwrap_or(&root));
        Self { context: Some(root.with_span(span)) }
    }

    /// Whether anybody will see what is set. Worth asking before something is computed only for a span.
    pub fn is_recording(&self) -> bool {
        self.context.as_ref().is_some_and(|context| context.span().is_recording())
    }

    /// Sets an attribute.
    pub fn set(&self, key: SpanKey, value: impl Into<SpanValue>) {
        if let Some(context) = &self.context {
            context.span().set_attribute(KeyValue::new(key.0, value.into().0));
        }
    }

    /// Marks the span as failed.
    pub fn fail(&self, code: Code) {
        if let Some(context) = &self.context {
            context.span().set_status(Status::error(code.as_str()));
        }
        self.set(SpanKey::ERROR, code);
    }

    /// As it travels to another process.
    pub fn traceparent(&self) -> Option<Arc<str>> {
        let context = self.context.as_ref()?;
        let span = context.span();
        span.span_context().is_valid().then(|| traceparent::format(span.span_context()).into())
    }

    /// As the parent of spans elsewhere in this process. It keeps this span from ending.
    pub fn as_parent(&self) -> Parent {
        Parent(self.context.clone())
    }

    /// Makes this the current span of this thread until the value is dropped. Not across an `await`: there, see [`in_span`].
    pub fn enter(&self) -> Entered {
        Entered(self.context.clone().map(Context::attach))
    }
}

/// Holds a span current; see [`ActiveSpan::enter`].
#[derive(Debug)]
#[must_use = "dropping it leaves the span at once"]
pub struct Entered(#[expect(dead_code, reason = "held for its drop")] Option<ContextGuard>);

/// Runs a future with `span` as the current one.
pub async fn in_span<F: Future>(span: &ActiveSpan, future: F) -> F::Output {
    match span.context.clone() {
        Some(context) => future.with_context(context).await,
        None => future.await,
    }
}

#[cfg(test)]
mod tests;

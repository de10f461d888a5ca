//! What the outside is told of a check: spans, metrics, and the evaluation event.

use groundline_telemetry::{
    ActiveSpan, CheckEnd, Evaluation, EvaluationLabel, ItemKind, Parent, SentenceEnd, SpanKey, SpanName,
    record,
};
use groundline_types::{
    CheckRequest, CheckResult, Lane, Problem, SentenceResult, SentenceStatus, Status, Verdict,
};
use std::sync::Arc;
use tokio::time::Instant;

/// One check as it is told. Whatever ends it, the end is told exactly once: dropping it tells of a check that failed.
#[derive(Debug)]
pub(crate) struct Observed {
    span: ActiveSpan,
    /// The part that is under way.
    part: ActiveSpan,
    trace: Option<Arc<str>>,
    lane: Lane,
    began: Instant,
    has_ended: bool,
}

impl Observed {
    /// An admitted check.
    pub(crate) fn begin(request: &CheckRequest, parent: &Parent) -> Self {
        let lane = request.lane.unwrap_or_default();
        record::check_started(lane);
        let span = ActiveSpan::start(SpanName::Check, parent);
        if span.is_recording() {
            span.set(SpanKey::LANE, lane);
            span.set(SpanKey::SOURCES, request.sources.len());
            span.set(SpanKey::RESPONSE_BYTES, request.response.len());
            let source_bytes = request.sources.iter().map(|source| source.text.len()).sum::<usize>();
            span.set(SpanKey::SOURCE_BYTES, source_bytes);
        }
        let (trace, part) = (span.traceparent(), ActiveSpan::default());
        Self { span, part, trace, lane, began: Instant::now(), has_ended: false }
    }

    /// The check's span, as its jobs carry it.
    pub(crate) fn trace(&self) -> Option<Arc<str>> {
        self.trace.clone()
    }

    /// A part of the check begins; the one before ends.
    pub(crate) fn part(&mut self, name: SpanName) {
        self.part = self.span.child(name);
    }

    /// A span of something that the check waits for.
    pub(crate) fn child(&self, name: SpanName) -> ActiveSpan {
        self.span.child(name)
    }

    /// No part is under way: the check waits for its jobs.
    pub(crate) fn waits(&mut self) {
        self.part = ActiveSpan::default();
    }

    /// Nobody waits for the answer any more.
    pub(crate) fn caller_gone(&mut self) {
        self.end(CheckEnd::Gone);
    }

    /// The check is answered.
    pub(crate) fn answered(&mut self, answer: &Result<CheckResult, Problem>) {
        self.waits();
        match answer {
            Ok(result) => {
                self.tell_result(result);
                self.end(match result.status {
                    Status::Scored => CheckEnd::Scored,
                    Status::Partial => CheckEnd::Partial,
                    Status::Abstained => CheckEnd::Abstained,
                    Status::Failed => CheckEnd::Failed,
                });
            }
            Err(problem) => {
                self.span.fail(problem.code);
                self.end(CheckEnd::Error);
            }
        }
    }

    fn tell_result(&self, result: &CheckResult) {
        for end in SentenceEnd::ALL {
            let count = result.sentences.iter().filter(|sentence| sentence_end(sentence) == *end).count();
            record::sentences(*end, count);
        }
        record::check_items(ItemKind::Pair, result.usage.pairs);
        record::check_items(ItemKind::Embedding, result.usage.embeddings);
        record::cache_hits(result.usage.cache_hits);
        self.span.set(SpanKey::SENTENCES, result.sentences.len());
        self.span.set(SpanKey::PAIRS, result.usage.pairs);
        self.span.set(SpanKey::CACHE_HITS, result.usage.cache_hits);
        let _in_the_span = self.span.enter();
        evaluation(result).emit();
    }

    fn end(&mut self, end: CheckEnd) {
        if !std::mem::replace(&mut self.has_ended, true) {
            self.waits();
            self.span.set(SpanKey::STATUS, end.as_str());
            record::check_finished(self.lane, end, self.began.elapsed());
        }
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        self.end(CheckEnd::Error);
    }
}

fn sentence_end(sentence: &SentenceResult) -> SentenceEnd {
    match (sentence.status, sentence.verdict) {
        (SentenceStatus::Abstained, _) => SentenceEnd::NoClaim,
        (SentenceStatus::Failed, _) | (SentenceStatus::Scored, None) => SentenceEnd::Unchecked,
        (SentenceStatus::Scored, Some(Verdict::Supported)) => SentenceEnd::Supported,
        (SentenceStatus::Scored, Some(Verdict::Contradicted)) => SentenceEnd::Contradicted,
        (SentenceStatus::Scored, Some(Verdict::NotMentioned)) => SentenceEnd::NotMentioned,
    }
}

fn evaluation(result: &CheckResult) -> Evaluation<'_> {
    let label = match (result.status, result.verdict) {
        (_, Some(Verdict::Supported)) => EvaluationLabel::Supported,
        (_, Some(Verdict::Contradicted)) => EvaluationLabel::Contradicted,
        (_, Some(Verdict::NotMentioned)) => EvaluationLabel::NotMentioned,
        (Status::Failed, None) => EvaluationLabel::Failed,
        (_, None) => EvaluationLabel::Abstained,
    };
    let why = || result.notes.first().map(|note| note.code);
    Evaluation {
        min_support_probability: result.scores.min.map(|probability| f64::from(probability.get())),
        label,
        response_id: Some(&result.id),
        error: (label == EvaluationLabel::Failed).then(why).flatten(),
    }
}

#[cfg(test)]
mod tests;

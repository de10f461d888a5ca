//! Checking a response while it is still being written.

use super::{Checker, gave_up};
use groundline_bus::SubjectToken;
use groundline_coordinator::{StreamEvent, StreamEvents as Events, StreamInput};
use groundline_types::{Problem, StreamRequest};
use groundline_worker::Worker;
use std::pin::Pin;
use std::sync::PoisonError;

type WorkerFailure = Pin<Box<dyn Future<Output = Problem> + Send>>;

/// The end of a stream out of which verdicts come. Dropping it stops the stream and whatever it computes.
pub struct StreamEvents {
    events: Option<Events>,
    /// Where the worker is in this process.
    worker_failed: Option<WorkerFailure>,
}

impl std::fmt::Debug for StreamEvents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamEvents").field("events", &self.events).finish_non_exhaustive()
    }
}

impl StreamEvents {
    /// The next event; `None` behind the last one. Sentences come in the order of the response, each once and never revised; then
    /// comes one event that ends the stream.
    pub async fn next(&mut self) -> Option<StreamEvent> {
        let events = self.events.as_mut()?;
        let Some(worker_failed) = &mut self.worker_failed else { return events.next().await };
        tokio::select! {
            biased;
            why = worker_failed => {
                self.events = None;
                Some(StreamEvent::Failed(gave_up(why)))
            }
            event = events.next() => event,
        }
    }
}

impl Checker {
    /// Checks a response that is still being written, for a tenant: its pieces go into the first of the two ends, verdicts come out
    /// of the second.
    ///
    /// A sentence is scored once no continuation can change it, which in prose is when the next one has begun with a whole word. The
    /// last event holds the result of the whole response, which is that of [`Checker::check`]; no pair is scored again for it as
    /// long as the cache holds it. With [`StopAt::FirstContradiction`](groundline_types::StopAt::FirstContradiction) the stream ends
    /// at the first contradicted sentence, and what came behind it is unchecked with
    /// [`STREAM_STOPPED`](groundline_types::Code::STREAM_STOPPED).
    ///
    /// Verdicts of sentences and of the result can differ in three cases: a later claim is so long that windows of the sources must
    /// be smaller beside it; only the whole response shows that its language is another one than the sources'; a policy's grey
    /// zone brings in a method that decides instead.
    ///
    /// ```
    /// # use groundline::{CheckRequest, Checker, Config, StreamEvent, StreamRequest};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), groundline::Problem> {
    /// let checker = Checker::embedded(Config::default())?;
    /// let request = StreamRequest::new(CheckRequest::new("", "Marie Curie was born in Warsaw."));
    /// let (input, mut events) = checker.stream("me", request).await?;
    /// for piece in ["Curie was ", "born in Warsaw. Sh", "e lived in Paris."] {
    ///     input.push(piece)?;
    /// }
    /// input.finish();
    /// let mut sentences = 0;
    /// while let Some(event) = events.next().await {
    ///     match event {
    ///         StreamEvent::Sentence(sentence) => sentences += usize::from(sentence.verdict.is_some()),
    ///         StreamEvent::Done(result) => assert_eq!(result.sentences.len(), sentences),
    ///         StreamEvent::Failed(problem) => return Err(problem),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Checker::check`], but for the response, which is not there yet.
    pub async fn stream(
        &self,
        tenant: &str,
        request: StreamRequest,
    ) -> Result<(StreamInput, StreamEvents), Problem> {
        // Refused without starting anything.
        request.validate(&self.inner.config.limits.request())?;
        let parts = self.inner.parts.get_or_try_init(|| self.inner.start()).await?;
        let failed = parts.worker.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Worker::failed);
        let (input, events) = parts.coordinator.stream_for(SubjectToken::from_name(tenant), request)?;
        let worker_failed = failed.map(|failed| Box::pin(failed) as WorkerFailure);
        Ok((input, StreamEvents { events: Some(events), worker_failed }))
    }
}

#[cfg(test)]
mod tests;

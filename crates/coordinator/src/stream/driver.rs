//! The task of a stream, and the two ends that a caller holds.

use super::growth::{Growth, Settled};
use super::part::{Part, SourceMemo, StreamSamples};
use crate::{CheckObserver, Coordinator};
use groundline_actors::{OwnedTask, TaskKind, run_blocking, spawn_task};
use groundline_bus::SubjectToken;
use groundline_types::{
    CheckRequest, CheckResult, Code, Problem, SentenceResult, StopAt, StreamRequest, Verdict,
};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

/// Events that may wait to be taken; a caller that takes none holds up the stream, and nobody else.
const EVENT_BUFFER: usize = 64;
/// How long to wait before a check that found no room is tried again.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// What a stream says.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// The next sentence of the response, checkable or not. Its places count in the whole text so far, and neither they nor its
    /// text change any more.
    Sentence(Box<SentenceResult>),
    /// The result of the whole text. The last event.
    Done(Box<CheckResult>),
    /// The stream failed. The last event.
    Failed(Problem),
}

/// Pieces on their way from the caller to the task.
#[derive(Debug, Default)]
struct Inbox {
    pieces: Mutex<Pieces>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Pieces {
    /// What the task has not taken yet.
    waiting: String,
    /// Bytes of the whole text.
    total_bytes: usize,
    end: Option<End>,
    /// Whether the task has ended and takes no more.
    is_deaf: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The response is complete.
    Finished,
    /// The caller went away.
    Abandoned,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, Pieces> {
        // Nothing that holds the lock panics half-way through a change.
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, end: End) {
        self.lock().end.get_or_insert(end);
        self.changed.notify_one();
    }
}

/// The end of a stream into which the response is written. Dropped before [`StreamInput::finish`], it ends the stream with
/// [`Code::CANCELLED`].
#[derive(Debug)]
pub struct StreamInput {
    inbox: Arc<Inbox>,
    limit_bytes: usize,
}

impl StreamInput {
    /// Adds a piece of the response. Never blocks: what waits is part of the response, whose size is limited.
    ///
    /// Once the stream has ended, pieces are of no use and are dropped.
    ///
    /// # Errors
    /// [`Code::TOO_LARGE`] where the response would be larger than the limit, [`Code::NUL_BYTE`]. The piece is then left out
    /// as a whole, and the stream goes on.
    pub fn push(&self, piece: &str) -> Result<(), Problem> {
        let mut pieces = self.inbox.lock();
        if pieces.is_deaf {
            return Ok(());
        }
        let total_bytes = pieces.total_bytes + piece.len();
        if total_bytes > self.limit_bytes {
            let message = format!("the response: {total_bytes} bytes, the limit is {}", self.limit_bytes);
            return Err(Problem::new(Code::TOO_LARGE, message));
        }
        if piece.contains('\0') {
            return Err(Problem::new(Code::NUL_BYTE, "a piece of the response has a NUL byte"));
        }
        pieces.total_bytes = total_bytes;
        pieces.waiting.push_str(piece);
        drop(pieces);
        self.inbox.changed.notify_one();
        Ok(())
    }

    /// The response is complete: the rest is checked, and the stream ends with the result of the whole.
    pub fn finish(self) {
        self.inbox.end(End::Finished);
    }

    /// Whether the stream still takes pieces.
    pub fn is_open(&self) -> bool {
        !self.inbox.lock().is_deaf
    }
}

impl Drop for StreamInput {
    fn drop(&mut self) {
        self.inbox.end(End::Abandoned);
    }
}

/// The end of a stream out of which verdicts come. Dropping it stops the stream and whatever it computes.
#[derive(Debug)]
pub struct StreamEvents {
    events: mpsc::Receiver<StreamEvent>,
    _task: OwnedTask,
}

impl StreamEvents {
    /// The next event; `None` behind the last one. Sentences come in the order of the response, then one event that ends the
    /// stream.
    pub async fn next(&mut self) -> Option<StreamEvent> {
        self.events.recv().await
    }
}

impl Coordinator {
    /// Checks a response that comes in pieces, for a tenant.
    ///
    /// Each sentence is checked once no continuation can change it. The result at the end is that of an ordinary check of the
    /// whole text, and needs no pair again that a sentence was scored with, as long as the cache holds it. Sentences are checked
    /// by the methods of the first stage alone where the request has a policy: what its grey zone adds is in the result.
    ///
    /// # Errors
    /// A request that cannot be checked as asked (`GL1xxx`).
    pub fn stream_for(
        &self,
        tenant: SubjectToken,
        request: StreamRequest,
    ) -> Result<(StreamInput, StreamEvents), Problem> {
        let limits = self.options().limits;
        request.validate(&limits)?;
        let StreamRequest { check, stop_at } = request;
        let (events, receiver) = mpsc::channel(EVENT_BUFFER);
        let inbox = Arc::new(Inbox::default());
        let driver = Driver {
            coordinator: self.clone(),
            tenant,
            growth: Some(Growth::new(check.facts, check.offsets.unwrap_or_default())),
            check,
            stop_at,
            sources: Arc::default(),
            samples: Arc::default(),
            drawn: Arc::default(),
            inbox: Arc::clone(&inbox),
            events,
        };
        let task = spawn_task(TaskKind::Stream, driver.run());
        let input = StreamInput { inbox, limit_bytes: limits.response_bytes };
        Ok((input, StreamEvents { events: receiver, _task: task }))
    }
}

/// Makes the inbox deaf when the task ends, however it does.
struct Deafen(Arc<Inbox>);

impl Drop for Deafen {
    fn drop(&mut self) {
        let mut pieces = self.0.lock();
        pieces.is_deaf = true;
        pieces.waiting = String::new();
    }
}

struct Driver {
    coordinator: Coordinator,
    tenant: SubjectToken,
    check: CheckRequest,
    stop_at: StopAt,
    /// Away while it is looked at.
    growth: Option<Growth>,
    sources: Arc<SourceMemo>,
    samples: Arc<SourceMemo>,
    drawn: Arc<OnceLock<StreamSamples>>,
    inbox: Arc<Inbox>,
    events: mpsc::Sender<StreamEvent>,
}

/// Why a stream ended before its last event: nobody listens.
struct Unheard;

impl Driver {
    async fn run(mut self) {
        let _deaf_at_the_end = Deafen(Arc::clone(&self.inbox));
        let last = match self.follow().await {
            Ok(Ok(result)) => StreamEvent::Done(Box::new(result)),
            Ok(Err(problem)) => StreamEvent::Failed(problem),
            Err(Unheard) => return,
        };
        // A caller that just left needs no last word.
        let _ = self.events.send(last).await;
    }

    async fn follow(&mut self) -> Result<Result<CheckResult, Problem>, Unheard> {
        loop {
            match self.take().await {
                None => {}
                Some(End::Finished) => return self.finish().await,
                Some(End::Abandoned) => {
                    let message = "the stream was given up before the response was complete";
                    return Ok(Err(Problem::new(Code::CANCELLED, message)));
                }
            }
            let settled = match self.look().await {
                Ok(Some(settled)) => settled,
                Ok(None) => continue,
                Err(problem) => return Ok(Err(problem)),
            };
            match self.check_settled(settled).await {
                Ok(sentences) => {
                    if let Some(stopped_behind) = self.tell(sentences).await? {
                        return Ok(self.check_whole(Some(stopped_behind)).await);
                    }
                }
                Err(problem) => return Ok(Err(problem)),
            }
        }
    }

    /// Waits for news of the caller and takes what has come.
    async fn take(&mut self) -> Option<End> {
        loop {
            let end = {
                let mut pieces = self.inbox.lock();
                if let Some(growth) = &mut self.growth {
                    growth.push(&pieces.waiting);
                }
                pieces.waiting.clear();
                pieces.end
            };
            if end.is_some() || self.growth.as_ref().is_some_and(Growth::is_due) {
                return end;
            }
            self.inbox.changed.notified().await;
        }
    }

    /// What has settled. Splitting takes time, so it is done on a thread for that.
    async fn look(&mut self) -> Result<Option<Settled>, Problem> {
        let lost = || Problem::new(Code::INTERNAL, "splitting the text failed; this is a bug");
        let mut growth = self.growth.take().ok_or_else(lost)?;
        let look = move || {
            let settled = growth.look();
            (growth, settled)
        };
        let (growth, settled) = run_blocking(TaskKind::Stream, look).await.ok_or_else(lost)?;
        self.growth = Some(growth);
        Ok(settled)
    }

    /// The results of newly settled claims, with places in the whole text.
    async fn check_settled(&self, settled: Settled) -> Result<Vec<SentenceResult>, Problem> {
        let Settled { text, claims, before, start, opening } = settled;
        let request = CheckRequest { response: text, matrix: false, ..self.check.clone() };
        let part = Part {
            claims: Some(claims),
            before,
            opening: Some(opening),
            stopped_behind: None,
            first_stage_alone: true,
            sources: Arc::clone(&self.sources),
            samples: Arc::clone(&self.samples),
            drawn: Arc::clone(&self.drawn),
        };
        let mut sentences = self.run_part(request, part).await?.sentences;
        for sentence in &mut sentences {
            (sentence.start, sentence.end) = (sentence.start + start, sentence.end + start);
            for fact in &mut sentence.facts {
                (fact.start, fact.end) = (fact.start + start, fact.end + start);
            }
        }
        Ok(sentences)
    }

    /// Tells of sentences, up to the one that the stream is to stop at; then says behind how many of the text's it stopped.
    async fn tell(&self, sentences: Vec<SentenceResult>) -> Result<Option<usize>, Unheard> {
        let handed_out = self.growth.as_ref().map_or(0, Growth::handed_out);
        let first = handed_out - sentences.len().min(handed_out);
        for (index, sentence) in sentences.into_iter().enumerate() {
            let stops =
                self.stop_at == StopAt::FirstContradiction && sentence.verdict == Some(Verdict::Contradicted);
            self.events.send(StreamEvent::Sentence(Box::new(sentence))).await.map_err(|_| Unheard)?;
            if stops {
                return Ok(Some(first + index + 1));
            }
        }
        Ok(None)
    }

    /// Checks the whole text and tells of the sentences that were not settled before.
    async fn finish(&mut self) -> Result<Result<CheckResult, Problem>, Unheard> {
        let told = self.growth.as_ref().map_or(0, Growth::handed_out);
        let result = match self.check_whole(None).await {
            Ok(result) => result,
            Err(problem) => return Ok(Err(problem)),
        };
        for sentence in result.sentences.iter().skip(told) {
            let event = StreamEvent::Sentence(Box::new(sentence.clone()));
            self.events.send(event).await.map_err(|_| Unheard)?;
        }
        Ok(Ok(result))
    }

    async fn check_whole(&self, stopped_behind: Option<usize>) -> Result<CheckResult, Problem> {
        let text = self.growth.as_ref().map_or("", Growth::text);
        let request = CheckRequest { response: text.into(), ..self.check.clone() };
        request.validate(&self.coordinator.options().limits)?;
        let part = Part {
            claims: None,
            before: None,
            opening: None,
            stopped_behind,
            first_stage_alone: stopped_behind.is_some(),
            sources: Arc::clone(&self.sources),
            samples: Arc::clone(&self.samples),
            drawn: Arc::clone(&self.drawn),
        };
        self.run_part(request, part).await
    }

    /// Runs a check, and waits for room where there is none: a response that is half checked is not to fail for a busy moment.
    async fn run_part(&self, request: CheckRequest, part: Part) -> Result<CheckResult, Problem> {
        let wait_ms =
            request.deadline_ms.unwrap_or_else(|| request.lane.unwrap_or_default().default_deadline_ms());
        let (began, patience, part) = (Instant::now(), Duration::from_millis(wait_ms), Arc::new(part));
        loop {
            let (tenant, observer) = (self.tenant.clone(), CheckObserver::default());
            let answer =
                self.coordinator.run(tenant, request.clone(), observer, Some(Arc::clone(&part))).await;
            match answer {
                Err(problem) if problem.code == Code::OVERLOADED && began.elapsed() < patience => {
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                answer => return answer,
            }
        }
    }
}

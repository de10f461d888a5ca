//! Jobs on their way to a worker: asked for when there is room for them, never fetched ahead.
//!
//! Every pull asks anew, in two steps: what is there now, and where there is nothing, one job, given on as soon as it comes.
//! The broker holds no state of a pull beyond the request, so a pull that is dropped or cut off leaves nothing behind.

use super::Shared;
use super::connection::count;
use super::decide::again_after;
use super::subjects;
use super::topology;
use crate::{Delivery, LaneId, PullBudget};
use async_nats::{Message, Subscriber};
use futures_util::StreamExt as _;
use groundline_actors::TaskKind;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// Most jobs asked for at once.
const MAX_BATCH: usize = 64;
/// Most questions for jobs that are there, of one pull.
const MAX_ROUNDS: usize = 8;
/// Longest single wait at the broker; a longer pull asks again.
const MAX_WAIT: Duration = Duration::from_secs(30);
/// Pause before a queue is asked again that is not there or does not answer.
const PAUSE: Duration = Duration::from_millis(200);

/// A consumer to pull from.
#[derive(Debug, Clone)]
pub(super) struct Queue {
    pub(super) stream: &'static str,
    pub(super) consumer: String,
    /// Where it is a queue of jobs: of which, and in which life of the streams.
    pub(super) jobs: Option<(LaneId, u64)>,
}

/// Nothing came for another reason than that nothing is there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum PullError {
    #[error("the queue is not there")]
    Missing,
    #[error("the broker does not answer")]
    NoAnswer,
}

/// How a status that the broker sends in the place of a message ends a request.
fn status_end(status: u16, description: &str) -> Option<Result<(), PullError>> {
    match status {
        // A sign of life.
        100 => None,
        404 | 408 => Some(Ok(())),
        503 => Some(Err(PullError::Missing)),
        _ if description.contains("Deleted") => Some(Err(PullError::Missing)),
        // Too many pulls at once, a broker that changes its leader: ask again.
        _ => Some(Ok(())),
    }
}

/// A question for messages. Dropped before it has ended, it gives back what came and whatever comes.
struct Question<'a> {
    shared: &'a Arc<Shared>,
    queue: &'a Queue,
    subscriber: Option<Subscriber>,
    messages: Vec<Message>,
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        let (subscriber, messages) = (self.subscriber.take(), std::mem::take(&mut self.messages));
        if subscriber.is_none() && messages.is_empty() {
            return;
        }
        let (shared, queue) = (Arc::clone(self.shared), self.queue.clone());
        let give_back = async move {
            messages.into_iter().for_each(|message| shared.give_back(&queue, message));
            let Some(mut subscriber) = subscriber else { return };
            let rest = async {
                // Ends the question at the broker as well, which delivers to nobody who does not listen.
                if subscriber.drain().await.is_ok() {
                    while let Some(message) = subscriber.next().await {
                        shared.give_back(&queue, message);
                    }
                }
            };
            // A broker that is away has forgotten the question.
            let _ = timeout(shared.connection.api.timeout, rest).await;
        };
        self.shared.run(TaskKind::Settle, give_back);
    }
}

/// Asks for up to `batch` messages: those that are there where `wait` is zero, else those that come.
pub(super) async fn ask(
    shared: &Arc<Shared>,
    queue: &Queue,
    batch: usize,
    wait: Duration,
) -> Result<Vec<Message>, PullError> {
    let api = &shared.connection.api;
    let inbox = api.client.new_inbox();
    let subscriber = api.client.subscribe(inbox.clone()).await.map_err(|_| PullError::NoAnswer)?;
    let mut question = Question { shared, queue, subscriber: Some(subscriber), messages: Vec::new() };
    let body = if wait.is_zero() {
        json!({ "batch": batch, "no_wait": true })
    } else {
        json!({ "batch": batch, "expires": wait.as_nanos() as u64 })
    };
    let subject = format!("$JS.API.CONSUMER.MSG.NEXT.{}.{}", queue.stream, queue.consumer);
    let sent = api.client.publish_with_reply(subject, inbox, body.to_string().into());
    let until = Instant::now() + wait + api.timeout;
    timeout_at(until, sent).await.map_err(|_| PullError::NoAnswer)?.map_err(|_| PullError::NoAnswer)?;
    while let Some(subscriber) = &mut question.subscriber {
        let message = match timeout_at(until, subscriber.next()).await {
            Ok(Some(message)) => message,
            // Neither a message nor the end of the request: what may still come is given back.
            Ok(None) | Err(_) if question.messages.is_empty() => return Err(PullError::NoAnswer),
            Ok(None) | Err(_) => break,
        };
        match message.status {
            None => question.messages.push(message),
            Some(status) => {
                let description = message.description.as_deref().unwrap_or_default();
                match status_end(status.as_u16(), description) {
                    None => continue,
                    Some(Err(error)) if question.messages.is_empty() => {
                        question.subscriber = None;
                        return Err(error);
                    }
                    Some(_) => question.subscriber = None,
                }
            }
        }
        if question.messages.len() >= batch {
            question.subscriber = None;
        }
    }
    Ok(std::mem::take(&mut question.messages))
}

/// What one pull has taken so far. Dropped with the pull, it is handed back.
#[derive(Default)]
struct Taken {
    deliveries: Vec<Delivery>,
    tokens: usize,
    /// Which life of the streams it is taken from.
    life: u64,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.deliveries.drain(..).for_each(Delivery::hand_back);
    }
}

impl Queue {
    pub(super) fn of_jobs(lane: &LaneId, life: u64) -> Self {
        let consumer = subjects::jobs_consumer(lane);
        Self { stream: subjects::JOBS_STREAM, consumer, jobs: Some((lane.clone(), life)) }
    }
}

impl Shared {
    /// Gives back a message that nobody waits for any more: a job as good as new, since it was not begun.
    fn give_back(self: &Arc<Self>, queue: &Queue, message: Message) {
        if message.status.is_some() {
            return;
        }
        match &queue.jobs {
            Some((lane, life)) => {
                self.receive(lane, message, *life).into_iter().for_each(Delivery::hand_back);
            }
            None => {
                message.reply.into_iter().for_each(|reply| self.send_to(reply, again_after(Duration::ZERO)))
            }
        }
    }

    /// Waits for jobs of one queue as [`crate::JobBus::pull`] says.
    pub(super) async fn pull_jobs(self: &Arc<Self>, lane: &LaneId, budget: PullBudget) -> Vec<Delivery> {
        let give_up = Instant::now() + budget.wait;
        let mut taken = Taken::default();
        loop {
            // Without streams there is nothing to pull from.
            let Ok(life) = timeout_at(give_up, self.settled_life()).await else { return Vec::new() };
            taken.life = life;
            let queue = Queue::of_jobs(lane, life);
            let wanted = topology::jobs_consumer(&self.options, lane);
            let ready = match self.ensure_once(wanted).await {
                Ok(()) => self.take(&queue, lane, budget, &mut taken).await,
                Err(wrong) => {
                    let problem = wrong.problem();
                    tracing::warn!(code = %problem.code, "a queue is not as it should be: {}", problem.message);
                    Err(PullError::Missing)
                }
            };
            let left = give_up.saturating_duration_since(Instant::now());
            if !taken.deliveries.is_empty() || left.is_zero() {
                return std::mem::take(&mut taken.deliveries);
            }
            let ready = match ready {
                Ok(()) => self.wait_for_one(&queue, lane, budget, left.min(MAX_WAIT), &mut taken).await,
                Err(error) => Err(error),
            };
            if let Err(error) = ready {
                if error == PullError::Missing {
                    self.doubt();
                }
                sleep(PAUSE.min(left)).await;
            }
        }
    }

    async fn wait_for_one(
        self: &Arc<Self>,
        queue: &Queue,
        lane: &LaneId,
        budget: PullBudget,
        wait: Duration,
        taken: &mut Taken,
    ) -> Result<(), PullError> {
        let messages = ask(self, queue, 1, wait).await?;
        if messages.is_empty() {
            self.watch_for_stall(queue).await;
            return Ok(());
        }
        // It goes to the worker at once; what came right behind it is the next pull's.
        self.accept(messages, lane, budget, taken);
        Ok(())
    }

    /// Takes what is there and fits.
    async fn take(
        self: &Arc<Self>,
        queue: &Queue,
        lane: &LaneId,
        budget: PullBudget,
        taken: &mut Taken,
    ) -> Result<(), PullError> {
        for _ in 0..MAX_ROUNDS {
            let batch = self.batch(budget, taken);
            if batch == 0 {
                break;
            }
            let messages = ask(self, queue, batch, Duration::ZERO).await?;
            let came = messages.len();
            self.accept(messages, lane, budget, taken);
            if came < batch {
                break;
            }
        }
        Ok(())
    }

    /// How many jobs to ask for: as many as fit by the average of late, and one at least where there is none yet.
    fn batch(&self, budget: PullBudget, taken: &Taken) -> usize {
        let room_jobs = budget.max_jobs.saturating_sub(taken.deliveries.len()).min(MAX_BATCH);
        let room_tokens = budget.max_tokens.saturating_sub(taken.tokens);
        let least = usize::from(taken.deliveries.is_empty());
        let fit = match self.mean_job_tokens.load(Ordering::Relaxed) {
            // Nothing was seen yet.
            0 => 1,
            mean => room_tokens / mean as usize,
        };
        fit.max(least).min(room_jobs)
    }

    fn accept(
        self: &Arc<Self>,
        messages: Vec<Message>,
        lane: &LaneId,
        budget: PullBudget,
        taken: &mut Taken,
    ) {
        for message in messages {
            let Some(delivery) = self.receive(lane, message, taken.life) else { continue };
            let tokens = delivery.job().estimated_tokens;
            self.learn(tokens);
            if !taken.deliveries.is_empty() && taken.tokens.saturating_add(tokens) > budget.max_tokens {
                delivery.hand_back();
                continue;
            }
            taken.tokens = taken.tokens.saturating_add(tokens);
            taken.deliveries.push(delivery);
        }
    }

    /// A race between two pulls loses one observation, which is no matter for an average.
    fn learn(&self, tokens: usize) {
        let before = self.mean_job_tokens.load(Ordering::Relaxed);
        let after = if before == 0 { tokens as u64 } else { (3 * before + tokens as u64) / 4 };
        self.mean_job_tokens.store(after.max(1), Ordering::Relaxed);
    }

    /// A queue that has jobs and room for more deliveries, and gives none to who waits, is counted.
    async fn watch_for_stall(&self, queue: &Queue) {
        let what = format!("CONSUMER.INFO.{}.{}", queue.stream, queue.consumer);
        let Ok(info) = self.connection.api.ask(&what, None).await else { return };
        let read = |field: &str| info.get(field).and_then(serde_json::Value::as_u64).unwrap_or_default();
        let (pending, undecided) = (read("num_pending"), read("num_ack_pending"));
        if pending > 0 && undecided < u64::from(self.options.max_undecided) {
            count(&self.connection.counters.stalls);
            tracing::warn!(pending, undecided, consumer = %queue.consumer, "a queue has jobs and gives none");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_status_that_ends_a_question_ends_it() {
        assert_eq!(status_end(100, "Idle Heartbeat"), None);
        assert_eq!(status_end(404, "No Messages"), Some(Ok(())));
        assert_eq!(status_end(408, "Request Timeout"), Some(Ok(())));
        assert_eq!(status_end(409, "Leadership Change"), Some(Ok(())));
        assert_eq!(status_end(409, "Consumer Deleted"), Some(Err(PullError::Missing)));
        assert_eq!(status_end(503, ""), Some(Err(PullError::Missing)));
    }
}

//! Checks that nobody waits for on a connection: submitted, run by whoever has the time, and asked for later.

mod runner;

pub use runner::AsyncRunner;

use groundline_bus::{
    Answer, CheckDelivery, CheckQueue, CheckTicket, Incarnation, MemoryCheckQueue, MemoryCheckQueueOptions,
    Published, SubjectToken,
};
use groundline_types::{CheckRequest, CheckResult, Code, Lane, Limits, Problem};
use std::time::Duration;
#[cfg(feature = "cluster")]
use {crate::Checker, groundline_bus::NatsCheckQueue};

/// A queue of checks and the table of their answers. Clones are the same queue.
///
/// What is submitted is stored before [`AsyncChecks::submit`] returns; an [`AsyncRunner`], in this process or in another one,
/// does the work. Answers are kept for a time and then forgotten.
#[derive(Debug, Clone)]
pub struct AsyncChecks {
    queue: AnyQueue,
    limits: Limits,
}

/// Where a check of the queue is.
#[derive(Debug, Clone, PartialEq)]
pub enum AsyncStatus {
    /// Nobody has begun it.
    Waiting,
    /// Someone works on it.
    Running,
    /// It is done.
    Done(Box<CheckResult>),
    /// It can not be done.
    Failed(Problem),
}

/// One of the queues there are.
#[derive(Debug, Clone)]
enum AnyQueue {
    Memory(MemoryCheckQueue),
    #[cfg(feature = "cluster")]
    Nats(NatsCheckQueue),
}

/// Calls a method of whichever queue it is.
macro_rules! on_queue {
    ($self:expr, $queue:ident => $call:expr) => {
        match &$self.queue {
            AnyQueue::Memory($queue) => $call,
            #[cfg(feature = "cluster")]
            AnyQueue::Nats($queue) => $call,
        }
    };
}

impl AsyncChecks {
    /// A queue in this process: what waits is lost when it ends.
    pub fn in_memory(limits: Limits) -> Self {
        let queue = MemoryCheckQueue::new(MemoryCheckQueueOptions::default());
        Self { queue: AnyQueue::Memory(queue), limits }
    }

    /// The durable queue on the broker of a checker; `None` where it has no broker.
    #[cfg(feature = "cluster")]
    pub fn of_cluster(checker: &Checker) -> Option<Self> {
        let queue = AnyQueue::Nats(checker.broker()?.checks());
        Some(Self { queue, limits: checker.config().limits.request() })
    }

    /// Stores a request, as the JSON of `groundline.check/1`, and gives the id to ask for its answer with. The id is random and
    /// long: whoever does not know it cannot guess it. A request that names no lane is bulk work.
    ///
    /// # Errors
    /// What a check would refuse at once is refused here (`GL1xxx`); [`Code::OVERLOADED`] where the tenant or the queue is full;
    /// [`Code::BUS_UNAVAILABLE`].
    pub async fn submit(&self, tenant: &str, request: serde_json::Value) -> Result<String, Problem> {
        let body = serde_json::to_vec(&request).map_err(|error| {
            Problem::new(Code::INTERNAL, format!("cannot write a request as JSON: {error}"))
        })?;
        let parsed = CheckRequest::from_value(request)?;
        parsed.validate(&self.limits)?;
        let (id, lane) = (new_id(), parsed.lane.unwrap_or(Lane::Bulk));
        let ticket = CheckTicket { id: id.clone(), tenant: SubjectToken::from_name(tenant), lane };
        match on_queue!(self, queue => queue.submit(ticket, body).await)? {
            Published::Stored => Ok(id),
            Published::Duplicate => Err(Problem::new(Code::INTERNAL, "a random id was given twice")),
        }
    }

    /// Where a check is; `None` where the tenant has no such check, or no longer.
    ///
    /// # Errors
    /// [`Code::BUS_UNAVAILABLE`]; [`Code::INTERNAL`] where the stored answer cannot be read.
    pub async fn status(&self, tenant: &str, id: &str) -> Result<Option<AsyncStatus>, Problem> {
        let tenant = SubjectToken::from_name(tenant);
        let answer = on_queue!(self, queue => queue.answer(&tenant, id).await)?;
        answer.map(read_answer).transpose()
    }

    async fn pull(&self, max: usize, wait: Duration) -> Result<Vec<CheckDelivery>, Problem> {
        on_queue!(self, queue => queue.pull(max, wait).await)
    }

    async fn put_answer(&self, tenant: &SubjectToken, id: &str, answer: Answer) -> Result<(), Problem> {
        on_queue!(self, queue => queue.put_answer(tenant, id, answer).await)
    }
}

/// 128 random bits.
fn new_id() -> String {
    format!("{}{}", Incarnation::random(), Incarnation::random())
}

fn read_answer(answer: Answer) -> Result<AsyncStatus, Problem> {
    Ok(match answer {
        Answer::Waiting => AsyncStatus::Waiting,
        Answer::Running => AsyncStatus::Running,
        Answer::Done(body) => {
            let result = serde_json::from_slice(&body).map_err(|error| {
                Problem::new(Code::INTERNAL, format!("a stored answer cannot be read: {error}"))
            })?;
            AsyncStatus::Done(Box::new(result))
        }
        Answer::Failed { code, message } => {
            // A code of a newer version is not known here; its message still is.
            let code = Code::ALL.iter().copied().find(|known| known.as_str() == code);
            AsyncStatus::Failed(Problem::new(code.unwrap_or(Code::INTERNAL), message))
        }
    })
}

#[cfg(test)]
mod tests;

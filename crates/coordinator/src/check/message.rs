//! What a check is given and told.

use super::asking::Spending;
use super::drawing::Drawn;
use super::observed::Observed;
use super::work::{Begun, Opened};
use crate::CoordinatorOptions;
use crate::cache::{FlightEnd, ScoreCache, Waiter};
use crate::dispatch::DispatchMessage;
use crate::fleet::Fleet;
use crate::observer::Progress;
use crate::panel::Panel;
use crate::router::RouterMessage;
use crate::stream::Part;
use groundline_actors::Handle;
use groundline_bus::{Incarnation, JobId, JobResult, SubjectToken};
use groundline_judge::Judge;
use groundline_types::{Answered, CheckRequest, CheckResult, ModelFacts, Problem, Reason};
use ractor::ActorRef;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::time::Instant;

/// What all checks of a coordinator share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) me: Incarnation,
    pub(crate) facts: ModelFacts,
    pub(crate) model: SubjectToken,
    pub(crate) options: CoordinatorOptions,
    /// Who is asked where a method needs a judge.
    pub(crate) judge: Option<Judge>,
    pub(crate) judge_spending: Spending,
    pub(crate) cache: Arc<ScoreCache<CheckWaiter>>,
    pub(crate) router: Handle<RouterMessage>,
    pub(crate) dispatch: Handle<DispatchMessage>,
    pub(crate) fleet: watch::Receiver<Fleet>,
    /// A permit for each check that may run.
    pub(crate) admission: Arc<Semaphore>,
}

/// A check's right to run. What it computes on threads holds it too, so that work that nobody can stop counts until it ends.
pub(crate) type Permit = Arc<OwnedSemaphorePermit>;

/// One check, as it is handed to its actor.
pub(crate) struct CheckSetup {
    pub(crate) shared: Arc<Shared>,
    pub(crate) number: u64,
    pub(crate) tenant: SubjectToken,
    pub(crate) request: Arc<CheckRequest>,
    /// What of it, where it is still being written.
    pub(crate) part: Option<Arc<Part>>,
    pub(crate) progress: Option<watch::Sender<Progress>>,
    pub(crate) deadline: Instant,
    /// Given back just before the answer is sent: whoever has an answer may ask again at once.
    pub(crate) permit: Option<Permit>,
    /// What the outside is told of it.
    pub(crate) observed: Observed,
}

/// Where the one answer of a check goes.
pub(crate) type Reply = oneshot::Sender<Result<CheckResult, Problem>>;

/// A check that waits for another one's job.
#[derive(Debug, Clone)]
pub(crate) struct CheckWaiter {
    pub(crate) number: u64,
    pub(crate) actor: ActorRef<CheckMessage>,
}

impl Waiter for CheckWaiter {
    fn id(&self) -> u64 {
        self.number
    }

    fn landed(&self, ends: Vec<FlightEnd>) {
        // A check that ended waits for nothing.
        let _ = self.actor.send_message(CheckMessage::Landed(ends));
    }
}

#[derive(Debug)]
pub(crate) enum CheckMessage {
    /// Begin. Sent once, by the actor to itself.
    Begin,
    /// The texts are split and the detectors have started, or cannot; `None`: that failed.
    Begun(Option<Result<Box<Begun>, Problem>>),
    /// The detectors took their turn; `None`: that failed.
    Turned(Option<Box<(Panel, Option<Opened>)>>),
    /// Samples were drawn, or not.
    Drawn(Box<Drawn>),
    /// A question of a turn has ended.
    Answered { turn: u32, question: usize, answered: Box<Answered> },
    /// An answer to a job.
    JobResult(JobResult),
    /// A job was given up.
    JobFailed(JobId, Reason),
    /// Jobs of other checks have landed.
    Landed(Vec<FlightEnd>),
    /// Answer now.
    Finish(Reason),
    /// Nobody waits for the answer any more.
    CallerGone,
    /// The router was started again, and knows no check.
    RouterLost,
    /// Results may have been lost on their way.
    ResultsLost,
    /// The dispatcher was started again.
    DispatchLost,
    /// The verdict is made; `None`: that failed.
    Concluded(Option<Box<CheckResult>>),
}

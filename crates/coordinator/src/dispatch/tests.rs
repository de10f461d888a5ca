use super::*;
use groundline_bus::{JobTexts, LaneId, MemoryBus, SubjectToken};
use groundline_types::{Lane, Work};
use std::sync::Arc;

/// Someone to tell of a job that is given up; nobody is told here.
struct Listener;

impl Actor for Listener {
    type Msg = CheckMessage;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<CheckMessage>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }
}

/// A dispatcher on a bus without a worker, so that what is published stays where it is.
struct Stage {
    bus: MemoryBus,
    dispatch: ActorRef<DispatchMessage>,
    check: ActorRef<CheckMessage>,
    me: Incarnation,
}

const COST_TOKENS: usize = 100;

impl Stage {
    /// One with credits for one job at a time.
    async fn start() -> Self {
        let (bus, me) = (MemoryBus::default(), Incarnation::random());
        let setup = DispatchSetup {
            bus: bus.clone(),
            me,
            model: SubjectToken::from_name("m"),
            credit_tokens: COST_TOKENS,
            resend_after: Duration::from_secs(3600),
            max_attempts: 3,
            no_worker_timeout: None,
        };
        let (dispatch, _) = Actor::spawn(None, Dispatch::new(), setup).await.unwrap();
        let (check, _) = Actor::spawn(None, Listener, ()).await.unwrap();
        Self { bus, dispatch, check, me }
    }

    fn submit(&self, check: u64) -> JobId {
        let id = JobId { reply_to: self.me, check, serial: 0 };
        let work = [Work::Embed { text: "text".into() }];
        let job = Job {
            id,
            attempt: 0,
            lane: LaneId { model: SubjectToken::from_name("m"), lane: Lane::Online },
            tenant: SubjectToken::from_name("t"),
            time_left: Duration::ZERO,
            estimated_tokens: COST_TOKENS,
            texts: JobTexts::intern(work.iter()),
            trace: None,
        };
        let deadline = Instant::now() + Duration::from_secs(3600);
        let submission = Submission { job: Arc::new(job), deadline, check: self.check.clone() };
        self.dispatch.send_message(DispatchMessage::Submit(submission)).unwrap();
        id
    }

    async fn stored(&self, jobs: usize) {
        let wait = async {
            while self.bus.stored_jobs() != jobs {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(30), wait).await;
        assert!(waited.is_ok(), "{} jobs are stored, not {jobs}", self.bus.stored_jobs());
    }
}

#[tokio::test]
async fn an_answer_before_the_word_of_its_publishing_cancels_nothing_and_frees_its_credits() {
    let stage = Stage::start().await;
    let answered = stage.submit(1);
    let waiting = stage.submit(2);
    stage.stored(1).await;
    // A fast engine: the answer overtakes the word that its job was stored.
    stage.dispatch.send_message(DispatchMessage::Settled(answered)).unwrap();
    let late = DispatchMessage::Published(answered, Ok(Published::Stored));
    stage.dispatch.send_message(late).unwrap();
    stage.stored(2).await;
    // What a wrong cancel would take out is still there after everything that was under way has been done.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    stage.stored(2).await;
    // The credits are whole: the second answer lets a third job out, and no more than one.
    stage.dispatch.send_message(DispatchMessage::Settled(waiting)).unwrap();
    stage.dispatch.send_message(DispatchMessage::Settled(waiting)).unwrap();
    let (_third, _fourth) = (stage.submit(3), stage.submit(4));
    stage.stored(3).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    stage.stored(3).await;
}

#[tokio::test]
async fn a_job_whose_check_went_while_it_was_published_is_taken_back() {
    let stage = Stage::start().await;
    let gone = stage.submit(1);
    stage.stored(1).await;
    stage.dispatch.send_message(DispatchMessage::CheckGone(1)).unwrap();
    stage.dispatch.send_message(DispatchMessage::Published(gone, Ok(Published::Stored))).unwrap();
    stage.stored(0).await;
    // Its credits came back with it.
    stage.submit(2);
    stage.stored(1).await;
}

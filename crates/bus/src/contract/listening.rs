//! What is told to whoever listens.

use super::{Backend, budget, expect_left, job, me, publish_all};
use crate::{Incarnation, Job, JobAnswer, JobBus, JobId, JobResult, Presence, SubjectToken};
use std::time::Duration;
use tokio::time::timeout;

pub(crate) async fn a_cancelled_check_has_no_waiting_jobs_and_workers_are_told<K: Backend>() {
    let times = K::TIMES;
    let backend = K::start(times).await;
    let bus = backend.bus();
    let model = job(0).lane.model;
    let mut told = bus.cancellations(&model).await.unwrap();
    let mut others = bus.cancellations(&SubjectToken::from_name("other")).await.unwrap();
    publish_all(bus, 4).await;
    let other = Job { id: JobId { check: 2, ..job(9).id }, ..job(9) };
    bus.publish(other.clone()).await.unwrap();
    let held = bus.pull(&job(0).lane, budget(2)).await.unwrap();
    assert_eq!(bus.cancel(&model, job(0).id.check_id()).await, Ok(vec![job(2).id, job(3).id]));
    assert_eq!(told.next().await, Some(job(0).id.check_id()));
    assert!(timeout(Duration::from_millis(50), others.next()).await.is_err());
    // Two are in hands, one is another check's.
    expect_left(&backend, 3, &[]).await;
    let mut held = held.into_iter();
    held.next().unwrap().ack();
    held.next().unwrap().retry(Duration::ZERO);
    let left = bus.pull(&job(0).lane, budget(9)).await.unwrap();
    assert_eq!(left.iter().map(|delivery| delivery.job().id).collect::<Vec<_>>(), [other.id]);
    left.into_iter().for_each(crate::Delivery::ack);
    assert!(
        bus.pull(&job(0).lane, budget(9)).await.unwrap().is_empty(),
        "a cancelled job comes back to nobody"
    );
    expect_left(&backend, 0, &[]).await;
}

pub(crate) async fn results_reach_their_reader_and_nobody_else<K: Backend>() {
    let backend = K::start(K::TIMES).await;
    let bus = backend.bus();
    let result =
        |reply_to| JobResult { id: JobId { reply_to, ..job(0).id }, attempt: 0, answer: JobAnswer::Split };
    let mut mine = bus.results(me()).await.unwrap();
    bus.answer(result(Incarnation::random())).await.unwrap();
    bus.answer(result(me())).await.unwrap();
    assert_eq!(mine.next().await, Some(result(me())));
    assert!(timeout(Duration::from_millis(50), mine.next()).await.is_err());
    let mut newer = bus.results(me()).await.unwrap();
    assert_eq!(mine.next().await, None, "a second stream takes the place of the first");
    bus.answer(result(me())).await.unwrap();
    assert_eq!(newer.next().await, Some(result(me())));
}

pub(crate) async fn workers_are_heard_by_who_asks_for_their_model<K: Backend>() {
    let backend = K::start(K::TIMES).await;
    let bus = backend.bus();
    let model = job(0).lane.model;
    let worker = |serial: u64| Presence {
        worker: SubjectToken::from_name("worker"),
        model: model.clone(),
        engine: "toy".into(),
        schema: "1.0".into(),
        is_ready: true,
        capacity_tokens: 8192,
        held_tokens: serial as usize,
        tokens_per_second: 0.5,
        coordinators: 0,
    };
    let mut heard = bus.presences(&model).await.unwrap();
    let mut others = bus.presences(&SubjectToken::from_name("other")).await.unwrap();
    bus.announce(worker(1)).await.unwrap();
    bus.announce(worker(2)).await.unwrap();
    assert_eq!(heard.next().await, Some(worker(1)));
    assert_eq!(heard.next().await, Some(worker(2)));
    assert!(timeout(Duration::from_millis(50), others.next()).await.is_err());
}

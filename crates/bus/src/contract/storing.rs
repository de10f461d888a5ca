//! Storing jobs: once, within limits, in the right queue.

use super::{Backend, budget, expect_left, job, publish_all};
use crate::{Job, JobBus, JobTexts, LaneId, MAX_JOB_BYTES, PublishError, Published, SubjectToken};
use groundline_types::{Lane, Work};
use std::time::Duration;

pub(crate) async fn an_attempt_is_stored_once_within_the_window<K: Backend>() {
    let times = K::TIMES;
    let backend = K::start(times).await;
    let bus = backend.bus();
    assert_eq!(bus.publish(job(0)).await, Ok(Published::Stored));
    bus.pull(&job(0).lane, budget(1)).await.unwrap().into_iter().for_each(crate::Delivery::ack);
    assert_eq!(
        bus.publish(job(0)).await,
        Ok(Published::Duplicate),
        "the window outlives the acknowledgement"
    );
    let again = Job { attempt: 1, ..job(0) };
    assert_eq!(bus.publish(again).await, Ok(Published::Stored), "another attempt is another message");
    bus.pull(&job(0).lane, budget(1)).await.unwrap().into_iter().for_each(crate::Delivery::ack);
    tokio::time::sleep(times.duplicate_window + Duration::from_millis(500)).await;
    assert_eq!(bus.publish(job(0)).await, Ok(Published::Stored));
}

pub(crate) async fn a_job_that_is_stored_is_not_stored_again_under_a_later_attempt<K: Backend>() {
    let backend = K::start(K::TIMES).await;
    let again = || Job { attempt: 1, ..job(0) };
    publish_all(backend.bus(), 1).await;
    assert_eq!(backend.bus().publish(again()).await, Ok(Published::Duplicate), "it waits");
    let held = backend.bus().pull(&job(0).lane, budget(9)).await.unwrap();
    assert_eq!(held.len(), 1);
    assert_eq!(backend.bus().publish(again()).await, Ok(Published::Duplicate), "it is in hands");
    held.into_iter().for_each(crate::Delivery::ack);
    expect_left(&backend, 0, &[]).await;
    assert_eq!(
        backend.bus().publish(again()).await,
        Ok(Published::Stored),
        "it is done, and asked for again"
    );
}

pub(crate) async fn one_tenant_cannot_fill_the_bus<K: Backend>() {
    let times = K::TIMES;
    let backend = K::start(times).await;
    publish_all(backend.bus(), times.max_jobs_per_tenant as u32).await;
    let refused = backend.bus().publish(job(100)).await;
    assert_eq!(refused, Err(PublishError::TenantFull { waiting: times.max_jobs_per_tenant }));
    let other = Job { tenant: SubjectToken::from_name("other"), ..job(101) };
    assert_eq!(backend.bus().publish(other).await, Ok(Published::Stored));
    backend.bus().pull(&job(0).lane, budget(1)).await.unwrap().into_iter().for_each(crate::Delivery::ack);
    expect_left(&backend, times.max_jobs_per_tenant, &[]).await;
    assert_eq!(backend.bus().publish(job(100)).await, Ok(Published::Stored), "a refusal is not remembered");
}

pub(crate) async fn a_job_over_the_size_limit_is_refused<K: Backend>() {
    let backend = K::start(K::TIMES).await;
    let text = "x".repeat(MAX_JOB_BYTES);
    let large = Job { texts: JobTexts::intern([&Work::Embed { text: text.into() }]), ..job(0) };
    let refused = backend.bus().publish(large).await;
    assert!(matches!(refused, Err(PublishError::TooLarge { .. })), "{refused:?}");
}

pub(crate) async fn lanes_and_models_do_not_mix<K: Backend>() {
    let backend = K::start(K::TIMES).await;
    publish_all(backend.bus(), 1).await;
    let bulk = LaneId { lane: Lane::Bulk, ..job(0).lane };
    let other = LaneId { model: SubjectToken::from_name("other"), ..job(0).lane };
    for lane in [bulk, other] {
        assert!(backend.bus().pull(&lane, budget(1)).await.unwrap().is_empty());
    }
}

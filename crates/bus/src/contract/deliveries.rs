//! Delivering jobs, again where they are not decided.

use super::{Backend, Times, budget, expect_left, job, publish_all};
use crate::{JobBus, PullBudget};
use std::time::Duration;
use tokio::time::Instant;

pub(crate) async fn jobs_come_out_in_order_and_acked_ones_are_gone<K: Backend>() {
    let backend = K::start(K::TIMES).await;
    publish_all(backend.bus(), 3).await;
    let first = backend.bus().pull(&job(0).lane, budget(2)).await.unwrap();
    assert_eq!(first.iter().map(|delivery| delivery.job().id.serial).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(**first[0].job(), job(0));
    first.into_iter().for_each(crate::Delivery::ack);
    let second = backend.bus().pull(&job(0).lane, budget(9)).await.unwrap();
    assert_eq!(second.len(), 1);
    second.into_iter().for_each(crate::Delivery::ack);
    expect_left(&backend, 0, &[]).await;
}

pub(crate) async fn a_job_that_is_handed_back_comes_at_once_and_as_good_as_new<K: Backend>() {
    let times = K::TIMES;
    let backend = K::start(times).await;
    publish_all(backend.bus(), 1).await;
    for _ in 0..2 * times.max_deliver {
        let held = backend.bus().pull(&job(0).lane, budget(1)).await.unwrap();
        assert_eq!(held[0].delivered(), 1);
        held.into_iter().for_each(crate::Delivery::hand_back);
    }
    // A holder that is late says nothing on the delivery that came after its own, though both are the first.
    let late = backend.bus().pull(&job(0).lane, budget(1)).await.unwrap();
    tokio::time::sleep(times.ack_wait).await;
    let next = backend.bus().pull(&job(0).lane, budget(1)).await.unwrap();
    late.into_iter().for_each(crate::Delivery::hand_back);
    expect_left(&backend, 1, &[]).await;
    assert!(
        backend
            .bus()
            .pull(&job(0).lane, PullBudget { wait: Duration::ZERO, ..budget(1) })
            .await
            .unwrap()
            .is_empty()
    );
    next.into_iter().for_each(crate::Delivery::ack);
    expect_left(&backend, 0, &[]).await;
}

pub(crate) async fn what_is_settled_is_known_at_once<K: Backend>() {
    let backend = K::start(Times { ack_wait: Duration::from_secs(20), ..K::TIMES }).await;
    publish_all(backend.bus(), 4).await;
    let mut held = backend.bus().pull(&job(0).lane, budget(3)).await.unwrap();
    assert_eq!(held.len(), 3);
    held.remove(0).ack();
    held.into_iter().for_each(crate::Delivery::hand_back);
    assert_eq!(backend.bus().settled().await, Ok(()));
    let wait = PullBudget { wait: Duration::ZERO, ..budget(9) };
    let all = backend.bus().pull(&job(0).lane, wait).await.unwrap();
    let seen = all.iter().map(|delivery| (delivery.job().id.serial, delivery.delivered()));
    assert_eq!(seen.collect::<std::collections::BTreeSet<_>>(), [(1, 1), (2, 1), (3, 1)].into());
    all.into_iter().for_each(crate::Delivery::ack);
    expect_left(&backend, 0, &[]).await;
}

pub(crate) async fn an_undecided_job_is_delivered_again_after_the_ack_wait<K: Backend>() {
    let times = K::TIMES;
    let backend = K::start(times).await;
    publish_all(backend.bus(), 1).await;
    let held = backend.bus().pull(&job(0).lane, budget(1)).await.unwrap();
    let start = Instant::now();
    let again = loop {
        let pulled = backend.bus().pull(&job(0).lane, budget(1)).await.unwrap();
        if let Some(delivery) = pulled.into_iter().next() {
            break delivery;
        }
    };
    // A busy machine is late, never early.
    assert!(start.elapsed() >= times.ack_wait && start.elapsed() < times.ack_wait + Duration::from_secs(5));
    assert_eq!((held[0].delivered(), again.delivered()), (1, 2));
    assert!(again.time_left() <= job(0).time_left - times.ack_wait, "waiting uses up the job's time");
    // The first holder is late; what it says changes nothing, but that a broker takes its word that the job is done.
    held[0].extend();
    held.into_iter().for_each(crate::Delivery::ack);
    expect_left(&backend, usize::from(!K::LATE_ACKS_COUNT), &[]).await;
    again.ack();
    expect_left(&backend, 0, &[]).await;
}

pub(crate) async fn an_extended_job_stays_with_its_holder<K: Backend>() {
    let times = K::TIMES;
    let backend = K::start(times).await;
    publish_all(backend.bus(), 1).await;
    let held = backend.bus().pull(&job(0).lane, budget(1)).await.unwrap();
    for _ in 0..6 {
        tokio::time::sleep(times.ack_wait / 2).await;
        held[0].extend();
        let wait = PullBudget { wait: Duration::ZERO, ..budget(1) };
        assert!(backend.bus().pull(&job(0).lane, wait).await.unwrap().is_empty());
    }
    held.into_iter().for_each(crate::Delivery::ack);
    expect_left(&backend, 0, &[]).await;
}

pub(crate) async fn a_retry_waits_as_long_as_it_was_told<K: Backend>() {
    let backend = K::start(K::TIMES).await;
    publish_all(backend.bus(), 1).await;
    let held = backend.bus().pull(&job(0).lane, budget(1)).await.unwrap();
    held.into_iter().for_each(|delivery| delivery.retry(Duration::from_millis(700)));
    let start = Instant::now();
    let again = backend.bus().pull(&job(0).lane, budget(1)).await.unwrap();
    assert_eq!((again.len(), again[0].delivered()), (1, 2));
    assert!(start.elapsed() >= Duration::from_millis(700));
    again.into_iter().for_each(crate::Delivery::ack);
}

pub(crate) async fn a_dropped_delivery_comes_back_at_once<K: Backend>() {
    let backend = K::start(K::TIMES).await;
    publish_all(backend.bus(), 1).await;
    drop(backend.bus().pull(&job(0).lane, budget(1)).await.unwrap());
    let start = Instant::now();
    let again = backend.bus().pull(&job(0).lane, budget(1)).await.unwrap();
    assert_eq!(again.len(), 1);
    assert!(start.elapsed() < Duration::from_millis(300).min(K::TIMES.ack_wait / 2));
    again.into_iter().for_each(crate::Delivery::ack);
}

pub(crate) async fn a_pull_keeps_to_its_budget_of_tokens<K: Backend>() {
    let backend = K::start(K::TIMES).await;
    publish_all(backend.bus(), 4).await;
    let pull = |max_tokens| PullBudget { max_tokens, ..budget(9) };
    let lane = job(0).lane;
    let small = backend.bus().pull(&lane, pull(5)).await.unwrap();
    assert_eq!(small.len(), 1, "the first is given even where it is larger than the budget");
    let rest = backend.bus().pull(&lane, pull(29)).await.unwrap();
    assert_eq!(rest.len(), 2);
    small.into_iter().chain(rest).for_each(crate::Delivery::ack);
}

pub(crate) async fn a_waiting_pull_wakes_on_publish<K: Backend>() {
    let backend = K::start(K::TIMES).await;
    let (lane, bus) = (job(0).lane, backend.bus().clone());
    let pull = bus.pull(&lane, budget(1));
    let publish = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        backend.bus().publish(job(0)).await.unwrap();
    };
    let start = Instant::now();
    let (pulled, ()) = tokio::join!(pull, publish);
    assert!(start.elapsed() < Duration::from_millis(800));
    pulled.unwrap().into_iter().for_each(crate::Delivery::ack);
}

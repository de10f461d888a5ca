//! Ends: of jobs, and of the bus.

use super::{Backend, Times, budget, expect_left, job, me, publish_all};
use crate::{JobBus, PublishError, PullBudget};
use groundline_types::{Code, Reason};
use std::collections::BTreeSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::time::Duration;

pub(crate) async fn a_job_is_dead_after_the_last_allowed_delivery<K: Backend>() {
    let times = K::TIMES;
    let backend = K::start(times).await;
    publish_all(backend.bus(), 1).await;
    for delivered in 1..=times.max_deliver {
        let held = backend.bus().pull(&job(0).lane, budget(1)).await.unwrap();
        assert_eq!(held[0].delivered(), delivered);
        held.into_iter().for_each(|delivery| delivery.retry(Duration::ZERO));
    }
    assert!(backend.bus().pull(&job(0).lane, budget(1)).await.unwrap().is_empty());
    expect_left(&backend, 0, &[(job(0).id, Code::JOB_DEAD, times.max_deliver as usize)]).await;
}

pub(crate) async fn a_rejected_job_is_dead_at_once<K: Backend>() {
    let backend = K::start(K::TIMES).await;
    publish_all(backend.bus(), 1).await;
    let held = backend.bus().pull(&job(0).lane, budget(1)).await.unwrap();
    held.into_iter().for_each(|delivery| delivery.reject(Reason::new(Code::INTERNAL, "test")));
    assert!(backend.bus().pull(&job(0).lane, budget(1)).await.unwrap().is_empty());
    expect_left(&backend, 0, &[(job(0).id, Code::INTERNAL, 1)]).await;
}

pub(crate) async fn a_drained_bus_refuses_everything_and_wakes_who_waits<K: Backend>() {
    let backend = K::start(K::TIMES).await;
    let bus = backend.bus().clone();
    let mut results = bus.results(me()).await.unwrap();
    let mut state = bus.state();
    assert!(state.borrow_and_update().connected);
    let lane = job(0).lane;
    let pull = bus.pull(&lane, PullBudget { wait: Duration::from_secs(3600), ..budget(1) });
    let drain = async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        backend.bus().clone().drain().await.unwrap();
    };
    let (pulled, ()) = tokio::join!(pull, drain);
    assert!(pulled.is_err());
    assert_eq!(results.next().await, None);
    assert!(matches!(bus.publish(job(0)).await, Err(PublishError::Closed(_))));
    state.changed().await.unwrap();
    assert!(!state.borrow().connected);
}

/// Any order of publishing, taking, deciding and waiting: every job ends acknowledged or dead, once.
pub(crate) async fn no_job_is_lost_or_doubled_whatever_workers_do<K: Backend>() {
    for seed in 0..K::SEEDS {
        let times = Times { max_jobs_per_tenant: 100, ..K::TIMES };
        let backend = K::start(times).await;
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let roll = |step: u64, sides: u64| hasher.hash_one((seed, step, sides)) % sides;
        publish_all(backend.bus(), 20).await;
        let (mut acked, mut step) = (Vec::new(), 0);
        let mut held = Vec::new();
        while backend.stored().await > 0 {
            step += 1;
            assert!(step < 10_000, "seed {seed} does not end");
            let wait = PullBudget { wait: Duration::from_millis(100), ..budget(1 + roll(step, 4) as usize) };
            held.extend(backend.bus().pull(&job(0).lane, wait).await.unwrap());
            if roll(step, 7) == 0 {
                tokio::time::sleep(times.ack_wait).await;
            }
            if held.is_empty() {
                continue;
            }
            let delivery = held.remove(roll(step, held.len() as u64) as usize);
            let before = backend.stored().await;
            match roll(step, 4) {
                0 => drop(delivery),
                1 => delivery.retry(Duration::from_millis(roll(step, 900))),
                _ => {
                    let serial = delivery.job().id.serial;
                    delivery.ack();
                    acked.extend((K::LATE_ACKS_COUNT || backend.stored().await < before).then_some(serial));
                }
            }
        }
        let dead = backend.dead().await.iter().map(|(id, ..)| id.serial).collect::<Vec<_>>();
        assert_eq!(dead.len(), dead.iter().collect::<BTreeSet<_>>().len(), "seed {seed}: one died twice");
        let mut ended = acked;
        ended.extend(dead);
        ended.sort_unstable();
        if K::LATE_ACKS_COUNT {
            // A late word that a job is done is believed, so one job may be done and dead, or done twice.
            ended.dedup();
        }
        assert_eq!(ended, (0..20).collect::<Vec<_>>(), "seed {seed}");
    }
}

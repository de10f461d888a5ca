//! A broker that has forgotten everything, or that nobody has prepared yet.

use super::{Nats, options};
use crate::contract::{Backend as _, budget, expect_left, job};
use crate::nats::known::Place;
use crate::nats::topology::Version;
use crate::nats::{NatsBus, order, subjects};
use crate::{Delivery, Job, JobBus as _, NatsOptions, Published, PullBudget, Secret};
use groundline_testkit::{NatsServer, NatsVersion};
use groundline_types::Lane;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Jobs that the broker is given before and after.
const JOBS: u32 = 6;
const SOON: Duration = Duration::from_secs(15);

fn wait(jobs: usize) -> PullBudget {
    PullBudget { wait: SOON, ..budget(jobs) }
}

/// Takes so many jobs, in as many pulls as it needs.
async fn take(bus: &NatsBus, jobs: u32) -> Vec<Delivery> {
    let mut taken = Vec::new();
    while taken.len() < jobs as usize {
        let more = bus.pull(&job(0).lane, wait(jobs as usize)).await.unwrap();
        assert!(!more.is_empty(), "{} of {jobs} jobs came", taken.len());
        taken.extend(more);
    }
    taken
}

async fn forget_everything(nats: &mut Nats) {
    let before = nats.bus.state().borrow().generation;
    nats.server.kill();
    nats.server.wipe();
    nats.server.restart();
    let mut state = nats.bus.state();
    let is_back = state.wait_for(|state| state.connected && state.generation > before);
    timeout(SOON, is_back).await.expect("it comes back").unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_word_on_a_forgotten_job_touches_no_job_that_came_after() {
    let mut nats = Nats::start(Nats::TIMES).await;
    for serial in 0..JOBS {
        nats.bus.publish(job(serial)).await.unwrap();
    }
    let forgotten = take(&nats.bus, JOBS).await;
    forget_everything(&mut nats).await;
    for serial in 0..JOBS {
        let again = Job { attempt: 1, ..job(serial) };
        assert_eq!(nats.bus.publish(again).await, Ok(Published::Stored));
    }
    for (number, delivery) in forgotten.into_iter().enumerate() {
        match number % 3 {
            0 => delivery.ack(),
            1 => delivery.retry(Duration::ZERO),
            _ => delivery.hand_back(),
        }
    }
    // Time for the broker to do what it should not.
    sleep(Duration::from_millis(200)).await;
    let taken = take(&nats.bus, JOBS).await;
    assert!(taken.iter().all(|delivery| (delivery.job().attempt, delivery.delivered()) == (1, 1)));
    taken.into_iter().for_each(Delivery::ack);
    expect_left(&nats, 0, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_made_while_the_broker_is_away_is_kept_for_the_same_streams_and_no_others() {
    let mut nats = Nats::with(|options| options.ack_wait_online_ms = 20_000).await;
    nats.bus.publish(job(0)).await.unwrap();
    let held = take(&nats.bus, 1).await;
    let mut state = nats.bus.state();
    nats.server.kill();
    state.wait_for(|state| !state.connected).await.unwrap();
    held.into_iter().for_each(Delivery::ack);
    nats.server.restart();
    expect_left(&nats, 0, &[]).await;

    nats.bus.publish(job(1)).await.unwrap();
    let held = take(&nats.bus, 1).await;
    nats.server.kill();
    nats.server.wipe();
    state.wait_for(|state| !state.connected).await.unwrap();
    held.into_iter().for_each(Delivery::ack);
    nats.server.restart();
    for serial in 2..2 + JOBS {
        nats.bus.publish(job(serial)).await.unwrap();
    }
    take(&nats.bus, JOBS).await.into_iter().for_each(Delivery::ack);
    expect_left(&nats, 0, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_number_that_went_to_another_job_does_not_pass_for_the_first() {
    let nats = Nats::start(Nats::TIMES).await;
    nats.bus.publish(job(1)).await.unwrap();
    let known = &nats.bus.shared.published;
    let sequence = known.sequence(job(1).id).unwrap();
    known.insert(job(0).id, Place { lane: Lane::Online, sequence });
    assert_eq!(nats.bus.publish(job(0)).await, Ok(Published::Stored));
    let again = Job { attempt: 1, ..job(1) };
    assert_eq!(nats.bus.publish(again).await, Ok(Published::Duplicate));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_that_somebody_deletes_are_made_again_and_count_as_forgotten() {
    let nats = Nats::start(Nats::TIMES).await;
    nats.bus.publish(job(0)).await.unwrap();
    let before = *nats.bus.state().borrow();
    nats.bus.shared.connection.api.ask("STREAM.DELETE.GL_JOBS_V1", None).await.unwrap();
    assert_eq!(nats.bus.publish(job(1)).await, Ok(Published::Stored));
    let mut state = nats.bus.state();
    let is_told = state.wait_for(|state| state.generation > before.generation);
    timeout(SOON, is_told).await.expect("readers send again").unwrap();
    assert_eq!(nats.bus.shared.published.sequence(job(0).id), None);
    assert_eq!(nats.bus.publish(Job { attempt: 1, ..job(0) }).await, Ok(Published::Stored));
}

/// A bus with two jobs that the broker has passed over; `None` on brokers that do not: those of 2.10 do.
async fn with_jobs_passed_over() -> Option<Nats> {
    let nats = Nats::start(Nats::TIMES).await;
    if !matches!(nats.bus.shared.connection.version, Version(2, 10, _)) {
        return None;
    }
    let pull_all = async || nats.bus.pull(&job(0).lane, budget(9)).await.unwrap();
    // The consumer is made with the first pull.
    assert!(pull_all().await.is_empty());
    for serial in 0..3 {
        nats.bus.publish(job(serial)).await.unwrap();
    }
    let last = nats.bus.shared.published.sequence(job(2).id).unwrap();
    // Of somebody who has not noticed yet that the stream is another one.
    let consumer = subjects::jobs_consumer(&job(0).lane);
    let late = format!("$JS.ACK.GL_JOBS_V1.{consumer}.1.{last}.{last}.0.0");
    nats.bus.shared.connection.api.client.publish(late, "+ACK".into()).await.unwrap();
    sleep(Duration::from_millis(200)).await;
    assert!(pull_all().await.is_empty(), "they are not passed over");
    expect_left(&nats, 2, &[]).await;
    Some(nats)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_the_broker_has_passed_over_are_put_back_by_the_janitor() {
    let Some(nats) = with_jobs_passed_over().await else { return };
    nats.bus.shared.sweep(&job(0).lane).await.unwrap();
    let taken = take(&nats.bus, 2).await;
    assert!(taken.iter().all(|delivery| delivery.delivered() == 2));
    assert!(taken.iter().all(|delivery| delivery.time_left() < job(0).time_left), "it has waited");
    taken.into_iter().for_each(Delivery::ack);
    expect_left(&nats, 0, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_the_broker_has_passed_over_are_stored_anew_when_they_are_sent_again() {
    let Some(nats) = with_jobs_passed_over().await else { return };
    for serial in 0..2 {
        let again = Job { attempt: 1, ..job(serial) };
        assert_eq!(nats.bus.publish(again).await, Ok(Published::Stored));
    }
    let taken = take(&nats.bus, 2).await;
    assert!(taken.iter().all(|delivery| delivery.job().attempt == 1));
    taken.into_iter().for_each(Delivery::ack);
    expect_left(&nats, 0, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_may_not_make_streams_waits_for_who_may() {
    let users = r#"authorization { users: [
        { user: coordinator, password: secret },
        { user: worker, password: secret, permissions: { publish: { deny: "$JS.API.STREAM.CREATE.>" } } }
    ] }"#;
    let server = NatsServer::start_with(NatsVersion::of_tests(), users);
    let with = |user: &str| NatsOptions {
        user: user.into(),
        password: Secret::new("secret"),
        request_timeout_ms: 1000,
        runs_janitor: false,
        ..options(&server, Nats::TIMES)
    };
    let worker = NatsBus::connect(with("worker")).await.unwrap();
    let obeying =
        NatsBus::connect(NatsOptions { manages_streams: false, ..with("coordinator") }).await.unwrap();
    for waiting in [&worker, &obeying] {
        assert_eq!(waiting.trouble(), Some(order::NO_STREAMS));
        assert!(!waiting.state().borrow().connected);
    }
    assert!(worker.pull(&job(0).lane, budget(1)).await.unwrap().is_empty());
    sleep(Duration::from_secs(2)).await;
    assert_eq!(worker.stats().refusals, 1, "it is tried once");

    let coordinator = NatsBus::connect(with("coordinator")).await.unwrap();
    for waiting in [&worker, &obeying] {
        timeout(SOON, waiting.state().wait_for(|state| state.connected)).await.unwrap().unwrap();
        assert_eq!(waiting.trouble(), None);
    }
    coordinator.publish(job(0)).await.unwrap();
    take(&worker, 1).await.into_iter().for_each(Delivery::ack);
}

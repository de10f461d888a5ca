use super::*;
use crate::contract::Backend as _;
use crate::nats::tests::Nats;
use crate::{NatsBus, NatsOptions};
use groundline_testkit::{FaultProxy, Way};

fn ticket(id: &str) -> CheckTicket {
    CheckTicket { id: id.into(), tenant: tenant(), lane: Lane::Bulk }
}

fn tenant() -> SubjectToken {
    SubjectToken::from_name("tenant")
}

const WAIT: Duration = Duration::from_secs(5);

async fn eventually(queue: &NatsCheckQueue, id: &str, wanted: impl Fn(&Option<Answer>) -> bool) {
    for _ in 0..300 {
        if wanted(&queue.answer(&tenant(), id).await.unwrap()) {
            return;
        }
        sleep(Duration::from_millis(20)).await;
    }
    panic!("{:?}", queue.answer(&tenant(), id).await);
}

fn failed_with(code: Code) -> impl Fn(&Option<Answer>) -> bool {
    move |answer| matches!(answer, Some(Answer::Failed { code: found, .. }) if *found == code.as_str())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_is_stored_once_pulled_and_answered() {
    let nats = Nats::start(Nats::TIMES).await;
    let queue = nats.bus.checks();
    assert_eq!(queue.answer(&tenant(), "a.b c").await, Ok(None));
    assert_eq!(queue.submit(ticket("a.b c"), b"body".to_vec()).await, Ok(Published::Stored));
    assert_eq!(queue.submit(ticket("a.b c"), b"body".to_vec()).await, Ok(Published::Duplicate));
    assert_eq!(queue.answer(&tenant(), "a.b c").await, Ok(Some(Answer::Waiting)));
    let pulled = queue.pull(9, WAIT).await.unwrap().pop().unwrap();
    assert_eq!((pulled.id(), pulled.body(), pulled.delivered()), ("a.b c", b"body".as_slice(), 1));
    queue.put_answer(&tenant(), "a.b c", Answer::Running).await.unwrap();
    queue.put_answer(&tenant(), "a.b c", Answer::Done(b"result".to_vec())).await.unwrap();
    pulled.ack();
    queue.put_answer(&tenant(), "a.b c", Answer::Running).await.unwrap();
    assert_eq!(queue.answer(&tenant(), "a.b c").await, Ok(Some(Answer::Done(b"result".to_vec()))));
    assert_eq!(queue.answer(&SubjectToken::from_name("other"), "a.b c").await, Ok(None));
    assert!(queue.pull(9, Duration::from_millis(1500)).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_whose_storing_was_not_confirmed_is_no_duplicate_of_itself() {
    let nats = Nats::start(Nats::TIMES).await;
    let proxy = FaultProxy::start(nats.server.port());
    let options =
        NatsOptions { urls: vec![proxy.url()], request_timeout_ms: 300, ..nats.bus.shared.options.clone() };
    let bus = NatsBus::connect(options).await.unwrap();
    let mut is_first = true;
    proxy.set_rule(move |way, message| {
        let is_word = way == Way::ToClient
            && String::from_utf8_lossy(&message.payload).contains("\"stream\":\"GL_CHECKS_V1\"");
        !(is_word && std::mem::take(&mut is_first))
    });
    assert_eq!(bus.checks().submit(ticket("slow"), b"body".to_vec()).await, Ok(Published::Stored));
    assert_eq!(proxy.dropped(), 1);
    assert_eq!(nats.bus.checks().pull(9, WAIT).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_bodies_and_results_go_through_the_object_store() {
    let nats = Nats::start(Nats::TIMES).await;
    let queue = nats.bus.checks();
    let body = (0..3_000_000_u32).map(|number| number as u8).collect::<Vec<_>>();
    queue.submit(ticket("large"), body.clone()).await.unwrap();
    let pulled = queue.pull(1, WAIT).await.unwrap().pop().unwrap();
    assert!(pulled.body() == body, "the body has changed on its way");
    queue.put_answer(&tenant(), "large", Answer::Done(body.clone())).await.unwrap();
    pulled.ack();
    assert!(queue.answer(&tenant(), "large").await.unwrap() == Some(Answer::Done(body)));
    let too_large = queue.submit(ticket("larger"), vec![0; MAX_CHECK_BYTES + 1]).await.unwrap_err();
    assert_eq!(too_large.code, Code::JOB_TOO_LARGE);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_survives_a_crash_of_the_broker_even_where_jobs_do_not() {
    let mut nats = Nats::with(|options| options.storage = crate::NatsStorage::Memory).await;
    let queue = nats.bus.checks();
    queue.submit(ticket("kept"), b"body".to_vec()).await.unwrap();
    nats.server.kill();
    nats.server.restart();
    let pulled = queue.pull(1, Duration::from_secs(20)).await.unwrap().pop().unwrap();
    assert_eq!(pulled.id(), "kept");
    assert_eq!(queue.answer(&tenant(), "kept").await, Ok(Some(Answer::Waiting)));
    pulled.ack();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn checks_of_the_online_lane_come_first_and_undecided_ones_come_back() {
    let nats = Nats::start(Nats::TIMES).await;
    let queue = nats.bus.checks();
    queue.submit(ticket("bulk"), Vec::new()).await.unwrap();
    queue.submit(CheckTicket { lane: Lane::Online, ..ticket("online") }, Vec::new()).await.unwrap();
    let held = queue.pull(9, WAIT).await.unwrap();
    assert_eq!(held.iter().map(CheckDelivery::id).collect::<Vec<_>>(), ["online", "bulk"]);
    let again = queue.pull(1, WAIT).await.unwrap().pop().unwrap();
    assert_eq!(again.delivered(), 2);
    again.ack();
    held.into_iter().for_each(CheckDelivery::ack);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_that_cannot_be_done_has_failed_with_the_reason() {
    let nats = Nats::start(Nats::TIMES).await;
    let queue = nats.bus.checks();
    queue.submit(ticket("rejected"), Vec::new()).await.unwrap();
    let reason = Reason::new(Code::INVALID_FIELD, "test");
    queue.pull(1, WAIT).await.unwrap().pop().unwrap().reject(reason);
    eventually(&queue, "rejected", failed_with(Code::INVALID_FIELD)).await;
    queue.submit(ticket("retried"), Vec::new()).await.unwrap();
    for _ in 0..Nats::TIMES.max_deliver {
        queue.pull(1, WAIT).await.unwrap().pop().unwrap().retry(Duration::ZERO);
    }
    eventually(&queue, "retried", failed_with(Code::JOB_DEAD)).await;
    // Its coordinators die with it: the broker gives it up, and the janitor says so.
    queue.submit(ticket("killer"), Vec::new()).await.unwrap();
    let mut held = Vec::new();
    for _ in 0..Nats::TIMES.max_deliver {
        held.extend(queue.pull(1, WAIT).await.unwrap());
    }
    assert!(queue.pull(1, Duration::from_secs(3)).await.unwrap().is_empty());
    eventually(&queue, "killer", failed_with(Code::JOB_DEAD)).await;
    held.into_iter().for_each(CheckDelivery::ack);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_s_checks_are_bounded_and_a_refused_one_leaves_no_trace() {
    let nats = Nats::with(|options| options.max_checks_per_tenant = 1).await;
    let queue = nats.bus.checks();
    queue.submit(ticket("a"), Vec::new()).await.unwrap();
    let refused = queue.submit(ticket("b"), Vec::new()).await.unwrap_err();
    assert_eq!(refused.code, Code::OVERLOADED);
    assert_eq!(queue.answer(&tenant(), "b").await, Ok(None));
    queue.pull(1, WAIT).await.unwrap().pop().unwrap().ack();
    sleep(Duration::from_millis(100)).await;
    assert_eq!(queue.submit(ticket("b"), Vec::new()).await, Ok(Published::Stored));
}

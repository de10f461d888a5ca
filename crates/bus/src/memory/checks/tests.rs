use super::*;
use groundline_types::{Lane, Reason};

fn ticket(id: &str) -> CheckTicket {
    CheckTicket { id: id.into(), tenant: SubjectToken::from_name("tenant"), lane: Lane::Bulk }
}

fn tenant() -> SubjectToken {
    SubjectToken::from_name("tenant")
}

const WAIT: Duration = Duration::from_secs(5);

#[tokio::test(start_paused = true)]
async fn a_check_is_stored_once_pulled_and_answered() {
    let queue = MemoryCheckQueue::default();
    assert_eq!(queue.answer(&tenant(), "a").await, Ok(None));
    assert_eq!(queue.submit(ticket("a"), b"body".to_vec()).await, Ok(Published::Stored));
    assert_eq!(queue.submit(ticket("a"), b"body".to_vec()).await, Ok(Published::Duplicate));
    assert_eq!(queue.answer(&tenant(), "a").await, Ok(Some(Answer::Waiting)));
    let pulled = queue.pull(9, WAIT).await.unwrap().pop().unwrap();
    assert_eq!((pulled.id(), pulled.body(), pulled.delivered()), ("a", b"body".as_slice(), 1));
    queue.put_answer(&tenant(), "a", Answer::Running).await.unwrap();
    queue.put_answer(&tenant(), "a", Answer::Done(b"result".to_vec())).await.unwrap();
    pulled.ack();
    queue.put_answer(&tenant(), "a", Answer::Running).await.unwrap();
    assert_eq!(queue.answer(&tenant(), "a").await, Ok(Some(Answer::Done(b"result".to_vec()))));
    assert_eq!(queue.answer(&SubjectToken::from_name("other"), "a").await, Ok(None));
    assert!(queue.pull(9, WAIT).await.unwrap().is_empty());
    tokio::time::sleep(MemoryCheckQueueOptions::default().answer_ttl).await;
    assert_eq!(queue.answer(&tenant(), "a").await, Ok(None));
}

#[tokio::test(start_paused = true)]
async fn checks_of_the_online_lane_come_first_and_undecided_ones_come_back() {
    let queue = MemoryCheckQueue::default();
    queue.submit(ticket("bulk"), Vec::new()).await.unwrap();
    queue.submit(CheckTicket { lane: Lane::Online, ..ticket("online") }, Vec::new()).await.unwrap();
    let held = queue.pull(9, WAIT).await.unwrap();
    assert_eq!(held.iter().map(CheckDelivery::id).collect::<Vec<_>>(), ["online", "bulk"]);
    held[0].extend();
    let again = queue.pull(9, Duration::from_secs(31)).await.unwrap();
    assert_eq!(again.iter().map(CheckDelivery::delivered).collect::<Vec<_>>(), [2, 2]);
    // The first holders are late.
    held.into_iter().for_each(CheckDelivery::ack);
    drop(again);
    assert_eq!(queue.pull(9, WAIT).await.unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_check_that_cannot_be_done_has_failed_with_the_reason() {
    let queue = MemoryCheckQueue::default();
    for id in ["rejected", "worn"] {
        queue.submit(ticket(id), Vec::new()).await.unwrap();
    }
    let reason = Reason::new(Code::INVALID_FIELD, "test");
    queue.pull(1, WAIT).await.unwrap().pop().unwrap().reject(reason);
    for _ in 0..MemoryCheckQueueOptions::default().max_deliver {
        queue.pull(1, WAIT).await.unwrap().pop().unwrap().retry(Duration::from_secs(1));
    }
    assert!(queue.pull(1, WAIT).await.unwrap().is_empty());
    for (id, code) in [("rejected", "GL1007"), ("worn", "GL3002")] {
        let answer = queue.answer(&tenant(), id).await.unwrap();
        assert!(matches!(&answer, Some(Answer::Failed { code: found, .. }) if found == code), "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_queue_is_bounded_per_tenant_and_in_bytes() {
    let options = MemoryCheckQueueOptions { max_checks_per_tenant: 1, max_bytes: 10, ..Default::default() };
    let queue = MemoryCheckQueue::new(options);
    let code = |result: Result<Published, Problem>| result.map_err(|problem| problem.code);
    assert_eq!(code(queue.submit(ticket("a"), vec![0; 11]).await), Err(Code::OVERLOADED));
    assert_eq!(code(queue.submit(ticket("a"), vec![0; 10]).await), Ok(Published::Stored));
    assert_eq!(code(queue.submit(ticket("b"), Vec::new()).await), Err(Code::OVERLOADED));
    let large = vec![0; crate::MAX_CHECK_BYTES + 1];
    assert_eq!(code(queue.submit(ticket("c"), large).await), Err(Code::JOB_TOO_LARGE));
    queue.pull(1, WAIT).await.unwrap().pop().unwrap().ack();
    assert_eq!(code(queue.submit(ticket("b"), vec![0; 10]).await), Ok(Published::Stored));
    queue.close();
    assert_eq!(code(queue.submit(ticket("d"), Vec::new()).await), Err(Code::BUS_UNAVAILABLE));
}

//! The users of `deploy/nats.conf` have the rights that their roles need, and no more.

use super::{Nats, options};
use crate::contract::{Backend as _, budget, job, me};
use crate::nats::NatsBus;
use crate::{Answer, CheckQueue as _, CheckTicket, JobAnswer, JobBus as _, JobResult};
use crate::{NatsOptions, Secret};
use groundline_testkit::{NatsServer, NatsVersion};
use std::time::Duration;
use tokio::time::timeout;

const CONF: &str = include_str!("../../../../../deploy/nats.conf");
/// Where the users' rights begin; what stands before is about ports and folders, which the test server has its own of.
const RIGHTS: &str = "GATEWAY_PUBLISH = [";
const SOON: Duration = Duration::from_secs(5);
/// More than fits into a message, so that it goes through the object store.
const LARGE_BYTES: usize = 600 << 10;

/// A server with those users; the password of each is its name.
fn server() -> NatsServer {
    let at = CONF.find(RIGHTS).unwrap();
    let mut rights = CONF[at..].to_owned();
    for role in ["gateway", "coordinator", "worker", "operator"] {
        rights = rights.replace(&format!("$NATS_{}_PASSWORD", role.to_uppercase()), role);
    }
    NatsServer::start_with(NatsVersion::of_tests(), &rights)
}

async fn bus(server: &NatsServer, role: &str) -> NatsBus {
    let options = NatsOptions {
        user: role.to_owned(),
        password: Secret::new(role),
        runs_janitor: role != "worker",
        ..options(server, Nats::TIMES)
    };
    NatsBus::connect(options).await.unwrap_or_else(|problem| panic!("{role}: {problem:?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_role_does_its_work_with_the_rights_of_its_user_and_no_other_work() {
    let server = server();
    let gateway = bus(&server, "gateway").await;
    let coordinator = bus(&server, "coordinator").await;
    let worker = bus(&server, "worker").await;

    let mut results = gateway.results(me()).await.unwrap();
    gateway.publish(job(0)).await.unwrap();
    let delivery =
        worker.pull(&job(0).lane, budget(1)).await.unwrap().pop().expect("a worker may take a job");
    let result = JobResult { id: job(0).id, attempt: 0, answer: JobAnswer::Split };
    worker.answer(result.clone()).await.unwrap();
    delivery.ack();
    assert_eq!(timeout(SOON, results.next()).await.ok().flatten(), Some(result));

    let ticket = CheckTicket { id: "large".into(), tenant: job(0).tenant, lane: job(0).lane.lane };
    let body = vec![b'x'; LARGE_BYTES];
    gateway.checks().submit(ticket.clone(), body.clone()).await.unwrap();
    let check =
        coordinator.checks().pull(1, SOON).await.unwrap().pop().expect("a coordinator may take a check");
    assert!(check.body() == body);
    coordinator.checks().put_answer(&ticket.tenant, &ticket.id, Answer::Done(body.clone())).await.unwrap();
    check.ack();
    assert!(gateway.checks().answer(&ticket.tenant, &ticket.id).await.unwrap() == Some(Answer::Done(body)));

    assert!(worker.publish(job(1)).await.is_err(), "a worker makes jobs");
    gateway.publish(job(2)).await.unwrap();
    let taken = gateway.pull(&job(2).lane, budget(1)).await.unwrap_or_default();
    assert!(taken.is_empty(), "a gateway takes jobs");
}

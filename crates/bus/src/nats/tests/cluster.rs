//! Streams that are kept on several servers.

use super::Nats;
use crate::contract::{Backend as _, budget, job};
use crate::nats::NatsBus;
use crate::{Delivery, JobBus as _, NatsOptions, Published, PullBudget};
use groundline_testkit::{NatsCluster, NatsServer};
use groundline_types::Code;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_outlive_the_server_that_they_were_sent_to() {
    let mut cluster = NatsCluster::start(3);
    let first = super::options(cluster.server(0), Nats::TIMES);
    let options = NatsOptions { urls: cluster.urls(), replicas: 3, ..first };
    let bus = NatsBus::connect(options.clone()).await.unwrap();
    for stream in ["GL_JOBS_V1", "GL_CHECKS_V1", "GL_DEAD_V1", "KV_GL_ANSWERS_V1", "OBJ_GL_BODIES_V1"] {
        let info = bus.shared.connection.api.ask(&format!("STREAM.INFO.{stream}"), None).await.unwrap();
        assert_eq!(info.pointer("/config/num_replicas").unwrap(), 3, "{stream}");
    }
    for serial in 0..4 {
        assert_eq!(bus.publish(job(serial)).await, Ok(Published::Stored));
    }
    let named = &bus.shared.connection.api.client.server_info().server_name;
    let number = named.strip_prefix("test-").and_then(|number| number.parse().ok()).unwrap();
    cluster.server(number).kill();
    let mut taken = Vec::new();
    while taken.len() < 4 {
        let wait = PullBudget { wait: Duration::from_secs(20), ..budget(4) };
        let more = bus.pull(&job(0).lane, wait).await.unwrap();
        assert!(!more.is_empty(), "{} of 4 jobs came", taken.len());
        taken.extend(more);
    }
    assert_eq!(bus.publish(job(9)).await, Ok(Published::Stored), "two of three are enough");
    taken.into_iter().for_each(Delivery::ack);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_server_cannot_keep_three_copies_and_says_so() {
    let server = NatsServer::start();
    let options = NatsOptions { replicas: 3, ..super::options(&server, Nats::TIMES) };
    let problem = NatsBus::connect(options).await.unwrap_err();
    assert_eq!(problem.code, Code::BROKER_UNSUITABLE, "{problem}");
}

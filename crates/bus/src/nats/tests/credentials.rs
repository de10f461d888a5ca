//! Every way of showing who one is, against a server that asks for it, and what is said where that is wrong.

use super::{Nats, options};
use crate::contract::{Backend as _, job};
use crate::nats::NatsBus;
use crate::{JobBus as _, NatsOptions, Published, Secret};
use groundline_testkit::{NatsServer, NatsVersion};
use groundline_types::{Code, Problem};
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::Instant;

/// Wrong credentials do not get better: nobody waits for that.
const AT_ONCE: Duration = Duration::from_secs(10);
const NKEY: &str = "UA2YSBFZJMV4C2UMG7A5LEACX3JVRPUXE3Z3MQRZL3WO5YV2OZTHZHR4";
const NKEY_SEED: &str = "SUAAUUL4LD4VMCL4KD5N3KRYCTFY4X3NZJIJJIUEZDHMGWK7JOC764QEVM";
const OTHER_SEED: &str = "SUAN3CT4NHVGFXRWZCLTHU5HUBFEIKKTGRJRCM4Z6UU5TOJJYQZAHLOLMI";

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

fn server(config: &str) -> NatsServer {
    NatsServer::start_with(NatsVersion::of_tests(), config)
}

async fn expect_works(options: NatsOptions) {
    let bus = NatsBus::connect(options).await.unwrap_or_else(|problem| panic!("{problem}"));
    let published = bus.publish(job(0)).await;
    assert!(matches!(published, Ok(Published::Stored | Published::Duplicate)), "{published:?}");
}

async fn refused(options: NatsOptions) -> Problem {
    let began = Instant::now();
    let problem = NatsBus::connect(options).await.expect_err("it is refused");
    assert!(began.elapsed() < AT_ONCE, "{problem} after {:?}", began.elapsed());
    problem
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_with_a_password_is_let_in_and_with_a_wrong_one_refused() {
    let server = server(r#"authorization { user: me, password: right }"#);
    let with = |user: &str, password: &str| NatsOptions {
        user: user.into(),
        password: Secret::new(password),
        ..options(&server, Nats::TIMES)
    };
    expect_works(with("me", "right")).await;
    for (user, password) in [("me", "wrong"), ("you", "right")] {
        let problem = refused(with(user, password)).await;
        assert_eq!(problem.code, Code::BROKER_DENIED, "{problem}");
        assert!(!problem.message.contains(password), "{problem}");
    }
    assert_eq!(refused(options(&server, Nats::TIMES)).await.code, Code::BROKER_DENIED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_let_in_and_another_or_a_malformed_one_refused() {
    let server = server(&format!("authorization {{ users: [{{ nkey: {NKEY} }}] }}"));
    let with = |seed: &str| NatsOptions { nkey_seed: Secret::new(seed), ..options(&server, Nats::TIMES) };
    expect_works(with(NKEY_SEED)).await;
    for seed in [OTHER_SEED, "no-seed"] {
        let problem = refused(with(seed)).await;
        assert_eq!(problem.code, Code::BROKER_DENIED, "{problem}");
        assert!(!problem.message.contains(seed), "{problem}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_credentials_file_of_the_operator_s_account_is_let_in_and_a_stranger_s_refused() {
    let server = server(&std::fs::read_to_string(file("operator.conf")).unwrap());
    let with = |name: &str| NatsOptions { credentials_file: file(name), ..options(&server, Nats::TIMES) };
    expect_works(with("user.creds")).await;
    assert_eq!(refused(with("stranger.creds")).await.code, Code::BROKER_DENIED);
    for name in ["none.creds", "tls_ca.pem"] {
        let problem = refused(with(name)).await;
        assert_eq!(problem.code, Code::INVALID_CONFIG, "{problem}");
        assert!(problem.message.contains("credentials_file"), "{problem}");
    }
}

fn tls(more: &str) -> String {
    let path = |name: &str| file(name).display().to_string();
    let (certificate, key) = (path("tls_server.cert.pem"), path("tls_server.key.pem"));
    format!("tls {{ cert_file: {certificate:?}, key_file: {key:?}, {more} }}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_with_tls_is_trusted_by_its_authority_alone() {
    let server = server(&tls(""));
    let trusting = NatsOptions { tls_ca_file: file("tls_ca.pem"), ..options(&server, Nats::TIMES) };
    expect_works(trusting.clone()).await;
    expect_works(NatsOptions { urls: vec![server.url().replace("nats:", "tls:")], ..trusting.clone() }).await;
    // One that nobody here knows.
    let problem = refused(options(&server, Nats::TIMES)).await;
    assert_eq!(problem.code, Code::BROKER_UNTRUSTED, "{problem}");
    for name in ["none.pem", "tls_client.key.pem"] {
        let problem = refused(NatsOptions { tls_ca_file: file(name), ..trusting.clone() }).await;
        assert_eq!(problem.code, Code::INVALID_CONFIG, "{problem}");
        assert!(problem.message.contains("tls_ca_file"), "{problem}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_asks_for_a_certificate_is_given_one() {
    let authority = file("tls_ca.pem").display().to_string();
    let server = server(&tls(&format!("ca_file: {authority:?}, verify: true")));
    let nameless = NatsOptions { tls_ca_file: file("tls_ca.pem"), ..options(&server, Nats::TIMES) };
    let with = |certificate: &str, key: &str| NatsOptions {
        tls_cert_file: file(certificate),
        tls_key_file: file(key),
        ..nameless.clone()
    };
    expect_works(with("tls_client.cert.pem", "tls_client.key.pem")).await;
    let problem = refused(nameless.clone()).await;
    assert_eq!(problem.code, Code::BROKER_DENIED, "{problem}");
    let problem = refused(with("tls_client.cert.pem", "tls_ca.pem")).await;
    assert_eq!(problem.code, Code::INVALID_CONFIG, "{problem}");
    assert!(problem.message.contains("tls_key_file"), "{problem}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_without_tls_is_refused_where_tls_is_required() {
    let server = server("");
    let problem = refused(NatsOptions { tls_required: true, ..options(&server, Nats::TIMES) }).await;
    assert_eq!(problem.code, Code::BROKER_UNTRUSTED, "{problem}");
}

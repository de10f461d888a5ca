use super::*;
use axum::http::header::CONTENT_TYPE;
use groundline_testkit::Gate as EngineGate;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

#[tokio::test]
async fn probes_answer_on_the_admin_port_and_on_the_main_port_where_configured() {
    let mut config = config();
    config.gateway.health_on_main = true;
    let site = Site::start(config).await;
    for path in ["/livez", "/readyz", "/startupz"] {
        site.client.admin(path).await.expect_ok();
    }
    assert_eq!(site.get("/readyz").await.expect_ok(), json!({ "status": "ready" }));
    site.get("/livez").await.expect_ok();
    site.get("/startupz").await.expect_problem(404, "GL6006");
    site.client.admin("/v1/models").await.expect_problem(404, "GL6006");
    assert_eq!(site.client.admin("/metrics").await.status, 404);
}

#[tokio::test]
async fn what_has_not_started_is_not_ready_and_says_what() {
    let config = config();
    let gateway = config.gateway.clone();
    let checker = Checker::with_engine(Arc::new(ToyEngine::default()), config).unwrap();
    let parts = GatewayParts { checker: checker.clone(), async_checks: None, metrics: None };
    let gateway = Gateway::start(parts, gateway).await.unwrap();
    let client = Client::new(gateway.addresses());
    for path in ["/readyz", "/startupz"] {
        let answer = client.admin(path).await;
        assert_eq!(answer.status, 503);
        assert_eq!(answer.json()["reasons"][0]["component"], "checker");
    }
    client.admin("/livez").await.expect_ok();
    checker.start().await.unwrap();
    for _ in 0..200 {
        if client.admin("/startupz").await.status == 200 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    client.admin("/startupz").await.expect_ok();
    client.admin("/readyz").await.expect_ok();
}

#[tokio::test]
async fn a_processor_that_computes_for_a_missing_gpu_is_ready_and_says_so() {
    let why = Problem::new(Code::DEVICE_UNAVAILABLE, "no driver was found");
    let hooks = ToyHooks { fallback: Some(why), ..ToyHooks::default() };
    let site = Site::with_hooks(config(), hooks).await;
    let probe = site.client.admin("/readyz").await.expect_ok();
    assert_eq!((&probe["status"], &probe["notes"][0]["component"]), (&json!("ready"), &json!("device")));
    let note = probe["notes"][0]["note"].as_str().unwrap();
    assert!(note.contains("no driver was found") && note.contains("GL4011"), "{note}");
}

#[tokio::test]
async fn draining_says_so_first_finishes_what_runs_and_takes_nothing_new() {
    let gate = Arc::new(EngineGate::closed());
    let hooks = ToyHooks { gate: Some(Arc::clone(&gate)), ..ToyHooks::default() };
    let mut config = config();
    config.gateway.drain_notice_ms = 500;
    let Site { gateway, client, .. } = Site::with_hooks(config, hooks).await;
    let address = gateway.addresses().main;
    let app = gateway.app.clone();
    let running = {
        let client = client.clone();
        async move { client.post("/v1/check", request(GOOD)).await }
    };
    let others = async {
        tokio::time::sleep(Duration::from_millis(250)).await;
        // The notice: not ready, and still served.
        let probe = client.admin("/readyz").await;
        assert_eq!(
            (probe.status.as_u16(), &probe.json()["reasons"][0]["component"]),
            (503, &json!("process"))
        );
        client.get("/v1/models").await.expect_ok();
        client.admin("/livez").await.expect_ok();
        client.admin("/startupz").await.expect_ok();
        while !app.refuses() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(TcpStream::connect(address).await.is_err(), "it still takes connections");
        gate.open();
    };
    client.admin("/startupz").await.expect_ok();
    let drain = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        gateway.drain().await;
    };
    let (answer, (), ()) = tokio::join!(running, others, drain);
    answer.expect_ok();
    assert!(TcpStream::connect(client_admin(&client)).await.is_err(), "the admin port is still open");
}

fn client_admin(client: &Client) -> std::net::SocketAddr {
    client.addresses().admin.unwrap()
}

#[tokio::test]
async fn draining_ends_after_its_time_although_something_runs() {
    let gate = Arc::new(EngineGate::closed());
    let hooks = ToyHooks { gate: Some(Arc::clone(&gate)), ..ToyHooks::default() };
    let mut config = config();
    config.gateway.drain_timeout_ms = 300;
    let Site { gateway, client, .. } = Site::with_hooks(config, hooks).await;
    let mut socket = TcpStream::connect(client.addresses().main).await.unwrap();
    let body = request(GOOD).to_string();
    let head = format!(
        "POST /v1/check HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let began = tokio::time::Instant::now();
    gateway.drain().await;
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    let mut rest = Vec::new();
    let _ = socket.read_to_end(&mut rest).await;
    assert!(rest.is_empty());
    gate.open();
}

pub(super) fn testdata(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

/// Asks over TLS, trusting one certificate alone; the first line of the answer.
async fn ask_encrypted(address: std::net::SocketAddr, trusted: &str) -> std::io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(testdata(trusted)).unwrap()).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let socket = TcpStream::connect(address).await?;
    let name = ServerName::try_from("localhost").unwrap();
    let mut socket = TlsConnector::from(Arc::new(config)).connect(name, socket).await?;
    socket.write_all(b"GET /v1/models HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await?;
    Ok(answer.lines().next().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn the_main_port_speaks_tls_and_takes_a_new_certificate_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (cert, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    let install = |which: &str| {
        std::fs::copy(testdata(&format!("tls_{which}.cert.pem")), &cert).unwrap();
        std::fs::copy(testdata(&format!("tls_{which}.key.pem")), &key).unwrap();
    };
    install("one");
    let mut config = config();
    (config.gateway.tls.cert_file, config.gateway.tls.key_file) = (cert.clone(), key.clone());
    config.gateway.reload_every_ms = 20;
    let site = Site::start(config).await;
    let address = site.gateway.addresses().main;
    assert_eq!(ask_encrypted(address, "tls_one.cert.pem").await.unwrap(), "HTTP/1.1 200 OK");
    assert!(ask_encrypted(address, "tls_two.cert.pem").await.is_err());
    install("two");
    for _ in 0..500 {
        if ask_encrypted(address, "tls_two.cert.pem").await.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(ask_encrypted(address, "tls_two.cert.pem").await.unwrap(), "HTTP/1.1 200 OK");
    // The admin port stays plain: probes know no certificates.
    let probe = site.client.admin("/livez").await;
    assert_eq!(probe.header(CONTENT_TYPE), "application/json");
}

use super::super::lifecycle::testdata;
use super::*;
use groundline_testkit::Gate as EngineGate;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

fn of(service: &str) -> HealthCheckRequest {
    HealthCheckRequest { service: service.to_owned() }
}

#[tokio::test]
async fn health_needs_no_key_and_knows_the_process_and_its_service() {
    let folder = tempfile::tempdir().unwrap();
    let (file, key) = (folder.path().join("keys.toml"), crate::new_key().unwrap());
    std::fs::write(&file, format!("[[keys]]\nid = \"a\"\nsha256 = \"{}\"\ntenant = \"a\"\n", key.sha256))
        .unwrap();
    let mut config = config();
    config.gateway.keys_file = file;
    let site = Site::start(config).await;
    let mut health = HealthClient::new(channel(&site.gateway).await);
    for service in ["", "groundline.v1.Groundline"] {
        let answer = health.check(of(service)).await.unwrap().into_inner();
        assert_eq!(answer.status(), ServingStatus::Serving);
    }
    expect_status(&health.check(of("other")).await.unwrap_err(), Code::NotFound, "GL6006");
    let mut watch = health.watch(of("other")).await.unwrap().into_inner();
    assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::ServiceUnknown);
}

#[tokio::test]
async fn what_has_not_started_does_not_serve_and_those_who_watch_learn_when_it_does() {
    let config = config();
    let gateway = config.gateway.clone();
    let checker = Checker::with_engine(Arc::new(ToyEngine::default()), config).unwrap();
    let parts = GatewayParts { checker: checker.clone(), async_checks: None, metrics: None };
    let gateway = Gateway::start(parts, gateway).await.unwrap();
    let mut health = HealthClient::new(channel(&gateway).await);
    assert_eq!(health.check(of("")).await.unwrap().into_inner().status(), ServingStatus::NotServing);
    let mut watch = health.watch(of("groundline.v1.Groundline")).await.unwrap().into_inner();
    assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::NotServing);
    checker.start().await.unwrap();
    assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::Serving);
}

#[tokio::test]
async fn draining_is_told_to_those_who_watch_finishes_what_runs_and_takes_nothing_new() {
    let gate = Arc::new(EngineGate::closed());
    let hooks = ToyHooks { gate: Some(Arc::clone(&gate)), ..ToyHooks::default() };
    let mut config = config();
    config.gateway.drain_notice_ms = 2000;
    config.gateway.drain_timeout_ms = 20_000;
    let Site { gateway, .. } = Site::with_hooks(config, hooks).await;
    let (mut grpc, mut late) = (caller(&gateway).await, caller(&gateway).await);
    let mut health = HealthClient::new(channel(&gateway).await);
    let mut watch = health.watch(of("")).await.unwrap().into_inner();
    assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::Serving);
    let app = gateway.app.clone();
    let others = async {
        assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::NotServing);
        // The notice: still served.
        late.list_models(crate::grpc::wire::ListModelsRequest {}).await.unwrap();
        // Nobody who watches holds up the end.
        assert_eq!(watch.message().await.unwrap(), None);
        assert!(app.refuses());
        let refused = late.check(check(GOOD)).await.unwrap_err();
        assert!(matches!(refused.code(), Code::Unavailable | Code::Unknown | Code::Cancelled), "{refused:?}");
        gate.open();
    };
    let drain = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let began = tokio::time::Instant::now();
        gateway.drain().await;
        began.elapsed()
    };
    let (answer, (), took) = tokio::join!(grpc.check(check(GOOD)), others, drain);
    assert_eq!(answer.unwrap().into_inner().status, "scored");
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[tokio::test]
async fn calls_are_encrypted_where_the_main_port_is() {
    let mut config = config();
    let tls = &mut config.gateway.tls;
    (tls.cert_file, tls.key_file) = (testdata("tls_one.cert.pem"), testdata("tls_one.key.pem"));
    let site = Site::start(config).await;
    let address = site.gateway.addresses().main;
    let connect = tower::service_fn(move |_: tonic::transport::Uri| async move {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(testdata("tls_one.cert.pem")).unwrap()).unwrap();
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let socket = TcpStream::connect(address).await?;
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, socket).await.map(TokioIo::new)
    });
    let channel = Endpoint::from_static("http://localhost").connect_with_connector(connect).await.unwrap();
    let result = GroundlineClient::new(channel).check(check(BAD)).await.unwrap().into_inner();
    assert_eq!(result.verdict.as_deref(), Some("contradicted"));
}

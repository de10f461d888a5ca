//! The client over TLS. The certificates in `testdata` are valid for 127.0.0.1 and for a hundred years.

use super::*;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::net::SocketAddr;
use std::path::PathBuf;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

fn testdata(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

/// Listens with the test's certificate.
async fn listen() -> (TcpListener, tokio_rustls::TlsAcceptor, SocketAddr) {
    let chain = CertificateDer::pem_file_iter(testdata("tls.cert.pem")).unwrap();
    let chain = chain.collect::<Result<Vec<_>, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(testdata("tls.key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.unwrap().with_no_client_auth().with_single_cert(chain, key).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, tokio_rustls::TlsAcceptor::from(Arc::new(config)), address)
}

/// Answers one request over one connection.
async fn answer_one(listener: TcpListener, acceptor: tokio_rustls::TlsAcceptor) -> std::io::Result<String> {
    let (connection, _) = listener.accept().await?;
    let mut stream = acceptor.accept(connection).await?;
    let mut head = vec![0; 256];
    let read = stream.read(&mut head).await?;
    let content = r#"{\"quote\": \"Marie Curie\", \"reason\": \"x\", \"verdict\": \"supported\"}"#;
    let body = format!(r#"{{"choices": [{{"message": {{"content": "{content}"}}}}]}}"#);
    let length = body.len();
    stream.write_all(format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}").as_bytes()).await?;
    stream.shutdown().await?;
    Ok(String::from_utf8_lossy(&head[..read]).into_owned())
}

fn over_tls(address: SocketAddr) -> JudgeOptions {
    let mut options = JudgeOptions { base_url: format!("https://{address}/v1"), ..inside() };
    options.retry.max_attempts = 1;
    options
}

#[tokio::test]
async fn a_certificate_of_an_own_authority_is_trusted_where_it_is_named() {
    let (listener, acceptor, address) = listen().await;
    let judge = Judge::new(JudgeOptions { ca_file: testdata("tls_ca.pem"), ..over_tls(address) }).unwrap();
    let question = question("Curie was born.");
    let (judged, head) = tokio::join!(judge.verdict(&question, None), answer_one(listener, acceptor));
    assert_eq!(judged.unwrap().value.label, JudgeLabel::Supported);
    assert!(head.unwrap().starts_with("POST /v1/chat/completions HTTP/1.1"));
}

#[tokio::test]
async fn an_unknown_certificate_is_not_trusted() {
    let (listener, acceptor, address) = listen().await;
    let judge = Judge::new(over_tls(address)).unwrap();
    let question = question("Curie was born.");
    let (judged, head) = tokio::join!(judge.verdict(&question, None), answer_one(listener, acceptor));
    assert_eq!(judged.unwrap_err().code(), Code::JUDGE_UNAVAILABLE);
    assert!(head.is_err(), "nothing is sent");
}

#[test]
fn a_file_without_certificates_is_refused() {
    for (name, words) in [("tls.key.pem", "holds no certificate"), ("missing.pem", "cannot be read")] {
        let options = JudgeOptions { ca_file: testdata(name), ..over_tls(([127, 0, 0, 1], 1).into()) };
        let problem = Judge::new(options).unwrap_err();
        assert!(problem.message.contains(words), "{problem}");
    }
}

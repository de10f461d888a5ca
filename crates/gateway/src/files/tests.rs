use super::*;
use crate::new_key;

fn entry(key: &crate::NewKey) -> String {
    format!("[[keys]]\nid = \"a\"\nsha256 = \"{}\"\ntenant = \"a\"\n", key.sha256)
}

#[tokio::test]
async fn a_file_is_used_when_it_changes_and_a_bad_one_is_complained_of_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.toml");
    let (old, new) = (new_key().unwrap(), new_key().unwrap());
    std::fs::write(&path, entry(&old)).unwrap();
    let config = GatewayConfig { keys_file: path.clone(), ..GatewayConfig::default() };
    let mut secrets = Secrets::read(&config).await.unwrap();
    let auth = secrets.auth();
    let opens = |key: &crate::NewKey| {
        let headers = [("x-api-key".parse().unwrap(), key.key.parse().unwrap())];
        auth.authenticate(&headers.into_iter().collect()).is_ok()
    };
    secrets.look().await;
    assert!(opens(&old) && !opens(&new));
    std::fs::write(&path, "nonsense").unwrap();
    secrets.look().await;
    let complaint = secrets.keys_file.as_ref().unwrap().complaint.clone();
    assert!(complaint.unwrap().contains("line 1"));
    assert!(opens(&old));
    std::fs::write(&path, entry(&new)).unwrap();
    secrets.look().await;
    assert!(secrets.keys_file.as_ref().unwrap().complaint.is_none());
    assert!(!opens(&old) && opens(&new));
}

#[tokio::test]
async fn a_certificate_without_its_key_is_refused() {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut config = GatewayConfig::default();
    config.tls.cert_file = data.join("tls_one.cert.pem");
    config.tls.key_file = data.join("tls_two.key.pem");
    assert_eq!(Secrets::read(&config).await.unwrap_err().code, Code::INVALID_CONFIG);
    config.tls.key_file = data.join("none.pem");
    assert_eq!(Secrets::read(&config).await.unwrap_err().code, Code::UNREADABLE_FILE);
}

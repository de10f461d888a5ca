use super::*;
use crate::new_key;
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use std::path::Path;

fn write_keys(path: &Path, entries: &[(&str, &str, &str)]) {
    let entries = entries.iter().map(|(id, hash, more)| {
        format!("[[keys]]\nid = \"{id}\"\nsha256 = \"{hash}\"\ntenant = \"{id}\"\n{more}\n")
    });
    std::fs::write(path, entries.collect::<String>()).unwrap();
}

fn with_keys(path: &Path) -> Config {
    let mut config = config();
    config.gateway.keys_file = path.to_owned();
    config.gateway.reload_every_ms = 20;
    config
}

#[tokio::test]
async fn keys_open_what_their_scopes_allow() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.toml");
    let (checks, rewards) = (new_key().unwrap(), new_key().unwrap());
    write_keys(
        &file,
        &[("a", &checks.sha256, "scopes = [\"check\"]"), ("b", &rewards.sha256, "scopes = [\"reward\"]")],
    );
    let site = Site::start(with_keys(&file)).await;
    let refused = site.post("/v1/check", request(GOOD)).await;
    refused.expect_problem(401, "GL6001");
    assert_eq!(refused.header(WWW_AUTHENTICATE), "Bearer");
    site.get("/v1/models").await.expect_problem(401, "GL6001");
    let bearer = |key: &str| site.client.with(AUTHORIZATION, &format!("Bearer {key}"));
    bearer("gl_wrong").post("/v1/check", request(GOOD)).await.expect_problem(401, "GL6001");
    bearer(&checks.key).post("/v1/check", request(GOOD)).await.expect_ok();
    bearer(&checks.key).get("/v1/models").await.expect_ok();
    bearer(&checks.key).post("/get_reward", json!({ "query": [] })).await.expect_problem(403, "GL6002");
    bearer(&rewards.key).post("/get_reward", json!({ "query": [] })).await.expect_ok();
    bearer(&rewards.key).post("/v1/check", request(GOOD)).await.expect_problem(403, "GL6002");
    // The description of the interface and health say nothing that must be kept.
    site.get("/openapi.json").await.expect_ok();
    site.client.admin("/livez").await.expect_ok();
}

#[tokio::test]
async fn a_changed_keys_file_counts_without_a_restart_and_a_bad_one_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.toml");
    let (old, new) = (new_key().unwrap(), new_key().unwrap());
    write_keys(&file, &[("a", &old.sha256, "")]);
    let site = Site::start(with_keys(&file)).await;
    let bearer = |key: &str| site.client.with(AUTHORIZATION, &format!("Bearer {key}"));
    bearer(&old.key).get("/v1/models").await.expect_ok();
    std::fs::write(&file, "[[keys]]\nid = ").unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    bearer(&old.key).get("/v1/models").await.expect_ok();
    std::fs::remove_file(&file).unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    bearer(&old.key).get("/v1/models").await.expect_ok();
    write_keys(&file, &[("a", &new.sha256, "")]);
    for _ in 0..500 {
        if bearer(&new.key).get("/v1/models").await.status == 200 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    bearer(&new.key).get("/v1/models").await.expect_ok();
    bearer(&old.key).get("/v1/models").await.expect_problem(401, "GL6001");
}

async fn refused(change: impl FnOnce(&mut GatewayConfig)) -> Problem {
    let mut config = config();
    change(&mut config.gateway);
    let gateway = config.gateway.clone();
    config.gateway = GatewayConfig::default();
    let checker = Checker::with_engine(Arc::new(ToyEngine::default()), config).unwrap();
    Gateway::start(GatewayParts { checker, async_checks: None, metrics: None }, gateway).await.unwrap_err()
}

#[tokio::test]
async fn a_service_that_others_could_use_without_credentials_does_not_start() {
    let open = refused(|gateway| gateway.listen = "0.0.0.0:0".to_owned()).await;
    assert_eq!(open.code, Code::INVALID_CONFIG);
    assert!(open.message.contains("allow_anonymous"), "{}", open.message);
    let mut config = config();
    config.gateway.listen = "0.0.0.0:0".to_owned();
    config.gateway.allow_anonymous = true;
    Site::start(config).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.toml");
    write_keys(&file, &[("a", &new_key().unwrap().sha256, "")]);
    let both = refused(|gateway| (gateway.keys_file, gateway.allow_anonymous) = (file.clone(), true)).await;
    assert!(both.message.contains("allow_anonymous"));
    assert_eq!(
        refused(|gateway| gateway.keys_file = "no/such/file".into()).await.code,
        Code::UNREADABLE_FILE
    );
    std::fs::write(&file, "nonsense").unwrap();
    assert_eq!(refused(|gateway| gateway.keys_file = file).await.code, Code::INVALID_CONFIG);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    assert!(refused(|gateway| gateway.listen = address).await.message.contains("cannot listen"));
}

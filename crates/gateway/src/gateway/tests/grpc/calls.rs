use super::*;
use crate::grpc::wire::check_answer::Answer as CheckedAs;
use crate::grpc::wire::reward_answer::Answer as RewardedAs;
use crate::grpc::wire::{
    CheckManyRequest, GetCheckRequest, ListMethodsRequest, ListModelsRequest, RewardManyRequest,
    RewardRequest,
};
use groundline_testkit::Gate as EngineGate;

/// As it stands in an answer over HTTP, where a number is written with the digits that it needs.
fn as_json(message: &impl serde::Serialize) -> Value {
    serde_json::from_str(&serde_json::to_string(message).unwrap()).unwrap()
}

#[tokio::test]
async fn a_call_is_answered_as_the_same_request_over_http() {
    let site = Site::start(config()).await;
    let mut grpc = caller(&site.gateway).await;
    let message = CheckRequest { id: Some("mine".to_owned()), facts: true, matrix: true, ..check(BAD) };
    let called = grpc.check(message).await.unwrap().into_inner();
    let mut body = request(BAD);
    (body["id"], body["facts"], body["matrix"]) = (json!("mine"), json!(true), json!(true));
    let posted = site.post("/v1/check", body).await.expect_ok();
    assert_eq!((called.id.as_str(), called.verdict.as_deref()), ("mine", Some("contradicted")));
    assert_eq!((called.sentences[0].start, called.sentences[0].end), (0, BAD.len() as u64));
    assert_eq!(called.sentences.len(), posted["sentences"].as_array().unwrap().len());
    assert_eq!(as_json(&called.sentences[0].evidence), posted["sentences"][0]["evidence"]);
    assert_eq!(as_json(&called.scores), posted["scores"]);
    assert_eq!(as_json(&called.config_hash), posted["config_hash"]);
    let matrix = called.matrix.unwrap();
    assert_eq!(as_json(&matrix.rows), posted["matrix"]["rows"]);
    assert_eq!((matrix.columns.len(), matrix.cells.len()), (1, matrix.rows.len()));
}

#[tokio::test]
async fn many_requests_are_answered_in_order_with_a_result_or_an_error_for_each() {
    let site = Site::start(config()).await;
    let mut grpc = caller(&site.gateway).await;
    let empty = CheckRequest { id: Some("7".to_owned()), ..check("") };
    let many = CheckManyRequest { requests: vec![check(GOOD), empty.clone(), check(BAD)] };
    let results = grpc.check_many(many).await.unwrap().into_inner().results;
    let verdicts = results.iter().map(|result| match result.answer.as_ref().unwrap() {
        CheckedAs::Result(result) => result.verdict.clone().unwrap(),
        CheckedAs::Error(error) => format!("{} {}", error.code, error.id.as_deref().unwrap_or("-")),
    });
    assert_eq!(verdicts.collect::<Vec<_>>(), ["supported", "GL1001 7", "contradicted"]);
    let rewarded = |check: CheckRequest| RewardRequest { check: Some(check), reward_profile: None };
    let many =
        RewardManyRequest { requests: vec![rewarded(check(BAD)), rewarded(empty), RewardRequest::default()] };
    let results = grpc.reward_many(many).await.unwrap().into_inner().results;
    let rewards = results.iter().map(|result| match result.answer.as_ref().unwrap() {
        RewardedAs::Result(result) => result.reward.unwrap().to_string(),
        RewardedAs::Error(error) => error.code.clone(),
    });
    assert_eq!(rewards.collect::<Vec<_>>(), ["-1", "GL1001", "GL1007"]);
}

#[tokio::test]
async fn a_reward_has_everything_it_was_made_from() {
    let site = Site::start(config()).await;
    let mut grpc = caller(&site.gateway).await;
    let profile = Some("binary_contradiction".to_owned());
    let message = RewardRequest { check: Some(check(BAD)), reward_profile: profile };
    let reward = grpc.reward(message).await.unwrap().into_inner();
    assert_eq!((reward.reward, reward.score, reward.status.as_str()), (Some(-1.0), Some(0.0), "scored"));
    assert_eq!(
        (reward.schema.as_str(), reward.profile.as_str()),
        ("groundline.reward/1", "binary_contradiction/1")
    );
    assert_eq!((reward.components["contradicted"], reward.sentences[0].end), (1.0, BAD.len() as u64));
    let unknown = RewardRequest { check: Some(check(BAD)), reward_profile: Some("best".to_owned()) };
    expect_status(&grpc.reward(unknown).await.unwrap_err(), Code::InvalidArgument, "GL1007");
}

#[tokio::test]
async fn models_and_methods_are_listed() {
    let site = Site::start(config()).await;
    let mut grpc = caller(&site.gateway).await;
    let models = grpc.list_models(ListModelsRequest {}).await.unwrap().into_inner().models;
    assert_eq!(as_json(&json!({ "models": models })), site.get("/v1/models").await.expect_ok());
    let methods = grpc.list_methods(ListMethodsRequest {}).await.unwrap().into_inner().methods;
    assert_eq!(as_json(&json!({ "methods": methods })), site.get("/v1/methods").await.expect_ok());
}

#[tokio::test]
async fn a_check_is_handed_in_and_its_result_fetched() {
    let config = config();
    let (gateway, limits) = (config.gateway.clone(), config.limits.request());
    let engine_gate = Arc::new(EngineGate::closed());
    let hooks = ToyHooks { gate: Some(Arc::clone(&engine_gate)), ..ToyHooks::default() };
    let checker = Checker::with_engine(Arc::new(ToyEngine::new(hooks)), config).unwrap();
    let kept = AsyncChecks::in_memory(limits);
    let parts = GatewayParts { checker: checker.clone(), async_checks: Some(kept.clone()), metrics: None };
    let gateway = Gateway::start(parts, gateway).await.unwrap();
    let mut grpc = caller(&gateway).await;
    let accepted = grpc.submit_check(check(BAD)).await.unwrap().into_inner();
    assert_eq!(accepted.status, "waiting");
    let get = GetCheckRequest { id: accepted.id.clone() };
    assert_eq!(grpc.get_check(get.clone()).await.unwrap().into_inner().status, "waiting");
    let _runner = groundline::AsyncRunner::start(checker, kept, 1);
    engine_gate.open();
    let done = loop {
        let found = grpc.get_check(get.clone()).await.unwrap().into_inner();
        if let Some(result) = found.result {
            assert_eq!(found.status, "done");
            break result;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert_eq!(done.verdict.as_deref(), Some("contradicted"));
    let other = grpc.get_check(GetCheckRequest { id: "0123".to_owned() }).await.unwrap_err();
    expect_status(&other, Code::NotFound, "GL6006");
    let sourceless = CheckRequest { response: GOOD.to_owned(), ..CheckRequest::default() };
    expect_status(&grpc.submit_check(sourceless).await.unwrap_err(), Code::InvalidArgument, "GL1002");
}

#[tokio::test]
async fn what_is_wrong_with_a_request_has_the_code_that_http_has() {
    let site = Site::start(config()).await;
    let mut grpc = caller(&site.gateway).await;
    for (message, code) in [
        (check(" "), "GL1001"),
        (CheckRequest { response: GOOD.to_owned(), ..CheckRequest::default() }, "GL1002"),
        (check("a\u{0}b"), "GL1004"),
        (CheckRequest { methods: vec!["magic".to_owned()], ..check(GOOD) }, "GL1012"),
        (CheckRequest { deadline_ms: Some(0), ..check(GOOD) }, "GL1007"),
        (CheckRequest { deadline_ms: Some(900_001), ..check(GOOD) }, "GL1007"),
        (CheckRequest { offsets: Some("miles".to_owned()), ..check(GOOD) }, "GL1007"),
    ] {
        expect_status(&grpc.check(message).await.unwrap_err(), Code::InvalidArgument, code);
    }
    // Nobody keeps checks here.
    expect_status(&grpc.submit_check(check(GOOD)).await.unwrap_err(), Code::Unimplemented, "GL6009");
    let get = GetCheckRequest { id: "x".to_owned() };
    expect_status(&grpc.get_check(get).await.unwrap_err(), Code::Unimplemented, "GL6009");
}

#[tokio::test]
async fn a_call_needs_a_key_that_may() {
    let folder = tempfile::tempdir().unwrap();
    let (file, key) = (folder.path().join("keys.toml"), crate::new_key().unwrap());
    let entry =
        format!("[[keys]]\nid = \"a\"\nsha256 = \"{}\"\ntenant = \"a\"\nscopes = [\"check\"]\n", key.sha256);
    std::fs::write(&file, entry).unwrap();
    let mut config = config();
    config.gateway.keys_file = file;
    let site = Site::start(config).await;
    let mut grpc = caller(&site.gateway).await;
    expect_status(&grpc.check(check(GOOD)).await.unwrap_err(), Code::Unauthenticated, "GL6001");
    let wrong = with(check(GOOD), "authorization", "Bearer gl_wrong");
    expect_status(&grpc.check(wrong).await.unwrap_err(), Code::Unauthenticated, "GL6001");
    let bearer = format!("Bearer {}", key.key);
    grpc.check(with(check(GOOD), "authorization", &bearer)).await.unwrap();
    grpc.check(with(check(GOOD), "x-api-key", &key.key)).await.unwrap();
    let reward = RewardRequest { check: Some(check(GOOD)), reward_profile: None };
    let refused = grpc.reward(with(reward, "authorization", &bearer)).await.unwrap_err();
    expect_status(&refused, Code::PermissionDenied, "GL6002");
}

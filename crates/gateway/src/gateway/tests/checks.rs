use super::*;

#[tokio::test]
async fn one_request_is_answered_with_its_result() {
    let site = Site::start(config()).await;
    let result = site.post("/v1/check", request(BAD)).await.expect_ok();
    assert_eq!(
        (&result["schema"], &result["verdict"]),
        (&json!("groundline.check/1"), &json!("contradicted"))
    );
    assert_eq!(result["sentences"][0]["end"], BAD.len());
    let mut own = request(GOOD);
    own["id"] = json!("mine");
    let result = site.post("/v1/check", own).await.expect_ok();
    assert_eq!((&result["id"], &result["verdict"]), (&json!("mine"), &json!("supported")));
}

#[tokio::test]
async fn many_requests_are_answered_in_order_with_a_result_or_an_error_for_each() {
    let site = Site::start(config()).await;
    let items =
        json!([request(GOOD), { "response": "", "source": SOURCE, "id": 7 }, { "sorce": "x" }, request(BAD)]);
    for body in [items.clone(), json!({ "requests": items })] {
        let answer = site.post("/v1/check", body).await.expect_ok();
        let results = answer["results"].as_array().unwrap();
        assert_eq!(results.len(), 4);
        assert_eq!(
            (&results[0]["verdict"], &results[3]["verdict"]),
            (&json!("supported"), &json!("contradicted"))
        );
        let empty = json!({
            "schema": "groundline.error/1", "item": 2, "id": "7", "status": 422, "code": "GL1001",
            "message": results[1]["message"]
        });
        assert_eq!(results[1], empty);
        assert_eq!((&results[2]["status"], &results[2]["code"]), (&json!(400), &json!("GL1007")));
    }
    assert_eq!(site.post("/v1/check", json!([])).await.expect_ok(), json!({ "results": [] }));
}

#[tokio::test]
async fn what_cannot_be_read_is_400_and_what_cannot_be_checked_is_422() {
    let site = Site::start(config()).await;
    let text = async |text: &str| site.client.post_text("/v1/check", text.to_owned()).await;
    text("{").await.expect_problem(400, "GL1006");
    text("").await.expect_problem(400, "GL1006");
    text("7").await.expect_problem(400, "GL1007");
    text(r#"{"response": "a", "response": "b"}"#).await.expect_problem(400, "GL1007");
    text(r#"{"requests": {}}"#).await.expect_problem(400, "GL1007");
    text(r#"{"requests": [], "facts": true}"#).await.expect_problem(400, "GL1007");
    site.client.post_text("/v1/check", vec![b'"', 0xff, b'"']).await.expect_problem(400, "GL1003");
    let json = async |body: Value| site.post("/v1/check", body).await;
    json(json!({ "response": " ", "source": SOURCE })).await.expect_problem(422, "GL1001");
    json(json!({ "response": GOOD })).await.expect_problem(422, "GL1002");
    json(json!({ "response": "a\u{0}b", "source": SOURCE })).await.expect_problem(422, "GL1004");
    json(json!({ "response": GOOD, "source": SOURCE, "methods": ["magic"] }))
        .await
        .expect_problem(422, "GL1012");
    json(json!({ "response": GOOD, "source": SOURCE, "deadline_ms": 900_001 }))
        .await
        .expect_problem(400, "GL1007");
    json(json!({ "response": GOOD, "source": SOURCE, "tenant": "me" })).await.expect_problem(400, "GL1007");
    let many = vec![request(GOOD); 257];
    json(json!(many)).await.expect_problem(413, "GL1005");
    let form = site.client.with(axum::http::header::CONTENT_TYPE, "text/plain");
    form.post("/v1/check", request(GOOD)).await.expect_problem(415, "GL6007");
}

#[tokio::test]
async fn a_deadline_answers_with_what_there_is() {
    let hooks = ToyHooks { batch_delay: Duration::from_millis(400), ..ToyHooks::default() };
    let site = Site::with_hooks(config(), hooks).await;
    let mut late = request(GOOD);
    late["deadline_ms"] = json!(50);
    let result = site.post("/v1/check", late).await.expect_ok();
    assert_eq!((&result["status"], &result["verdict"]), (&json!("failed"), &Value::Null));
}

#[tokio::test]
async fn a_part_that_panics_answers_500_and_others_go_on() {
    let hooks = ToyHooks { panic_word: Some("bomb".to_owned()), ..ToyHooks::default() };
    let site = Site::with_hooks(config(), hooks).await;
    let result = site.post("/v1/check", request("The bomb went off in Warsaw.")).await.expect_ok();
    assert_eq!(result["status"], "failed");
    site.post("/v1/check", request(GOOD)).await.expect_ok();
}

#[tokio::test]
async fn models_methods_and_the_description_are_listed() {
    let site = Site::start(config()).await;
    let models = site.get("/v1/models").await.expect_ok();
    assert_eq!(
        (&models["models"][0]["name"], &models["models"][0]["engine"]),
        (&json!("toy"), &json!("toy"))
    );
    let methods = site.get("/v1/methods").await.expect_ok();
    let names = methods["methods"].as_array().unwrap().iter().map(|method| method["name"].as_str().unwrap());
    assert!(names.collect::<Vec<_>>().contains(&"summac_conv"));
    let document = site.get("/openapi.json").await.expect_ok();
    assert!(document["paths"]["/v1/check"]["post"].is_object());
}

#[tokio::test]
async fn unknown_routes_and_methods_are_problems_too() {
    let site = Site::start(config()).await;
    site.get("/v1/chek").await.expect_problem(404, "GL6006");
    let wrong = site.get("/v1/check").await;
    wrong.expect_problem(405, "GL6006");
    assert_eq!(wrong.header(axum::http::header::ALLOW), "POST");
    // Health is not for everybody who can use the service.
    site.get("/readyz").await.expect_problem(404, "GL6006");
    site.get("/metrics").await.expect_problem(404, "GL6006");
}

#[tokio::test]
async fn checks_that_nobody_waits_for_need_a_place_where_they_are_kept() {
    let site = Site::start(config()).await;
    site.post("/v1/checks", request(GOOD)).await.expect_problem(501, "GL6009");
    site.get("/v1/checks/x").await.expect_problem(501, "GL6009");
}

#[tokio::test]
async fn a_check_is_handed_in_and_its_result_fetched_by_its_tenant() {
    let config = config();
    let (gateway, limits) = (config.gateway.clone(), config.limits.request());
    let engine_gate = Arc::new(groundline_testkit::Gate::closed());
    let hooks = ToyHooks { gate: Some(Arc::clone(&engine_gate)), ..ToyHooks::default() };
    let checker = Checker::with_engine(Arc::new(ToyEngine::new(hooks)), config).unwrap();
    let kept = AsyncChecks::in_memory(limits);
    let parts = GatewayParts { checker: checker.clone(), async_checks: Some(kept.clone()), metrics: None };
    let gateway = Gateway::start(parts, gateway).await.unwrap();
    let client = Client::new(gateway.addresses());
    let accepted = client.post("/v1/checks", request(BAD)).await;
    assert_eq!(accepted.status, 202);
    let id = accepted.json()["id"].as_str().unwrap().to_owned();
    let location = accepted.header(axum::http::header::LOCATION).to_owned();
    assert_eq!(
        (location.as_str(), &accepted.json()["status"]),
        (&*format!("/v1/checks/{id}"), &json!("waiting"))
    );
    let waiting = client.get(&location).await;
    assert_eq!((waiting.status.as_u16(), &waiting.json()["status"]), (202, &json!("waiting")));
    let _runner = groundline::AsyncRunner::start(checker, kept, 1);
    let until = async |status: &str| loop {
        let answer = client.get(&location).await;
        if answer.json()["status"] == status {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    let running = tokio::time::timeout(Duration::from_secs(20), until("running")).await.unwrap();
    assert_eq!(running.status, 202);
    engine_gate.open();
    let done = tokio::time::timeout(Duration::from_secs(20), until("done")).await.unwrap().expect_ok();
    assert_eq!(done["result"]["verdict"], "contradicted");
    client.get("/v1/checks/0123").await.expect_problem(404, "GL6006");
    client.get(&format!("/v1/checks/{}", "x".repeat(1000))).await.expect_problem(404, "GL6006");
    // What cannot be checked is said when it is handed in.
    client.post("/v1/checks", json!({ "response": GOOD })).await.expect_problem(422, "GL1002");
    let unknown = json!({ "response": GOOD, "source": SOURCE, "methods": ["magic"] });
    client.post("/v1/checks", unknown).await.expect_problem(422, "GL1012");
    client.post("/v1/checks", json!([])).await.expect_problem(400, "GL1007");
}

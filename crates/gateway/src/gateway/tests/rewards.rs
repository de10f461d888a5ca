use super::*;
use axum::http::header::AUTHORIZATION;
use futures_util::StreamExt as _;
use groundline_testkit::Gate as EngineGate;

fn sample(response: &str, label: Value) -> Value {
    let prompt = "<|im_start|>user\nWho was she?<|im_end|>\n<|im_start|>assistant\n";
    json!({ "query": [format!("{prompt}{response}<|im_end|>")], "prompts": [prompt], "labels": [label] })
}

fn label() -> Value {
    json!(json!({ "context": [SOURCE] }).to_string())
}

#[tokio::test]
async fn openrlhf_gets_lists_of_numbers_with_the_same_names_for_every_sample() {
    let site = Site::start(config()).await;
    let long = "Marie Curie was born in Warsaw. She won a prize. She won it in 1903.";
    let good = site.post("/get_reward", sample(long, label())).await.expect_ok();
    assert_eq!((&good["rewards"], &good["scores"]), (&json!([1.0]), &json!([1.0])));
    let bad = site.post("/get_reward", sample(BAD, label())).await.expect_ok();
    assert_eq!((&bad["rewards"], &bad["scores"]), (&json!([-1.0]), &json!([0.0])));
    // No evidence, no claim, no answer to be found: the fallback, flagged.
    let lost = json!({ "query": ["x"], "prompts": ["y"], "labels": ["z"] });
    let greeting = sample("Hello!", label());
    for body in [sample(GOOD, Value::Null), sample("", label()), sample(GOOD, json!("{}")), greeting, lost] {
        let unscored = site.post("/get_reward", body).await.expect_ok();
        assert_eq!((&unscored["rewards"], &unscored["scores"]), (&json!([0.0]), &json!([0.5])), "{unscored}");
        assert_eq!(unscored["extra_logs"]["unscored"], json!([1.0]));
        let names =
            |answer: &Value| answer["extra_logs"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&unscored), names(&good));
    }
    assert_eq!(good["extra_logs"]["unscored"], json!([0.0]));
    assert_eq!(bad["extra_logs"]["contradicted_rate"], json!([1.0]));
    for (_, numbers) in good["extra_logs"].as_object().unwrap() {
        assert!(numbers.as_array().is_some_and(|list| list.len() == 1 && list[0].is_number()));
    }
}

#[tokio::test]
async fn openrlhf_may_send_many_samples_or_none() {
    let site = Site::start(config()).await;
    let empty = json!({ "query": [], "prompts": [], "labels": [] });
    let answer = site.post("/get_reward", empty).await.expect_ok();
    assert_eq!(answer, json!({ "rewards": [], "scores": [], "extra_logs": {} }));
    let many =
        json!({ "query": [GOOD, BAD, ""], "prompts": ["", "", ""], "labels": [SOURCE, SOURCE, SOURCE] });
    let answer = site.post("/get_reward", many).await.expect_ok();
    assert_eq!(answer["rewards"], json!([0.333, -1.0, 0.0]));
    assert_eq!(answer["extra_logs"]["unscored"], json!([0.0, 0.0, 1.0]));
    site.post("/get_reward", json!({ "query": ["a"], "prompts": [] })).await.expect_problem(400, "GL1007");
}

#[tokio::test]
async fn a_key_can_be_sent_in_the_address_for_trainers_that_take_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (file, key) = (folder.path().join("keys.toml"), crate::new_key().unwrap());
    let entry = format!("[[keys]]\nid = \"rl\"\nsha256 = \"{}\"\ntenant = \"rl\"\n", key.sha256);
    std::fs::write(&file, entry).unwrap();
    let mut config = config();
    config.gateway.keys_file = file;
    let site = Site::start(config).await;
    site.post("/get_reward", sample(GOOD, label())).await.expect_problem(401, "GL6001");
    // What an HTTP client makes of http://x:KEY@host/get_reward.
    let encoded = crate::auth::tests::base64(format!("x:{}", key.key).as_bytes());
    let client = site.client.with(AUTHORIZATION, &format!("Basic {encoded}"));
    client.post("/get_reward", sample(GOOD, label())).await.expect_ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_calls_at_once_all_get_their_reward() {
    let mut config = config();
    config.gateway.reward.concurrency = 16;
    config.coordinator.max_checks = 8;
    let site = Site::start(config).await;
    let calls = (0..1000).map(|number| {
        let client = site.client.clone();
        async move {
            let source = format!("Town {number} was built in 1903.");
            let response = if number % 2 == 0 {
                source.clone()
            } else {
                format!("Town {number} was not built in 1903.")
            };
            let answer = client.post("/get_reward", sample(&response, json!(source))).await.expect_ok();
            assert_eq!(answer["extra_logs"]["unscored"], json!([0.0]), "{number}: {answer}");
            assert_eq!(answer["rewards"], json!([if number % 2 == 0 { 0.333 } else { -1.0 }]), "{number}");
        }
    });
    // All of them are under way together.
    futures_util::stream::iter(calls).buffer_unordered(1000).collect::<()>().await;
    assert_eq!(site.gateway.app.gate().load(), (0, 0));
}

#[tokio::test]
async fn a_call_is_answered_with_the_fallback_before_its_deadline() {
    let gate = Arc::new(EngineGate::closed());
    let hooks = ToyHooks { gate: Some(Arc::clone(&gate)), ..ToyHooks::default() };
    let mut config = config();
    config.gateway.reward.deadline_ms = 600;
    config.gateway.reward.concurrency = 1;
    config.gateway.reward.fallback = -0.5;
    let site = Site::with_hooks(config, hooks).await;
    let began = tokio::time::Instant::now();
    // One of them runs, the other waits for its place.
    let calls = [GOOD, BAD].map(|response| site.post("/get_reward", sample(response, label())));
    for answer in futures_util::future::join_all(calls).await {
        let answer = answer.expect_ok();
        assert_eq!((&answer["rewards"], &answer["scores"]), (&json!([-0.5]), &json!([0.25])));
        assert_eq!(answer["extra_logs"]["unscored"], json!([1.0]));
    }
    assert!(began.elapsed() < Duration::from_millis(1500), "{:?}", began.elapsed());
    gate.open();
}

#[tokio::test]
async fn only_a_full_line_is_refused() {
    let gate = Arc::new(EngineGate::closed());
    let hooks = ToyHooks { gate: Some(Arc::clone(&gate)), ..ToyHooks::default() };
    let mut config = config();
    config.gateway.reward.concurrency = 1;
    config.gateway.reward.max_waiting_tokens = 200;
    let site = Site::with_hooks(config, hooks).await;
    let call = || {
        let client = site.client.clone();
        async move { client.post("/get_reward", sample(GOOD, label())).await }
    };
    let calls = futures_util::future::join_all((0..6).map(|_| call()));
    let open = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        gate.open();
    };
    let (answers, ()) = tokio::join!(calls, open);
    let refused = answers.iter().filter(|answer| answer.status != 200).collect::<Vec<_>>();
    assert!((1..5).contains(&refused.len()), "{refused:?}");
    for answer in refused {
        answer.expect_problem(503, "GL6004");
        assert_eq!(answer.header(axum::http::header::RETRY_AFTER), "1");
    }
}

#[tokio::test]
async fn a_native_reward_says_what_it_was_made_from() {
    let site = Site::start(config()).await;
    let both = format!("{GOOD} {BAD}");
    let answer = site.post("/v1/reward", request(&both)).await.expect_ok();
    assert_eq!((&answer["schema"], &answer["status"]), (&json!("groundline.reward/1"), &json!("scored")));
    assert_eq!((&answer["reward"], &answer["score"]), (&json!(0.0), &json!(0.5)));
    assert_eq!((&answer["profile"], &answer["model"]["name"]), (&json!("ternary/1"), &json!("toy")));
    let sentences = answer["sentences"].as_array().unwrap();
    assert_eq!(sentences.iter().map(|it| it["reward"].as_f64().unwrap()).collect::<Vec<_>>(), [1.0, -1.0]);
    assert_eq!((&sentences[1]["start"], &sentences[1]["end"]), (&json!(GOOD.len() + 1), &json!(both.len())));
    let mut binary = request(&both);
    binary["reward_profile"] = json!("binary_contradiction");
    let answer = site.post("/v1/reward", binary.clone()).await.expect_ok();
    assert_eq!((&answer["reward"], &answer["profile"]), (&json!(-1.0), &json!("binary_contradiction/1")));
    binary["reward_profile"] = json!("tenary");
    site.post("/v1/reward", binary.clone()).await.expect_problem(400, "GL1007");
    let many = site.post("/v1/reward", json!([request(GOOD), binary, request("Hello!")])).await.expect_ok();
    assert_eq!(many["results"][0]["reward"], 0.333);
    assert_eq!(many["results"][1]["code"], "GL1007");
    assert_eq!(
        (&many["results"][2]["status"], &many["results"][2]["reward"]),
        (&json!("unscored"), &Value::Null)
    );
    site.post("/v1/reward", json!({ "response": GOOD })).await.expect_problem(422, "GL1002");
}

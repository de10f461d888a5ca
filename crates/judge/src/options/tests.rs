use super::*;

fn good() -> JudgeOptions {
    JudgeOptions {
        base_url: "http://127.0.0.1:8000/v1".to_owned(),
        model: "some-model".to_owned(),
        ..JudgeOptions::default()
    }
}

#[test]
fn an_address_and_a_model_are_enough() {
    let options: JudgeOptions =
        toml::from_str("base_url = 'http://127.0.0.1:8000/v1'\nmodel = 'some-model'").unwrap();
    assert_eq!(options, good());
    assert_eq!(options.validate(), Ok(()));
    assert!(options.is_on() && !JudgeOptions::default().is_on());
}

#[test]
fn an_unknown_option_is_refused() {
    assert!(toml::from_str::<JudgeOptions>("base_uri = 'x'").is_err());
    assert!(toml::from_str::<JudgeOptions>("[verdict]\nvoices = 3").is_err());
}

/// A change, and words of the message that it gets.
type Case = (fn(&mut JudgeOptions), &'static str);

#[test]
fn what_is_wrong_is_named() {
    let cases: &[Case] = &[
        (|o| o.base_url = "localhost".to_owned(), "base_url is not an address"),
        (|o| o.base_url = "ftp://host/v1".to_owned(), "must begin with http"),
        (|o| o.base_url = "http://me:pw@host/v1".to_owned(), "no credentials"),
        (|o| o.base_url = "http://host/v1?x=1".to_owned(), "without ?"),
        (|o| o.base_url = "http://host/v1/chat/completions".to_owned(), "stop before /chat/completions"),
        (|o| o.model = " ".to_owned(), "model is empty"),
        (
            |o| {
                o.api_key = Secret::new("k");
                o.api_key_file = "key".into();
            },
            "both api_key and api_key_file",
        ),
        (
            |o| {
                o.api_key = Secret::new("k");
                o.base_url = "http://10.0.0.7/v1".to_owned();
            },
            "plain HTTP",
        ),
        (|o| o.call_timeout_ms = 0, "call_timeout_ms is 0"),
        (|o| o.max_concurrent_calls = 0, "max_concurrent_calls is 0"),
        (|o| o.max_concurrent_calls = usize::MAX, "max_concurrent_calls"),
        (|o| o.retry.max_attempts = 21, "retry.max_attempts"),
        (|o| o.retry.base_ms = 30_000, "retry.base_ms"),
        (|o| o.verdict.votes = 2, "verdict.votes"),
        (|o| o.verdict.votes = 0, "verdict.votes"),
        (|o| o.verdict.vote_temperature = f64::NAN, "vote_temperature"),
        (|o| o.verdict.grey_low = 0.8, "grey_low"),
        (|o| o.budget.cost = -1.0, "budget.cost"),
        (|o| o.budget.cost = 1.0, "set the prices"),
        (|o| o.price.output_per_million = f64::INFINITY, "output_per_million"),
        (
            |o| {
                o.extra_body.insert("stream".to_owned(), true.into());
            },
            "extra_body may not set stream",
        ),
    ];
    for (change, words) in cases {
        let mut options = good();
        change(&mut options);
        let problem = options.validate().expect_err(words);
        assert_eq!(problem.code, Code::JUDGE_OPTIONS);
        assert!(problem.message.contains(words), "{problem} does not say {words:?}");
    }
}

#[test]
fn a_key_goes_over_plain_http_to_this_machine_or_where_it_is_allowed() {
    for url in ["http://localhost:1/v1", "http://127.0.0.2/v1", "http://[::1]:8/v1", "https://host/v1"] {
        let options = JudgeOptions { api_key: Secret::new("k"), base_url: url.to_owned(), ..good() };
        assert_eq!(options.validate(), Ok(()), "{url}");
    }
    let options = JudgeOptions {
        api_key: Secret::new("k"),
        base_url: "http://vllm:8000/v1".to_owned(),
        allow_plain_http: true,
        ..good()
    };
    assert_eq!(options.validate(), Ok(()));
}

#[test]
fn a_key_is_read_from_its_file_and_its_absence_is_told_without_content() {
    let path = std::env::temp_dir().join(format!("groundline-judge-key-{}", std::process::id()));
    std::fs::write(&path, "sk-from-file\n").unwrap();
    let options = JudgeOptions { api_key_file: path.clone(), ..good() };
    assert_eq!(options.load_api_key().unwrap().reveal(), "sk-from-file");
    std::fs::write(&path, "\n").unwrap();
    assert!(options.load_api_key().unwrap_err().message.contains("is empty"));
    std::fs::remove_file(&path).unwrap();
    assert!(options.load_api_key().unwrap_err().message.contains("cannot read"));
}

#[test]
fn no_printed_form_of_the_options_holds_the_key() {
    let options = JudgeOptions { api_key: Secret::new("sk-canary"), ..good() };
    let json = serde_json::to_string(&options).unwrap();
    assert!(!json.contains("sk-canary") && !format!("{options:?}").contains("sk-canary"));
    let judge = crate::Judge::new(options).unwrap();
    assert!(!format!("{judge:?}").contains("sk-canary"), "nor does what sends it");
}

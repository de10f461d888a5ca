use super::*;
use crate::stub::{Fault, StubJudge, StubOptions};
use crate::{BreakerOptions, BudgetOptions, Incoming, PriceOptions, RetryOptions};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use std::collections::VecDeque;

/// What a scripted backend does with one request.
type Step = Result<Incoming, TransportError>;

/// A transport that answers by a list, each after a time.
#[derive(Debug, Default)]
struct Scripted {
    steps: Mutex<VecDeque<Step>>,
    takes: Duration,
    sent_at: Mutex<Vec<Instant>>,
}

impl Transport for Scripted {
    fn send(&self, request: Outgoing) -> BoxFuture<'_, Step> {
        async move {
            self.sent_at.lock().unwrap().push(Instant::now());
            let step = self.steps.lock().unwrap().pop_front();
            let Some(step) = step else {
                sleep(request.timeout).await;
                return Err(TransportError::TimedOut);
            };
            sleep(self.takes).await;
            step
        }
        .boxed()
    }
}

fn good() -> Step {
    let body = r#"{"choices": [{"message": {"content": "ok"}}], "usage": {"prompt_tokens": 10, "completion_tokens": 2}}"#;
    Ok(Incoming { status: 200, body: Bytes::from_static(body.as_bytes()), ..Incoming::default() })
}

fn status(status: u16, body: &'static str, retry_after: Option<&str>) -> Step {
    let retry_after = retry_after.map(str::to_owned);
    Ok(Incoming { status, retry_after, body: Bytes::from_static(body.as_bytes()), ..Incoming::default() })
}

fn options() -> JudgeOptions {
    JudgeOptions {
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        model: "m".to_owned(),
        retry: RetryOptions { max_attempts: 4, base_ms: 100, max_ms: 1_000, ..RetryOptions::default() },
        ..JudgeOptions::default()
    }
}

struct Bench {
    backend: Backend,
    transport: Arc<Scripted>,
    started: Instant,
}

impl Bench {
    fn new(options: JudgeOptions, steps: impl IntoIterator<Item = Step>) -> Self {
        Self::slow(options, Duration::ZERO, steps)
    }

    fn slow(options: JudgeOptions, takes: Duration, steps: impl IntoIterator<Item = Step>) -> Self {
        let steps = Mutex::new(steps.into_iter().collect());
        let transport = Arc::new(Scripted { steps, takes, ..Scripted::default() });
        let backend = Backend::new(Arc::new(options), transport.clone(), Randomness::seeded(1));
        Self { backend, transport, started: Instant::now() }
    }

    async fn call(&self, seconds: u64) -> (Result<ChatReply, CallFailure>, JudgeUsage) {
        let mut usage = JudgeUsage::default();
        let deadline = Instant::now() + Duration::from_secs(seconds);
        let request = ChatRequest::new(None, "hello".to_owned(), 20);
        let reply = self.backend.call(&request, &Capabilities::default(), deadline, &mut usage).await;
        (reply, usage)
    }

    async fn code(&self, seconds: u64) -> Code {
        self.call(seconds).await.0.unwrap_err().problem.code
    }

    fn sent_ms(&self) -> Vec<u128> {
        let sent = self.transport.sent_at.lock().unwrap();
        sent.iter().map(|at| (*at - self.started).as_millis()).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn what_passes_is_tried_again_and_every_call_is_counted() {
    let steps =
        [Err(TransportError::Unreachable), status(503, "", None), Err(TransportError::BrokenOff), good()];
    let bench = Bench::new(options(), steps);
    let (reply, usage) = bench.call(60).await;
    assert_eq!(reply.unwrap().choices[0].text, "ok");
    assert_eq!((usage.calls, usage.retries, usage.guessed_calls), (4, 3, 1));
    // The one that broke off may have been billed in full.
    let request = ChatRequest::new(None, "hello".to_owned(), 20);
    assert_eq!(usage.tokens.total_tokens(), 12 + request.most_tokens().total_tokens());
    assert_eq!(bench.backend.totals(), usage);
    let sent = bench.sent_ms();
    assert!(sent[1] <= 101 && sent[2] - sent[1] <= 201 && sent[3] - sent[2] <= 401, "{sent:?}");
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_pauses_the_same() {
    let mut sent = Vec::new();
    for _ in 0..2 {
        let bench = Bench::new(options(), (0..4).map(|_| status(500, "", None)));
        assert_eq!(bench.code(60).await, Code::JUDGE_UNAVAILABLE);
        sent.push(bench.sent_ms());
    }
    assert_eq!(sent[0].len(), 4);
    assert_eq!(sent[0], sent[1]);
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_waited_for_by_everybody() {
    let bench = Bench::new(options(), [status(429, "", Some("7")), good(), good()]);
    let first = bench.call(60);
    let second = async {
        sleep(Duration::from_secs(1)).await;
        bench.call(60).await
    };
    let (first, second) = tokio::join!(first, second);
    assert!(first.0.is_ok() && second.0.is_ok());
    let sent = bench.sent_ms();
    assert!(sent[0] == 0 && sent[1] >= 7_000 && sent[2] >= 7_000 && sent[2] < 7_300, "{sent:?}");
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_beyond_deadline_or_limit_fails_at_once() {
    let bench = Bench::new(options(), [status(429, "", Some("30"))]);
    assert_eq!(bench.code(10).await, Code::JUDGE_LIMITED);
    let bench = Bench::new(options(), [status(429, "", Some("3600"))]);
    assert_eq!(bench.code(10_000).await, Code::JUDGE_LIMITED);
    assert_eq!(bench.started.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_get_better_is_not_tried_again() {
    for (step, code) in [
        (status(401, "", None), Code::JUDGE_REJECTED),
        (status(404, "", None), Code::JUDGE_REJECTED),
        (status(400, "canary", None), Code::JUDGE_REJECTED),
        (status(302, "", None), Code::JUDGE_REJECTED),
        (status(429, r#"{"error": {"code": "insufficient_quota"}}"#, None), Code::JUDGE_REJECTED),
        (status(400, r#"{"error": {"code": "context_length_exceeded"}}"#, None), Code::JUDGE_TEXT_TOO_LONG),
        (status(413, "", None), Code::JUDGE_TEXT_TOO_LONG),
        (status(400, r#"{"error": {"code": "content_filter"}}"#, None), Code::JUDGE_REFUSED),
        (Err(TransportError::TooLong), Code::JUDGE_UNREADABLE),
    ] {
        let bench = Bench::new(options(), [step]);
        let (reply, usage) = bench.call(60).await;
        let problem = reply.unwrap_err().problem;
        assert_eq!((problem.code, usage.calls), (code, 1), "{problem}");
        assert!(!problem.message.contains("canary"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_ends_a_call_and_does_not_count_against_the_backend() {
    let bench = Bench::new(options(), []);
    for _ in 0..20 {
        assert_eq!(bench.code(1).await, Code::JUDGE_DEADLINE);
    }
    assert_eq!(bench.started.elapsed(), Duration::from_secs(20));
    assert!(bench.backend.health().is_available);
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_hangs_is_left_alone_though_no_caller_has_the_time_of_a_whole_call() {
    let breaker = BreakerOptions { failures: 4, open_ms: 5_000 };
    let options = JudgeOptions { breaker, call_timeout_ms: 60_000, ..options() };
    let bench = Bench::new(options.clone(), []);
    for _ in 0..4 {
        assert_eq!(bench.code(20).await, Code::JUDGE_DEADLINE);
    }
    assert_eq!(bench.code(20).await, Code::JUDGE_BREAKER_OPEN);
    let bench = Bench::new(options, []);
    for _ in 0..4 {
        assert!(tokio::time::timeout(Duration::from_secs(20), bench.call(30)).await.is_err());
    }
    assert_eq!(bench.code(20).await, Code::JUDGE_BREAKER_OPEN, "also where callers give up");
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_fails_in_a_row_is_left_alone_and_tried_again_later() {
    let options = JudgeOptions { breaker: BreakerOptions { failures: 4, open_ms: 5_000 }, ..options() };
    let steps = (0..4).map(|_| status(500, "", None)).chain([good(), good()]);
    let bench = Bench::new(options, steps);
    assert_eq!(bench.code(60).await, Code::JUDGE_UNAVAILABLE);
    assert_eq!(bench.code(60).await, Code::JUDGE_BREAKER_OPEN);
    assert_eq!(bench.sent_ms().len(), 4, "nothing was sent while it was open");
    assert!(!bench.backend.health().is_available);
    sleep(Duration::from_secs(5)).await;
    assert!(bench.call(60).await.0.is_ok());
    assert!(bench.backend.health().is_available);
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_are_under_way_or_waiting_than_allowed() {
    let options = JudgeOptions { max_concurrent_calls: 3, max_waiting_calls: 5, ..options() };
    let bench = Bench::slow(options, Duration::from_secs(1), (0..8).map(|_| good()));
    let ends = join_all((0..20).map(|_| bench.call(60))).await;
    let refused = ends.iter().filter_map(|end| end.0.as_ref().err());
    let codes = refused.map(|failure| failure.problem.code).collect::<Vec<_>>();
    assert_eq!(codes, vec![Code::JUDGE_LIMITED; 12]);
    assert_eq!(bench.sent_ms(), [0, 0, 0, 1_000, 1_000, 1_000, 2_000, 2_000]);
    let health = bench.backend.health();
    assert_eq!((health.calls_under_way, health.calls_waiting), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn rates_are_kept_and_a_wait_beyond_the_deadline_is_told_at_once() {
    let options = JudgeOptions { requests_per_minute: 12, ..options() };
    let bench = Bench::new(options, (0..4).map(|_| good()));
    for _ in 0..3 {
        assert!(bench.call(60).await.0.is_ok());
    }
    let sent = bench.sent_ms();
    assert!(
        sent[0] == 0 && (4_999..=5_002).contains(&sent[1]) && (9_999..=10_004).contains(&sent[2]),
        "{sent:?}"
    );
    assert_eq!(bench.code(2).await, Code::JUDGE_LIMITED);
}

#[tokio::test(start_paused = true)]
async fn a_spent_budget_stops_calls_until_its_window_ends() {
    let price =
        PriceOptions { input_per_million: 1_000.0, output_per_million: 1_000.0, ..PriceOptions::default() };
    let budget = BudgetOptions { tokens: 0, cost: 0.1, window_ms: 60_000 };
    let bench = Bench::new(JudgeOptions { price, budget, ..options() }, (0..8).map(|_| good()));
    // A call takes at most 89 tokens, and really 12.
    assert!(bench.call(60).await.0.is_ok());
    let failure = bench.call(60).await.0.unwrap_err();
    assert_eq!(failure.problem.code, Code::JUDGE_BUDGET);
    let left = bench.backend.health().cost_left.unwrap();
    assert!((left - 0.088).abs() < 1e-9, "{left}");
    sleep(Duration::from_secs(60)).await;
    assert!(bench.call(60).await.0.is_ok());
}

#[tokio::test(start_paused = true)]
async fn calls_wait_for_one_another_where_together_they_might_break_the_budget() {
    let budget = BudgetOptions { tokens: 200, ..BudgetOptions::default() };
    let options = JudgeOptions { budget, ..options() };
    let bench = Bench::slow(options, Duration::from_secs(1), (0..9).map(|_| good()));
    let ends = join_all((0..9).map(|_| bench.call(60))).await;
    // Two fit at once (89 each at most). Each takes 12, so that there is room for more, until 89 do not fit any more.
    assert!(ends.iter().all(|end| end.0.is_ok()), "{ends:?}");
    assert_eq!(bench.backend.health().tokens_left, Some(200 - 9 * 12));
    assert_eq!(bench.sent_ms()[..3], [0, 0, 1_000]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_counts_as_done_in_full_and_frees_its_place() {
    let options = JudgeOptions { max_concurrent_calls: 1, ..options() };
    let bench = Bench::slow(options, Duration::from_secs(9), [good(), good()]);
    let given_up = tokio::time::timeout(Duration::from_secs(1), bench.call(60)).await;
    assert!(given_up.is_err());
    let totals = bench.backend.totals();
    assert_eq!((totals.calls, totals.guessed_calls), (1, 1));
    assert!(totals.tokens.total_tokens() > 80);
    assert!(bench.call(60).await.0.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_allowance_that_is_used_up_pauses_the_next_call() {
    let used_up = good().map(|answer| Incoming { rate_reset: Some("2s".to_owned()), ..answer });
    let bench = Bench::new(options(), [used_up, good()]);
    assert!(bench.call(60).await.0.is_ok() && bench.call(60).await.0.is_ok());
    assert_eq!(bench.sent_ms(), [0, 2_000]);
}

#[tokio::test(start_paused = true)]
async fn usage_that_is_not_told_is_guessed() {
    let stub = StubJudge::new(StubOptions { tells_usage: false, ..StubOptions::default() });
    let backend = Backend::new(Arc::new(options()), stub.transport(), Randomness::seeded(1));
    let mut usage = JudgeUsage::default();
    let request = ChatRequest::new(None, "x".repeat(300), 20);
    let deadline = Instant::now() + Duration::from_secs(9);
    backend.call(&request, &Capabilities::default(), deadline, &mut usage).await.unwrap();
    assert_eq!((usage.guessed_calls, usage.tokens.input_tokens), (1, 100));
    assert!(usage.tokens.output_tokens >= 100);
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_429_loses_no_call() {
    let script = (0..30).map(|_| Some(Fault::RateLimited(Some(1)))).collect();
    let stub = StubJudge::new(StubOptions { script, ..StubOptions::default() });
    let backend = Backend::new(Arc::new(options()), stub.transport(), Randomness::seeded(1));
    let request = ChatRequest::new(None, "hello".to_owned(), 20);
    let deadline = Instant::now() + Duration::from_secs(100);
    let calls = (0..30).map(|_| async {
        let mut usage = JudgeUsage::default();
        backend.call(&request, &Capabilities::default(), deadline, &mut usage).await
    });
    let ends = join_all(calls).await;
    assert!(ends.iter().all(Result::is_ok), "{ends:?}");
}

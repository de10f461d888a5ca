//! A thousand questions at once to a judge that fails every tenth time. In a process of its own, because it measures memory.

use futures_util::future::join_all;
use groundline_judge::stub::{Fault, StubJudge, StubOptions};
use groundline_judge::{
    BreakerOptions, BudgetOptions, CacheOptions, Judge, JudgeLabel, JudgeOptions, JudgeVerdict, RetryOptions,
    VerdictQuestion,
};
use groundline_types::Code;

const QUESTIONS: usize = 1_000;
/// Faults that together hit 10 % of the calls.
const FAULTS: [(Fault, f64); 7] = [
    (Fault::Hang, 0.005),
    (Fault::HalfAnswer, 0.02),
    (Fault::RateLimited(None), 0.02),
    (Fault::ServerError, 0.02),
    (Fault::WrongSchema, 0.015),
    (Fault::Endless, 0.005),
    (Fault::Reset, 0.015),
];
/// What the process may grow by in three rounds after the first: far below what 3,000 leaked questions would take.
const MAX_GROWTH_BYTES: usize = 8 * 1024 * 1024;

/// One test after the other: memory is that of the whole process.
static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

fn stub() -> StubJudge {
    StubJudge::new(StubOptions {
        faults: FAULTS.to_vec(),
        seed: 7,
        kept_requests: 0,
        ..StubOptions::default()
    })
}

fn options(base_url: String) -> JudgeOptions {
    JudgeOptions {
        base_url,
        model: "stub".to_owned(),
        capabilities: Some(StubOptions::default().capabilities),
        max_concurrent_calls: 64,
        call_timeout_ms: 1_000,
        deadline_ms: 120_000,
        retry: RetryOptions { max_attempts: 8, base_ms: 10, unreadable_reasks: 6, ..RetryOptions::default() },
        breaker: BreakerOptions { failures: 60, ..BreakerOptions::default() },
        cache: CacheOptions { max_bytes: 64 * 1024, ..CacheOptions::default() },
        ..JudgeOptions::default()
    }
}

/// Asks all at once. Every second claim is false.
async fn round(judge: &Judge, round: usize) -> Vec<(usize, Result<JudgeVerdict, Code>)> {
    let asked = (0..QUESTIONS).map(|number| async move {
        let year = if number % 2 == 0 { 1_867 } else { 1_868 };
        let question = VerdictQuestion {
            passages: vec![format!("Person {round} {number} was born in the year 1867 in Warsaw.")],
            claim: format!("Person {round} {number} was born in the year {year}."),
            ..VerdictQuestion::default()
        };
        let end = judge.verdict(&question, None).await;
        (number, end.map(|judged| judged.value).map_err(|failure| failure.code()))
    });
    join_all(asked).await
}

/// Memory of the process that is in RAM.
fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or_default() * 4_096
}

#[tokio::test]
async fn a_thousand_questions_at_once_are_all_answered_rightly_and_memory_stays_flat() {
    let _turn = TURN.lock().await;
    let stub = stub();
    let server = stub.serve().unwrap();
    let judge = Judge::new(options(server.base_url())).unwrap();
    let mut after_first = 0;
    for number in 0..4 {
        let ends = round(&judge, number).await;
        assert_eq!(ends.len(), QUESTIONS);
        for (number, end) in ends {
            let wanted = if number % 2 == 0 { JudgeLabel::Supported } else { JudgeLabel::Contradicted };
            assert_eq!(end.as_ref().map(|verdict| verdict.label), Ok(wanted), "question {number}");
        }
        if number == 0 {
            after_first = resident_bytes();
            assert!(after_first > 0, "the system tells how much memory is used");
        }
    }
    let growth = resident_bytes().saturating_sub(after_first);
    assert!(growth < MAX_GROWTH_BYTES, "grew by {growth} bytes");
    let seen = stub.seen();
    let share = seen.faults as f64 / seen.requests as f64;
    assert!((0.08..0.12).contains(&share), "{share} of the calls had a fault");
    assert!(seen.most_at_once <= 80, "{} calls at once", seen.most_at_once);
    let health = judge.health();
    assert_eq!((health.calls_under_way, health.calls_waiting), (0, 0));
    assert_eq!(judge.usage().calls, seen.requests);
}

#[tokio::test]
async fn a_thousand_questions_at_once_keep_the_budget_to_the_token() {
    let _turn = TURN.lock().await;
    let stub = stub();
    let server = stub.serve().unwrap();
    let tokens = 150_000;
    let budget = BudgetOptions { tokens, ..BudgetOptions::default() };
    let judge = Judge::new(JudgeOptions { budget, ..options(server.base_url()) }).unwrap();
    let ends = round(&judge, 0).await;
    let answered = ends.iter().filter(|(_, end)| end.is_ok()).count();
    let refused = ends.iter().filter(|(_, end)| *end == Err(Code::JUDGE_BUDGET)).count();
    assert_eq!(answered + refused, QUESTIONS, "nothing is lost and nothing ends otherwise");
    assert!(answered > 100 && refused > 100, "{answered} answered, {refused} refused");
    let billed = stub.seen().billed_tokens;
    let counted = judge.usage().tokens.total_tokens();
    assert!(billed <= counted, "billed {billed}, counted {counted}");
    assert!(counted <= tokens, "counted {counted} of {tokens}");
}

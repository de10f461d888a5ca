use super::*;
use crate::admission::TenantLimits;
use futures_util::FutureExt as _;

const FREE: TenantLimits = TenantLimits { in_flight_tokens: 100, tokens_per_second: 0, burst_tokens: 0 };

fn gate() -> Gate {
    Gate::new(GatewayLimits { in_flight_tokens: 100, line_places: 1, waiting_tokens: 1000 })
}

fn ask(tokens: u64) -> Ask {
    Ask { tenant: "a".into(), limits: FREE, tokens }
}

fn far() -> Instant {
    Instant::now() + Duration::from_secs(3600)
}

#[tokio::test(start_paused = true)]
async fn a_permit_gives_back_what_it_holds_and_wakes_who_waits() {
    let gate = gate();
    let first = gate.wait(ask(10), far()).await.unwrap().unwrap();
    let second = gate.wait(ask(10), far());
    tokio::pin!(second);
    assert!(tokio::time::timeout(Duration::from_secs(5), &mut second).await.is_err());
    assert_eq!(gate.load(), (10, 10));
    drop(first);
    let second = second.await.unwrap();
    assert!(second.is_some());
    drop(second);
    assert_eq!(gate.load(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_too_long_or_goes_away_leaves_the_line() {
    let gate = gate();
    let held = gate.wait(ask(10), far()).await.unwrap();
    let soon = Instant::now() + Duration::from_secs(2);
    assert!(gate.wait(ask(10), soon).await.unwrap().is_none());
    assert!(tokio::time::timeout(Duration::from_secs(1), gate.wait(ask(10), far())).await.is_err());
    assert_eq!(gate.load(), (10, 0));
    drop(held);
    assert_eq!(gate.load(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_place_that_nobody_took_up_is_not_lost() {
    let gate = gate();
    let held = gate.wait(ask(10), far()).await.unwrap();
    let mut waiting = Box::pin(gate.wait(ask(10), far()));
    assert!((&mut waiting).now_or_never().is_none());
    // The place is given to it, and it goes away without looking.
    drop(held);
    drop(waiting);
    assert_eq!(gate.load(), (0, 0));
    assert!(gate.wait(ask(10), far()).await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_its_rate_gets_in_when_the_bucket_is_full_enough() {
    let gate = gate();
    let rated = TenantLimits { in_flight_tokens: 100, tokens_per_second: 10, burst_tokens: 10 };
    let ask = Ask { tenant: "a".into(), limits: rated, tokens: 10 };
    drop(gate.wait(ask.clone(), far()).await.unwrap());
    let began = Instant::now();
    assert!(gate.wait(ask, far()).await.unwrap().is_some());
    assert_eq!(began.elapsed().as_millis() / 100, 10);
}

use super::*;
use proptest::prelude::*;

const LIMITS: GatewayLimits = GatewayLimits { in_flight_tokens: 100, line_places: 2, waiting_tokens: 60 };
const FREE: TenantLimits = TenantLimits { in_flight_tokens: 50, tokens_per_second: 0, burst_tokens: 0 };
const RATED: TenantLimits = TenantLimits { in_flight_tokens: 50, tokens_per_second: 10, burst_tokens: 20 };

fn ask(tenant: &str, limits: TenantLimits, tokens: u64) -> Ask {
    Ask { tenant: tenant.into(), limits, tokens }
}

fn at(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn a_body_costs_by_its_bytes_and_never_nothing() {
    assert_eq!(tokens_of_bytes(0), MIN_REQUEST_TOKENS);
    assert_eq!(tokens_of_bytes(400), 100);
    assert_eq!(tokens_of_bytes(401), 101);
}

#[test]
fn a_tenant_at_its_limit_is_refused_while_others_get_in() {
    let mut admission = Admission::new(LIMITS);
    let first = admission.admit(at(0), &ask("a", FREE, 30)).unwrap();
    assert_eq!(admission.admit(at(0), &ask("a", FREE, 30)), Err(Refusal::TenantInFlight));
    let second = admission.admit(at(0), &ask("b", FREE, 50)).unwrap();
    let third = admission.admit(at(0), &ask("c", FREE, 20)).unwrap();
    assert_eq!(admission.admit(at(0), &ask("d", FREE, 1)), Err(Refusal::Overloaded));
    for charge in [first, second, third] {
        admission.release(at(0), charge);
    }
    assert_eq!(admission.in_flight_tokens(), 0);
    assert!(admission.tenants.is_empty());
}

#[test]
fn a_request_larger_than_every_budget_gets_in_alone() {
    let mut admission = Admission::new(LIMITS);
    let charge = admission.admit(at(0), &ask("a", FREE, 1_000_000)).unwrap();
    assert_eq!(admission.in_flight_tokens(), 50);
    assert_eq!(admission.admit(at(0), &ask("a", FREE, 1)), Err(Refusal::TenantInFlight));
    admission.release(at(0), charge);
    let mut rated = Admission::new(LIMITS);
    let charge = rated.admit(at(0), &ask("a", RATED, 120)).unwrap();
    rated.release(at(0), charge);
    // The debt of 100 tokens and the bucket of 20 take 12 seconds.
    assert_eq!(rated.admit(at(0), &ask("a", RATED, 20)), Err(Refusal::TenantRate(at(12_000))));
    assert!(rated.admit(at(12_000), &ask("a", RATED, 20)).is_ok());
}

#[test]
fn a_rate_says_how_long_to_wait_and_keeps_its_word() {
    let mut admission = Admission::new(LIMITS);
    let charge = admission.admit(at(0), &ask("a", RATED, 20)).unwrap();
    admission.release(at(0), charge);
    let refusal = admission.admit(at(100), &ask("a", RATED, 5)).unwrap_err();
    assert_eq!(refusal, Refusal::TenantRate(at(400)));
    assert_eq!(refusal.retry_after(), at(400));
    assert!(admission.admit(at(499), &ask("a", RATED, 5)).is_err());
    assert!(admission.admit(at(500), &ask("a", RATED, 5)).is_ok());
}

#[test]
fn what_grows_counts_against_those_who_come_later() {
    let mut admission = Admission::new(LIMITS);
    let mut charge = admission.admit(at(0), &ask("a", FREE, 20)).unwrap();
    admission.grow(at(0), &mut charge, 40);
    assert_eq!(admission.in_flight_tokens(), 60);
    assert_eq!(admission.admit(at(0), &ask("a", FREE, 1)), Err(Refusal::TenantInFlight));
    admission.release(at(0), charge);
    assert_eq!(admission.in_flight_tokens(), 0);
}

#[test]
fn places_go_from_line_to_line_and_the_full_line_refuses() {
    let mut admission = Admission::new(LIMITS);
    let tickets = |admission: &mut Admission, now| {
        let granted = admission.grant(now);
        granted.places.into_iter().collect::<Vec<_>>()
    };
    let a = (0..4).map(|_| admission.wait(ask("a", FREE, 10)).unwrap()).collect::<Vec<_>>();
    let b = admission.wait(ask("b", FREE, 10)).unwrap();
    assert_eq!(admission.wait(ask("b", FREE, 11)), Err(Refusal::LineFull));
    let mut held = tickets(&mut admission, at(0));
    assert_eq!(held.iter().map(|(ticket, _)| *ticket).collect::<Vec<_>>(), [a[0], b]);
    assert!(tickets(&mut admission, at(0)).is_empty());
    assert_eq!(admission.waiting_tokens(), 30);
    admission.leave(a[1]);
    let (_, charge) = held.remove(0);
    admission.release(at(0), charge);
    let next = tickets(&mut admission, at(0));
    assert_eq!(next.iter().map(|(ticket, _)| *ticket).collect::<Vec<_>>(), [a[2]]);
    assert_eq!(admission.waiting_tokens(), 10);
}

#[test]
fn whoever_waits_for_a_rate_is_told_when_to_look_again() {
    let mut admission = Admission::new(LIMITS);
    admission.wait(ask("a", RATED, 20)).unwrap();
    let first = admission.wait(ask("a", RATED, 10)).unwrap();
    let granted = admission.grant(at(0));
    assert_eq!((granted.places.len(), granted.look_again), (1, Some(at(1000))));
    assert_eq!(admission.grant(at(1000)).places[0].0, first);
}

#[test]
fn tenants_without_a_word_are_forgotten() {
    let mut admission = Admission::new(LIMITS);
    for number in 0..SWEEP_TENANTS {
        let charge = admission.admit(at(0), &ask(&number.to_string(), RATED, 1)).unwrap();
        admission.release(at(0), charge);
    }
    assert_eq!(admission.tenants.len(), SWEEP_TENANTS);
    let charge = admission.admit(at(3_600_000), &ask("new", RATED, 1)).unwrap();
    assert_eq!(admission.tenants.len(), 1);
    admission.release(at(3_600_000), charge);
}

#[derive(Debug, Clone)]
enum Step {
    Admit(u8, u64),
    Wait(u8, u64),
    Grow(usize, u64),
    Release(usize),
    Leave(usize),
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0..4_u8, 0..120_u64).prop_map(|(tenant, tokens)| Step::Admit(tenant, tokens)),
        (0..4_u8, 0..80_u64).prop_map(|(tenant, tokens)| Step::Wait(tenant, tokens)),
        (0..8_usize, 0..9_u64).prop_map(|(index, tokens)| Step::Grow(index, tokens)),
        (0..8_usize).prop_map(Step::Release),
        (0..8_usize).prop_map(Step::Leave),
        (0..3000_u64).prop_map(Step::Pass),
    ];
    prop::collection::vec(step, 0..120)
}

/// Plays the steps and gives everything back at the end.
fn play(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut admission = Admission::new(LIMITS);
    let (mut now, mut held, mut waiting, mut grown) = (0, Vec::new(), Vec::new(), 0);
    let mut spent = [0_u64; 4];
    let limits = |tenant: u8| if tenant.is_multiple_of(2) { FREE } else { RATED };
    for step in steps {
        match step {
            Step::Admit(tenant, tokens) => {
                let ask = ask(&tenant.to_string(), limits(tenant), tokens);
                if let Ok(charge) = admission.admit(at(now), &ask) {
                    spent[usize::from(tenant)] += tokens.min(RATED.burst_tokens);
                    held.push(charge);
                }
            }
            Step::Wait(tenant, tokens) => {
                let ask = ask(&tenant.to_string(), limits(tenant), tokens);
                waiting.extend(admission.wait(ask).ok().map(|ticket| (ticket, tenant, tokens)));
            }
            Step::Grow(index, tokens) => {
                if let Some(charge) = held.get_mut(index) {
                    admission.grow(at(now), charge, tokens);
                    grown += tokens;
                }
            }
            Step::Release(index) if index < held.len() => admission.release(at(now), held.remove(index)),
            Step::Leave(index) if index < waiting.len() => admission.leave(waiting.remove(index).0),
            Step::Release(_) | Step::Leave(_) => {}
            Step::Pass(ms) => now += ms,
        }
        for (ticket, charge) in admission.grant(at(now)).places {
            let index = waiting.iter().position(|(waiting, ..)| *waiting == ticket);
            prop_assert!(index.is_some(), "a place for nobody");
            let (_, tenant, tokens) = waiting.remove(index.unwrap());
            spent[usize::from(tenant)] += tokens.min(RATED.burst_tokens);
            held.push(charge);
        }
        prop_assert_eq!(admission.in_flight_tokens(), held.iter().map(|charge| charge.tokens).sum::<u64>());
        prop_assert!(admission.in_flight_tokens() <= LIMITS.in_flight_tokens + grown);
        prop_assert!(held.iter().filter(|charge| charge.has_place).count() <= LIMITS.line_places);
        prop_assert_eq!(admission.waiting_tokens(), waiting.iter().map(|(_, _, tokens)| tokens).sum::<u64>());
        for (tenant, spent) in spent.iter().enumerate().filter(|(tenant, _)| tenant % 2 == 1) {
            let allowed = RATED.burst_tokens + RATED.tokens_per_second * now / 1000;
            prop_assert!(*spent <= allowed, "tenant {} spent {} of {}", tenant, spent, allowed);
        }
    }
    for charge in held.drain(..) {
        admission.release(at(now), charge);
    }
    // With everything given back and time passed, whoever waits gets in.
    for _ in 0..waiting.len() {
        now += 60_000;
        for (_, charge) in admission.grant(at(now)).places {
            admission.release(at(now), charge);
        }
    }
    prop_assert_eq!((admission.waiting_tokens(), admission.in_flight_tokens()), (0, 0));
    prop_assert!(admission.turns.is_empty() && admission.lines.is_empty());
    Ok(())
}

proptest! {
    #[test]
    fn budgets_hold_and_nobody_is_forgotten(steps in steps()) {
        play(steps)?;
    }
}

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap as Map;

const LIMITS: BatchLimits = BatchLimits {
    batch_tokens: 100,
    max_wait_online: Duration::from_millis(4),
    max_wait_bulk: Duration::from_millis(50),
};

fn ms(ms: u64) -> Moment {
    Duration::from_millis(ms)
}

fn item(job: u64, tokens: usize, lane: Lane, deadline_ms: u64) -> Item<()> {
    Item { job, index: 0, tokens, lane, deadline: ms(deadline_ms), payload: () }
}

fn jobs(batch: Option<Closed<()>>) -> Vec<u64> {
    batch.map(|batch| batch.items.iter().map(|item| item.job).collect()).unwrap_or_default()
}

#[test]
fn a_batch_closes_when_full_or_waited_or_the_device_is_idle() {
    let mut machine = Machine::new(LIMITS);
    assert!(machine.take(ms(0), true).is_none(), "nothing waits");
    machine.push(item(1, 40, Lane::Online, 1000), ms(0));
    assert!(machine.take(ms(3), false).is_none());
    assert_eq!((machine.next_wake(true), machine.next_wake(false)), (Some(ms(4)), Some(ms(1000))));
    assert_eq!(jobs(machine.take(ms(4), false)), [1]);
    machine.push(item(2, 60, Lane::Bulk, 1000), ms(5));
    machine.push(item(3, 60, Lane::Bulk, 1000), ms(5));
    assert_eq!(jobs(machine.take(ms(5), false)), [2], "full");
    assert_eq!(jobs(machine.take(ms(5), true)), [3], "idle");
}

#[test]
fn a_batch_says_why_it_was_closed_and_how_long_its_oldest_item_waited() {
    let mut machine = Machine::new(LIMITS);
    let said =
        |batch: Option<Closed<()>>| batch.map(|batch| (batch.reason, batch.tokens, batch.longest_wait));
    machine.push(item(1, 40, Lane::Bulk, 1000), ms(0));
    machine.push(item(2, 10, Lane::Online, 1000), ms(7));
    assert_eq!(said(machine.take(ms(11), false)), Some((CloseReason::Waited, 50, ms(11))));
    machine.push(item(3, 60, Lane::Online, 1000), ms(12));
    machine.push(item(4, 60, Lane::Online, 1000), ms(13));
    assert_eq!(said(machine.take(ms(13), true)), Some((CloseReason::Full, 60, ms(1))));
    assert_eq!(said(machine.take(ms(13), true)), Some((CloseReason::Idle, 60, ms(0))));
}

#[test]
fn online_goes_first_but_bulk_keeps_its_share() {
    let mut machine = Machine::new(LIMITS);
    for job in 0..20 {
        machine.push(item(job, 10, Lane::Online, 1000), ms(0));
        machine.push(item(100 + job, 10, Lane::Bulk, 1000), ms(0));
    }
    for _ in 0..2 {
        let batch = jobs(machine.take(ms(0), true));
        assert_eq!(batch.len(), 10);
        assert_eq!(batch.iter().filter(|job| **job >= 100).count(), 1, "{batch:?}");
    }
    let batch = jobs(machine.take(ms(0), true));
    assert_eq!(
        batch.iter().filter(|job| **job >= 100).count(),
        8,
        "what online leaves is for bulk: {batch:?}"
    );
}

#[test]
fn an_earlier_deadline_and_then_a_similar_length_come_first() {
    let mut machine = Machine::new(LIMITS);
    machine.push(item(1, 30, Lane::Online, 9000), ms(0));
    machine.push(item(2, 30, Lane::Online, 1000), ms(0));
    machine.push(item(3, 10, Lane::Online, 1001), ms(0));
    machine.push(item(4, 30, Lane::Online, 1002), ms(0));
    assert_eq!(jobs(machine.take(ms(0), true)), [3, 2, 4, 1]);
}

#[test]
fn lengths_of_a_bucket_differ_by_at_most_the_square_root_of_two() {
    let mut bounds: Map<u32, (usize, usize)> = Map::new();
    for tokens in 1..5000 {
        let bound = bounds.entry(length_bucket(tokens)).or_insert((tokens, tokens));
        bound.1 = tokens;
    }
    assert!(bounds.values().all(|(low, high)| *high as f64 <= *low as f64 * 2_f64.sqrt()));
}

#[derive(Debug, Clone)]
enum Step {
    Push { tokens: usize, bulk: bool, deadline_in: u64 },
    Take { idle: bool },
    Tick,
    Wait(u64),
    RemoveJob(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => (1_usize..130, any::<bool>(), 0_u64..2000).prop_map(|(tokens, bulk, deadline_in)| Step::Push { tokens, bulk, deadline_in }),
        3 => any::<bool>().prop_map(|idle| Step::Take { idle }),
        1 => Just(Step::Tick),
        2 => (0_u64..30).prop_map(Step::Wait),
        1 => (0_u64..40).prop_map(Step::RemoveJob),
    ];
    prop::collection::vec(step, 0..150)
}

/// The rules about one batch, given when each of its items arrived and what still waits.
fn check_batch(batch: &[Item<()>], arrived: &Map<u64, (u64, Lane)>) -> Result<(), TestCaseError> {
    let tokens = batch.iter().map(|item| item.tokens).sum::<usize>();
    prop_assert!(!batch.is_empty());
    prop_assert!(tokens <= LIMITS.batch_tokens || batch.len() == 1, "{} tokens", tokens);
    let mut last: Map<(Lane, u128, u32), u64> = Map::new();
    for item in batch {
        prop_assert!(arrived.contains_key(&item.job), "item {} is lost or doubled", item.job);
        let bucket = (item.lane, item.deadline.as_millis() / DEADLINE_SLOT_MS, length_bucket(item.tokens));
        // Jobs are numbered in order of arrival.
        prop_assert!(
            last.insert(bucket, item.job).is_none_or(|before| before < item.job),
            "order in a bucket"
        );
    }
    Ok(())
}

proptest! {
    #[test]
    fn no_item_is_lost_or_doubled_and_every_bound_holds(steps in steps()) {
        let mut machine = Machine::new(LIMITS);
        let (mut now, mut next_job) = (0_u64, 0_u64);
        // Jobs that wait, with arrival and lane.
        let mut waiting: Map<u64, (u64, Lane)> = Map::new();
        let mut deadlines: Map<u64, u64> = Map::new();
        for step in steps {
            match step {
                Step::Push { tokens, bulk, deadline_in } => {
                    let lane = if bulk { Lane::Bulk } else { Lane::Online };
                    machine.push(item(next_job, tokens, lane, now + deadline_in), ms(now));
                    waiting.insert(next_job, (now, lane));
                    deadlines.insert(next_job, now + deadline_in);
                    next_job += 1;
                }
                Step::Take { idle } => {
                    let overdue = waiting.values().any(|(at, lane)| {
                        ms(now) >= ms(*at) + if *lane == Lane::Bulk { LIMITS.max_wait_bulk } else { LIMITS.max_wait_online }
                    });
                    let batch = machine.take(ms(now), idle);
                    if waiting.is_empty() { prop_assert!(batch.is_none()); }
                    else if overdue || idle { prop_assert!(batch.is_some(), "the wait bound is broken"); }
                    if let Some(batch) = batch {
                        check_batch(&batch.items, &waiting)?;
                        for item in batch.items { waiting.remove(&item.job); }
                    }
                }
                Step::Tick => {
                    for item in machine.tick(ms(now)) {
                        prop_assert!(deadlines[&item.job] <= now);
                        prop_assert!(waiting.remove(&item.job).is_some());
                    }
                    prop_assert!(waiting.keys().all(|job| deadlines[job] > now));
                }
                Step::Wait(time) => now += time,
                Step::RemoveJob(job) => {
                    machine.remove_jobs(|found| found == job);
                    waiting.remove(&job);
                }
            }
            let wake = machine.next_wake(true);
            prop_assert_eq!(wake.is_none(), waiting.is_empty());
        }
        while let Some(batch) = machine.take(ms(now), true) {
            check_batch(&batch.items, &waiting)?;
            for item in batch.items { waiting.remove(&item.job); }
        }
        prop_assert!(waiting.is_empty(), "items are left behind");
        prop_assert_eq!((machine.tokens, machine.due.len(), machine.deadlines.len()), (0, 0, 0));
    }
}

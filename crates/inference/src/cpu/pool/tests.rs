use super::*;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

fn count_to(jobs: usize, threads: usize) -> (usize, usize) {
    let (sum, running, most) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let counters = Arc::new((sum, running, most));
    let shared = Arc::clone(&counters);
    POOL.grow(4).unwrap();
    let panicked = POOL.run(
        threads,
        jobs,
        Arc::new(move |number| {
            let (sum, running, most) = &*shared;
            most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
            std::thread::sleep(Duration::from_millis(2));
            sum.fetch_add(number + 1, SeqCst);
            running.fetch_sub(1, SeqCst);
        }),
    );
    assert_eq!(panicked, 0);
    (counters.0.load(SeqCst), counters.2.load(SeqCst))
}

#[test]
fn every_job_runs_once_and_on_no_more_threads_than_allowed() {
    for (jobs, threads) in [(0, 1), (1, 4), (9, 1), (30, 2), (30, 4)] {
        let (sum, most) = count_to(jobs, threads);
        assert_eq!(sum, jobs * (jobs + 1) / 2);
        assert!(most <= threads, "{most} jobs at once where {threads} threads are allowed");
    }
}

#[test]
fn callers_share_the_threads_and_each_gets_all_its_jobs() {
    std::thread::scope(|scope| {
        for caller in 0..6 {
            scope.spawn(move || {
                assert_eq!(count_to(10 + caller, 1 + caller % 3).0, (10 + caller) * (11 + caller) / 2)
            });
        }
    });
}

#[test]
fn a_panic_in_a_job_is_counted_and_harms_nobody_else() {
    POOL.grow(2).unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&ran);
    let job = move |number: usize| {
        assert!(!number.is_multiple_of(3), "job {number} panics because the test says so");
        counter.fetch_add(1, SeqCst);
    };
    assert_eq!(POOL.run(2, 10, Arc::new(job)), 4);
    assert_eq!(ran.load(SeqCst), 6);
    assert_eq!(count_to(5, 2).0, 15, "the pool still works");
}

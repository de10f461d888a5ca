use super::*;

#[derive(Debug, Clone)]
struct Ear {
    id: u64,
    heard: Arc<Mutex<Vec<FlightEnd>>>,
}

impl Ear {
    fn new(id: u64) -> Self {
        Self { id, heard: Arc::default() }
    }

    fn heard(&self) -> Vec<FlightEnd> {
        std::mem::take(&mut self.heard.lock().unwrap())
    }
}

impl Waiter for Ear {
    fn id(&self) -> u64 {
        self.id
    }

    fn landed(&self, ends: Vec<FlightEnd>) {
        self.heard.lock().unwrap().extend(ends);
    }
}

fn key(byte: u8) -> Key {
    [byte; 32]
}

fn score(value: f32) -> Score {
    Score::Logits([value, 0.0, 0.0].into())
}

fn setup(bytes: u64) -> (Arc<ScoreCache<Ear>>, [Ear; 2], [Leads<Ear>; 2]) {
    let cache = Arc::new(ScoreCache::new(bytes));
    let leads = [Leads::new(Arc::clone(&cache)), Leads::new(Arc::clone(&cache))];
    (cache, [Ear::new(1), Ear::new(2)], leads)
}

#[test]
fn one_leads_and_the_others_wait_for_its_score() {
    let (cache, [a, b], [mut leads_a, mut leads_b]) = setup(1 << 20);
    assert_eq!(cache.claim(&[key(1)], &a, &mut leads_a), [Claimed::Lead]);
    assert_eq!(cache.claim(&[key(1), key(2)], &b, &mut leads_b), [Claimed::Wait, Claimed::Lead]);
    leads_a.resolve(vec![(key(1), Some(score(1.0))), (key(2), Some(score(9.0)))]);
    assert_eq!(b.heard(), [(key(1), Some(score(1.0)))], "what another one leads cannot be resolved");
    assert_eq!(cache.claim(&[key(1)], &a, &mut leads_a), [Claimed::Hit(score(1.0))]);
}

#[test]
fn a_leader_that_ends_lets_a_waiter_lead_and_failures_are_not_remembered() {
    let (cache, [a, b], [mut leads_a, mut leads_b]) = setup(1 << 20);
    cache.claim(&[key(1), key(2)], &a, &mut leads_a);
    cache.claim(&[key(1), key(2)], &b, &mut leads_b);
    leads_a.resolve(vec![(key(1), None)]);
    assert_eq!(b.heard(), [(key(1), None)]);
    drop(leads_a);
    assert_eq!(b.heard(), [(key(2), None)]);
    assert_eq!(cache.claim(&[key(1), key(2)], &b, &mut leads_b), [Claimed::Lead, Claimed::Lead]);
}

#[test]
fn without_memory_flights_are_still_shared() {
    let (cache, [a, b], [mut leads_a, mut leads_b]) = setup(0);
    cache.claim(&[key(1)], &a, &mut leads_a);
    assert_eq!(cache.claim(&[key(1)], &b, &mut leads_b), [Claimed::Wait]);
    leads_a.resolve(vec![(key(1), Some(score(1.0)))]);
    assert_eq!(b.heard(), [(key(1), Some(score(1.0)))]);
    assert_eq!(cache.claim(&[key(1)], &a, &mut leads_a), [Claimed::Lead]);
}

#[test]
fn memory_stays_within_its_bytes() {
    let (cache, [a, _], [mut leads, _]) = setup(100_000);
    for number in 0..10_000_u32 {
        let mut key = key(0);
        key[..4].copy_from_slice(&number.to_le_bytes());
        cache.claim(&[key], &a, &mut leads);
        leads.resolve(vec![(key, Some(score(0.0)))]);
    }
    let scores = cache.scores.as_ref().unwrap();
    assert!(
        scores.weight() <= 100_000 && scores.len() > 100,
        "{} bytes, {} entries",
        scores.weight(),
        scores.len()
    );
}

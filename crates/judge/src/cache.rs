//! Answers that are kept: bounded in bytes, forgotten after a time, each asked for once however many want it.

use crate::judge::too_late;
use crate::{CacheOptions, Facts, JudgeVerdict, Samples, SelfCheckAnswer};
use groundline_types::Problem;
use moka::sync::Cache;
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

/// Bytes that an entry takes beside its texts: key, value and the cache's own records.
const ENTRY_BYTES: usize = 256;

/// What a question is known by: prompt version, model, parameters and texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CacheKey([u8; 32]);

impl CacheKey {
    /// The key of these parts. Each part's length goes in too, so that no two lists give the same bytes.
    pub(crate) fn new<'a>(parts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        Self(*hasher.finalize().as_bytes())
    }

    /// The key of the same question in a scope.
    pub(crate) fn within(self, scope: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0).update(scope.as_bytes());
        Self(*hasher.finalize().as_bytes())
    }
}

/// An answer of any kind.
#[derive(Debug, Clone)]
pub(crate) enum Kept {
    Verdict(Arc<JudgeVerdict>),
    Facts(Arc<Facts>),
    Samples(Arc<Samples>),
    SelfCheck(SelfCheckAnswer),
}

impl Kept {
    /// Whether it is all that was asked for. Samples may be missing for no better reason than a moment's trouble.
    fn is_whole(&self) -> bool {
        !matches!(self, Kept::Samples(samples) if !samples.missing.is_empty())
    }

    fn bytes(&self) -> u32 {
        let texts = match self {
            Kept::Verdict(verdict) => verdict.reason.len() + verdict.quote.as_ref().map_or(0, String::len),
            Kept::Facts(facts) => facts.facts.iter().map(|fact| fact.text.len() + 32).sum(),
            Kept::Samples(samples) => samples.texts.iter().map(|text| text.len() + 24).sum(),
            Kept::SelfCheck(_) => 0,
        };
        u32::try_from(texts + ENTRY_BYTES).unwrap_or(u32::MAX)
    }
}

pub(crate) struct AnswerCache {
    kept: Option<Cache<CacheKey, Kept>>,
    /// Questions that are being asked.
    flights: StdMutex<HashMap<CacheKey, Arc<Mutex<()>>>>,
}

impl AnswerCache {
    pub(crate) fn new(options: &CacheOptions) -> Self {
        let kept = (options.max_bytes > 0).then(|| {
            Cache::builder()
                .max_capacity(options.max_bytes)
                .weigher(|_, kept: &Kept| kept.bytes())
                .time_to_live(Duration::from_millis(options.ttl_ms))
                .build()
        });
        Self { kept, flights: StdMutex::default() }
    }

    /// The answer that is kept, or that of `ask`, which then is kept where it is whole. Of several that want the same at once one
    /// asks, and the others wait for it up to their deadlines; where it fails or is given up, the next one asks. So nobody gets a
    /// failure that is not its own.
    pub(crate) async fn get_or(
        &self,
        key: CacheKey,
        deadline: Instant,
        ask: impl Future<Output = Result<Kept, Problem>> + Send,
    ) -> Result<Kept, Problem> {
        let Some(kept) = &self.kept else { return ask.await };
        if let Some(answer) = kept.get(&key) {
            return Ok(answer);
        }
        let flight = Flight::enter(self, key);
        let _turn = timeout_at(deadline, flight.turn.lock()).await.map_err(|_| too_late())?;
        if let Some(answer) = kept.get(&key) {
            return Ok(answer);
        }
        let answer = ask.await?;
        if answer.is_whole() {
            kept.insert(key, answer.clone());
        }
        Ok(answer)
    }

    fn flights(&self) -> MutexGuard<'_, HashMap<CacheKey, Arc<Mutex<()>>>> {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for AnswerCache {
    /// Its size alone: answers hold text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.kept.as_ref().map(Cache::weighted_size);
        f.debug_struct("AnswerCache").field("bytes", &bytes).finish_non_exhaustive()
    }
}

/// One that wants an answer; the last one takes its key off the list.
struct Flight<'a> {
    cache: &'a AnswerCache,
    key: CacheKey,
    turn: Arc<Mutex<()>>,
}

impl<'a> Flight<'a> {
    fn enter(cache: &'a AnswerCache, key: CacheKey) -> Self {
        let turn = cache.flights().entry(key).or_default().clone();
        Self { cache, key, turn }
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        let mut flights = self.cache.flights();
        // The list's and our own: nobody else waits, and nobody can join while the list is locked.
        if Arc::strong_count(&self.turn) <= 2 {
            flights.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groundline_types::Code;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn answer() -> Result<Kept, Problem> {
        Ok(Kept::SelfCheck(SelfCheckAnswer::Yes))
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn keys_depend_on_every_part_and_where_it_ends() {
        let key = CacheKey::new(["ab", "c"]);
        assert_eq!(key, CacheKey::new(["ab", "c"]));
        for other in [vec!["a", "bc"], vec!["ab", "d"], vec!["ab"], vec!["ab", "c", ""]] {
            assert_ne!(key, CacheKey::new(other));
        }
        assert_eq!(key.within("a"), key.within("a"));
        assert_ne!(key.within("a"), key.within("b"));
    }

    #[tokio::test]
    async fn an_answer_is_kept_and_a_failure_is_not() {
        let cache = AnswerCache::new(&CacheOptions::default());
        let key = CacheKey::new(["x"]);
        let failure = Problem::new(Code::JUDGE_REFUSED, "no");
        assert_eq!(cache.get_or(key, soon(), async { Err(failure.clone()) }).await.unwrap_err(), failure);
        assert!(cache.get_or(key, soon(), async { answer() }).await.is_ok());
        assert!(cache.get_or(key, soon(), async { panic!("asked again") }).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_another_waits_to_its_own_deadline() {
        let cache = AnswerCache::new(&CacheOptions::default());
        let key = CacheKey::new(["x"]);
        let slow = cache.get_or(key, soon(), async {
            tokio::time::sleep(Duration::from_secs(9)).await;
            answer()
        });
        let hasty = cache.get_or(key, Instant::now() + Duration::from_secs(1), async { panic!("not asked") });
        let (slow, hasty) = tokio::join!(slow, hasty);
        assert!(slow.is_ok());
        assert_eq!(hasty.unwrap_err().code, Code::JUDGE_DEADLINE);
    }

    #[tokio::test]
    async fn samples_of_which_some_are_missing_are_not_kept() {
        let cache = AnswerCache::new(&CacheOptions::default());
        let key = CacheKey::new(["x"]);
        let missing = [vec![Code::JUDGE_UNAVAILABLE], vec![]];
        for missing in missing {
            let drawn = Samples { missing: missing.clone(), ..Samples::default() };
            let got = cache.get_or(key, soon(), async { Ok(Kept::Samples(Arc::new(drawn))) }).await.unwrap();
            assert!(matches!(got, Kept::Samples(samples) if samples.missing == missing));
        }
        assert!(cache.get_or(key, soon(), async { panic!("kept once whole") }).await.is_ok());
    }

    #[tokio::test]
    async fn without_a_size_nothing_is_kept() {
        let cache = AnswerCache::new(&CacheOptions { max_bytes: 0, ..CacheOptions::default() });
        let key = CacheKey::new(["x"]);
        let mut asked = 0;
        for _ in 0..2 {
            let ask = async {
                asked += 1;
                answer()
            };
            cache.get_or(key, soon(), ask).await.unwrap();
        }
        assert_eq!(asked, 2);
    }

    #[tokio::test]
    async fn of_several_that_want_the_same_one_asks_and_the_next_one_after_a_failure() {
        let cache = AnswerCache::new(&CacheOptions::default());
        let key = CacheKey::new(["x"]);
        let asked = AtomicUsize::new(0);
        let wanting = (0..20).map(|number| {
            let asked = &asked;
            cache.get_or(key, soon(), async move {
                asked.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
                if number < 2 { Err(Problem::new(Code::JUDGE_REFUSED, "no")) } else { answer() }
            })
        });
        let ends = futures_util::future::join_all(wanting).await;
        assert_eq!(ends.iter().filter(|end| end.is_err()).count(), 2);
        assert_eq!(asked.into_inner(), 3);
        assert!(cache.flights().is_empty());
    }
}

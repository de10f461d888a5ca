//! What fewer candidate sentences save on requests of the user's, and what they change.

use crate::{Checker, Config, PROFILE_OFF};
use groundline_inference::{Encoded, Engine, Task};
use groundline_types::{
    CheckRequest, CheckResult, Code, Lane, ModelFacts, ModelResult, Problem, Score, Verdict, Work,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The deadline of every check here, a week: what is cut short cannot be compared.
const DEADLINE_MS: u64 = 7 * 24 * 3600 * 1000;

/// What `detectors.candidate_sentences` saves and changes: every request checked with all evidence and with each number of candidates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CandidateReport {
    /// Which model answered.
    pub model: ModelResult,
    /// Requests that were checked.
    pub requests: usize,
    /// The checks with all evidence.
    pub all: ScoredWork,
    /// The checks with candidates, in the order asked.
    pub measured: Vec<MeasuredCandidates>,
}

/// What the model was given, over all requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct ScoredWork {
    /// Pairs of texts that the model scored; what a cache answered is not among them.
    pub pairs: usize,
    /// Texts that it embedded.
    pub embeddings: usize,
    /// How long the checks took one after another, in seconds.
    pub seconds: f64,
}

/// One number of candidates beside all evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredCandidates {
    /// Sentences that each claim was compared with.
    pub candidate_sentences: usize,
    /// Requests with more source sentences than that; the others were checked as without the option.
    pub limited_requests: usize,
    /// What the model was given.
    #[serde(flatten)]
    pub work: ScoredWork,
    /// Pairs that were not scored, as a share of those with all evidence, at most 1; 0 where there are none.
    pub saved_pairs: f64,
    /// Sentences with a verdict both times.
    pub compared_sentences: usize,
    /// Those of them whose verdict differs.
    pub changed_sentences: usize,
    /// As a share of the compared ones, 0 to 1; 0 where there are none.
    pub changed_share: f64,
    /// How they changed, the most frequent first.
    pub changes: Vec<VerdictChange>,
    /// Mean distance between the support probabilities with all evidence and with candidates, over the compared sentences that have
    /// both, 0 to 1.
    pub mean_support_drift: f64,
    /// The largest of these distances, 0 to 1.
    pub largest_support_drift: f64,
}

/// Sentences that had one verdict with all evidence and another with candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct VerdictChange {
    /// With all evidence.
    pub from: Verdict,
    /// With candidates.
    pub to: Verdict,
    /// How many.
    pub sentences: usize,
}

/// Checks every request with all evidence and with each of `candidates`, one check at a time on one engine, and tells how the
/// results differ. Each kind of check has a cache of its own, so that none is spared what another computed. The ensemble is left out:
/// its weights belong to one setting. Deadlines of requests are not kept. `progress` is told how many checks are done, and of how many.
///
/// # Errors
/// [`Code::INVALID_CONFIG`] where there is no number of candidates or one is not allowed, [`Code::INVALID_FIELD`] where there is no
/// request; errors of [`Checker::check`] with the number of the request before them.
pub async fn measure_candidates(
    engine: Arc<dyn Engine>,
    config: &Config,
    requests: &[CheckRequest],
    candidates: &[usize],
    mut progress: impl FnMut(usize, usize),
) -> Result<CandidateReport, Problem> {
    if requests.is_empty() {
        return Err(Problem::new(Code::INVALID_FIELD, "there is no request to measure with"));
    }
    if candidates.is_empty() || candidates.contains(&0) {
        let message = "give numbers of candidate sentences above 0; all sentences are measured beside them";
        return Err(Problem::new(Code::INVALID_CONFIG, message));
    }
    let engine = Arc::new(Counting::new(engine));
    let checkers = std::iter::once(&0)
        .chain(candidates)
        .map(|sentences| checker(&engine, config, *sentences))
        .collect::<Result<Vec<_>, Problem>>()?;
    for checker in &checkers {
        checker.start().await?;
    }
    engine.warm_up();
    let mut sums = vec![Sum::default(); checkers.len()];
    for (index, request) in requests.iter().enumerate() {
        let mut results = vec![None; checkers.len()];
        for turn in 0..checkers.len() {
            // To and fro, so that a machine that slows down or warms up favours nobody.
            let at = if index % 2 == 0 { turn } else { checkers.len() - 1 - turn };
            progress(index * checkers.len() + turn, requests.len() * checkers.len());
            let before = engine.counts();
            let result = checkers[at].check(prepared(request)).await.map_err(|problem| {
                Problem::new(problem.code, format!("request {}: {}", index + 1, problem.message))
            })?;
            sums[at].add_work(&result, before, engine.counts());
            results[at] = Some(result);
        }
        let (all, few) = results.split_at(1);
        for (sum, few) in sums[1..].iter_mut().zip(few) {
            if let (Some(Some(all)), Some(few)) = (all.first(), few) {
                sum.compare(all, few);
            }
        }
    }
    let model = ModelResult {
        name: engine.facts().id.name.clone(),
        revision: engine.facts().id.revision.clone(),
        engine: engine.name().to_owned(),
    };
    for checker in checkers {
        checker.shutdown().await;
    }
    let all = sums[0].work;
    let measured = candidates.iter().zip(&sums[1..]).map(|(sentences, sum)| sum.measured(*sentences, &all));
    Ok(CandidateReport { model, requests: requests.len(), all, measured: measured.collect() })
}

fn checker(engine: &Arc<Counting>, config: &Config, candidate_sentences: usize) -> Result<Checker, Problem> {
    let mut config = config.clone();
    config.detectors.candidate_sentences = candidate_sentences;
    PROFILE_OFF.clone_into(&mut config.ensemble.profile);
    Checker::with_engine(Arc::clone(engine) as Arc<dyn Engine>, config)
}

fn prepared(request: &CheckRequest) -> CheckRequest {
    let mut request = request.clone();
    (request.deadline_ms, request.lane, request.matrix) = (Some(DEADLINE_MS), Some(Lane::Bulk), false);
    request
}

/// What the checks with one setting came to so far.
#[derive(Debug, Clone, Default)]
struct Sum {
    work: ScoredWork,
    limited_requests: usize,
    compared_sentences: usize,
    changes: BTreeMap<(Verdict, Verdict), usize>,
    drifts: usize,
    drift: f64,
    largest_drift: f64,
}

impl Sum {
    fn add_work(&mut self, result: &CheckResult, before: (usize, usize), after: (usize, usize)) {
        self.work.pairs += after.0 - before.0;
        self.work.embeddings += after.1 - before.1;
        self.work.seconds += result.timings.total_ms / 1e3;
        self.limited_requests += usize::from(result.notes.iter().any(|note| note.code == Code::NEAREST_ONLY));
    }

    fn compare(&mut self, all: &CheckResult, few: &CheckResult) {
        for (all, few) in all.sentences.iter().zip(&few.sentences) {
            let (Some(from), Some(to)) = (all.verdict, few.verdict) else { continue };
            self.compared_sentences += 1;
            if from != to {
                *self.changes.entry((from, to)).or_default() += 1;
            }
            if let (Some(all), Some(few)) = (all.support_probability, few.support_probability) {
                let drift = f64::from((all.get() - few.get()).abs());
                (self.drifts, self.drift) = (self.drifts + 1, self.drift + drift);
                self.largest_drift = self.largest_drift.max(drift);
            }
        }
    }

    fn measured(&self, candidate_sentences: usize, all: &ScoredWork) -> MeasuredCandidates {
        let share = |part: f64, whole: usize| if whole == 0 { 0.0 } else { part / whole as f64 };
        let change = |((from, to), sentences): (&(Verdict, Verdict), &usize)| VerdictChange {
            from: *from,
            to: *to,
            sentences: *sentences,
        };
        let mut changes = self.changes.iter().map(change).collect::<Vec<_>>();
        changes.sort_by_key(|change| std::cmp::Reverse(change.sentences));
        let changed_sentences = self.changes.values().sum::<usize>();
        MeasuredCandidates {
            candidate_sentences,
            limited_requests: self.limited_requests,
            work: self.work,
            saved_pairs: share(all.pairs as f64 - self.work.pairs as f64, all.pairs),
            compared_sentences: self.compared_sentences,
            changed_sentences,
            changed_share: share(changed_sentences as f64, self.compared_sentences),
            changes,
            mean_support_drift: share(self.drift, self.drifts),
            largest_support_drift: self.largest_drift,
        }
    }
}

/// An engine that counts what it is given.
struct Counting {
    engine: Arc<dyn Engine>,
    pairs: AtomicUsize,
    embeddings: AtomicUsize,
}

impl Counting {
    fn new(engine: Arc<dyn Engine>) -> Self {
        Self { engine, pairs: AtomicUsize::new(0), embeddings: AtomicUsize::new(0) }
    }

    /// Pairs and embeddings so far.
    fn counts(&self) -> (usize, usize) {
        (self.pairs.load(Ordering::Acquire), self.embeddings.load(Ordering::Acquire))
    }

    /// Reads the weights once, so that the first check does not wait for a disk.
    fn warm_up(&self) {
        if let Ok(text) = self.engine.encode(&Work::Embed { text: "warm".into() }) {
            let _ = self.engine.run(&[text]);
        }
    }
}

impl Engine for Counting {
    fn facts(&self) -> &ModelFacts {
        self.engine.facts()
    }

    fn name(&self) -> &str {
        self.engine.name()
    }

    fn fallback(&self) -> Option<&Problem> {
        self.engine.fallback()
    }

    fn encode(&self, work: &Work) -> Result<Encoded, Problem> {
        self.engine.encode(work)
    }

    fn run(&self, batch: &[Encoded]) -> Vec<Result<Score, Problem>> {
        let embeddings = batch.iter().filter(|item| item.task == Task::Embed).count();
        self.embeddings.fetch_add(embeddings, Ordering::AcqRel);
        self.pairs.fetch_add(batch.len() - embeddings, Ordering::AcqRel);
        self.engine.run(batch)
    }

    fn batch_tokens(&self) -> usize {
        self.engine.batch_tokens()
    }
}

#[cfg(test)]
mod tests;

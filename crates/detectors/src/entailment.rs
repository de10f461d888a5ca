//! Entailment of each claim by windows and by single sentences of the sources.
//!
//! Asks for the embeddings of all evidence sentences and claims, then for (window, claim) and (sentence, claim) pairs claim by
//! claim, so that a deadline leaves whole claims scored. How a claim's pairs become a finding is told at `tally::finding`; the 3
//! evidence sentences nearest to a claim, which alone may contradict it, are found by embedding similarity and shared names,
//! numbers and words.
//!
//! Where one of those 3 has a value of the claim in another notation, the pairs of that sentence, and of the windows that hold it,
//! are asked once more with the claim in its notation ([`crate::notation`]), and those answers count. The matrix keeps the first.
//!
//! Where `candidate_sentences` is set and there is more evidence than that, a claim meets its nearest sentences and the windows that
//! hold one of them ([`candidates`]), and a note says so.
//!
//! A claim with any pair that has no score is failed with that pair's reason: what is missing could hide support or
//! contradiction. The report's score is the support of the weakest claim that was scored.

mod ask;
mod candidates;
mod facts;
mod variants;

use crate::answers::{read_embedding, read_pair};
use crate::features::{Embeddings, EvidenceFeatures};
use crate::layout::{Layout, keeps_matrix};
use crate::reading::reading;
use crate::tally::{PICKS, ScoredRow, ScoredWindow, finding, never_started, response_score, weakest_support};
use crate::{Detector, DetectorOptions, Next};
use ask::Ask;
use candidates::Candidates;
use facts::{FactContext, FactRun};
use groundline_types::{
    ClaimFinding, Code, ModelFacts, NliLabels, NliProbabilities, Outcome, PreparedCheck, Reason, Report,
    Score, SupportMatrix, Work,
};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use variants::{Place, Variant};

/// Best entailment over windows and sentences; contradiction from the nearest evidence.
#[derive(Debug)]
pub(crate) struct Entailment {
    options: DetectorOptions,
    run: Option<Run>,
}

/// The answers about one claim so far.
#[derive(Debug)]
struct Tally {
    rows: Vec<Option<NliProbabilities>>,
    windows: Vec<Option<NliProbabilities>>,
    missing: usize,
    /// Whether it was asked about in the notation of its evidence, or needs not be.
    reworded: bool,
    failure: Option<Reason>,
}

#[derive(Debug)]
struct Run {
    check: Arc<PreparedCheck>,
    labels: NliLabels,
    layout: Layout,
    features: EvidenceFeatures,
    row_embeddings: Vec<Option<Arc<[f32]>>>,
    column_embeddings: Vec<Result<Arc<[f32]>, Reason>>,
    missing_embedding: Option<(usize, Reason)>,
    /// Positions in the lists of embeddings, (claim, window) pairs and (claim, sentence) pairs up to which was asked.
    next_embedding: usize,
    next_window: usize,
    next_pair: usize,
    /// Claims in the notation of their evidence that are still to be asked about.
    variants: VecDeque<Variant>,
    /// What each claim meets; `None`: all evidence.
    candidates: Option<Candidates>,
    asked: Vec<Ask>,
    tallies: BTreeMap<usize, Tally>,
    found: Vec<Option<Outcome<ClaimFinding>>>,
    matrix: Option<SupportMatrix>,
    claims: Option<Vec<Outcome<ClaimFinding>>>,
    facts: Option<FactRun>,
    work_items: usize,
    /// Pairs of claims in their own words that have probabilities.
    scored_pairs: usize,
}

impl Entailment {
    pub(crate) fn new(options: &DetectorOptions) -> Self {
        Self { options: options.clone(), run: None }
    }

    fn next(&mut self) -> Next {
        let Some(run) = &mut self.run else {
            return Next::Done(never_started("entailment"));
        };
        let work = run.next_work(&self.options);
        if work.is_empty() {
            return Next::Done(run.report());
        }
        run.work_items += work.len();
        Next::Work(work)
    }
}

impl Detector for Entailment {
    fn name(&self) -> &'static str {
        "entailment"
    }

    fn start(&mut self, check: &Arc<PreparedCheck>, facts: &ModelFacts) -> Next {
        let layout = Layout::new(check, facts);
        let not_yet = Reason::new(Code::INTERNAL, "the sentence's embedding was not asked for");
        self.run = Some(Run {
            check: check.clone(),
            labels: facts.labels,
            features: EvidenceFeatures::new(check, &layout),
            row_embeddings: vec![None; layout.rows.len()],
            column_embeddings: vec![Err(not_yet); layout.columns.len()],
            missing_embedding: None,
            next_embedding: 0,
            next_window: 0,
            next_pair: 0,
            variants: VecDeque::new(),
            candidates: Candidates::new(&layout, &self.options),
            asked: Vec::new(),
            tallies: BTreeMap::new(),
            found: vec![None; layout.columns.len()],
            matrix: keeps_matrix(check, self.name()).then(|| layout.matrix()),
            claims: None,
            facts: None,
            work_items: 0,
            scored_pairs: 0,
            layout,
        });
        self.next()
    }

    fn planned_items(&self) -> usize {
        self.run.as_ref().map_or(0, Run::planned_items)
    }

    fn resume(&mut self, outcomes: &[Outcome<Score>]) -> Next {
        if let Some(run) = &mut self.run {
            run.take(outcomes, &self.options);
        }
        self.next()
    }
}

impl Run {
    fn planned_items(&self) -> usize {
        let (check, layout) = (&self.check, &self.layout);
        if layout.columns.is_empty() {
            return 0;
        }
        let embeddings = layout.rows.len() + layout.columns.len();
        let planned = |column: usize| match &self.candidates {
            Some(candidates) => candidates.planned(column),
            None => (layout.rows.len(), layout.windows.len()),
        };
        let items = |column: usize| {
            let (rows, windows) = planned(column);
            let facts = if check.request.facts { facts::count(check, layout, column) } else { 0 };
            rows + windows + facts * (PICKS.min(rows) + windows)
        };
        embeddings + (0..layout.columns.len()).map(items).sum::<usize>()
    }

    fn next_work(&mut self, options: &DetectorOptions) -> Vec<Work> {
        if self.claims.is_none() {
            self.asked = self.next_asks(options);
            if !self.asked.is_empty() {
                return self.asked.iter().map(|ask| ask.work(&self.check, &self.layout)).collect();
            }
            let claims = self.layout.outcomes(std::mem::take(&mut self.found));
            if self.check.request.facts {
                let context = FactContext {
                    check: &self.check,
                    layout: &self.layout,
                    evidence: &self.features,
                    candidates: self.candidates.as_ref(),
                };
                self.facts = Some(FactRun::new(context, &claims));
            }
            self.claims = Some(claims);
        }
        match &mut self.facts {
            Some(facts) => facts.ask(&self.check, &self.layout, options.pairs_per_round),
            None => Vec::new(),
        }
    }

    /// A chunk of the grid, filled up with embeddings and then with variants of claims before and
    /// windows of the claims that the chunk has reached.
    fn next_asks(&mut self, options: &DetectorOptions) -> Vec<Ask> {
        let (height, width) = (self.layout.rows.len(), self.layout.columns.len());
        if width == 0 {
            return Vec::new();
        }
        if self.candidates.is_some() {
            return self.next_candidate_asks(options);
        }
        let pairs = self.next_pair..(self.next_pair + options.grid_chunk()).min(height * width);
        self.next_pair = pairs.end;
        let mut room = options.pairs_per_round.saturating_sub(pairs.len()).max(1);

        let embeddings = self.next_embedding..(self.next_embedding + room).min(height + width);
        self.next_embedding = embeddings.end;
        room -= embeddings.len();

        let variants: Vec<Variant> = self.variants.drain(..self.variants.len().min(room)).collect();
        room -= variants.len();

        let reached = self.next_pair.div_ceil(height) * self.layout.windows.len();
        let windows = self.next_window..(self.next_window + room).min(reached).max(self.next_window);
        self.next_window = windows.end;

        let per_claim = self.layout.windows.len().max(1);
        let mut asks: Vec<Ask> = embeddings.map(|at| Ask::embed(at, height)).collect();
        let about_claims = asks.len();
        asks.extend(variants.into_iter().map(Ask::Variant));
        asks.extend(windows.map(|at| Ask::Window { column: at / per_claim, window: at % per_claim }));
        asks.extend(pairs.map(|at| Ask::Pair { column: at / height, row: at % height }));
        // Stable: within a claim windows stay before sentences.
        asks[about_claims..].sort_by_key(Ask::column);
        asks
    }

    fn take(&mut self, outcomes: &[Outcome<Score>], options: &DetectorOptions) {
        if let Some(facts) = &mut self.facts {
            facts.take(outcomes, &self.labels, &self.layout, options);
            return;
        }
        for (at, ask) in std::mem::take(&mut self.asked).into_iter().enumerate() {
            let outcome = outcomes.get(at);
            match ask {
                Ask::EmbedRow(row) => self.row_embeddings[row] = self.row_embedding(outcome),
                Ask::EmbedColumn(column) => self.column_embeddings[column] = read_embedding(outcome),
                Ask::Window { column, window } => {
                    let read = read_pair(outcome, &self.labels);
                    self.scored_pairs += usize::from(read.is_ok());
                    self.tally(column).note(read, |tally, read| tally.windows[window] = Some(read));
                }
                Ask::Pair { column, row } => {
                    let read = read_pair(outcome, &self.labels);
                    if let (Some(matrix), Ok(read)) = (&mut self.matrix, &read) {
                        matrix.entries[row * self.layout.columns.len() + column] = Some(*read);
                    }
                    self.scored_pairs += usize::from(read.is_ok());
                    self.tally(column).note(read, |tally, read| tally.rows[row] = Some(read));
                }
                Ask::Variant(Variant { column, place, .. }) => {
                    let read = read_pair(outcome, &self.labels);
                    self.tally(column).note(read, |tally, read| match place {
                        Place::Row(row) => tally.rows[row] = Some(read),
                        Place::Window(window) => tally.windows[window] = Some(read),
                    });
                }
            }
        }
        if self.next_embedding == self.layout.rows.len() + self.layout.columns.len() {
            self.choose_candidates();
            self.complete(options);
        }
    }

    /// An evidence sentence without an embedding is ranked by shared names, numbers and words alone. That is worse, but no reason
    /// to fail every claim; a note tells of it.
    fn row_embedding(&mut self, outcome: Option<&Outcome<Score>>) -> Option<Arc<[f32]>> {
        match read_embedding(outcome) {
            Ok(embedding) => Some(embedding),
            Err(reason) => {
                self.missing_embedding.get_or_insert((0, reason)).0 += 1;
                None
            }
        }
    }

    fn tally(&mut self, column: usize) -> &mut Tally {
        let (rows, windows) = (self.layout.rows.len(), self.layout.windows.len());
        let candidates = self.candidates.as_ref();
        self.tallies.entry(column).or_insert_with(|| Tally {
            rows: vec![None; rows],
            windows: vec![None; windows],
            missing: candidates.map_or(rows + windows, |candidates| candidates.items_of(column)),
            reworded: false,
            failure: None,
        })
    }

    /// Turns the tallies that are whole into findings and frees them. One whose claim is still to be read in the notation of its
    /// evidence waits for that.
    fn complete(&mut self, options: &DetectorOptions) {
        let whole: Vec<usize> =
            self.tallies.iter().filter(|(_, tally)| tally.missing == 0).map(|(column, _)| *column).collect();
        for column in whole {
            let Some(mut tally) = self.tallies.remove(&column) else { continue };
            let near = match &tally.failure {
                Some(reason) => Err(reason.clone()),
                None => self.ranked(column),
            };
            let near = match near {
                Ok(near) => near,
                Err(reason) => {
                    self.found[column] = Some(Outcome::Failed(reason));
                    continue;
                }
            };
            if !std::mem::replace(&mut tally.reworded, true) {
                let nearest = &near[..near.len().min(options.contradiction_neighbours.max(1))];
                let variants = variants::of_claim(&self.check, &self.layout, column, nearest);
                if !variants.is_empty() {
                    tally.missing = variants.len();
                    self.variants.extend(variants);
                    self.tallies.insert(column, tally);
                    continue;
                }
            }
            self.found[column] = Some(Outcome::Scored(self.finding(&near, &tally, options)));
        }
    }

    /// The rows that a claim meets, nearest first; all of them until its candidates are chosen.
    fn ranked(&self, column: usize) -> Result<Vec<usize>, Reason> {
        if let Some(rows) = self.candidates.as_ref().and_then(|candidates| candidates.rows_of(column)) {
            return Ok(rows.to_vec());
        }
        let embedding = self.column_embeddings[column].as_ref().map_err(Clone::clone)?;
        let claim = reading(&self.check, self.layout.column_text(&self.check, column));
        let embeddings = Embeddings { claim: embedding, rows: &self.row_embeddings };
        Ok(self.features.ranked(&claim.features, Some(embeddings)))
    }

    fn finding(&self, near: &[usize], tally: &Tally, options: &DetectorOptions) -> ClaimFinding {
        let row = |row: &usize| Some(ScoredRow { row: *row, probabilities: tally.rows[*row]? });
        let rows: Vec<ScoredRow> = near.iter().filter_map(row).collect();
        let windows = tally.windows.iter().zip(&self.layout.window_rows);
        let window = |(probabilities, rows): (&Option<NliProbabilities>, &std::ops::Range<usize>)| {
            Some(ScoredWindow { rows: rows.clone(), probabilities: (*probabilities)? })
        };
        let windows: Vec<ScoredWindow> = windows.filter_map(window).collect();
        finding(&rows, &windows, &self.layout, options)
    }

    fn report(&mut self) -> Report {
        let claims = self.claims.take().unwrap_or_default();
        let facts = self.facts.take().map_or_else(Vec::new, FactRun::outcomes);
        let mut notes = Vec::new();
        if let Some((count, reason)) = self.missing_embedding.take() {
            let message = format!(
                "{count} evidence sentences have no embedding ({}); shared names, numbers and words alone told how near they are",
                reason.message
            );
            notes.push((reason.code, message));
        }
        notes.extend(self.candidates_note());
        Report {
            method: "entailment",
            score: response_score(&claims, weakest_support(&claims)),
            claims,
            facts,
            extra: BTreeMap::new(),
            matrix: self.matrix.take(),
            notes,
            work_items: self.work_items,
        }
    }
}

impl Tally {
    fn note(
        &mut self,
        read: Result<NliProbabilities, Reason>,
        keep: impl FnOnce(&mut Self, NliProbabilities),
    ) {
        self.missing = self.missing.saturating_sub(1);
        match read {
            Ok(read) => keep(self, read),
            Err(reason) => {
                self.failure.get_or_insert(reason);
            }
        }
    }
}

#[cfg(test)]
mod tests;

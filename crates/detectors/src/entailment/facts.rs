//! Entailment of the atomic facts of each claim, once the claims themselves are scored.

use super::candidates::Candidates;
use super::variants;
use super::{ScoredRow, ScoredWindow};
use crate::DetectorOptions;
use crate::answers::read_pair;
use crate::features::EvidenceFeatures;
use crate::layout::{Layout, pair};
use crate::reading::reading;
use crate::tally::finding;
use groundline_types::{Claim, ClaimFinding, Code, NliLabels, Outcome, PreparedCheck, Reason, Score, Work};
use std::sync::Arc;

/// Scores each fact against the evidence of its sentence and all windows that its sentence meets, fact by fact.
#[derive(Debug)]
pub(super) struct FactRun {
    units: Vec<Unit>,
    /// The unit and item to ask for next.
    next: (usize, usize),
    asked: Vec<(usize, usize)>,
    rows: Vec<ScoredRow>,
    windows: Vec<ScoredWindow>,
    failure: Option<Reason>,
    outcomes: Vec<Vec<Outcome<ClaimFinding>>>,
}

/// One fact to score.
#[derive(Debug)]
struct Unit {
    claim: usize,
    fact: usize,
    /// Rows of the layout: the evidence of its sentence, nearest to the fact first.
    rows: Vec<usize>,
    /// The rows that have a value of the fact in another notation, with the fact in theirs, nearest first.
    variants: Vec<(usize, Arc<str>)>,
    /// Windows of the layout.
    windows: Arc<[usize]>,
    items: usize,
}

/// What facts are found in.
#[derive(Clone, Copy)]
pub(super) struct FactContext<'a> {
    pub(super) check: &'a PreparedCheck,
    pub(super) layout: &'a Layout,
    pub(super) evidence: &'a EvidenceFeatures,
    /// What each column meets; `None`: all evidence.
    pub(super) candidates: Option<&'a Candidates>,
}

impl Unit {
    fn new(
        (claim, fact): (usize, usize),
        picks: &[usize],
        windows: &Arc<[usize]>,
        context: FactContext<'_>,
    ) -> Self {
        let FactContext { check, layout, evidence, .. } = context;
        let text = &check.claims[claim].facts[fact].text;
        let rows = evidence.nearest_first(&reading(check, text).features, picks);
        let variants = variants::of_text(check, layout, text, &rows);
        let items = rows.len() + windows.len();
        Self { claim, fact, rows, variants, windows: Arc::clone(windows), items }
    }

    /// The evidence of an item and the fact as it is asked against it: in the notation of the row, or of the nearest row that the
    /// window holds.
    fn work(&self, item: usize, check: &PreparedCheck, layout: &Layout) -> Work {
        let (evidence, held) = match self.rows.get(item) {
            Some(row) => (layout.row_text(check, *row), *row..*row + 1),
            None => {
                let window = self.windows[item - self.rows.len()];
                (layout.window_text(check, window), layout.window_rows[window].clone())
            }
        };
        let variant = self.variants.iter().find(|(row, _)| held.contains(row)).map(|(_, text)| text);
        pair(evidence, variant.unwrap_or(&check.claims[self.claim].facts[self.fact].text))
    }
}

/// Facts of a column's claim that are asked about, if the claim turns out to have evidence.
pub(super) fn count(check: &PreparedCheck, layout: &Layout, column: usize) -> usize {
    let claim = &check.claims[layout.columns[column]];
    claim.facts.iter().filter(|fact| !is_whole_sentence(claim, &fact.text)).count()
}

/// A fact with its sentence's text has its sentence's finding.
fn is_whole_sentence(claim: &Claim, fact: &str) -> bool {
    *claim.text == *fact
}

impl FactRun {
    /// Facts of a sentence that was not scored share its outcome.
    pub(super) fn new(context: FactContext<'_>, found: &[Outcome<ClaimFinding>]) -> Self {
        let FactContext { check, layout, candidates, .. } = context;
        let all_windows: Arc<[usize]> = (0..layout.windows.len()).collect();
        let (mut units, mut outcomes) = (Vec::new(), Vec::with_capacity(check.claims.len()));
        for (index, (claim, outcome)) in check.claims.iter().zip(found).enumerate() {
            outcomes.push(vec![unanswered(outcome); claim.facts.len()]);
            let Outcome::Scored(finding) = outcome else { continue };
            let column = layout.columns.binary_search(&index).ok();
            let met = candidates.zip(column).and_then(|(candidates, column)| candidates.windows_of(column));
            let windows = met.unwrap_or(&all_windows);
            for (number, fact) in claim.facts.iter().enumerate() {
                if is_whole_sentence(claim, &fact.text) {
                    outcomes[index][number] = outcome.clone();
                    continue;
                }
                let row = |pick: &groundline_types::EvidencePick| {
                    layout.rows.binary_search(&(pick.source, pick.sentence)).ok()
                };
                let picks: Vec<usize> = finding.evidence.iter().filter_map(row).collect();
                let unit = Unit::new((index, number), &picks, windows, context);
                if unit.items > 0 {
                    units.push(unit);
                }
            }
        }
        Self {
            units,
            next: (0, 0),
            asked: Vec::new(),
            rows: Vec::new(),
            windows: Vec::new(),
            failure: None,
            outcomes,
        }
    }

    pub(super) fn ask(&mut self, check: &PreparedCheck, layout: &Layout, limit: usize) -> Vec<Work> {
        let mut work = Vec::new();
        self.asked.clear();
        while let Some(unit) = self.units.get(self.next.0)
            && work.len() < limit
        {
            let (at, item) = self.next;
            work.push(unit.work(item, check, layout));
            self.asked.push(self.next);
            self.next = if item + 1 < unit.items { (at, item + 1) } else { (at + 1, 0) };
        }
        work
    }

    pub(super) fn take(
        &mut self,
        outcomes: &[Outcome<Score>],
        labels: &NliLabels,
        layout: &Layout,
        options: &DetectorOptions,
    ) {
        for (at, (unit, item)) in std::mem::take(&mut self.asked).into_iter().enumerate() {
            let unit = &self.units[unit];
            match (read_pair(outcomes.get(at), labels), unit.rows.get(item)) {
                (Err(reason), _) => {
                    self.failure.get_or_insert(reason);
                }
                (Ok(probabilities), Some(row)) => self.rows.push(ScoredRow { row: *row, probabilities }),
                (Ok(probabilities), None) => {
                    let rows = layout.window_rows[unit.windows[item - unit.rows.len()]].clone();
                    self.windows.push(ScoredWindow { rows, probabilities });
                }
            }
            if item + 1 == unit.items {
                let outcome = match self.failure.take() {
                    Some(reason) => Outcome::Failed(reason),
                    None => Outcome::Scored(finding(&self.rows, &self.windows, layout, options)),
                };
                self.outcomes[unit.claim][unit.fact] = outcome;
                self.rows.clear();
                self.windows.clear();
            }
        }
    }

    /// One list for each claim, an outcome for each of its facts.
    pub(super) fn outcomes(self) -> Vec<Vec<Outcome<ClaimFinding>>> {
        self.outcomes
    }
}

fn unanswered(sentence: &Outcome<ClaimFinding>) -> Outcome<ClaimFinding> {
    match sentence {
        Outcome::Scored(_) => Outcome::Failed(Reason::new(Code::INTERNAL, "the fact was not scored")),
        Outcome::Abstained(reason) => Outcome::Abstained(reason.clone()),
        Outcome::Failed(reason) => Outcome::Failed(reason.clone()),
    }
}

//! Which claims meet which evidence: shared by the methods that walk the grid.

use crate::answers::read_pair;
use crate::notation::in_notation_of;
use crate::reading::reading;
use groundline_types::{
    Claim, ClaimFinding, Code, Head, ModelFacts, NliLabels, NliProbabilities, Outcome, PreparedCheck, Reason,
    Score, SupportMatrix, Work,
};
use std::ops::Range;
use std::sync::Arc;

/// The published code drops sentences of at most so many characters.
const PARITY_SHORT_SENTENCE_CHARS: usize = 10;
/// The published code reads so many source sentences.
const PARITY_SOURCE_SENTENCES: usize = 100;

/// The grid of one check: a row for each evidence sentence, a column for each claim to score.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// (source, sentence) of each row.
    pub(crate) rows: Vec<(usize, usize)>,
    /// (source, window) of each window.
    pub(crate) windows: Vec<(usize, usize)>,
    /// The rows that each window holds.
    pub(crate) window_rows: Vec<Range<usize>>,
    /// Index of the claim of each column.
    pub(crate) columns: Vec<usize>,
    /// One for each claim: what is said of it already, or `None` for those with a column.
    pub(crate) settled: Vec<Option<Outcome<ClaimFinding>>>,
    /// Tokens that a claim may have next to the longest window.
    pub(crate) room: usize,
    pub(crate) model: ModelFacts,
}

impl Layout {
    /// The grid of the checkable claims and all evidence sentences.
    ///
    /// A claim that fails before any work: one too long to be read together with the longest window.
    pub(crate) fn new(check: &PreparedCheck, facts: &ModelFacts) -> Self {
        Self::of(check, facts, |claim| claim.kind.is_checkable())
    }

    /// The grid as the published SummaC code has it: see [`crate::SummacOptions::parity`].
    pub(crate) fn with_parity(check: &PreparedCheck, facts: &ModelFacts) -> Self {
        let long_enough = |text: &str| text.chars().count() > PARITY_SHORT_SENTENCE_CHARS;
        let mut layout = Self::of(check, facts, |claim| long_enough(&claim.text));
        layout
            .rows
            .retain(|&(source, sentence)| long_enough(&check.sources[source].sentences[sentence].text));
        layout.rows.truncate(PARITY_SOURCE_SENTENCES);
        layout.windows.clear();
        layout.window_rows.clear();
        layout.without_empty_side()
    }

    fn of(check: &PreparedCheck, facts: &ModelFacts, wanted: impl Fn(&Claim) -> bool) -> Self {
        let mut layout = Self {
            rows: Vec::new(),
            windows: Vec::new(),
            window_rows: Vec::new(),
            columns: Vec::new(),
            settled: Vec::with_capacity(check.claims.len()),
            room: 0,
            model: facts.clone(),
        };
        let mut longest_premise = 0;
        for (index, source) in check.sources.iter().enumerate() {
            let offset = layout.rows.len();
            layout.rows.extend((0..source.sentences.len()).map(|sentence| (index, sentence)));
            for (number, window) in source.windows.iter().enumerate() {
                let end = window.end_sentence.min(source.sentences.len());
                let held = window.first_sentence.min(end)..end;
                let tokens = source.sentences[held.clone()].iter().map(|sentence| sentence.tokens).sum();
                longest_premise = longest_premise.max(tokens);
                layout.windows.push((index, number));
                layout.window_rows.push(offset + held.start..offset + held.end);
            }
        }
        let room = facts.max_tokens.saturating_sub(facts.pair_overhead_tokens + longest_premise);
        layout.room = room;
        for (index, claim) in check.claims.iter().enumerate() {
            let settled = settle(claim, wanted(claim), facts, room);
            if settled.is_none() {
                layout.columns.push(index);
            }
            layout.settled.push(settled);
        }
        layout.without_empty_side()
    }

    /// Without evidence nothing is said of any claim.
    fn without_empty_side(mut self) -> Self {
        if self.rows.is_empty() {
            for column in std::mem::take(&mut self.columns) {
                let reason =
                    Reason::new(Code::EMPTY_SOURCE, "there is no sentence of evidence to check against");
                self.settled[column] = Some(Outcome::Abstained(reason));
            }
        }
        self
    }

    /// Fails every claim that was to be scored, before any work.
    pub(crate) fn fail_columns(&mut self, reason: &Reason) {
        for column in std::mem::take(&mut self.columns) {
            self.settled[column] = Some(Outcome::Failed(reason.clone()));
        }
    }

    /// Number of (claim, sentence) pairs.
    pub(crate) fn pairs(&self) -> usize {
        self.rows.len() * self.columns.len()
    }

    /// The text of a row.
    pub(crate) fn row_text<'a>(&self, check: &'a PreparedCheck, row: usize) -> &'a Arc<str> {
        let (source, sentence) = self.rows[row];
        &check.sources[source].sentences[sentence].text
    }

    /// The text of a window.
    pub(crate) fn window_text<'a>(&self, check: &'a PreparedCheck, window: usize) -> &'a Arc<str> {
        let (source, window) = self.windows[window];
        &check.sources[source].windows[window].text
    }

    /// The text of a column's claim.
    pub(crate) fn column_text<'a>(&self, check: &'a PreparedCheck, column: usize) -> &'a Arc<str> {
        &check.claims[self.columns[column]].text
    }

    /// What to ask about a claim against a row that has a value of it in another notation: the claim in the row's notation.
    /// `None` where there is no such value, and where the model could not read the result next to the longest window.
    pub(crate) fn variant(&self, check: &PreparedCheck, row: usize, claim: &str) -> Option<Arc<str>> {
        let (evidence, of_claim) = (self.row_text(check, row), reading(check, claim));
        if of_claim.values.is_empty() {
            return None;
        }
        let of_row = reading(check, evidence);
        let variant = in_notation_of((evidence, &of_row.values), (claim, &of_claim.values))?;
        (self.model.counter.count_tokens(&variant) <= self.room).then(|| variant.into())
    }

    /// An empty matrix of this grid.
    pub(crate) fn matrix(&self) -> SupportMatrix {
        SupportMatrix {
            rows: self.rows.clone(),
            columns: self.columns.clone(),
            entries: vec![None; self.pairs()],
        }
    }

    /// Outcomes of all claims in order, given those of the columns. A column without one counts as failed.
    pub(crate) fn outcomes(
        &self,
        mut found: Vec<Option<Outcome<ClaimFinding>>>,
    ) -> Vec<Outcome<ClaimFinding>> {
        let mut outcomes: Vec<_> = self.settled.clone();
        for (column, claim) in self.columns.iter().enumerate() {
            outcomes[*claim] = found.get_mut(column).and_then(Option::take);
        }
        let missing = || {
            Outcome::Failed(Reason::new(Code::INTERNAL, "the method ended before this sentence was scored"))
        };
        outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(missing)).collect()
    }
}

fn settle(claim: &Claim, wanted: bool, facts: &ModelFacts, room: usize) -> Option<Outcome<ClaimFinding>> {
    if !wanted {
        let reason =
            Reason::new(Code::NO_CHECKABLE_CLAIM, "the sentence makes no claim that could be checked");
        return Some(Outcome::Abstained(reason));
    }
    let tokens = facts.counter.count_tokens(&claim.text);
    (tokens > room).then(|| {
        let message = format!(
            "the sentence has {tokens} tokens, and next to the longest window the model has room for {room} of its {}; \
             set a smaller window_tokens or check shorter sentences",
            facts.max_tokens
        );
        Outcome::Failed(Reason::new(Code::CLAIM_TOO_LONG, message))
    })
}

/// A pair for the NLI head: the evidence is the premise, the claim the hypothesis.
pub(crate) fn pair(evidence: &Arc<str>, claim: &Arc<str>) -> Work {
    Work::Pair { premise: evidence.clone(), hypothesis: claim.clone(), head: Head::Nli }
}

/// Walks the grid column by column in chunks, and gives each column's probabilities away once it is complete. Holds one column.
#[derive(Debug)]
pub(crate) struct GridWalk {
    check: Arc<PreparedCheck>,
    labels: NliLabels,
    pub(crate) layout: Layout,
    chunk: usize,
    asked: Range<usize>,
    column: Vec<NliProbabilities>,
    failure: Option<Reason>,
    pub(crate) matrix: Option<SupportMatrix>,
}

impl GridWalk {
    pub(crate) fn new(
        check: &Arc<PreparedCheck>,
        labels: NliLabels,
        layout: Layout,
        chunk: usize,
        keep_matrix: bool,
    ) -> Self {
        let matrix = keep_matrix.then(|| layout.matrix());
        let column = Vec::with_capacity(layout.rows.len());
        Self { check: check.clone(), labels, layout, chunk, asked: 0..0, column, failure: None, matrix }
    }

    /// The next chunk of pairs; empty where the grid is done.
    pub(crate) fn ask(&mut self) -> Vec<Work> {
        let start = self.asked.end;
        self.asked = start..(start + self.chunk).min(self.layout.pairs());
        let height = self.layout.rows.len().max(1);
        let work = |flat: usize| {
            let (column, row) = (flat / height, flat % height);
            pair(self.layout.row_text(&self.check, row), self.layout.column_text(&self.check, column))
        };
        self.asked.clone().map(work).collect()
    }

    /// Takes the outcomes of the last chunk and gives the columns that are whole now; one with any pair that has no probabilities
    /// is an `Err` with the first reason.
    pub(crate) fn take(
        &mut self,
        outcomes: &[Outcome<Score>],
    ) -> Vec<(usize, Result<Vec<NliProbabilities>, Reason>)> {
        let height = self.layout.rows.len().max(1);
        let mut complete = Vec::new();
        let asked = self.asked.clone();
        // Nothing is open now; the next chunk starts where this one ended.
        self.asked.start = asked.end;
        for (at, flat) in asked.enumerate() {
            let (column, row) = (flat / height, flat % height);
            match read_pair(outcomes.get(at), &self.labels) {
                Ok(probabilities) => {
                    self.column.push(probabilities);
                    if let Some(matrix) = &mut self.matrix {
                        matrix.entries[row * self.layout.columns.len() + column] = Some(probabilities);
                    }
                }
                Err(reason) => {
                    self.failure.get_or_insert(reason);
                }
            }
            if row + 1 == height {
                let probabilities = std::mem::replace(&mut self.column, Vec::with_capacity(height));
                complete.push((column, self.failure.take().map_or(Ok(probabilities), Err)));
            }
        }
        complete
    }
}

/// Whether `method` keeps the matrix that the request asks for: the first of `summac`, `entailment` and `summac_conv` among the
/// request's methods does, so that it is held once.
pub(crate) fn keeps_matrix(check: &PreparedCheck, method: &str) -> bool {
    let methods = crate::resolve(&check.request.methods).unwrap_or_default();
    let keeper = ["summac", "entailment", "summac_conv"].into_iter().find(|name| methods.contains(name));
    check.request.matrix && keeper.unwrap_or(method) == method
}

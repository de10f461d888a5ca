//! The evidence that each claim meets where not all of it is asked about ([`crate::DetectorOptions::candidate_sentences`]).
//!
//! Candidates of a claim are the sentences nearest to it, and the windows that hold one of them. Which these are is known from the
//! embeddings, so that all embeddings come before the first pair; without candidates the two share rounds.

use super::Run;
use super::ask::Ask;
use crate::DetectorOptions;
use crate::layout::Layout;
use groundline_types::{Code, Outcome, PreparedCheck};
use std::sync::Arc;

/// The candidates of every column.
#[derive(Debug)]
pub(super) struct Candidates {
    /// Sentences of each claim; fewer than there are.
    sentences: usize,
    /// Most windows that a claim may meet.
    most_windows: usize,
    /// One for each column; empty until all embeddings are answered.
    chosen: Vec<Chosen>,
    /// The column and the item of it to ask for next: windows, then sentences.
    next: (usize, usize),
}

/// What one claim meets; nothing where its embedding failed.
#[derive(Debug, Default)]
struct Chosen {
    /// Rows of the layout, nearest first.
    rows: Vec<usize>,
    /// Windows of the layout, in order.
    windows: Arc<[usize]>,
}

impl Chosen {
    fn new(mut near: Vec<usize>, sentences: usize, layout: &Layout) -> Self {
        near.truncate(sentences);
        let held = layout.window_rows.iter().enumerate();
        let holds_one = held.filter(|(_, held)| near.iter().any(|row| held.contains(row)));
        Self { windows: holds_one.map(|(window, _)| window).collect(), rows: near }
    }

    fn items(&self) -> usize {
        self.windows.len() + self.rows.len()
    }
}

impl Candidates {
    /// `None` where every claim meets all evidence: nothing else was asked for, or there is no more of it than that.
    pub(super) fn new(layout: &Layout, options: &DetectorOptions) -> Option<Self> {
        // Who may contradict is never left out, also where nobody validated the options.
        let sentences = options.candidate_sentences.max(options.contradiction_neighbours);
        let leaves_out = options.candidate_sentences > 0 && layout.rows.len() > sentences;
        (leaves_out && !layout.columns.is_empty()).then(|| Self {
            sentences,
            most_windows: most_windows(sentences, layout),
            chosen: Vec::new(),
            next: (0, 0),
        })
    }

    /// The rows that a column meets, nearest first, once they are chosen.
    pub(super) fn rows_of(&self, column: usize) -> Option<&[usize]> {
        self.chosen.get(column).map(|chosen| &*chosen.rows)
    }

    /// The windows that a column meets, once they are chosen.
    pub(super) fn windows_of(&self, column: usize) -> Option<&Arc<[usize]>> {
        self.chosen.get(column).map(|chosen| &chosen.windows)
    }

    /// Pairs that a column is asked about in the words of its claim.
    pub(super) fn items_of(&self, column: usize) -> usize {
        self.chosen.get(column).map_or(0, Chosen::items)
    }

    /// Sentences and windows that a column meets: the most there can be until they are chosen, then as many as there are.
    pub(super) fn planned(&self, column: usize) -> (usize, usize) {
        match self.chosen.get(column) {
            Some(chosen) => (chosen.rows.len(), chosen.windows.len()),
            None => (self.sentences, self.most_windows),
        }
    }

    fn ask(&mut self, limit: usize, asks: &mut Vec<Ask>) {
        while asks.len() < limit
            && let Some(chosen) = self.chosen.get(self.next.0)
        {
            let (column, item) = self.next;
            if item == chosen.items() {
                self.next = (column + 1, 0);
                continue;
            }
            asks.push(match chosen.windows.get(item) {
                Some(window) => Ask::Window { column, window: *window },
                None => Ask::Pair { column, row: chosen.rows[item - chosen.windows.len()] },
            });
            self.next.1 += 1;
        }
    }
}

/// Most windows that may hold one of so many rows.
fn most_windows(rows: usize, layout: &Layout) -> usize {
    let mut holding = vec![0_usize; layout.rows.len()];
    for row in layout.window_rows.iter().cloned().flatten() {
        holding[row] += 1;
    }
    holding.sort_unstable_by(|a, b| b.cmp(a));
    holding.iter().take(rows).sum::<usize>().min(layout.windows.len())
}

impl Run {
    /// As [`Run::next_asks`], where claims meet candidates alone.
    pub(super) fn next_candidate_asks(&mut self, options: &DetectorOptions) -> Vec<Ask> {
        let (height, width) = (self.layout.rows.len(), self.layout.columns.len());
        let room = options.pairs_per_round.max(1);
        if self.next_embedding < height + width {
            let embeddings = self.next_embedding..(self.next_embedding + room).min(height + width);
            self.next_embedding = embeddings.end;
            return embeddings.map(|at| Ask::embed(at, height)).collect();
        }
        let variants = self.variants.drain(..self.variants.len().min(room));
        let mut asks: Vec<Ask> = variants.map(Ask::Variant).collect();
        if let Some(candidates) = &mut self.candidates {
            candidates.ask(room, &mut asks);
        }
        asks.sort_by_key(Ask::column);
        asks
    }

    /// Chooses the candidates of every claim, once, when all embeddings are answered. A claim without an embedding has none and fails.
    pub(super) fn choose_candidates(&mut self) {
        let Some(mut candidates) = self.candidates.take() else { return };
        for column in candidates.chosen.len()..self.layout.columns.len() {
            candidates.chosen.push(match self.ranked(column) {
                Ok(near) => Chosen::new(near, candidates.sentences, &self.layout),
                Err(reason) => {
                    self.found[column] = Some(Outcome::Failed(reason));
                    Chosen::default()
                }
            });
        }
        self.candidates = Some(candidates);
    }

    /// That not all evidence was asked about, where that is so.
    pub(super) fn candidates_note(&self) -> Option<(Code, String)> {
        let candidates = self.candidates.as_ref()?;
        let (sentences, all) = (candidates.sentences, self.layout.rows.len());
        let pairs = self.layout.columns.len() * (all + self.layout.windows.len());
        let scored = self.scored_pairs;
        let mut message = format!(
            "compared each claim with the {sentences} nearest of {all} sentences: {scored} of {pairs} pairs were scored"
        );
        if reads_every_pair(&self.check) {
            message += "; summac and summac_conv read every pair of sentences all the same, so that little is saved beside them";
        }
        Some((Code::NEAREST_ONLY, message))
    }
}

/// Whether a method beside this one asks for the whole grid.
fn reads_every_pair(check: &PreparedCheck) -> bool {
    let methods = crate::resolve(&check.request.methods).unwrap_or_default();
    check.request.policy.is_none() && methods.iter().any(|method| method.starts_with("summac"))
}

#[cfg(test)]
mod tests;

//! The different sentences of a check that a method asks about.

use super::sampled::{Sampled, settled};
use groundline_types::{ClaimFinding, Code, Outcome, PreparedCheck, Reason};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Which claims are asked about: each different text once.
#[derive(Debug)]
pub(super) struct Asked {
    check: Arc<PreparedCheck>,
    settled: Vec<Option<Outcome<ClaimFinding>>>,
    /// Index of the first claim of each different text.
    sentences: Vec<usize>,
    /// For each claim to ask about, its place in `sentences`.
    place: BTreeMap<usize, usize>,
}

impl Asked {
    /// `refuse` says why a sentence cannot be asked about.
    pub(super) fn new(
        check: &Arc<PreparedCheck>,
        distinct: &[Sampled],
        refuse: impl Fn(&str) -> Option<Reason>,
    ) -> Self {
        let mut settled = settled(check, distinct);
        let (mut sentences, mut place, mut known) = (Vec::new(), BTreeMap::new(), HashMap::new());
        for (index, slot) in settled.iter_mut().enumerate().filter(|(_, slot)| slot.is_none()) {
            let text = &check.claims[index].text;
            *slot = refuse(text).map(Outcome::Failed);
            if slot.is_some() {
                continue;
            }
            let at = *known.entry(&**text).or_insert(sentences.len());
            if at == sentences.len() {
                sentences.push(index);
            }
            place.insert(index, at);
        }
        Self { settled, sentences, place, check: Arc::clone(check) }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.sentences.len()
    }

    /// The text at a place.
    pub(super) fn text(&self, place: usize) -> &Arc<str> {
        &self.check.claims[self.sentences[place]].text
    }

    /// One outcome for each claim of the check, from those found so far, by place.
    pub(super) fn claims(&self, found: &[Outcome<ClaimFinding>]) -> Vec<Outcome<ClaimFinding>> {
        let missing = || {
            let message = "the method ended before this sentence was asked about";
            Outcome::Failed(Reason::new(Code::INTERNAL, message))
        };
        let of = |index: usize| self.place.get(&index).and_then(|at| found.get(*at)).cloned();
        let outcome = |(index, settled): (usize, &Option<Outcome<ClaimFinding>>)| {
            settled.clone().or_else(|| of(index)).unwrap_or_else(missing)
        };
        self.settled.iter().enumerate().map(outcome).collect()
    }
}

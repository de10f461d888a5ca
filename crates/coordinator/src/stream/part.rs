//! A part of a response that is still being written, as a check takes it.

use groundline_types::{Claim, Code, Note, PreparedSource, Problem, Reason};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The samples that all checks of a stream compare with.
#[derive(Debug, Clone)]
pub(crate) struct StreamSamples {
    /// None where they could not be drawn.
    pub(crate) samples: Vec<String>,
    /// What to tell of them.
    pub(crate) note: Note,
    /// Why there are none.
    pub(crate) problem: Option<Problem>,
}

/// What of a request is to be checked.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// The claims, with places in the request's response; `None`: those that the response is split into.
    pub(crate) claims: Option<Vec<Claim>>,
    /// The sentence before the first claim, where the request has only a piece of the response.
    pub(crate) before: Option<Arc<str>>,
    /// How the whole response begins, where the request has only a piece of it.
    pub(crate) opening: Option<Arc<str>>,
    /// How many of the claims were checked when the stream stopped; the others are not scored.
    pub(crate) stopped_behind: Option<usize>,
    /// Whether to leave out what the policy may ask for later.
    pub(crate) first_stage_alone: bool,
    /// The sources, split.
    pub(crate) sources: Arc<SourceMemo>,
    /// The samples, split.
    pub(crate) samples: Arc<SourceMemo>,
    /// What drawing samples for the stream brought, also where that was none.
    pub(crate) drawn: Arc<OnceLock<StreamSamples>>,
}

impl Part {
    /// Adds the texts of claims behind the stop to those that are not scored.
    pub(crate) fn refuse(&self, claims: &[Claim], refused: &mut HashMap<Arc<str>, Reason>) {
        let Some(kept) = self.stopped_behind else { return };
        let (kept, rest) = claims.split_at(kept.min(claims.len()));
        // The same sentence again has its scores already.
        let known = kept.iter().map(|claim| &claim.text).collect::<BTreeSet<_>>();
        let message = "the stream stopped at a contradiction before this sentence";
        for claim in rest.iter().filter(|claim| !known.contains(&claim.text)) {
            let facts = claim.facts.iter().map(|fact| &fact.text);
            for text in std::iter::once(&claim.text).chain(facts) {
                refused.entry(Arc::clone(text)).or_insert_with(|| Reason::new(Code::STREAM_STOPPED, message));
            }
        }
    }
}

/// The split sources of a stream, for all of its checks.
#[derive(Debug, Default)]
pub(crate) struct SourceMemo {
    memo: Mutex<Memo>,
}

#[derive(Debug, Default)]
struct Memo {
    /// The narrowest window so far: claims that are long leave less room, and the whole response has all of them.
    window_tokens: Option<usize>,
    prepared: Option<(usize, Vec<PreparedSource>, Vec<Note>)>,
}

impl SourceMemo {
    /// The window for this check: no wider than that of an earlier one.
    pub(crate) fn narrowed(&self, window_tokens: usize) -> usize {
        let mut memo = self.memo.lock().unwrap_or_else(PoisonError::into_inner);
        let narrowest = memo.window_tokens.map_or(window_tokens, |known| known.min(window_tokens));
        memo.window_tokens = Some(narrowest);
        narrowest
    }

    /// The sources in windows of this size, which `prepare` makes where they are not there yet.
    pub(crate) fn get(
        &self,
        window_tokens: usize,
        prepare: impl FnOnce(usize) -> (Vec<PreparedSource>, Vec<Note>),
    ) -> (Vec<PreparedSource>, Vec<Note>) {
        // One check of a stream runs at a time, so that nobody waits for this lock.
        let mut memo = self.memo.lock().unwrap_or_else(PoisonError::into_inner);
        match &memo.prepared {
            Some((window, sources, notes)) if *window == window_tokens => (sources.clone(), notes.clone()),
            _ => {
                let (sources, notes) = prepare(window_tokens);
                memo.prepared = Some((window_tokens, sources.clone(), notes.clone()));
                (sources, notes)
            }
        }
    }
}

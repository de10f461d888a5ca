//! `lettucedetect`: a classifier that labels every token of the response, beside the sources (Kovács, Recski 2025, "LettuceDetect: A
//! Hallucination Detection Framework for RAG Applications", arXiv:2502.17125).
//!
//! **What is asked.** The first text is the authors' prompt with one window of one source as its only passage, the second one the
//! response: its sentences without markup, joined with spaces. Only sources are windowed. A response that takes more than half of what
//! the model reads is labelled in several runs of whole sentences, each beside every window.
//!
//! **How it is read.** A token's hallucination probability is the **smallest** over all windows of all sources: what any window
//! supports is supported, and a source more can only lower it. (The published code takes the largest, so that a long source makes more
//! of a response hallucinated.) A sentence's support is 1 less the largest of its tokens'; the response's number is its weakest
//! sentence's. A token classifier cannot tell contradicted from not mentioned: what it does not support is not mentioned.

mod prompt;
mod runs;

use crate::answers::read_tokens;
use crate::features::EvidenceFeatures;
use crate::layout::Layout;
use crate::learned::{evidence_in_window, facts_of, not_loaded, windowed};
use crate::rounds::{Numbered, Rounds};
use crate::tally::{response_number, weakest_support};
use crate::{Detector, DetectorOptions, Next};
use groundline_types::{
    ClaimFinding, Code, Head, LearnedFacts, ModelFacts, Outcome, Polarity, PreparedCheck, Preset,
    Probability, Reason, Report, Score, TokenFinding, TokenScore, Work,
};
use prompt::Form;
use runs::{Member, TextRun, text_runs};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The smallest hallucination probability of every token over windows.
#[derive(Debug)]
pub(crate) struct TokenClassifier {
    method: &'static str,
    preset: Preset,
    rounds: Rounds<Run>,
}

/// Run by run of the response: all windows.
#[derive(Debug)]
struct Run {
    method: &'static str,
    preset: Preset,
    check: Arc<PreparedCheck>,
    layout: Layout,
    features: Option<EvidenceFeatures>,
    /// The prompt around each of the layout's windows.
    contexts: Vec<Arc<str>>,
    texts: Vec<TextRun>,
    /// The answers about the run of the response that is open.
    open: Vec<Result<Arc<[TokenScore]>, Reason>>,
    found: Vec<Option<Outcome<ClaimFinding>>>,
    notes: Vec<(Code, String)>,
}

impl TokenClassifier {
    pub(crate) fn new(method: &'static str, preset: Preset, options: &DetectorOptions) -> Self {
        Self { method, preset, rounds: Rounds::new(method, options) }
    }
}

impl Detector for TokenClassifier {
    fn name(&self) -> &'static str {
        self.method
    }

    fn start(&mut self, check: &Arc<PreparedCheck>, facts: &ModelFacts) -> Next {
        let learned = facts.learned.iter().find(|learned| learned.preset == self.preset);
        let run = match learned {
            Some(learned) => Run::new(self, check, facts, learned),
            None => {
                let mut layout = Layout::new(check, facts);
                layout.fail_columns(&not_loaded(self.preset));
                Run::over(self, check, layout)
            }
        };
        self.rounds.start(run)
    }

    fn planned_items(&self) -> usize {
        self.rounds.planned_items()
    }

    fn resume(&mut self, outcomes: &[Outcome<Score>]) -> Next {
        self.rounds.resume(outcomes)
    }
}

impl Run {
    /// A run that has nothing to ask yet.
    fn over(of: &TokenClassifier, check: &Arc<PreparedCheck>, layout: Layout) -> Self {
        Self {
            method: of.method,
            preset: of.preset,
            check: Arc::clone(check),
            features: None,
            contexts: Vec::new(),
            texts: Vec::new(),
            open: Vec::new(),
            found: vec![None; layout.columns.len()],
            notes: Vec::new(),
            layout,
        }
    }

    fn new(
        of: &TokenClassifier,
        check: &Arc<PreparedCheck>,
        facts: &ModelFacts,
        learned: &LearnedFacts,
    ) -> Self {
        let (form, note) = Form::for_question(check.request.question.as_deref(), learned);
        let around = learned.pair_overhead_tokens + form.tokens;
        let learned = LearnedFacts { pair_overhead_tokens: around, ..learned.clone() };
        let room = learned.max_tokens.saturating_sub(around);
        let (mut texts, longest) = text_runs(check, &*learned.counter, room);
        // Windows depend on the response and the model alone, so that another source does not change those of this one.
        let seen = windowed(check, &learned, room.saturating_sub(longest).max(1));
        let layout = Layout::new(&seen, &facts_of(&learned, facts));
        texts.retain(|text| text.members.iter().any(|member| layout.columns.contains(&member.claim)));
        let windows = (0..layout.windows.len()).map(|window| layout.window_text(&seen, window));
        let contexts = windows.map(|window| form.around(window)).collect();
        let features = (!layout.columns.is_empty()).then(|| EvidenceFeatures::new(check, &layout));
        let refusal = |claim: &usize| check.refused.get(&check.claims[*claim].text).cloned();
        let found = layout.columns.iter().map(|claim| refusal(claim).map(Outcome::Failed)).collect();
        let notes = note.into_iter().collect();
        Self { features, contexts, texts, found, notes, ..Self::over(of, check, layout) }
    }

    /// The findings about the sentences of a run of the response, given the answers beside each window.
    fn settle(&mut self, text: usize, answers: Vec<Result<Arc<[TokenScore]>, Reason>>) {
        let labelled: Result<Vec<Arc<[TokenScore]>>, Reason> =
            answers.into_iter().collect::<Result<_, _>>().and_then(same_tokens);
        for member in &self.texts[text].members {
            let Some(column) = self.layout.columns.iter().position(|claim| *claim == member.claim) else {
                continue;
            };
            self.found[column] = Some(match &labelled {
                Ok(windows) => self.finding(column, member, (&self.texts[text].text, windows)),
                Err(reason) => Outcome::Failed(reason.clone()),
            });
        }
    }

    fn finding(
        &self,
        column: usize,
        member: &Member,
        (text, windows): (&str, &[Arc<[TokenScore]>]),
    ) -> Outcome<ClaimFinding> {
        let claim = &self.check.claims[member.claim];
        let is_own = |token: &TokenScore| member.range.contains(&(token.start as usize));
        let own: Vec<usize> = match windows.first() {
            Some(tokens) => (0..tokens.len()).filter(|at| is_own(&tokens[*at])).collect(),
            None => Vec::new(),
        };
        let probability = |window: usize, at: usize| windows[window][at].hallucination_probability;
        let token = |at: usize| {
            let smallest = (0..windows.len()).map(|window| probability(window, at)).reduce(f32::min)?;
            let part = runs::part_of(text, member, &windows[0][at])?;
            let hallucination_probability = Probability::new(smallest)?;
            Some(TokenFinding { span: claim.places.span(claim.span, part), hallucination_probability })
        };
        let tokens: Vec<TokenFinding> = own.iter().filter_map(|at| token(*at)).collect();
        let worst = tokens.iter().map(|token| token.hallucination_probability).reduce(Probability::max);
        let Some(support) = worst.and_then(|worst| Probability::new(1.0 - worst.get())) else {
            return Outcome::Failed(Reason::new(
                Code::INTERNAL,
                "the model labelled no token of this sentence",
            ));
        };
        let support_in =
            |window: usize| 1.0 - own.iter().map(|at| probability(window, *at)).fold(0.0, f32::max);
        let better = |best: usize, window: usize| {
            if support_in(window) > support_in(best) { window } else { best }
        };
        let evidence = match ((0..windows.len()).reduce(better), &self.features) {
            (Some(best), Some(features)) => {
                let window = (best, support_in(best));
                evidence_in_window(&self.check, &self.layout, features, column, window)
            }
            _ => Vec::new(),
        };
        Outcome::Scored(ClaimFinding {
            support: Some(support),
            evidence,
            tokens,
            score: Some(f64::from(support.get())),
            ..ClaimFinding::default()
        })
    }
}

impl Numbered for Run {
    fn count(&self) -> usize {
        self.texts.len() * self.contexts.len()
    }

    fn work(&self, number: usize) -> Work {
        let (text, context) = (number / self.contexts.len(), number % self.contexts.len());
        Work::Tokens {
            context: Arc::clone(&self.contexts[context]),
            text: Arc::clone(&self.texts[text].text),
            head: Head::Learned(self.preset),
        }
    }

    fn take(&mut self, number: usize, outcome: Option<&Outcome<Score>>) {
        let height = self.contexts.len();
        self.open.push(read_tokens(outcome).map(Arc::from));
        if (number + 1).is_multiple_of(height) {
            let answers = std::mem::take(&mut self.open);
            self.settle(number / height, answers);
        }
    }

    fn report(&mut self) -> Report {
        let claims = self.layout.outcomes(std::mem::take(&mut self.found));
        Report {
            method: self.method,
            score: response_number(&claims, weakest_support(&claims), Polarity::HigherIsSupported),
            claims,
            facts: Vec::new(),
            extra: BTreeMap::new(),
            matrix: None,
            notes: std::mem::take(&mut self.notes),
            work_items: 0,
        }
    }
}

/// The answers where all are about the same tokens, as they are for the same text.
fn same_tokens(windows: Vec<Arc<[TokenScore]>>) -> Result<Vec<Arc<[TokenScore]>>, Reason> {
    let places = |tokens: &Arc<[TokenScore]>| -> Vec<(u32, u32)> {
        tokens.iter().map(|token| (token.start, token.end)).collect()
    };
    let first = windows.first().map(places);
    if windows.iter().all(|tokens| Some(places(tokens)) == first) {
        return Ok(windows);
    }
    Err(Reason::new(Code::INTERNAL, "the model cut the same text into other tokens beside another window"))
}

#[cfg(test)]
mod tests;

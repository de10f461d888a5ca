//! From a request to claims, evidence and detectors.

use crate::CoordinatorOptions;
use crate::cascade::{Plan, Stages, method_needs};
use crate::counts::RememberedCounts;
use crate::key::KeyMaker;
use crate::language;
use crate::panel::Panel;
use crate::stream::Part;
use groundline_bus::SubjectToken;
use groundline_claims::{SplitOptions, split_response, split_source};
use groundline_detectors::{Need, create};
use groundline_evidence::{SourceText, prepare_source};
use groundline_judge::{Judge, same_family_warning};
use groundline_types::{
    CheckRequest, Claim, Code, CountTokens, Derived, ModelFacts, Note, PreparedCheck, PreparedSource,
    Problem, Reason,
};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Fewest tokens of evidence that must fit beside a claim; a claim that leaves less is not checked.
const MIN_EVIDENCE_TOKENS: usize = 32;
/// Tokens that a window of a sample leaves free beside it at least, so that its size depends on the claims only where one is long.
const SAMPLE_MARGIN_TOKENS: usize = 64;

/// A request that detectors can start on.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) check: Arc<PreparedCheck>,
    /// The model's facts, with the window that suits this request.
    pub(crate) facts: ModelFacts,
    pub(crate) panel: Panel,
    pub(crate) notes: Vec<Note>,
    /// Texts of claims that are not scored, with the reason that their pairs fail with: they leave no room for evidence, or came
    /// behind the place where a stream stopped.
    pub(crate) refused: HashMap<Arc<str>, Reason>,
    /// Whether every source is surely in another language than the response.
    pub(crate) is_foreign: bool,
}

/// What is to be checked: a request, or a part of one that is still being written.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) request: Arc<CheckRequest>,
    pub(crate) part: Option<Arc<Part>>,
}

impl Asked {
    /// The claims, those of a part as they were found when the text before them was there.
    fn claims(&self) -> Vec<Claim> {
        let options = SplitOptions { facts: self.request.facts };
        match &self.part {
            Some(part) => {
                part.claims.clone().unwrap_or_else(|| split_response(&self.request.response, &options))
            }
            None => split_response(&self.request.response, &options),
        }
    }

    /// The sentence before the claims of a part.
    fn before(&self) -> Option<Arc<str>> {
        self.part.as_ref().and_then(|part| part.before.clone())
    }

    /// What the language of the response is guessed from.
    fn sample_text(&self) -> &str {
        let opening = self.part.as_ref().and_then(|part| part.opening.as_deref());
        opening.unwrap_or(&self.request.response)
    }

    /// The samples in the largest windows that the model can read beside any claim.
    fn samples(&self, claims: &[Claim], model: &ModelFacts) -> Vec<PreparedSource> {
        if self.request.samples.is_empty() {
            // A stream that could not draw samples yet may have some later.
            return Vec::new();
        }
        let room = model.max_tokens.saturating_sub(model.pair_overhead_tokens);
        let longest = longest_claim(claims, model, room.saturating_sub(MIN_EVIDENCE_TOKENS));
        let window_tokens = room.saturating_sub(longest.max(SAMPLE_MARGIN_TOKENS)).max(MIN_EVIDENCE_TOKENS);
        let prepare = |window_tokens| prepare_samples(&self.request, &*model.counter, window_tokens);
        match &self.part {
            Some(part) => part.samples.get(window_tokens, |tokens| (prepare(tokens), Vec::new())).0,
            None => prepare(window_tokens),
        }
    }

    fn sources(&self, counter: &dyn CountTokens, window_tokens: usize) -> (Vec<PreparedSource>, Vec<Note>) {
        let prepare = |window_tokens| prepare_sources(&self.request, counter, window_tokens);
        match &self.part {
            Some(part) => part.sources.get(window_tokens, prepare),
            None => prepare(window_tokens),
        }
    }
}

/// Splits and windows a request that was validated. Takes time in proportion to its texts.
pub(crate) fn prepare(
    asked: &Asked,
    model: &ModelFacts,
    tenant: &SubjectToken,
    options: &CoordinatorOptions,
    judge: Option<&Judge>,
) -> Result<Prepared, Problem> {
    let request = Arc::clone(&asked.request);
    let mut plan = Plan::of(&request, &options.policies)?;
    refuse_without_judge(&plan, &request, judge)?;
    if asked.part.as_ref().is_some_and(|part| part.first_stage_alone) {
        plan = plan.first_alone();
    }
    let counter: Arc<dyn CountTokens> = Arc::new(RememberedCounts::new(Arc::clone(&model.counter)));
    let model = &ModelFacts { counter, ..model.clone() };
    let claims = asked.claims();
    let (mut window_tokens, mut refused) = window_beside(&claims, model);
    if let Some(part) = &asked.part {
        window_tokens = part.sources.narrowed(window_tokens);
        part.refuse(&claims, &mut refused);
    }
    let facts = ModelFacts { window_tokens, ..model.clone() };
    let (sources, mut notes) = asked.sources(&*model.counter, window_tokens);
    let samples = if plan.needs(Need::Samples) { asked.samples(&claims, model) } else { Vec::new() };
    refuse_without_input(&plan, &sources, &samples)?;
    let is_foreign = language::is_foreign(asked.sample_text(), sources.iter().map(|source| &*source.text));
    notes.extend(request_notes(&request, is_foreign, plan.needs(Need::Samples)));
    notes.extend(judge.filter(|_| plan.needs(Need::Judge)).and_then(|judge| family_note(&request, judge)));
    let check = Arc::new(PreparedCheck {
        request,
        claims,
        before: asked.before(),
        sources,
        samples,
        refused: refused.clone(),
        derived: Derived::default(),
    });
    let panel = panel(plan, KeyMaker::new(&model.id, tenant), options);
    Ok(Prepared { check, facts, panel, notes, refused, is_foreign })
}

fn panel(plan: Plan, keys: KeyMaker, options: &CoordinatorOptions) -> Panel {
    let detectors = |methods: Vec<&'static str>| {
        methods.into_iter().filter_map(|method| create(method, &options.detectors)).collect()
    };
    let (first, later) = (detectors(plan.first()), detectors(plan.later()));
    Panel::new(first, keys).with_stages(Stages::new(plan), later)
}

/// Refuses what only a judge can do where there is none: a method, also one that the policy may ask later, or drawing samples.
fn refuse_without_judge(plan: &Plan, request: &CheckRequest, judge: Option<&Judge>) -> Result<(), Problem> {
    if judge.is_some() {
        return Ok(());
    }
    let asks = |name: &&'static str| method_needs(name).contains(&Need::Judge);
    let what = match plan.first().into_iter().chain(plan.later()).find(asks) {
        Some(method) => format!("method `{method}`"),
        None if request.draw_samples && request.samples.is_empty() && plan.needs(Need::Samples) => {
            "`draw_samples`".to_owned()
        }
        None => return Ok(()),
    };
    let message = format!("{what} needs a judge, and none is configured; set judge.base_url and judge.model");
    Err(Problem::new(Code::JUDGE_MISSING, message))
}

/// The warning of a judge that is of the generator's family.
fn family_note(request: &CheckRequest, judge: &Judge) -> Option<Note> {
    let warning = same_family_warning(&judge.options().model, request.generator.as_deref()?)?;
    Some(Note { code: warning.code, message: warning.message, location: Some("generator".to_owned()) })
}

/// Refuses a check none of whose methods could say anything: each abstains without what it needs, and one that all abstain from is
/// a request that was made by mistake.
fn refuse_without_input(
    plan: &Plan,
    sources: &[PreparedSource],
    samples: &[PreparedSource],
) -> Result<(), Problem> {
    let has_word = |texts: &[PreparedSource]| texts.iter().any(|text| !text.sentences.is_empty());
    let there = |need: Need| match need {
        Need::Source => has_word(sources),
        Need::Samples => has_word(samples),
        Need::Judge | Need::Corpus | Need::Graph => true,
    };
    if plan.first().into_iter().any(|name| method_needs(name).iter().all(|need| there(*need))) {
        return Ok(());
    }
    let wanted = |need: Need| plan.first().into_iter().any(|name| method_needs(name).contains(&need));
    let (code, message) = match (wanted(Need::Source), wanted(Need::Samples)) {
        (true, true) => (Code::EMPTY_SOURCE, "neither a source nor a sample has a word in it"),
        (true, false) => (Code::EMPTY_SOURCE, "no source has a word in it"),
        (false, _) => {
            let message = "the methods asked compare with other answers to the same prompt, and no text in `samples` has a \
                           word in it";
            (Code::WEAK_SAMPLES, message)
        }
    };
    Err(Problem::new(code, message))
}

/// What a reader should know of the request as it came.
fn request_notes(request: &CheckRequest, is_foreign: bool, reads_samples: bool) -> Vec<Note> {
    let mut notes = Vec::new();
    if is_foreign {
        let message = "every source seems to be in another language than the response, and the model reads one language; \
                       sentences that are not supported are left unchecked";
        notes.push(Note { code: Code::LANGUAGE_MISMATCH, message: message.to_owned(), location: None });
    }
    let unused = [("samples", !request.samples.is_empty()), ("draw_samples", request.draw_samples)];
    for (field, _) in unused.into_iter().filter(|(_, given)| *given && !reads_samples) {
        let message = "samples are not used by the methods asked".to_owned();
        notes.push(Note { code: Code::INVALID_FIELD, message, location: Some(field.to_owned()) });
    }
    notes
}

/// The window for this request: the model's, or what the longest claim leaves of its input. Claims that would leave less than
/// [`MIN_EVIDENCE_TOKENS`] do not shrink it; they are returned instead.
fn window_beside(claims: &[Claim], model: &ModelFacts) -> (usize, HashMap<Arc<str>, Reason>) {
    let room = model.max_tokens.saturating_sub(model.pair_overhead_tokens);
    let most = room.saturating_sub(MIN_EVIDENCE_TOKENS);
    let (mut longest, mut too_long) = (0, HashMap::new());
    let checkable = claims.iter().filter(|claim| claim.kind.is_checkable());
    let texts = checkable
        .flat_map(|claim| std::iter::once(&claim.text).chain(claim.facts.iter().map(|fact| &fact.text)));
    for text in texts {
        let tokens = model.counter.count_tokens(text);
        if tokens > most {
            let message = format!("the claim has {tokens} tokens; beside evidence the model reads {most}");
            too_long.insert(Arc::clone(text), Reason::new(Code::CLAIM_TOO_LONG, message));
        } else {
            longest = longest.max(tokens);
        }
    }
    (model.window_tokens.min(room - longest.min(room)).max(1), too_long)
}

/// Tokens of the longest claim of at most `most`.
fn longest_claim(claims: &[Claim], model: &ModelFacts, most: usize) -> usize {
    let checkable = claims.iter().filter(|claim| claim.kind.is_checkable());
    let tokens = checkable.map(|claim| model.counter.count_tokens(&claim.text));
    tokens.filter(|tokens| *tokens <= most).max().unwrap_or(0)
}

fn prepare_samples(
    request: &CheckRequest,
    counter: &dyn CountTokens,
    window_tokens: usize,
) -> Vec<PreparedSource> {
    let sample = |(index, text): (usize, &String)| {
        let id = format!("sample-{}", index + 1);
        prepare_text(&id, Arc::from(text.as_str()), counter, window_tokens).0
    };
    request.samples.iter().enumerate().map(sample).collect()
}

/// One text split and windowed, with the notes on what was cut.
fn prepare_text(
    id: &str,
    text: Arc<str>,
    counter: &dyn CountTokens,
    window_tokens: usize,
) -> (PreparedSource, Vec<(Code, String)>) {
    let sentences = split_source(&text).into_iter().map(|sentence| (sentence.span, sentence.text)).collect();
    prepare_source(SourceText { id: Arc::from(id), text, sentences }, counter, window_tokens)
}

/// The request's sources, then its turns where they are evidence.
fn prepare_sources(
    request: &CheckRequest,
    counter: &dyn CountTokens,
    window_tokens: usize,
) -> (Vec<PreparedSource>, Vec<Note>) {
    let mut ids = Ids::of(request);
    let named = request.sources.iter().enumerate().map(|(index, source)| {
        let id = source.id.clone().unwrap_or_else(|| ids.make("source", index + 1));
        (id, Arc::clone(&source.text))
    });
    let named = named.collect::<Vec<_>>();
    let turns = request.history.iter().enumerate().filter(|_| request.history_is_evidence);
    let turns = turns.map(|(index, turn)| (ids.make("history", index + 1), Arc::from(turn.content.as_str())));
    let (mut sources, mut notes) = (Vec::new(), Vec::new());
    for (id, text) in named.into_iter().chain(turns) {
        let (source, cuts) = prepare_text(&id, text, counter, window_tokens);
        sources.push(source);
        notes.extend(cuts.into_iter().map(|(code, message)| Note {
            code,
            message,
            location: Some(id.clone()),
        }));
    }
    (sources, notes)
}

/// The ids of evidence that are taken: those that the request gives, and those made beside them.
struct Ids(BTreeSet<String>);

impl Ids {
    fn of(request: &CheckRequest) -> Self {
        Self(request.sources.iter().filter_map(|source| source.id.clone()).collect())
    }

    /// `source-2`, or `source-2-2` and so on where that is taken.
    fn make(&mut self, kind: &str, number: usize) -> String {
        let mut id = format!("{kind}-{number}");
        let mut variant = 1;
        while !self.0.insert(id.clone()) {
            variant += 1;
            id = format!("{kind}-{number}-{variant}");
        }
        id
    }
}

/// Tokens of a (source sentence, claim) pair on average, for estimates of time.
pub(crate) fn mean_pair_tokens(check: &PreparedCheck, facts: &ModelFacts) -> usize {
    let mean = |tokens: usize, count: usize| tokens.checked_div(count).unwrap_or(0);
    // A sample is read as a whole.
    let of_sample =
        |sample: &PreparedSource| sample.sentences.iter().map(|sentence| sentence.tokens).sum::<usize>();
    let texts = check.sources.iter().flat_map(|source| &source.sentences).map(|sentence| sentence.tokens);
    let (evidence_tokens, evidence) = texts
        .chain(check.samples.iter().map(of_sample))
        .fold((0, 0), |(sum, count), tokens| (sum + tokens, count + 1));
    let claims = check.claims.iter().filter(|claim| claim.kind.is_checkable());
    let (claim_tokens, claims) = claims
        .fold((0, 0), |(tokens, count), claim| (tokens + facts.counter.count_tokens(&claim.text), count + 1));
    mean(evidence_tokens, evidence) + mean(claim_tokens, claims) + facts.pair_overhead_tokens
}

#[cfg(test)]
mod tests;

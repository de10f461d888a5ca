//! One check as a pure machine: events in, effects out. It knows no actor, no clock and no bus.
//!
//! ```text
//! Preparing ─► Detecting ─► Scoring ─► Detecting ─► … ─► Concluding ─► Done
//! ```
//!
//! Rules, each checked where it could break and tested with random events:
//! - C1: every item of a round is settled exactly once, with a score or with a reason;
//! - C2: a result that is late, doubled or unknown changes nothing;
//! - C3: the jobs under way are never more than the window;
//! - C4: after the end there is no effect;
//! - C5: at most one reply, and exactly one unless the caller is gone;
//! - C6: a result with an unchecked claim never says that everything was checked.

mod questions;
mod words;

use groundline_actors::check_invariant;
use groundline_bus::{MAX_JOB_BYTES, MAX_JOB_ITEMS};
use groundline_types::{CheckResult, Code, Outcome, Problem, Reason, Score, SentenceStatus};
use questions::{MAX_QUESTIONS_UNDER_WAY, Questions};
use std::collections::{BTreeMap, VecDeque};

pub(crate) use words::{Effect, Event, Phase, RoundItem, Standing, Tally};

/// Text bytes of a job; the rest of [`MAX_JOB_BYTES`] is for what surrounds them.
const MAX_JOB_TEXT_BYTES: usize = MAX_JOB_BYTES - 4096;

#[derive(Debug)]
pub(crate) struct State {
    window_jobs: usize,
    /// Estimated tokens at which a job is closed.
    job_tokens: usize,
    phase: Phase,
    closing: Option<Reason>,
    items: Vec<RoundItem>,
    outcomes: Vec<Option<Outcome<Score>>>,
    unsettled: usize,
    waiting: usize,
    /// Items that nobody was asked for yet, in order.
    pending: VecDeque<usize>,
    /// Items that an [`Effect::Claim`] is under way for.
    claiming: Vec<usize>,
    /// Items that this check leads, to be sent at once. Only what is about to be sent is led: whoever else wants an item waits
    /// for a window of jobs, never for a whole round.
    led: VecDeque<usize>,
    /// Items to be sent before these, each in a job of its own.
    singles: VecDeque<usize>,
    jobs: BTreeMap<u32, Vec<usize>>,
    next_serial: u32,
    /// A round has work or questions, never both: models are not kept waiting for a judge.
    questions: Questions,
    replied: bool,
    tally: Tally,
}

impl State {
    pub(crate) fn new(window_jobs: usize, job_tokens: usize) -> Self {
        Self {
            window_jobs: window_jobs.max(1),
            job_tokens,
            phase: Phase::Preparing,
            closing: None,
            items: Vec::new(),
            outcomes: Vec::new(),
            unsettled: 0,
            waiting: 0,
            pending: VecDeque::new(),
            claiming: Vec::new(),
            led: VecDeque::new(),
            singles: VecDeque::new(),
            jobs: BTreeMap::new(),
            next_serial: 0,
            questions: Questions::default(),
            replied: false,
            tally: Tally::default(),
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    pub(crate) fn tally(&self) -> Tally {
        self.tally
    }
}

/// Takes one step.
pub(crate) fn step(state: &mut State, event: Event) -> Vec<Effect> {
    if state.phase == Phase::Done {
        return Vec::new();
    }
    let mut effects = Vec::new();
    match event {
        Event::Prepared if state.phase == Phase::Preparing => {
            state.phase = Phase::Detecting;
            effects.push(Effect::StartDetectors);
        }
        Event::Round(items) if state.phase == Phase::Detecting => begin_round(state, items, &mut effects),
        Event::Ask(count) if state.phase == Phase::Detecting => begin_questions(state, count, &mut effects),
        Event::Answered { question, answered } => {
            state.tally.done += usize::from(state.questions.settle(question, *answered));
        }
        Event::DetectorsDone if state.phase == Phase::Detecting => {
            state.phase = Phase::Concluding;
            effects.push(Effect::Conclude);
        }
        Event::JobScored { serial, outcomes } => on_scored(state, serial, outcomes, &mut effects),
        Event::JobSplit { serial } => on_split(state, serial, &mut effects),
        Event::JobFailed { serial, reason } => on_failed(state, serial, &reason, &mut effects),
        Event::Landed { item, score } => on_landed(state, item, score),
        Event::Claimed(standings) => on_claimed(state, standings, &mut effects),
        Event::Finish(reason) => on_finish(state, reason, &mut effects),
        Event::DispatchLost => {
            let again = state
                .jobs
                .iter()
                .map(|(serial, items)| Effect::Resubmit { serial: *serial, items: items.clone() });
            effects.extend(again);
        }
        Event::ResultsLost => {
            effects.extend(state.jobs.keys().map(|serial| Effect::Resend { serial: *serial }))
        }
        Event::CallerGone => {
            state.phase = Phase::Done;
            effects.push(Effect::Cancel);
        }
        Event::Concluded(result) if state.phase == Phase::Concluding => {
            reply(state, Ok(*result), &mut effects)
        }
        Event::Broken(problem) => reply(state, Err(problem), &mut effects),
        Event::Prepared | Event::Round(_) | Event::Ask(_) | Event::DetectorsDone | Event::Concluded(_) => {}
    }
    if state.phase == Phase::Scoring {
        go_on(state, &mut effects);
    }
    check(state);
    effects
}

/// Asks for more of the round, and ends it where everything is settled.
fn go_on(state: &mut State, effects: &mut Vec<Effect>) {
    if !state.questions.is_open() {
        fill_window(state, effects);
        if state.unsettled == 0 {
            state.phase = Phase::Detecting;
            effects.push(Effect::Resume(take_outcomes(state)));
        }
        return;
    }
    effects.extend(state.questions.next().into_iter().map(Effect::Ask));
    if state.questions.is_settled() {
        state.phase = Phase::Detecting;
        let missing = || Reason::new(Code::INTERNAL, "a question has no answer");
        effects.push(Effect::Hear(state.questions.end(missing)));
    }
}

fn begin_questions(state: &mut State, count: usize, effects: &mut Vec<Effect>) {
    state.questions.begin(count);
    state.phase = Phase::Scoring;
    if let Some(reason) = state.closing.clone() {
        finish_round(state, reason, effects);
    }
}

fn begin_round(state: &mut State, items: Vec<RoundItem>, effects: &mut Vec<Effect>) {
    state.outcomes = vec![None; items.len()];
    state.unsettled = items.len();
    state.items = items;
    state.phase = Phase::Scoring;
    for item in 0..state.items.len() {
        let standing = state.items[item].standing.clone();
        place(state, item, standing);
    }
    if let Some(reason) = state.closing.clone() {
        finish_round(state, reason, effects);
    }
}

/// Puts an unsettled item where it belongs.
fn place(state: &mut State, item: usize, standing: Standing) {
    match standing {
        Standing::Hit(score) => {
            state.tally.cache_hits += 1;
            settle(state, item, Outcome::Scored(score));
        }
        Standing::Refused(reason) => settle(state, item, Outcome::Failed(reason)),
        Standing::Wait => state.waiting += 1,
        Standing::Open => state.pending.push_back(item),
        Standing::Lead => state.led.push_back(item),
    }
}

fn settle(state: &mut State, item: usize, outcome: Outcome<Score>) {
    check_invariant!("C1", state.outcomes[item].is_none(), "item {item} is settled twice");
    state.outcomes[item] = Some(outcome);
    state.unsettled -= 1;
    state.tally.done += state.items[item].asked;
}

/// Settles an item that this check leads.
fn settle_lead(
    state: &mut State,
    item: usize,
    outcome: Outcome<Score>,
    ends: &mut Vec<(usize, Option<Score>)>,
) {
    ends.push((item, outcome.scored().cloned()));
    settle(state, item, outcome);
}

fn on_scored(state: &mut State, serial: u32, outcomes: Vec<Outcome<Score>>, effects: &mut Vec<Effect>) {
    #[cfg(test)]
    let outcomes = planted_bugs(state, serial, outcomes);
    let Some(items) = state.jobs.remove(&serial) else { return };
    let missing = || Outcome::Failed(Reason::new(Code::INTERNAL, "the answer to a job has too few items"));
    let outcomes = outcomes.into_iter().chain(std::iter::repeat_with(missing));
    let mut ends = Vec::with_capacity(items.len());
    for (item, outcome) in items.into_iter().zip(outcomes) {
        settle_lead(state, item, outcome, &mut ends);
    }
    effects.extend([Effect::Settled { serial }, Effect::Resolve(ends)]);
}

#[cfg(test)]
fn planted_bugs(state: &mut State, serial: u32, mut outcomes: Vec<Outcome<Score>>) -> Vec<Outcome<Score>> {
    use crate::simulation::{Bug, is_planted};
    if is_planted(Bug::WrongOrder) && outcomes.len() > 2 {
        outcomes.reverse();
    }
    if is_planted(Bug::DoubleScore)
        && let Some(items) = state.jobs.get(&serial).cloned()
    {
        let first = items.first().copied().zip(outcomes.first().cloned());
        first.into_iter().for_each(|(item, outcome)| settle(state, item, outcome));
    }
    outcomes
}

fn on_split(state: &mut State, serial: u32, effects: &mut Vec<Effect>) {
    let Some(items) = state.jobs.remove(&serial) else { return };
    effects.push(Effect::Settled { serial });
    if let &[item] = items.as_slice() {
        let mut ends = Vec::new();
        let reason = Reason::new(Code::JOB_DEAD, "a job of one item was answered as if it could be split");
        settle_lead(state, item, Outcome::Failed(reason), &mut ends);
        effects.push(Effect::Resolve(ends));
    } else {
        state.singles.extend(items);
    }
}

fn on_failed(state: &mut State, serial: u32, reason: &Reason, effects: &mut Vec<Effect>) {
    let Some(items) = state.jobs.remove(&serial) else { return };
    let mut ends = Vec::with_capacity(items.len());
    for item in items {
        settle_lead(state, item, Outcome::Failed(reason.clone()), &mut ends);
    }
    effects.extend([Effect::Settled { serial }, Effect::Resolve(ends)]);
}

/// Whether an item waits for another check: unsettled, and in no queue and no job of this one.
fn is_waiting(state: &State, item: usize) -> bool {
    state.outcomes.get(item).is_some_and(Option::is_none)
        && matches!(state.items[item].standing, Standing::Wait)
        && state.phase == Phase::Scoring
}

fn on_landed(state: &mut State, item: usize, score: Option<Score>) {
    if !is_waiting(state, item) {
        return;
    }
    match score {
        Some(score) => {
            state.waiting -= 1;
            state.tally.cache_hits += 1;
            settle(state, item, Outcome::Scored(score));
        }
        None => {
            // Its leader gave it up: it is claimed anew when it is its turn, which is now.
            state.waiting -= 1;
            state.items[item].standing = Standing::Open;
            state.pending.push_front(item);
        }
    }
}

fn on_claimed(state: &mut State, standings: Vec<(usize, Standing)>, effects: &mut Vec<Effect>) {
    let mut claiming = std::mem::take(&mut state.claiming);
    for (item, standing) in standings {
        if let Some(index) = claiming.iter().position(|claimed| *claimed == item) {
            claiming.swap_remove(index);
            state.items[item].standing = standing.clone();
            place(state, item, standing);
        } else if standing == Standing::Lead {
            // The round ended in between; whoever waits now must not wait for this check.
            effects.push(Effect::Resolve(vec![(item, None)]));
        }
    }
    // Without an answer, an item is sent for this check alone.
    state.led.extend(claiming);
}

fn on_finish(state: &mut State, reason: Reason, effects: &mut Vec<Effect>) {
    match state.phase {
        // The texts are split all the same, which takes little time: the answer names every sentence that it leaves unchecked.
        Phase::Preparing | Phase::Detecting => state.closing = Some(state.closing.take().unwrap_or(reason)),
        Phase::Scoring => finish_round(state, reason, effects),
        Phase::Concluding | Phase::Done => {}
    }
}

/// Settles what is left of the round with a reason, and lets the detectors finish.
fn finish_round(state: &mut State, reason: Reason, effects: &mut Vec<Effect>) {
    state.closing = Some(reason.clone());
    if state.questions.is_open() {
        state.phase = Phase::Detecting;
        let answers = state.questions.end(|| reason.clone());
        return effects.extend([Effect::Cancel, Effect::FailUnheard(answers, reason)]);
    }
    for item in 0..state.items.len() {
        if state.outcomes[item].is_none() {
            settle(state, item, Outcome::Failed(reason.clone()));
        }
    }
    state.pending.clear();
    state.claiming.clear();
    state.led.clear();
    state.singles.clear();
    state.jobs.clear();
    state.waiting = 0;
    state.phase = Phase::Detecting;
    effects.push(Effect::Cancel);
    effects.push(Effect::FailRest(take_outcomes(state), reason));
}

fn take_outcomes(state: &mut State) -> Vec<Outcome<Score>> {
    state.items.clear();
    std::mem::take(&mut state.outcomes).into_iter().flatten().collect()
}

fn fill_window(state: &mut State, effects: &mut Vec<Effect>) {
    while state.claiming.is_empty() && state.jobs.len() < state.window_jobs {
        let items = match state.singles.pop_front() {
            Some(item) => vec![item],
            None => {
                claim_next(state);
                if !state.claiming.is_empty() {
                    // The answer comes before any other event.
                    return effects.push(Effect::Claim(state.claiming.clone()));
                }
                next_group(state)
            }
        };
        if items.is_empty() {
            break;
        }
        let serial = state.next_serial;
        state.next_serial += 1;
        state.jobs.insert(serial, items.clone());
        effects.push(Effect::Submit { serial, items });
    }
}

/// Picks what is to be claimed next: as much as one more job may hold.
fn claim_next(state: &mut State) {
    while state.led.len() + state.claiming.len() < MAX_JOB_ITEMS
        && let Some(item) = state.pending.pop_front()
    {
        let item_bytes = state.items[item].bytes;
        if item_bytes > MAX_JOB_TEXT_BYTES {
            let message = format!("the texts have {item_bytes} bytes, a job carries {MAX_JOB_TEXT_BYTES}");
            settle(state, item, Outcome::Failed(Reason::new(Code::JOB_TOO_LARGE, message)));
        } else {
            state.claiming.push(item);
        }
    }
}

/// Items for one job, in order, within every bound of a job.
fn next_group(state: &mut State) -> Vec<usize> {
    let (mut group, mut tokens, mut bytes) = (Vec::new(), 0, 0);
    while group.len() < MAX_JOB_ITEMS
        && let Some(&item) = state.led.front()
    {
        let (item_tokens, item_bytes) = (state.items[item].tokens, state.items[item].bytes);
        let fits = tokens + item_tokens <= state.job_tokens && bytes + item_bytes <= MAX_JOB_TEXT_BYTES;
        if !group.is_empty() && !fits {
            break;
        }
        state.led.pop_front();
        (tokens, bytes) = (tokens + item_tokens, bytes + item_bytes);
        group.push(item);
    }
    group
}

fn reply(state: &mut State, answer: Result<CheckResult, Problem>, effects: &mut Vec<Effect>) {
    check_invariant!("C5", !state.replied, "a check replies twice");
    if let Ok(result) = &answer {
        let unchecked = result.sentences.iter().any(|sentence| sentence.status == SentenceStatus::Failed);
        let says_all = result.coverage == Some(1.0);
        check_invariant!(
            "C6",
            !(unchecked && says_all),
            "an unchecked sentence and full coverage in one result"
        );
    }
    state.replied = true;
    state.phase = Phase::Done;
    effects.push(Effect::Reply(Box::new(answer)));
    effects.push(Effect::Cancel);
}

fn check(state: &State) {
    check_invariant!("C3", state.jobs.len() <= state.window_jobs, "{} jobs under way", state.jobs.len());
    let asking = state.questions.under_way();
    check_invariant!("C3", asking <= MAX_QUESTIONS_UNDER_WAY, "{asking} questions under way");
    if state.phase == Phase::Scoring {
        let in_jobs = state.jobs.values().map(Vec::len).sum::<usize>();
        let to_send = state.pending.len() + state.claiming.len() + state.led.len() + state.singles.len();
        let placed = in_jobs + to_send + state.waiting;
        check_invariant!(
            "C1",
            placed == state.unsettled,
            "{} items unsettled, {placed} placed",
            state.unsettled
        );
    }
}

#[cfg(test)]
mod tests;

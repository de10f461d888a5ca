//! The shell around the check machine: messages in, effects out.

mod judging;

use super::machine::{self, Effect, Event, Phase, State};
use super::message::{CheckMessage, CheckSetup, CheckWaiter, Reply};
use super::short::{has_few, is_short};
use super::work::{Begun, Ground, OpenRound, Opened, Turn, begin, standing, take_turn};
use crate::assemble::{Context, assemble};
use crate::cache::{FlightEnd, Leads};
use crate::cascade::StageOutcome;
use crate::dispatch::{DispatchMessage, Submission};
use crate::observer::{Progress, Stage};
use crate::panel::Panel;
use crate::prepare::Asked;
use crate::router::RouterMessage;
use groundline_actors::{OwnedTask, TaskKind, run_computing, spawn_task};
use groundline_bus::{Job, JobAnswer, JobId, JobResult, JobTexts, LaneId};
use groundline_telemetry::SpanName;
use groundline_types::{Code, Note, Problem, Reason, Score, Timings, Usage, Work};
use judging::Judging;
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// What detectors need for each planned item to finish once nothing more is scored; the answer is begun that much earlier.
const FINISH_TIME_PER_ITEM: Duration = Duration::from_micros(1);
/// The least that is kept for making the verdict.
const MIN_FINISH_TIME: Duration = Duration::from_millis(2);

pub(crate) struct Check;

pub(crate) struct CheckState {
    setup: CheckSetup,
    reply: Option<Reply>,
    myself: ActorRef<CheckMessage>,
    machine: State,
    ground: Option<Arc<Ground>>,
    /// Away while the detectors take their turn.
    panel: Option<Panel>,
    /// What the detectors want next, until the machine asks for it.
    opened: Option<Opened>,
    round: Option<OpenRound>,
    judging: Judging,
    leads: Leads<CheckWaiter>,
    notes: Vec<Note>,
    is_foreign: bool,
    planned_items: usize,
    planned_tokens: usize,
    usage: Usage,
    began: Instant,
    prepared: Instant,
    deadline_timer: Option<OwnedTask>,
    /// Whether its texts are so short that nothing it computes takes long.
    is_short: bool,
}

impl CheckState {
    fn step(&mut self, event: Event) {
        let mut effects = machine::step(&mut self.machine, event);
        // A claim is answered at once; every other effect is answered by a message.
        while !effects.is_empty() {
            let next = effects.into_iter().filter_map(|effect| self.perform(effect)).collect::<Vec<_>>();
            effects = next.into_iter().flat_map(|event| machine::step(&mut self.machine, event)).collect();
        }
        self.report_progress();
    }

    fn perform(&mut self, effect: Effect) -> Option<Event> {
        match effect {
            Effect::StartDetectors => return Some(self.open_round()),
            Effect::Resume(outcomes) => self.run_detectors(Turn::Resume(outcomes)),
            Effect::FailRest(outcomes, reason) => self.run_detectors(Turn::FailRest(outcomes, reason)),
            Effect::Ask(question) => self.ask(question),
            Effect::Hear(answers) => self.run_detectors(Turn::Hear(answers)),
            Effect::FailUnheard(answers, reason) => self.run_detectors(Turn::FailUnheard(answers, reason)),
            Effect::Submit { serial, items } | Effect::Resubmit { serial, items } => {
                self.submit(serial, &items)
            }
            Effect::Resend { serial } => self.tell_dispatch(DispatchMessage::Resend(self.job_id(serial))),
            Effect::Settled { serial } => self.tell_dispatch(DispatchMessage::Settled(self.job_id(serial))),
            Effect::Resolve(ends) => self.resolve(ends),
            Effect::Claim(items) => return Some(Event::Claimed(self.claim(&items))),
            Effect::Conclude => self.conclude(),
            Effect::Reply(answer) => {
                self.setup.permit = None;
                self.setup.observed.answered(&answer);
                if let Some(reply) = self.reply.take() {
                    // A caller that just left is no fault.
                    let _ = reply.send(*answer);
                }
            }
            Effect::Cancel => {
                self.tell_dispatch(DispatchMessage::CheckGone(self.setup.number));
                self.leads.give_up();
                self.judging.stop();
            }
        }
        None
    }

    fn job_id(&self, serial: u32) -> JobId {
        JobId { reply_to: self.setup.shared.me, check: self.setup.number, serial }
    }

    fn tell_dispatch(&self, message: DispatchMessage) {
        // A dispatcher between two lives knows nothing; this check will be told of the new one and submits again.
        let _ = self.setup.shared.dispatch.send(message);
    }

    fn register(&self) {
        // A router between two lives is followed by word of the new one.
        let _ =
            self.setup.shared.router.send(RouterMessage::Register(self.setup.number, self.myself.clone()));
    }

    /// Work for a thread, which counts as this check running until it ends, whatever becomes of the check.
    fn counted<T, W: FnOnce() -> T>(&self, work: W) -> impl FnOnce() -> T + use<T, W> {
        let permit = self.setup.permit.clone();
        move || {
            let value = work();
            drop(permit);
            value
        }
    }

    fn prepare(&mut self) {
        self.setup.observed.part(SpanName::Prepare);
        let shared = Arc::clone(&self.setup.shared);
        let asked = Asked { request: Arc::clone(&self.setup.request), part: self.setup.part.clone() };
        let (tenant, myself, is_short) = (self.setup.tenant.clone(), self.myself.clone(), self.is_short);
        let waiter = CheckWaiter { number: self.setup.number, actor: self.myself.clone() };
        let work = self.counted(move || begin(&asked, &tenant, &shared, waiter));
        let task = async move {
            let begun = run_computing(TaskKind::Prepare, is_short, work).await;
            let _ = myself.send_message(CheckMessage::Begun(begun));
        };
        spawn_task(TaskKind::Prepare, task).detach();
    }

    fn on_begun(&mut self, begun: Begun) {
        self.prepared = Instant::now();
        self.setup.observed.waits();
        self.notes.extend(begun.notes);
        self.is_foreign = begun.is_foreign;
        (self.planned_items, self.planned_tokens) = (begun.planned_items, begun.planned_tokens);
        self.judging.planned = begun.planned_questions;
        self.is_short &= has_few(self.planned_items);
        (self.panel, self.opened, self.ground) = (Some(begun.panel), begun.round, Some(begun.ground));
        let items = u32::try_from(self.planned_items).unwrap_or(u32::MAX);
        let left = self.setup.deadline.saturating_duration_since(self.prepared);
        let reserve = (FINISH_TIME_PER_ITEM * items + MIN_FINISH_TIME).min(left / 2);
        self.judging.answer_by = self.setup.deadline - reserve;
        self.arm_deadline(self.judging.answer_by);
        self.step(Event::Prepared);
    }

    fn arm_deadline(&mut self, at: Instant) {
        #[cfg(test)]
        if crate::simulation::is_planted(crate::simulation::Bug::NoDeadline) {
            return;
        }
        let myself = self.myself.clone();
        let task = async move {
            tokio::time::sleep_until(at).await;
            let reason = Reason::new(Code::DEADLINE, "the deadline passed");
            let _ = myself.send_message(CheckMessage::Finish(reason));
        };
        self.deadline_timer = Some(spawn_task(TaskKind::Deadline, task));
    }

    fn run_detectors(&mut self, turn: Turn) {
        self.round = None;
        self.judging.stop();
        let (Some(panel), Some(ground)) = (self.panel.take(), self.ground.clone()) else { return };
        self.setup.observed.part(SpanName::Detect);
        let work = self.counted(move || Box::new(take_turn(panel, &ground, turn)));
        let (myself, is_short) = (self.myself.clone(), self.is_short);
        let task = async move {
            let turned = run_computing(TaskKind::Detect, is_short, work).await;
            let _ = myself.send_message(CheckMessage::Turned(turned));
        };
        spawn_task(TaskKind::Detect, task).detach();
    }

    fn on_turned(&mut self, panel: Panel, opened: Option<Opened>) {
        // A method may know better by now what it will ask for, and others may have joined.
        if let Some(tokens) = self.planned_tokens.checked_div(self.planned_items) {
            self.planned_items = panel.planned_items();
            self.planned_tokens = tokens * self.planned_items;
        }
        (self.panel, self.opened) = (Some(panel), opened);
        self.setup.observed.waits();
        let round = self.open_round();
        self.step(round);
    }

    /// What the detectors' last turn came to.
    fn open_round(&mut self) -> Event {
        let round = match self.opened.take() {
            None => return Event::DetectorsDone,
            Some(Opened::Questions(questions)) => return self.judging.begin(questions),
            Some(Opened::Round(round)) => self.round.insert(round),
        };
        let pairs = round.work.iter().filter(|work| !matches!(work, Work::Embed { .. })).count();
        self.usage.pairs += pairs;
        self.usage.embeddings += round.work.len() - pairs;
        Event::Round(std::mem::take(&mut round.items))
    }

    fn submit(&self, serial: u32, items: &[usize]) {
        let Some(round) = &self.round else { return };
        let (shared, request) = (&self.setup.shared, &self.setup.request);
        let work = || items.iter().filter_map(|item| round.work.get(*item));
        let overhead = shared.facts.pair_overhead_tokens;
        let job = Job {
            id: self.job_id(serial),
            attempt: 0,
            lane: LaneId { model: shared.model.clone(), lane: request.lane.unwrap_or_default() },
            tenant: self.setup.tenant.clone(),
            time_left: Duration::ZERO,
            estimated_tokens: work().map(|work| crate::panel::estimated_tokens(work, overhead)).sum(),
            trace: self.setup.observed.trace(),
            texts: JobTexts::intern(work()),
        };
        let submission =
            Submission { job: Arc::new(job), deadline: self.setup.deadline, check: self.myself.clone() };
        self.tell_dispatch(DispatchMessage::Submit(submission));
    }

    fn on_job_result(&mut self, result: JobResult) {
        let serial = result.id.serial;
        self.step(match result.answer {
            JobAnswer::Items(outcomes) => Event::JobScored { serial, outcomes },
            JobAnswer::Split => Event::JobSplit { serial },
        });
    }

    fn resolve(&mut self, ends: Vec<(usize, Option<Score>)>) {
        let Some(round) = &self.round else { return };
        let ends = ends.into_iter().filter_map(|(item, score)| Some((*round.keys.get(item)?, score)));
        self.leads.resolve(ends.collect());
    }

    fn claim(&mut self, items: &[usize]) -> Vec<(usize, machine::Standing)> {
        let (Some(round), Some(ground)) = (&mut self.round, &self.ground) else { return Vec::new() };
        let items = items.iter().filter_map(|item| Some((*item, *round.keys.get(*item)?)));
        let (items, keys): (Vec<_>, Vec<_>) = items.unzip();
        let claimed = ground.cache.claim(&keys, &ground.waiter, &mut self.leads);
        let standings = claimed.into_iter().map(standing).collect::<Vec<_>>();
        for ((item, key), standing) in items.iter().zip(&keys).zip(&standings) {
            if *standing == machine::Standing::Wait {
                round.waiting.insert(*key, *item);
            }
        }
        items.into_iter().zip(standings).collect()
    }

    fn on_landed(&mut self, ends: Vec<FlightEnd>) {
        for (key, score) in ends {
            // What a closed round waited for is of no use.
            let item = self.round.as_ref().and_then(|round| round.waiting.get(&key).copied());
            if let Some(item) = item {
                self.step(Event::Landed { item, score });
            }
        }
    }

    fn conclude(&mut self) {
        let (Some(panel), Some(ground)) = (self.panel.take(), self.ground.clone()) else { return };
        self.setup.observed.part(SpanName::Decide);
        let now = Instant::now();
        let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
        let mut context = Context {
            id: self.setup.request.id.clone().unwrap_or_else(|| format!("check-{}", self.setup.number)),
            notes: std::mem::take(&mut self.notes),
            is_foreign: self.is_foreign,
            stages: StageOutcome::default(),
            usage: Usage { cache_hits: self.machine.tally().cache_hits, ..self.usage },
            timings: Timings {
                prepare_ms: ms(self.prepared - self.began),
                score_ms: ms(now - self.prepared),
                total_ms: 0.0,
            },
        };
        let (shared, myself, began) = (Arc::clone(&self.setup.shared), self.myself.clone(), self.began);
        let work = self.counted(move || {
            let (reports, stages) = panel.finish();
            context.stages = stages;
            context.timings.total_ms = ms(began.elapsed());
            Box::new(assemble(&ground.check, reports, &ground.facts, &shared.options, context))
        });
        let is_short = self.is_short;
        let task = async move {
            let result = run_computing(TaskKind::Decide, is_short, work).await;
            let _ = myself.send_message(CheckMessage::Concluded(result));
        };
        spawn_task(TaskKind::Decide, task).detach();
    }

    fn report_progress(&self) {
        let Some(progress) = &self.setup.progress else { return };
        let tally = self.machine.tally();
        let current = Progress {
            stage: match self.machine.phase() {
                Phase::Preparing => Stage::Preparing,
                Phase::Detecting | Phase::Scoring => Stage::Scoring,
                Phase::Concluding => Stage::Deciding,
                Phase::Done => Stage::Done,
            },
            planned_items: (self.planned_items + self.judging.planned).max(tally.done),
            done_items: tally.done,
            planned_tokens: self.planned_tokens,
            cache_hits: tally.cache_hits,
        };
        progress.send_if_modified(|shown| std::mem::replace(shown, current) != current);
    }
}

fn broken(what: &str) -> Event {
    Event::Broken(Problem::new(Code::INTERNAL, format!("{what} failed; this is a bug")))
}

impl Actor for Check {
    type Msg = CheckMessage;
    type State = CheckState;
    type Arguments = (CheckSetup, Reply);

    async fn pre_start(
        &self,
        myself: ActorRef<CheckMessage>,
        (setup, reply): (CheckSetup, Reply),
    ) -> Result<CheckState, ActorProcessingErr> {
        myself.send_message(CheckMessage::Begin)?;
        let now = Instant::now();
        let job_tokens = setup.shared.fleet.borrow().job_tokens;
        Ok(CheckState {
            machine: State::new(setup.shared.options.window_jobs, job_tokens),
            leads: Leads::new(Arc::clone(&setup.shared.cache)),
            reply: Some(reply),
            is_short: is_short(&setup.request),
            setup,
            myself,
            ground: None,
            panel: None,
            opened: None,
            round: None,
            judging: Judging::new(now),
            notes: Vec::new(),
            is_foreign: false,
            planned_items: 0,
            planned_tokens: 0,
            usage: Usage::default(),
            began: now,
            prepared: now,
            deadline_timer: None,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<CheckMessage>,
        message: CheckMessage,
        state: &mut CheckState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            CheckMessage::Begin => {
                state.register();
                state.arm_deadline(state.setup.deadline);
                state.draw_or_prepare();
            }
            CheckMessage::Drawn(drawn) => state.on_drawn(*drawn),
            CheckMessage::Answered { turn, question, answered } => {
                state.on_answered(turn, question, answered);
            }
            CheckMessage::Begun(Some(Ok(begun))) => state.on_begun(*begun),
            CheckMessage::Begun(Some(Err(problem))) => {
                let problem = state.judging.instead_of(problem);
                state.step(Event::Broken(problem));
            }
            CheckMessage::Begun(None) => state.step(broken("splitting the texts")),
            CheckMessage::Turned(Some(turned)) => state.on_turned(turned.0, turned.1),
            CheckMessage::Turned(None) => state.step(broken("a method")),
            CheckMessage::JobResult(result) => state.on_job_result(result),
            CheckMessage::JobFailed(id, reason) => {
                state.step(Event::JobFailed { serial: id.serial, reason });
            }
            CheckMessage::Landed(ends) => state.on_landed(ends),
            CheckMessage::Finish(reason) => {
                state.step(Event::Finish(reason));
                state.stop_drawing();
            }
            CheckMessage::CallerGone => {
                state.setup.observed.caller_gone();
                state.step(Event::CallerGone);
            }
            CheckMessage::RouterLost => {
                state.register();
                state.step(Event::ResultsLost);
            }
            CheckMessage::ResultsLost => state.step(Event::ResultsLost),
            CheckMessage::DispatchLost => state.step(Event::DispatchLost),
            CheckMessage::Concluded(Some(result)) => state.step(Event::Concluded(result)),
            CheckMessage::Concluded(None) => state.step(broken("making the verdict")),
        }
        if state.machine.phase() == Phase::Done {
            myself.stop(None);
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<CheckMessage>,
        _event: SupervisionEvent,
        _state: &mut CheckState,
    ) -> Result<(), ActorProcessingErr> {
        Ok(())
    }
}

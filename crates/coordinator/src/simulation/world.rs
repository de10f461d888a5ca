//! A cluster while its schedule is carried out.

use super::checker::{Ending, Record};
use super::engine::{MortalEngine, POISON};
use super::load::{ONE_POISON, request};
use super::schedule::{Incident, Leave, Part, PlannedCheck, Schedule};
use crate::checks::ChecksMessage;
use crate::dispatch::{DispatchMessage, Leftover};
use crate::router::RouterMessage;
use crate::{CancelToken, CheckObserver, Coordinator, CoordinatorOptions};
use groundline_bus::{Dice, Job, MemoryBusOptions, SimBus, SimNet, SubjectToken};
use groundline_inference::Engine;
use groundline_testkit::ToyEngine;
use groundline_types::{CheckResult, Problem};
use groundline_worker::{Worker, WorkerOptions};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, sleep_until};

/// After this, whatever was lost has expired, and whatever can come back has come.
const QUIET: Duration = Duration::from_secs(400);
/// How long a worker that died of its work takes to come back.
const RESTART: Duration = Duration::from_secs(1);

/// What a run leaves.
pub(super) struct Ended {
    pub(super) records: Vec<Record>,
    /// What should not be there any more.
    pub(super) leftovers: Vec<String>,
    pub(super) faults_met: u64,
}

struct WorkerNode {
    bus: SimBus,
    worker: Worker,
}

struct CoordinatorNode {
    bus: SimBus,
    coordinator: Coordinator,
    /// Its callers, which end with it.
    callers: Vec<(usize, AbortHandle)>,
}

/// What is to be done at some time.
enum Step {
    Ask(usize),
    Suffer(Incident),
}

type Answered = (usize, Instant, Option<Result<CheckResult, Problem>>);

pub(super) struct World {
    schedule: Schedule,
    net: SimNet,
    dice: Dice,
    workers: Vec<Option<WorkerNode>>,
    coordinators: Vec<Option<CoordinatorNode>>,
    deaths: mpsc::UnboundedSender<usize>,
    answers: mpsc::UnboundedSender<Answered>,
    callers: JoinSet<()>,
    records: BTreeMap<usize, Record>,
    agenda: BTreeMap<(Instant, usize), Step>,
    began: Instant,
}

impl World {
    /// Carries out a schedule.
    pub(super) async fn run(schedule: Schedule) -> Ended {
        let options =
            MemoryBusOptions { ack_wait_bulk: Duration::from_secs(15), ..MemoryBusOptions::default() };
        let (deaths, mut died) = mpsc::unbounded_channel();
        let (answers, mut answered) = mpsc::unbounded_channel();
        let mut world = World {
            net: SimNet::new(schedule.seed, options),
            dice: Dice::new(schedule.seed.rotate_left(17)),
            workers: (0..schedule.workers).map(|_| None).collect(),
            coordinators: (0..schedule.coordinators).map(|_| None).collect(),
            deaths,
            answers,
            callers: JoinSet::new(),
            records: BTreeMap::new(),
            agenda: BTreeMap::new(),
            began: Instant::now(),
            schedule,
        };
        world.plan();
        for slot in 0..world.workers.len() {
            world.start_worker(slot).await;
        }
        for slot in 0..world.coordinators.len() {
            world.start_coordinator(slot).await;
        }
        while !world.is_over() {
            let next = world.agenda.first_key_value().map(|((at, _), _)| *at);
            tokio::select! {
                biased;
                Some(slot) = died.recv() => world.on_death(slot),
                Some(answered) = answered.recv() => world.on_answer(answered),
                () = sleep_until(next.unwrap_or(world.began + QUIET)) => match world.agenda.pop_first() {
                    Some((_, step)) => world.on_time(step).await,
                    // Whatever is not answered now never is.
                    None => break,
                },
            }
        }
        sleep(QUIET).await;
        world.end().await
    }

    fn plan(&mut self) {
        let checks = self.schedule.checks.iter().enumerate();
        let checks = checks.map(|(number, check)| (check.at, Step::Ask(number)));
        let incidents = self.schedule.incidents.iter().map(|(at, incident)| (*at, Step::Suffer(*incident)));
        for (order, (at, step)) in checks.chain(incidents).enumerate() {
            self.agenda.insert((self.began + at, order), step);
        }
    }

    fn is_over(&self) -> bool {
        self.agenda.is_empty() && self.records.values().all(|record| record.ending.is_some())
    }

    fn later(&mut self, after: Duration, incident: Incident) {
        let order = self.agenda.len() + self.records.len() + 10_000;
        self.agenda.insert((Instant::now() + after, order), Step::Suffer(incident));
    }

    async fn on_time(&mut self, step: Step) {
        match step {
            Step::Ask(number) => self.ask(number),
            Step::Suffer(incident) => self.suffer(incident).await,
        }
    }

    fn ask(&mut self, number: usize) {
        let check = self.schedule.checks[number].clone();
        let mut record = Record { check: check.clone(), ending: None };
        if let Some(Some(node)) = self.coordinators.get_mut(check.coordinator) {
            let caller = call(node.coordinator.clone(), check, number, self.answers.clone());
            node.callers.push((number, self.callers.spawn(caller)));
        } else {
            record.ending = Some((Instant::now(), Ending::NobodyThere));
        }
        self.records.insert(number, record);
    }

    fn on_answer(&mut self, (number, at, answer): Answered) {
        let ending = match answer {
            Some(answer) => Ending::Answered(at - self.began, Box::new(answer)),
            None => Ending::Left,
        };
        if let Some(record) = self.records.get_mut(&number) {
            record.ending = Some((at, ending));
        }
    }

    fn on_death(&mut self, slot: usize) {
        if self.workers[slot].take().is_some() {
            self.later(RESTART, Incident::StartWorker(slot));
        }
    }

    async fn suffer(&mut self, incident: Incident) {
        let worker = |slot: usize| self.workers.get(slot).and_then(Option::as_ref);
        let coordinator = |slot: usize| self.coordinators.get(slot).and_then(Option::as_ref);
        match incident {
            Incident::Weather(faults) => self.net.set_faults(faults),
            Incident::CutWorker(slot) => worker(slot).into_iter().for_each(|node| node.bus.cut()),
            Incident::HealWorker(slot) => worker(slot).into_iter().for_each(|node| node.bus.heal()),
            Incident::CutCoordinator(slot) => coordinator(slot).into_iter().for_each(|node| node.bus.cut()),
            Incident::HealCoordinator(slot) => coordinator(slot).into_iter().for_each(|node| node.bus.heal()),
            Incident::CutAll => self.buses().for_each(SimBus::cut),
            Incident::HealAll => self.buses().for_each(SimBus::heal),
            Incident::BrokerForgets => self.net.forget_everything().await,
            Incident::KillWorker(slot) => {
                if let Some(node) = self.workers[slot].take() {
                    node.bus.kill();
                }
            }
            Incident::ReplaceWorker(slot) => {
                if let Some(node) = self.workers[slot].take() {
                    // In a task of its own: the world goes on while it drains.
                    self.callers.spawn(node.worker.drain());
                    self.start_worker(slot).await;
                }
            }
            Incident::StartWorker(slot) => self.start_worker(slot).await,
            Incident::KillCoordinator(slot) => self.kill_coordinator(slot),
            Incident::StartCoordinator(slot) => self.start_coordinator(slot).await,
            Incident::Break(part, slot) => self.break_part(part, slot),
        }
    }

    fn buses(&self) -> impl Iterator<Item = &SimBus> {
        let workers = self.workers.iter().flatten().map(|node| &node.bus);
        workers.chain(self.coordinators.iter().flatten().map(|node| &node.bus))
    }

    async fn start_worker(&mut self, slot: usize) {
        if self.workers[slot].is_some() {
            return;
        }
        let bus = self.net.connect();
        let engine = MortalEngine::new(slot, bus.clone(), self.deaths.clone());
        let worker = Worker::start(bus.clone(), Arc::new(engine), WorkerOptions::default()).await;
        self.workers[slot] = Some(WorkerNode { bus, worker: worker.expect("a worker starts") });
    }

    async fn start_coordinator(&mut self, slot: usize) {
        if self.coordinators[slot].is_some() {
            return;
        }
        let bus = self.net.connect();
        let options = CoordinatorOptions {
            cache_bytes: if self.schedule.has_cache { 1 << 20 } else { 0 },
            max_checks: 10,
            window_jobs: 1 + self.dice.roll(6) as usize,
            credit_tokens: 2000,
            resend_after: Duration::from_secs(5),
            max_attempts: 30,
            ..CoordinatorOptions::default()
        };
        let facts = ToyEngine::default().facts().clone();
        let coordinator = Coordinator::start(bus.clone(), facts, options).await;
        let coordinator = coordinator.expect("a coordinator starts");
        self.coordinators[slot] = Some(CoordinatorNode { bus, coordinator, callers: Vec::new() });
    }

    fn kill_coordinator(&mut self, slot: usize) {
        let Some(node) = self.coordinators[slot].take() else { return };
        node.bus.kill();
        for (number, caller) in node.callers {
            if let Some(record) = self.records.get_mut(&number)
                && record.ending.is_none()
            {
                caller.abort();
                record.ending = Some((Instant::now(), Ending::ProcessDied));
            }
        }
    }

    fn break_part(&mut self, part: Part, slot: usize) {
        // Between two lives, there is nobody to break.
        if part == Part::Batcher {
            if let Some(node) = &self.workers[slot] {
                node.worker.break_batcher();
            }
            return;
        }
        let Some(node) = &self.coordinators[slot] else { return };
        let inner = &node.coordinator.inner;
        match part {
            Part::Router => drop(inner.shared.router.send(RouterMessage::Panic)),
            Part::Dispatch => drop(inner.shared.dispatch.send(DispatchMessage::Panic)),
            Part::Checks | Part::Batcher => {
                for (number, _) in &node.callers {
                    if let Some(record) =
                        self.records.get_mut(number).filter(|record| record.ending.is_none())
                    {
                        record.check.may_fail = true;
                    }
                }
                // Those that come while it is started again fail too.
                let since_start = Instant::now() - self.began;
                let soon = since_start..since_start + RESTART;
                let hit = |check: &&mut PlannedCheck| check.coordinator == slot && soon.contains(&check.at);
                self.schedule.checks.iter_mut().filter(hit).for_each(|check| check.may_fail = true);
                drop(inner.checks.send(ChecksMessage::Panic));
            }
        }
    }

    async fn end(mut self) -> Ended {
        let mut leftovers = Vec::new();
        for (slot, node) in self.coordinators.iter().enumerate() {
            let Some(node) = node else { continue };
            let (reply, left) = oneshot::channel();
            let asked = node.coordinator.inner.shared.dispatch.send(DispatchMessage::Probe(reply)).is_ok();
            match left.await {
                Ok(left) if asked && left == Leftover::default() => {}
                left => leftovers.push(format!("coordinator {slot} still has {left:?}")),
            }
        }
        if self.schedule.checks.iter().any(|check| check.template == ONE_POISON) {
            let innocent =
                |job: &Arc<Job>| !job.texts.work().any(|work| format!("{work:?}").contains(POISON));
            let dead = self.net.dead_jobs().into_iter().filter_map(|dead| dead.job);
            leftovers
                .extend(dead.filter(innocent).map(|job| format!("job {} is dead, and no poison", job.id)));
        }
        let stored = self.net.stored_jobs();
        if stored > 0 {
            leftovers.push(format!("{stored} jobs are left in the bus"));
        }
        self.callers.shutdown().await;
        let records = std::mem::take(&mut self.records).into_values().collect();
        Ended { records, leftovers, faults_met: self.net.faults_met() }
    }
}

/// One caller.
async fn call(
    coordinator: Coordinator,
    check: PlannedCheck,
    number: usize,
    answers: mpsc::UnboundedSender<Answered>,
) {
    let mut request = request(check.template);
    request.id = Some(format!("check-{number}"));
    request.lane = Some(check.lane);
    request.deadline_ms = u64::try_from(check.deadline.as_millis()).ok();
    let tenant = SubjectToken::from_name(&format!("tenant-{}", check.tenant));
    let cancel = CancelToken::default();
    let observer = CheckObserver { progress: None, cancel: Some(cancel.clone()) };
    let checking = coordinator.check_for(tenant, request, observer);
    let answer = match check.leave {
        None => Some(checking.await),
        Some(Leave::Drop(after)) => tokio::time::timeout(after, checking).await.ok(),
        Some(Leave::Cancel(after)) => {
            let cancelling = async {
                sleep(after).await;
                cancel.cancel();
                std::future::pending::<()>().await;
            };
            tokio::select! {
                biased;
                answer = checking => Some(answer),
                () = cancelling => None,
            }
        }
    };
    // A world that has ended counts no answers.
    let _ = answers.send((number, Instant::now(), answer));
}

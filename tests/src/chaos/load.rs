//! What callers ask, and how each check ended.

use super::schedule::GATEWAYS;
use crate::cluster::POISON;
use crate::hooked::config_of;
use crate::role::http;
use groundline::{CheckRequest, Checker};
use groundline_bus::Dice;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Different requests.
const TEMPLATES: u64 = 48;
/// Callers that wait for each answer, and callers that hand checks in and fetch the answers.
const CALLERS: u64 = 8;
const DURABLE_CALLERS: u64 = 2;
/// Checks of a flood.
const FLOOD: u64 = 100;
/// How long a hurried caller waits, and everybody else.
const HURRIED: Duration = Duration::from_secs(3);
pub(super) const ORDINARY: Duration = Duration::from_secs(30);
/// How long a check may take that brings workers down: each of its jobs costs some lives.
const POISONED: Duration = Duration::from_secs(90);
/// How long a caller listens after its deadline.
const LISTENS_ON: Duration = Duration::from_secs(30);
/// How long a check that is handed in may take: what a frozen worker holds of the bulk lane is left to it for half a minute.
const HANDED_IN: Duration = Duration::from_secs(150);
/// How long an answer to what was handed in may take.
const DURABLE_PATIENCE: Duration = Duration::from_secs(180);
const POLL: Duration = Duration::from_millis(250);

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A check with its caller waiting.
    Waited,
    /// A check that was handed in; it survives the death of every process.
    HandedIn,
    /// A check with a sentence that brings workers down.
    Poisoned,
    /// Many checks in one call.
    Flood,
}

/// How a check ended.
#[derive(Debug, Clone)]
pub(super) enum Ending {
    Answered(Box<Value>),
    /// The service is too busy, or stops: status 429 or 503.
    Refused(String),
    Failed {
        status: u16,
        code: String,
    },
    /// The connection failed.
    Broken(String),
    /// It was handed in, and nobody answered.
    Forgotten,
}

/// One check.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) kind: Kind,
    pub(super) template: u64,
    pub(super) gateway: usize,
    /// Since the run began.
    pub(super) at: Duration,
    pub(super) took: Duration,
    pub(super) deadline: Duration,
    pub(super) ending: Ending,
}

/// All callers.
#[derive(Debug)]
pub(super) struct Load {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    gateways: Vec<String>,
    began: Instant,
    stops: AtomicBool,
    submitted: AtomicU64,
    records: Mutex<Vec<Record>>,
}

impl Load {
    /// Starts callers that ask without much pause until they are told to stop.
    pub(super) fn start(seed: u64, began: Instant, gateways: Vec<String>) -> Self {
        let shared = Arc::new(Shared {
            gateways,
            began,
            stops: AtomicBool::new(false),
            submitted: AtomicU64::new(0),
            records: Mutex::default(),
        });
        let mut load = Self { shared, threads: Vec::new() };
        for caller in 0..CALLERS + DURABLE_CALLERS {
            let dice = Dice::new(seed.wrapping_mul(31).wrapping_add(caller));
            load.spawn(move |shared| {
                if caller < CALLERS { shared.ask_on_and_on(dice) } else { shared.hand_in_on_and_on(dice) }
            });
        }
        load
    }

    fn spawn(&mut self, body: impl FnOnce(&Shared) + Send + 'static) {
        let shared = Arc::clone(&self.shared);
        self.threads.push(std::thread::spawn(move || body(&shared)));
    }

    /// Somebody asks for what brings workers down.
    pub(super) fn poison(&mut self, gateway: usize, template: u64) {
        self.spawn(move |shared| shared.ask(Kind::Poisoned, template % TEMPLATES, gateway, POISONED));
    }

    /// Somebody asks for a hundred checks in one call.
    pub(super) fn flood(&mut self, gateway: usize) {
        self.spawn(move |shared| shared.ask(Kind::Flood, 0, gateway, ORDINARY));
    }

    /// Lets every caller have its last answer, and gives what was seen, and how many checks were asked for.
    pub(super) fn end(self) -> (Vec<Record>, u64) {
        self.shared.stops.store(true, Ordering::SeqCst);
        for thread in self.threads {
            // A caller that panicked has left a check without a record, which is counted.
            let _ = thread.join();
        }
        let records =
            std::mem::take(&mut *self.shared.records.lock().unwrap_or_else(PoisonError::into_inner));
        (records, self.shared.submitted.load(Ordering::SeqCst))
    }

    /// How many checks have ended so far.
    pub(super) fn ended(&self) -> usize {
        self.shared.records.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Shared {
    fn goes_on(&self) -> bool {
        !self.stops.load(Ordering::SeqCst)
    }

    fn ask_on_and_on(&self, mut dice: Dice) {
        while self.goes_on() {
            let gateway = dice.roll(GATEWAYS as u64) as usize;
            let deadline = if dice.chance(20) { HURRIED } else { ORDINARY };
            self.ask(Kind::Waited, dice.roll(TEMPLATES), gateway, deadline);
            std::thread::sleep(Duration::from_millis(50 + dice.roll(100)));
        }
    }

    fn ask(&self, kind: Kind, template: u64, gateway: usize, deadline: Duration) {
        self.submitted.fetch_add(1, Ordering::SeqCst);
        let at = self.began.elapsed();
        let body = match kind {
            Kind::Flood => {
                json!({"requests": (0..FLOOD).map(|n| body(n % TEMPLATES, deadline)).collect::<Vec<_>>()})
            }
            Kind::Poisoned => poisoned(template, deadline),
            Kind::Waited | Kind::HandedIn => body(template, deadline),
        };
        let answer = self.post(gateway, "/v1/check", &body, deadline + LISTENS_ON);
        let ending = match answer {
            Ok((200, result)) => Ending::Answered(Box::new(result)),
            other => unanswered(other),
        };
        let may_be_down = matches!(ending, Ending::Refused(_) | Ending::Broken(_));
        let took = self.began.elapsed() - at;
        self.note(Record { kind, template, gateway, at, took, deadline, ending });
        if may_be_down {
            std::thread::sleep(Duration::from_millis(500));
        }
    }

    fn hand_in_on_and_on(&self, mut dice: Dice) {
        while self.goes_on() {
            let (template, gateway) = (dice.roll(TEMPLATES), dice.roll(GATEWAYS as u64) as usize);
            self.submitted.fetch_add(1, Ordering::SeqCst);
            let at = self.began.elapsed();
            let handed_in = self.post(gateway, "/v1/checks", &body(template, HANDED_IN), LISTENS_ON);
            let ending = match handed_in {
                Ok((202, ticket)) => self.fetch(ticket["id"].as_str().unwrap_or_default(), gateway),
                other => unanswered(other),
            };
            let took = self.began.elapsed() - at;
            let (kind, deadline) = (Kind::HandedIn, DURABLE_PATIENCE);
            self.note(Record { kind, template, gateway, at, took, deadline, ending });
            std::thread::sleep(Duration::from_millis(200 + dice.roll(300)));
        }
    }

    /// The answer to a check that was handed in, asked of one gateway after the other.
    fn fetch(&self, id: &str, first_gateway: usize) -> Ending {
        let give_up = Instant::now() + DURABLE_PATIENCE;
        let line = format!("GET /v1/checks/{id}");
        for gateway in first_gateway.. {
            let address = &self.gateways[gateway % self.gateways.len()];
            match http(address, &line, "", "", ORDINARY) {
                Ok((200, answer)) if answer["status"] == "done" => {
                    return Ending::Answered(Box::new(answer["result"].clone()));
                }
                Ok((200, answer)) => return unanswered(Ok((500, answer["problem"].clone()))),
                // Waiting, or a gateway that cannot say now.
                Ok((202 | 429 | 500.., _)) | Err(_) => {}
                Ok(other) => return unanswered(Ok(other)),
            }
            if Instant::now() > give_up {
                break;
            }
            std::thread::sleep(POLL);
        }
        Ending::Forgotten
    }

    fn post(
        &self,
        gateway: usize,
        path: &str,
        body: &Value,
        patience: Duration,
    ) -> std::io::Result<(u16, Value)> {
        http(&self.gateways[gateway], &format!("POST {path}"), "", &body.to_string(), patience)
    }

    fn note(&self, record: Record) {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).push(record);
    }
}

fn unanswered(answer: std::io::Result<(u16, Value)>) -> Ending {
    match answer {
        Ok((status, problem)) => {
            let code = problem["code"].as_str().unwrap_or("none").to_owned();
            if matches!(status, 429 | 503) { Ending::Refused(code) } else { Ending::Failed { status, code } }
        }
        Err(error) => Ending::Broken(error.to_string()),
    }
}

/// The texts of a template: response and source. Every source has one sentence with the victim's word.
fn texts(template: u64) -> (String, String) {
    let mut dice = Dice::new(template);
    let sentence = |item: u64| format!("Crate {template} holds the item{item} of the list. ");
    let source = (0..4 + dice.roll(5)).map(sentence).collect();
    let response = (0..1 + dice.roll(4)).map(|_| sentence(dice.roll(10))).collect();
    (response, source)
}

fn body(template: u64, deadline: Duration) -> Value {
    let (response, source) = texts(template);
    json!({"response": response, "source": source, "deadline_ms": deadline.as_millis() as u64})
}

fn poisoned(template: u64, deadline: Duration) -> Value {
    let (response, source) = texts(template);
    json!({
        "response": format!("{response}The {POISON} holds the list."),
        "source": source,
        "methods": ["entailment"],
        "deadline_ms": deadline.as_millis() as u64,
    })
}

/// What a process alone answers to every template.
pub(super) fn references(model: &Path) -> anyhow::Result<BTreeMap<u64, Value>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let checker = Checker::embedded(config_of(model))?;
        let mut references = BTreeMap::new();
        for template in 0..TEMPLATES {
            let (response, source) = texts(template);
            let result = checker.check(CheckRequest::new(response.as_str(), source.as_str())).await?;
            references.insert(template, serde_json::to_value(result)?);
        }
        checker.shutdown().await;
        Ok(references)
    })
}

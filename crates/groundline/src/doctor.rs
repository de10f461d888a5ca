//! Looks at a cluster from outside and says what is wrong.

use crate::{Checker, Config, JudgeProbe, find_model, probe_judge};
use groundline_bus::{JobBus, NatsBus, NatsOptions, Presence, SubjectToken};
use groundline_coordinator::CheckObserver;
use groundline_inference::{DeviceChoice, find_gpus};
use groundline_judge::AnswerFormat;
use groundline_types::{CheckRequest, ModelFacts, Problem, Status};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How long the broker is tried.
const BROKER_PATIENCE: Duration = Duration::from_secs(5);
/// How long workers are listened for: they speak once a second.
const PRESENCE_PATIENCE: Duration = Duration::from_millis(2_500);
/// The deadline of the check that is sent through the cluster.
const PROBE_DEADLINE_MS: u64 = 10_000;
/// What is checked: true by itself, whatever the model.
const PROBE_TEXT: &str = "Marie Curie was born in Warsaw.";

/// What one look at a cluster found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at, such as `broker`.
    pub what: &'static str,
    /// How it is.
    pub health: Health,
    /// What was found, and where it is not well, what to do.
    pub detail: String,
}

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// It works.
    Well,
    /// It works, and something about it should be known.
    Warning,
    /// It does not work.
    Ill,
    /// It was not looked at, because of what is ill before it.
    Skipped,
}

/// Looks at the model, the broker, the workers, and sends one small check through all of them. Never fails: what is wrong is a
/// finding. Takes seconds where something is.
pub async fn diagnose(config: &Config) -> Vec<Finding> {
    let mut findings = vec![device(config.engine.device)];
    findings.extend(look_at_judge(config).await);
    let facts = match model_facts(config) {
        Ok((facts, detail)) => {
            findings.push(Finding { what: "model", health: Health::Well, detail });
            Some(facts)
        }
        Err(problem) => {
            findings.push(ill("model", &problem));
            None
        }
    };
    let bus = match NatsBus::connect(broker_options(config)).await {
        Ok(bus) => {
            let version = bus.server_version();
            let trouble = bus.trouble();
            let (health, detail) = match trouble {
                None => (Health::Well, format!("nats-server {version}, every stream is as it should be")),
                Some(trouble) => (Health::Ill, format!("nats-server {version}: {trouble}")),
            };
            findings.push(Finding { what: "broker", health, detail });
            trouble.is_none().then_some(bus)
        }
        Err(problem) => {
            findings.push(ill("broker", &problem));
            None
        }
    };
    let (Some(facts), Some(bus)) = (facts, bus) else {
        for what in ["workers", "check"] {
            let detail = "what it needs is ill".to_owned();
            findings.push(Finding { what, health: Health::Skipped, detail });
        }
        return findings;
    };
    findings.push(look_at_workers(&bus, &facts).await);
    // Closed before the check opens a connection of its own; that it is closed already is what is wanted.
    let _ = bus.drain().await;
    findings.push(send_a_check(config).await);
    findings
}

/// What computes on this machine: of a cluster, only its workers need it.
fn device(choice: DeviceChoice) -> Finding {
    let what = "device";
    match (find_gpus(), choice) {
        (Ok(gpus), DeviceChoice::Cuda(ordinal)) if ordinal >= gpus.len() => Finding {
            what,
            health: Health::Ill,
            detail: format!("{choice} is set, and there is no such GPU; found: {}", gpus.join("; ")),
        },
        (Ok(gpus), _) => {
            Finding { what, health: Health::Well, detail: format!("{choice} is set; {}", gpus.join("; ")) }
        }
        (Err(why), DeviceChoice::Cuda(_)) => ill(what, &why),
        (Err(why), DeviceChoice::Auto) => Finding {
            what,
            health: Health::Warning,
            detail: format!("the processor computes, because no GPU can be used: {why}"),
        },
        (Err(why), DeviceChoice::Cpu) => Finding {
            what,
            health: Health::Well,
            detail: format!("the processor, as set; no GPU can be used: {why}"),
        },
    }
}

/// What the judge's backend can do, where one is configured.
async fn look_at_judge(config: &Config) -> Option<Finding> {
    let what = "judge";
    if !config.judge.is_on() {
        return None;
    }
    Some(match probe_judge(config).await {
        Ok(JudgeProbe { model, capabilities, took_ms, .. }) => {
            let format = match capabilities.answer_format {
                AnswerFormat::Text => "answers in words alone",
                _ => "answers in JSON",
            };
            let numbers = if capabilities.logprobs { "has" } else { "has no" };
            let detail = format!("{model} {format}, {numbers} probabilities, probed in {took_ms} ms");
            Finding { what, health: Health::Well, detail }
        }
        Err(problem) => ill(what, &problem),
    })
}

fn model_facts(config: &Config) -> Result<(ModelFacts, String), Problem> {
    let folder = find_model(config)?;
    let facts = crate::models::read_model_facts(config)?;
    let detail = format!("{}, revision {}, from {}", facts.id.name, facts.id.revision, folder.display());
    Ok((facts, detail))
}

/// Looks and changes nothing.
fn broker_options(config: &Config) -> NatsOptions {
    let patience = u64::try_from(BROKER_PATIENCE.as_millis()).unwrap_or(u64::MAX);
    NatsOptions {
        manages_streams: false,
        runs_janitor: false,
        start_patience_ms: config.nats.start_patience_ms.min(patience),
        ..config.nats.clone()
    }
}

async fn look_at_workers(bus: &NatsBus, facts: &ModelFacts) -> Finding {
    let what = "workers";
    let model = SubjectToken::from_name(&facts.id.revision);
    let mut stream = match bus.presences(&model).await {
        Ok(stream) => stream,
        Err(error) => {
            return Finding { what, health: Health::Ill, detail: error.to_string() };
        }
    };
    let mut workers: BTreeMap<SubjectToken, Presence> = BTreeMap::new();
    let until = Instant::now() + PRESENCE_PATIENCE;
    while let Ok(Some(presence)) = timeout_at(until, stream.next()).await {
        workers.insert(presence.worker.clone(), presence);
    }
    let ready = workers.values().filter(|presence| presence.is_ready).count();
    let mut engines = workers.values().map(|presence| presence.engine.as_str()).collect::<Vec<_>>();
    engines.sort_unstable();
    engines.dedup();
    let revision = &facts.id.revision;
    let (health, detail) = match (workers.len(), ready) {
        (0, _) => {
            let advice = "start `groundline worker` with the same model folder";
            (Health::Ill, format!("nobody serves revision {revision}; {advice}"))
        }
        (all, 0) => (Health::Ill, format!("{all} serve revision {revision}, and none is ready")),
        (all, ready) if ready < all => {
            (Health::Warning, format!("{ready} of {all} are ready ({})", engines.join(", ")))
        }
        (all, _) => (Health::Well, format!("{all} ready ({})", engines.join(", "))),
    };
    Finding { what, health, detail }
}

async fn send_a_check(config: &Config) -> Finding {
    let what = "check";
    let mut request = CheckRequest::new(PROBE_TEXT, PROBE_TEXT);
    request.deadline_ms = Some(PROBE_DEADLINE_MS);
    let started = Instant::now();
    let answer = async {
        let checker = Checker::connect(config.clone()).await?;
        let result = checker.check_for("groundline-doctor", request, CheckObserver::default()).await;
        checker.shutdown().await;
        result
    };
    match answer.await {
        Ok(result) if result.status == Status::Scored => {
            let took = started.elapsed().as_millis();
            Finding { what, health: Health::Well, detail: format!("answered after {took} ms") }
        }
        Ok(result) => {
            let reason = result.notes.first().map_or("no reason is given", |note| note.message.as_str());
            let detail = format!("a check of one sentence came back without a verdict: {reason}");
            Finding { what, health: Health::Ill, detail }
        }
        Err(problem) => ill(what, &problem),
    }
}

fn ill(what: &'static str, problem: &Problem) -> Finding {
    Finding { what, health: Health::Ill, detail: problem.to_string() }
}

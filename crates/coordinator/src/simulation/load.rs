//! What is asked, and what the answers are where nothing fails.

use super::engine::{POISON, UNSCORABLE};
use super::in_simulation;
use crate::{Coordinator, CoordinatorOptions};
use groundline_bus::{Dice, MemoryBus};
use groundline_inference::Engine;
use groundline_testkit::ToyEngine;
use groundline_types::{CheckRequest, CheckResult};
use groundline_worker::{Worker, WorkerOptions};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Different requests; they share sentences, so that checks wait for each other's scores.
pub(super) const TEMPLATES: usize = 24;
/// One more, of a single pair that brings workers down.
pub(super) const ONE_POISON: usize = TEMPLATES;
/// And good ones of a single pair each, whose numbers follow.
pub(super) const SINGLES: usize = 16;
/// From this one on, requests hold a sentence that brings workers down, or that cannot be scored.
pub(super) const FIRST_BAD: usize = 20;

/// What is the matter with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nature {
    /// Nothing.
    Good,
    /// It brings workers down.
    Poison,
    /// One of its sentences cannot be scored.
    Unscorable,
}

pub(super) fn nature(template: usize) -> Nature {
    match template {
        0..FIRST_BAD => Nature::Good,
        ONE_POISON => Nature::Poison,
        _ if template > ONE_POISON => Nature::Good,
        _ if template.is_multiple_of(2) => Nature::Poison,
        _ => Nature::Unscorable,
    }
}

/// The request of a template, the same in every run.
pub(super) fn request(template: usize) -> CheckRequest {
    if template >= ONE_POISON {
        let item = if template == ONE_POISON { POISON.to_owned() } else { format!("lamp{template}") };
        let response = format!("The {item} lies in a box.");
        let mut request = CheckRequest::new(response.as_str(), "Item number1 lies in box number1.");
        request.methods = vec!["entailment".to_owned()];
        return request;
    }
    let mut dice = Dice::new(template as u64);
    let sentence = |number: u64| format!("Item number{number} lies in box number{number}. ");
    let source = (0..3 + dice.roll(30)).map(|_| sentence(dice.roll(60))).collect::<String>();
    let mut response = (0..1 + dice.roll(12)).map(|_| sentence(dice.roll(60))).collect::<String>();
    match nature(template) {
        Nature::Good => {}
        Nature::Poison => response += &["The ", POISON, " lies in a box. "].concat(),
        Nature::Unscorable => response += &["The ", UNSCORABLE, " lies in a box. "].concat(),
    }
    CheckRequest::new(response.as_str(), source.as_str())
}

thread_local! {
    static KNOWN: RefCell<BTreeMap<usize, CheckResult>> = const { RefCell::new(BTreeMap::new()) };
}

/// What a cluster without faults answers to these templates, bad sentences scored like any other.
pub(super) fn reference(templates: impl Iterator<Item = usize>) -> BTreeMap<usize, CheckResult> {
    let mut reference = BTreeMap::new();
    for template in templates {
        let known = KNOWN.with_borrow(|known| known.get(&template).cloned());
        let result = known.unwrap_or_else(|| {
            let result = in_simulation(0, answer(template));
            KNOWN.with_borrow_mut(|known| known.insert(template, result.clone()));
            result
        });
        reference.insert(template, result);
    }
    reference
}

async fn answer(template: usize) -> CheckResult {
    let (bus, engine) = (MemoryBus::default(), ToyEngine::default());
    let facts = engine.facts().clone();
    let worker = Worker::start(bus.clone(), Arc::new(engine), WorkerOptions::default()).await;
    let _worker = worker.expect("a worker starts");
    let coordinator = Coordinator::start(bus, facts, CoordinatorOptions::default()).await;
    let result = coordinator.expect("a coordinator starts").check(request(template)).await;
    result.expect("a check without faults is answered")
}

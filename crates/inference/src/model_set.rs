//! A model together with learned detectors, as one engine.

use crate::engine::{Encoded, Engine, Task};
use groundline_types::{Code, Head, LearnedFacts, ModelFacts, Preset, Problem, Score, Work};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A model that answers as before, and learned detectors beside it, each of which answers the work that names its preset.
///
/// The set has one revision: workers that answer for it and coordinators that plan for it must have the same models.
pub struct ModelSet {
    primary: Arc<dyn Engine>,
    learned: BTreeMap<Preset, Arc<dyn Engine>>,
    facts: ModelFacts,
}

impl std::fmt::Debug for ModelSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let presets: Vec<&Preset> = self.learned.keys().collect();
        f.debug_struct("ModelSet")
            .field("facts", &self.facts)
            .field("learned", &presets)
            .finish_non_exhaustive()
    }
}

impl ModelSet {
    /// `primary` with the learned detectors of each preset; of two with the same preset the later one counts.
    pub fn new(primary: Arc<dyn Engine>, learned: Vec<(Preset, Arc<dyn Engine>)>) -> Self {
        let learned: BTreeMap<Preset, Arc<dyn Engine>> = learned.into_iter().collect();
        let of_learned: Vec<(Preset, ModelFacts)> =
            learned.iter().map(|(preset, engine)| (*preset, engine.facts().clone())).collect();
        let facts = facts_of_set(primary.facts().clone(), &of_learned);
        Self { primary, learned, facts }
    }
}

/// The facts of a set, from those of its models in the order of their presets.
pub fn facts_of_set(primary: ModelFacts, learned: &[(Preset, ModelFacts)]) -> ModelFacts {
    if learned.is_empty() {
        return primary;
    }
    let revisions = learned.iter().map(|(preset, facts)| (*preset, facts.id.revision.as_str()));
    let revision = revision_of_set(&primary.id.revision, revisions);
    let mut facts = primary;
    facts.id.revision = revision;
    let of = |(preset, facts): &(Preset, ModelFacts)| LearnedFacts {
        preset: *preset,
        id: facts.id.clone(),
        max_tokens: facts.max_tokens,
        pair_overhead_tokens: facts.pair_overhead_tokens,
        counter: Arc::clone(&facts.counter),
    };
    facts.learned = learned.iter().map(of).collect();
    facts
}

/// The revision of a set whose model and learned detectors, in the order of their presets, have these.
pub fn revision_of_set<'a>(primary: &str, learned: impl IntoIterator<Item = (Preset, &'a str)>) -> String {
    let mut learned = learned.into_iter().peekable();
    if learned.peek().is_none() {
        return primary.to_owned();
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(primary.as_bytes());
    for (preset, revision) in learned {
        hasher.update(preset.name().as_bytes());
        hasher.update(&[0]);
        hasher.update(revision.as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

impl Engine for ModelSet {
    fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    fn name(&self) -> &str {
        self.primary.name()
    }

    fn fallback(&self) -> Option<&Problem> {
        self.primary.fallback()
    }

    fn encode(&self, work: &Work) -> Result<Encoded, Problem> {
        // The task keeps which model it is for.
        let (preset, own, task) = match work {
            Work::Pair { premise, hypothesis, head: head @ Head::Learned(preset) } => {
                let (premise, hypothesis) = (premise.clone(), hypothesis.clone());
                let own = Work::Pair { premise, hypothesis, head: Head::Support };
                (preset, own, Task::Classify(*head))
            }
            Work::Tokens { context, text, head: head @ Head::Learned(preset) } => {
                let own = Work::Tokens { context: context.clone(), text: text.clone(), head: Head::Support };
                (preset, own, Task::Tokens(*head))
            }
            _ => return self.primary.encode(work),
        };
        let engine = self.learned.get(preset).ok_or_else(|| not_there(*preset))?;
        Ok(Encoded { task, ..engine.encode(&own)? })
    }

    fn run(&self, batch: &[Encoded]) -> Vec<Result<Score, Problem>> {
        let preset_of = |item: &Encoded| match item.task {
            Task::Classify(Head::Learned(preset)) | Task::Tokens(Head::Learned(preset)) => Some(preset),
            _ => None,
        };
        let mut groups: BTreeMap<Option<Preset>, Vec<usize>> = BTreeMap::new();
        for (index, item) in batch.iter().enumerate() {
            groups.entry(preset_of(item)).or_default().push(index);
        }
        let mut answers: Vec<Option<Result<Score, Problem>>> = batch.iter().map(|_| None).collect();
        for (preset, places) in groups {
            for (place, answer) in places.iter().zip(self.run_group(preset, batch, &places)) {
                answers[*place] = Some(answer);
            }
        }
        let unanswered =
            || Err(Problem::new(Code::INTERNAL, "a model gave fewer answers than it was asked for"));
        answers.into_iter().map(|answer| answer.unwrap_or_else(unanswered)).collect()
    }

    fn batch_tokens(&self) -> usize {
        self.primary.batch_tokens()
    }
}

impl ModelSet {
    /// The answers of one model to the items at `places`.
    fn run_group(
        &self,
        preset: Option<Preset>,
        batch: &[Encoded],
        places: &[usize],
    ) -> Vec<Result<Score, Problem>> {
        let Some(preset) = preset else {
            let items: Vec<Encoded> = places.iter().map(|&place| batch[place].clone()).collect();
            return self.primary.run(&items);
        };
        let own = |&place: &usize| {
            let task = match batch[place].task {
                Task::Tokens(_) => Task::Tokens(Head::Nli),
                _ => Task::Classify(Head::Nli),
            };
            Encoded { task, ..batch[place].clone() }
        };
        match self.learned.get(&preset) {
            Some(engine) => engine.run(&places.iter().map(own).collect::<Vec<_>>()),
            None => places.iter().map(|_| Err(not_there(preset))).collect(),
        }
    }
}

fn not_there(preset: Preset) -> Problem {
    let name = preset.name();
    Problem::new(
        Code::HEAD_MISSING,
        format!(
            "no model of preset {name} is loaded; add a section [models.{name}] with its path to the configuration"
        ),
    )
}

#[cfg(test)]
mod tests;

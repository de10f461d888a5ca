//! An engine that needs no model: scores by shared words.

use crate::gate::Gate;
use crate::words::{CLS, SEP, WhitespaceCounter, is_content, is_negation, is_number, word_id};
use groundline_inference::{AskedToken, Encoded, Engine, Task};
use groundline_types::{
    Code, Head, ModelFacts, ModelId, NliLabels, Problem, Score, Similarity, TokenScore, Work,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const LABELS: [&str; 3] = ["entailment", "neutral", "contradiction"];
const EMBEDDING_WIDTH: usize = 64;
const MAX_TOKENS: usize = 512;
const WINDOW_TOKENS: usize = 96;
const BATCH_TOKENS: usize = 4096;
/// Markers around a pair: `[CLS] a [SEP] b [SEP]`.
const PAIR_OVERHEAD_TOKENS: usize = 3;

/// An [`Engine`] that scores by shared words: deterministic, without files, some microseconds an item.
///
/// A hypothesis whose content words all stand in the premise is entailed; one that shares at least half of them and denies what the
/// premise does not, or gives another number, is contradicted; else the more words are missing, the more neutral. A token is a word
/// between white space. An embedding is a hashed bag of content words. Texts are similar by the words that they share.
#[derive(Debug)]
pub struct ToyEngine {
    facts: ModelFacts,
    hooks: ToyHooks,
    stats: Arc<ToyStats>,
    is_lost: AtomicBool,
}

/// What a test may have a [`ToyEngine`] do. A word takes effect where it stands in a text that is scored.
#[derive(Debug, Clone, Default)]
pub struct ToyHooks {
    /// How long every batch takes.
    pub batch_delay: Duration,
    /// An item with this word fails with [`Code::INTERNAL`].
    pub fail_word: Option<String>,
    /// An item with this word fails with [`Code::NON_FINITE`], as a logit that is NaN does.
    pub nan_word: Option<String>,
    /// A batch with this word panics.
    pub panic_word: Option<String>,
    /// The process ends at once where an item holds all of these words; none: never.
    pub abort_words: Vec<String>,
    /// From a batch with this word on, the device is lost: every item of every batch fails with [`Code::DEVICE_LOST`].
    pub lose_device_word: Option<String>,
    /// Every batch waits here before it is scored.
    pub gate: Option<Arc<Gate>>,
    /// Why something else computes than was preferred: see [`Engine::fallback`].
    pub fallback: Option<Problem>,
}

/// What a [`ToyEngine`] has seen so far.
#[derive(Debug, Default)]
pub struct ToyStats {
    /// Calls of [`Engine::run`].
    pub batches: AtomicUsize,
    /// Items in all batches.
    pub items: AtomicUsize,
    /// Pairs among the items.
    pub pairs: AtomicUsize,
    /// Most tokens in one batch.
    pub largest_batch_tokens: AtomicUsize,
}

impl Default for ToyEngine {
    fn default() -> Self {
        Self::new(ToyHooks::default())
    }
}

impl ToyEngine {
    /// An engine with hooks.
    pub fn new(hooks: ToyHooks) -> Self {
        let labels =
            NliLabels { count: LABELS.len(), entailment: 0, neutral: Some(1), contradiction: Some(2) };
        let facts = ModelFacts {
            id: ModelId { name: "toy".to_owned(), revision: "0000000000000000".to_owned() },
            labels,
            max_tokens: MAX_TOKENS,
            pair_overhead_tokens: PAIR_OVERHEAD_TOKENS,
            window_tokens: WINDOW_TOKENS,
            has_support_head: true,
            summac_conv_fitted: false,
            similarity_baseline: None,
            counter: Arc::new(WhitespaceCounter),
            learned: Vec::new(),
        };
        Self { facts, hooks, stats: Arc::default(), is_lost: AtomicBool::new(false) }
    }

    /// The same engine with other facts: a shorter window, no support head, another name.
    #[must_use]
    pub fn with_facts(mut self, change: impl FnOnce(&mut ModelFacts)) -> Self {
        change(&mut self.facts);
        self
    }

    /// What it has seen, readable while it runs.
    pub fn stats(&self) -> Arc<ToyStats> {
        Arc::clone(&self.stats)
    }

    fn score(&self, item: &Encoded) -> Result<Score, Problem> {
        let has = |word: &Option<String>| word.as_ref().is_some_and(|word| item.ids.contains(&word_id(word)));
        if has(&self.hooks.fail_word) {
            return Err(Problem::new(Code::INTERNAL, "the toy engine was told to fail on this item"));
        }
        if has(&self.hooks.nan_word) {
            return Err(Problem::new(Code::NON_FINITE, "the toy engine was told to give NaN for this item"));
        }
        Ok(match item.task {
            Task::Classify(head) => {
                let [entailment, neutral, contradiction] = nli_logits(item);
                match head {
                    Head::Nli => Score::Logits([entailment, neutral, contradiction].into()),
                    Head::Support | Head::Learned(_) => Score::Logits([-entailment, entailment].into()),
                }
            }
            Task::Tokens(_) => Score::Tokens(token_scores(item)),
            Task::Embed => Score::Embedding(embedding(item).into()),
            Task::Similarity { second } => Score::Similarity(similarity(item, second)),
            Task::Hidden => {
                return Err(Problem::new(Code::INTERNAL, "the toy engine has no states of single tokens"));
            }
        })
    }

    fn note(&self, batch: &[Encoded]) {
        let pairs = batch.iter().filter(|item| item.task != Task::Embed).count();
        let tokens = batch.iter().map(|item| item.ids.len()).sum();
        self.stats.batches.fetch_add(1, Ordering::SeqCst);
        self.stats.items.fetch_add(batch.len(), Ordering::SeqCst);
        self.stats.pairs.fetch_add(pairs, Ordering::SeqCst);
        self.stats.largest_batch_tokens.fetch_max(tokens, Ordering::SeqCst);
    }
}

impl Engine for ToyEngine {
    fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    fn name(&self) -> &str {
        "toy"
    }

    fn fallback(&self) -> Option<&Problem> {
        self.hooks.fallback.as_ref()
    }

    fn encode(&self, work: &Work) -> Result<Encoded, Problem> {
        let encoded = match work {
            Work::Pair { head: Head::Support, .. } if !self.facts.has_support_head => {
                return Err(Problem::new(
                    Code::HEAD_MISSING,
                    "the toy engine was told to have no support head",
                ));
            }
            Work::Pair { premise, hypothesis, head } => {
                encoded(&[premise, hypothesis], Task::Classify(*head))
            }
            Work::Embed { text } => encoded(&[text], Task::Embed),
            Work::Tokens { context, text, head } => Encoded {
                asked: words_of(context.split_whitespace().count() + 2, text),
                ..encoded(&[context, text], Task::Tokens(*head))
            },
            Work::Similarity { candidate, reference } => {
                let second = candidate.split_whitespace().count() + 2;
                encoded_apart(&[candidate, reference], Task::Similarity { second })
            }
        };
        let (tokens, limit) = (encoded.ids.len(), self.facts.max_tokens);
        if tokens > limit {
            let message = format!("the text has {tokens} tokens and the toy engine reads {limit}");
            return Err(Problem::new(Code::TEXT_TOO_LONG, message));
        }
        Ok(encoded)
    }

    fn run(&self, batch: &[Encoded]) -> Vec<Result<Score, Problem>> {
        self.note(batch);
        if let Some(gate) = &self.hooks.gate {
            gate.wait();
        }
        if !self.hooks.batch_delay.is_zero() {
            std::thread::sleep(self.hooks.batch_delay);
        }
        let holds = |word: &Option<String>| {
            word.as_ref().is_some_and(|word| batch.iter().any(|item| item.ids.contains(&word_id(word))))
        };
        let words = self.hooks.abort_words.iter().map(|word| word_id(word)).collect::<Vec<_>>();
        let is_deadly = |item: &Encoded| words.iter().all(|word| item.ids.contains(word));
        if !words.is_empty() && batch.iter().any(is_deadly) {
            std::process::abort();
        }
        assert!(!holds(&self.hooks.panic_word), "the toy engine was told to panic on this batch");
        if self.is_lost.load(Ordering::SeqCst) || holds(&self.hooks.lose_device_word) {
            self.is_lost.store(true, Ordering::SeqCst);
            let lost = || Problem::new(Code::DEVICE_LOST, "the toy engine was told to lose its device");
            return batch.iter().map(|_| Err(lost())).collect();
        }
        batch.iter().map(|item| self.score(item)).collect()
    }

    fn batch_tokens(&self) -> usize {
        BATCH_TOKENS
    }
}

fn encoded(texts: &[&Arc<str>], task: Task) -> Encoded {
    let (mut ids, mut type_ids) = (vec![CLS], vec![0]);
    for (text, kind) in texts.iter().zip(0..) {
        ids.extend(text.split_whitespace().map(word_id));
        ids.push(SEP);
        type_ids.resize(ids.len(), kind);
    }
    Encoded { ids, type_ids, task, asked: Vec::new() }
}

/// The same, each text with markers of its own.
fn encoded_apart(texts: &[&Arc<str>], task: Task) -> Encoded {
    let (mut ids, mut type_ids) = (Vec::new(), Vec::new());
    for text in texts {
        let one = encoded(&[text], task);
        ids.extend(one.ids);
        type_ids.extend(one.type_ids);
    }
    Encoded { ids, type_ids, task, asked: Vec::new() }
}

/// The words of a text whose first one has the number `first` among the tokens.
fn words_of(first: usize, text: &str) -> Vec<AskedToken> {
    let place = |(number, word): (usize, &str)| {
        // Words are slices of the text.
        let start = word.as_ptr().addr() - text.as_ptr().addr();
        AskedToken { index: (first + number) as u32, start: start as u32, end: (start + word.len()) as u32 }
    };
    text.split_whitespace().enumerate().map(place).collect()
}

/// A word of the second text is hallucinated where it says something that stands nowhere in the first.
fn token_scores(item: &Encoded) -> Arc<[TokenScore]> {
    let first: Vec<u32> =
        item.ids.iter().zip(&item.type_ids).filter(|(_, kind)| **kind == 0).map(|(id, _)| *id).collect();
    let score = |asked: &AskedToken| {
        let id = item.ids[asked.index as usize];
        let hallucination_probability = if is_content(id) && !first.contains(&id) { 0.9 } else { 0.1 };
        TokenScore { start: asked.start, end: asked.end, hallucination_probability }
    };
    item.asked.iter().map(score).collect()
}

/// Of each text's words, the share that the other has.
fn similarity(item: &Encoded, second: usize) -> Similarity {
    let (candidate, reference) = item.ids.split_at(second.min(item.ids.len()));
    let share = |of: &[u32], with: &[u32]| {
        let words: Vec<u32> = of.iter().copied().filter(|id| ![CLS, SEP].contains(id)).collect();
        let found = words.iter().filter(|id| with.contains(id)).count();
        if words.is_empty() { 0.0 } else { found as f32 / words.len() as f32 }
    };
    Similarity { precision: share(candidate, reference), recall: share(reference, candidate) }
}

/// Entailment, neutral, contradiction.
fn nli_logits(item: &Encoded) -> [f32; 3] {
    let of_type = |kind: u8| -> Vec<u32> {
        item.ids.iter().zip(&item.type_ids).filter(|(_, found)| **found == kind).map(|(id, _)| *id).collect()
    };
    let (premise, hypothesis) = (of_type(0), of_type(1));
    let content: Vec<u32> = hypothesis.iter().copied().filter(|&id| is_content(id)).collect();
    if content.is_empty() {
        return [-3.0, 3.0, -3.0];
    }
    let shared = content.iter().filter(|id| premise.contains(id)).count();
    let overlap = shared as f32 / content.len() as f32;
    let denials = |ids: &[u32]| ids.iter().filter(|&&id| is_negation(id)).count() % 2;
    let new_number = content.iter().any(|&id| is_number(id) && !premise.contains(&id));
    let other_number = premise.iter().any(|&id| is_number(id) && !hypothesis.contains(&id));
    let conflict = denials(&premise) != denials(&hypothesis) || (new_number && other_number);
    if conflict && overlap >= 0.5 {
        return [-2.0, -1.0, 3.0];
    }
    [6.0 * overlap - 3.0, 3.0 - 6.0 * overlap, -3.0]
}

/// A hashed bag of content words of length 1.
fn embedding(item: &Encoded) -> Vec<f32> {
    let mut bag = vec![0.0_f32; EMBEDDING_WIDTH];
    for id in item.ids.iter().filter(|&&id| is_content(id)) {
        bag[*id as usize % EMBEDDING_WIDTH] += 1.0;
    }
    let length = bag.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length == 0.0 {
        bag[0] = 1.0;
        return bag;
    }
    bag.iter().map(|value| value / length).collect()
}

#[cfg(test)]
mod tests;

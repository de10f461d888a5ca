//! Similarity of texts: every different text of a batch is computed once, if it did not come up lately.

use super::Model;
use crate::backend::Backend;
use crate::cpu::Output;
use crate::engine::{Encoded, Task};
use crate::similarity::{TokenVectors, similarity};
use groundline_types::{Code, Problem, Score};
use std::collections::HashMap;
use std::sync::Arc;

/// Both texts of an item, as token ids.
fn texts(item: &Encoded) -> Option<[&[u32]; 2]> {
    let Task::Similarity { second } = item.task else { return None };
    item.ids.split_at_checked(second).map(|(first, second)| [first, second])
}

impl Model {
    /// Two texts one after the other, each with its own markers.
    pub(super) fn encode_similarity(&self, candidate: &str, reference: &str) -> Result<Encoded, Problem> {
        if !self.encoder.gives_hidden_states() {
            let message = format!(
                "model {} is computed on a GPU, which gives no states of single tokens to compare; compute it on the CPU \
                 (engine.device \"cpu\")",
                self.facts.id.name
            );
            return Err(Problem::new(Code::HEAD_MISSING, message));
        }
        let mut encoded = self.encode_alone(candidate)?;
        let second = self.encode_alone(reference)?;
        encoded.task = Task::Similarity { second: encoded.ids.len() };
        encoded.ids.extend(second.ids);
        encoded.type_ids.extend(second.type_ids);
        Ok(encoded)
    }

    /// A text without the white space around it, as the published code reads it: RoBERTa's tokens tell whether a space stands before
    /// a word, and the first word is read as if one did.
    fn encode_alone(&self, text: &str) -> Result<Encoded, Problem> {
        let text = text.trim();
        if self.description.architecture == "roberta" && !text.is_empty() {
            return self.tokenizer.encode_text(&format!(" {text}"));
        }
        self.tokenizer.encode_text(text)
    }

    /// Answers a batch that has such items, in order; the others are computed beside their texts.
    pub(super) fn run_similar(&self, batch: &[Encoded]) -> Vec<Result<Score, Problem>> {
        let (vectors, others) = self.vectors_beside(batch);
        let mut others = others.into_iter();
        let missing = || Problem::new(Code::INTERNAL, "a text to compare was not computed");
        let of = |ids: &[u32]| vectors.get(ids).cloned().unwrap_or_else(|| Err(missing()));
        let answer = |item: &Encoded| match texts(item) {
            Some([candidate, reference]) => {
                Ok(Score::Similarity(similarity(&*of(candidate)?, &*of(reference)?)))
            }
            None => others.next().unwrap_or_else(|| Err(missing())),
        };
        batch.iter().map(answer).collect()
    }

    /// The token embeddings of every different text to compare, and the answers to all other items, in order.
    #[expect(clippy::type_complexity, reason = "it is read in one place")]
    fn vectors_beside<'a>(
        &self,
        batch: &'a [Encoded],
    ) -> (HashMap<&'a [u32], Result<Arc<TokenVectors>, Problem>>, Vec<Result<Score, Problem>>) {
        let mut vectors = HashMap::new();
        let mut open: Vec<&'a [u32]> = Vec::new();
        for ids in batch.iter().filter_map(texts).flatten() {
            vectors.entry(ids).or_insert_with(|| {
                let known = self.remembered.get(ids).map(Ok);
                known.unwrap_or_else(|| {
                    open.push(ids);
                    Err(Problem::new(Code::INTERNAL, "a text to compare was not computed"))
                })
            });
        }
        let hidden = |ids: &&[u32]| Encoded {
            ids: ids.to_vec(),
            type_ids: vec![0; ids.len()],
            task: Task::Hidden,
            asked: Vec::new(),
        };
        let mut items: Vec<Encoded> = open.iter().map(hidden).collect();
        items.extend(batch.iter().filter(|item| texts(item).is_none()).cloned());
        let mut outputs = self.encoder.run(&items).into_iter();
        for ((ids, item), output) in open.iter().zip(&items).zip(outputs.by_ref().take(open.len())) {
            let found = self.hidden(item, output).map(|hidden| {
                let markers = self.tokenizer.markers();
                Arc::new(TokenVectors::new(hidden, self.description.hidden_size, markers))
            });
            if let Ok(found) = &found {
                self.remembered.insert(ids, found);
            }
            vectors.insert(ids, found);
        }
        let others = items[open.len()..].iter().zip(outputs).map(|(item, output)| self.score(item, output));
        let others = others.collect();
        (vectors, others)
    }

    /// The hidden states of a text's tokens.
    fn hidden(&self, item: &Encoded, output: Output) -> Result<Vec<f32>, Problem> {
        match self.again_alone(item, output) {
            Output::Hidden(hidden) => Ok(hidden),
            other => Err(self.problem(item, &other)),
        }
    }
}

impl Backend {
    /// Whether it answers [`Task::Hidden`].
    pub(super) fn gives_hidden_states(&self) -> bool {
        match self {
            Self::Cpu(_) => true,
            #[cfg(feature = "cuda")]
            Self::Cuda(_) => false,
        }
    }
}

#[cfg(test)]
mod tests;

//! Token classifiers: what is asked about every token of a text, and how the answer is read.

use super::{Model, head_missing};
use crate::engine::{Encoded, Task};
use groundline_types::{Code, Head, Problem, Score, TokenScore, support_logits};

impl Model {
    /// A text to label beside its context.
    pub(super) fn encode_labelled(&self, context: &str, text: &str, head: Head) -> Result<Encoded, Problem> {
        if matches!(head, Head::Learned(_)) {
            return Err(head_missing(&self.facts, Task::Tokens(head)));
        }
        if !self.reading.labels_tokens() {
            let name = &self.facts.id.name;
            let message = format!(
                "model {name} labels whole texts and no single tokens; load a token classifier such as preset lettucedetect"
            );
            return Err(Problem::new(Code::HEAD_MISSING, message));
        }
        if !self.encoder.gives_hidden_states() {
            let message = format!(
                "model {} is computed on a GPU, which answers for whole texts alone; compute it on the CPU (engine.device \"cpu\")",
                self.facts.id.name
            );
            return Err(Problem::new(Code::HEAD_MISSING, message));
        }
        // The one head of a learned detector.
        self.tokenizer.encode_labelled(context, text, Head::Nli)
    }

    /// Why a token classifier does not answer for a pair.
    pub(super) fn labels_tokens_alone(&self) -> Problem {
        let name = &self.facts.id.name;
        let message = format!(
            "model {name} labels single tokens and no whole texts; load it as a section [models.lettucedetect]"
        );
        Problem::new(Code::HEAD_MISSING, message)
    }

    /// The probability that each token is hallucinated: of every label but that of support.
    pub(super) fn read_tokens(&self, item: &Encoded, logits: &[f32]) -> Result<Score, Problem> {
        let wrong = || Problem::new(Code::INTERNAL, "the model gave fewer logits than its preset reads");
        let label = self.reading.supported_label.ok_or_else(wrong)?;
        let labels =
            logits.len().checked_div(item.ids.len()).filter(|labels| *labels > 0).ok_or_else(wrong)?;
        let rows: Vec<&[f32]> = logits.chunks_exact(labels).collect();
        let score = |asked: &crate::engine::AskedToken| {
            let [against, supported] = support_logits(rows.get(asked.index as usize)?, label)?;
            let hallucination_probability = 1.0 / (1.0 + (supported - against).exp());
            Some(TokenScore { start: asked.start, end: asked.end, hallucination_probability })
        };
        let scores: Option<Vec<TokenScore>> = item.asked.iter().map(score).collect();
        Ok(Score::Tokens(scores.ok_or_else(wrong)?.into()))
    }
}

#[cfg(test)]
mod tests;

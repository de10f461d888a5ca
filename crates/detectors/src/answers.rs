//! Reading outcomes: a probability or a reason, never anything else.

use groundline_types::{Code, NliLabels, NliProbabilities, Outcome, Reason, Score, Similarity, TokenScore};
use std::sync::Arc;

/// The logits in the answer to a pair: `count` of them, all finite. `None` is an answer that never came.
pub(crate) fn read_logits(outcome: Option<&Outcome<Score>>, count: usize) -> Result<&[f32], Reason> {
    let logits = match outcome {
        Some(Outcome::Scored(Score::Logits(logits))) => logits,
        other => return Err(not_answered(other, "logits")),
    };
    if logits.len() != count {
        return Err(Reason::new(Code::INTERNAL, format!("expected {count} logits, got {}", logits.len())));
    }
    if logits.iter().any(|logit| !logit.is_finite()) {
        return Err(not_finite());
    }
    Ok(logits)
}

/// The probabilities in the answer to a pair. `None` is an answer that never came.
pub(crate) fn read_pair(
    outcome: Option<&Outcome<Score>>,
    labels: &NliLabels,
) -> Result<NliProbabilities, Reason> {
    labels.probabilities(read_logits(outcome, labels.count)?).ok_or_else(not_finite)
}

fn not_finite() -> Reason {
    Reason::new(Code::NON_FINITE, "the model gave a logit that is not a finite number")
}

/// The embedding in the answer to a text: not empty, every number finite.
pub(crate) fn read_embedding(outcome: Option<&Outcome<Score>>) -> Result<Arc<[f32]>, Reason> {
    match outcome {
        Some(Outcome::Scored(Score::Embedding(embedding))) => {
            if embedding.is_empty() || embedding.iter().any(|value| !value.is_finite()) {
                return Err(Reason::new(Code::NON_FINITE, "the model gave an embedding that is not finite"));
            }
            Ok(embedding.clone())
        }
        other => Err(not_answered(other, "an embedding")),
    }
}

/// How well two texts match in the answer to that, both numbers finite.
pub(crate) fn read_similarity(outcome: Option<&Outcome<Score>>) -> Result<Similarity, Reason> {
    match outcome {
        Some(Outcome::Scored(Score::Similarity(similarity))) => {
            if !similarity.precision.is_finite() || !similarity.recall.is_finite() {
                return Err(Reason::new(Code::NON_FINITE, "the model gave a similarity that is not finite"));
            }
            Ok(*similarity)
        }
        other => Err(not_answered(other, "a similarity")),
    }
}

/// What is said of each token of a text, each number a probability.
pub(crate) fn read_tokens(outcome: Option<&Outcome<Score>>) -> Result<&[TokenScore], Reason> {
    match outcome {
        Some(Outcome::Scored(Score::Tokens(tokens))) => {
            let is_probability = |token: &TokenScore| (0.0..=1.0).contains(&token.hallucination_probability);
            if !tokens.iter().all(is_probability) {
                return Err(Reason::new(
                    Code::NON_FINITE,
                    "the model gave a token a number that is no probability",
                ));
            }
            Ok(tokens)
        }
        other => Err(not_answered(other, "labels of tokens")),
    }
}

fn not_answered(outcome: Option<&Outcome<Score>>, expected: &str) -> Reason {
    match outcome {
        None => Reason::new(Code::INTERNAL, format!("expected {expected}, got no answer")),
        Some(Outcome::Scored(_)) => {
            Reason::new(Code::INTERNAL, format!("expected {expected}, got another kind of score"))
        }
        Some(Outcome::Abstained(reason) | Outcome::Failed(reason)) => reason.clone(),
    }
}

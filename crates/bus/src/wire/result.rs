//! Answers to jobs.

use super::{
    WireError, job_id_from_wire, job_id_to_wire, missing, out_of_range, pb, reason_from_wire, reason_to_wire,
};
use crate::{JobAnswer, JobResult, MAX_JOB_ITEMS};
use bytes::Bytes;
use groundline_types::{Outcome, Score, Similarity, TokenScore};
use prost::Message as _;
use std::sync::Arc;

pub(crate) fn encode_result(result: JobResult) -> Bytes {
    let answer = match result.answer {
        JobAnswer::Items(outcomes) => {
            let outcomes = outcomes.into_iter().map(outcome_to_wire).collect();
            pb::job_result::Answer::Items(pb::Items { outcomes })
        }
        JobAnswer::Split => pb::job_result::Answer::Split(pb::Split {}),
    };
    let message =
        pb::JobResult { id: Some(job_id_to_wire(result.id)), attempt: result.attempt, answer: Some(answer) };
    message.encode_to_vec().into()
}

pub(crate) fn decode_result(message: Bytes) -> Result<JobResult, WireError> {
    let message = pb::JobResult::decode(message)?;
    let answer = match message.answer.ok_or(missing("answer"))? {
        pb::job_result::Answer::Items(items) if items.outcomes.len() > MAX_JOB_ITEMS => {
            return Err(out_of_range("outcomes"));
        }
        pb::job_result::Answer::Items(items) => {
            JobAnswer::Items(items.outcomes.into_iter().map(outcome_from_wire).collect::<Result<_, _>>()?)
        }
        pb::job_result::Answer::Split(pb::Split {}) => JobAnswer::Split,
    };
    Ok(JobResult { id: job_id_from_wire(message.id)?, attempt: message.attempt, answer })
}

fn outcome_to_wire(outcome: Outcome<Score>) -> pb::Outcome {
    let kind = match outcome {
        Outcome::Scored(score) => pb::outcome::Kind::Scored(score_to_wire(&score)),
        Outcome::Abstained(reason) => pb::outcome::Kind::Abstained(reason_to_wire(reason)),
        Outcome::Failed(reason) => pb::outcome::Kind::Failed(reason_to_wire(reason)),
    };
    pb::Outcome { kind: Some(kind) }
}

fn outcome_from_wire(outcome: pb::Outcome) -> Result<Outcome<Score>, WireError> {
    Ok(match outcome.kind.ok_or(missing("outcome"))? {
        pb::outcome::Kind::Scored(score) => Outcome::Scored(score_from_wire(score)?),
        pb::outcome::Kind::Abstained(reason) => Outcome::Abstained(reason_from_wire(reason)),
        pb::outcome::Kind::Failed(reason) => Outcome::Failed(reason_from_wire(reason)),
    })
}

fn score_to_wire(score: &Score) -> pb::Score {
    let floats = |values: &Arc<[f32]>| pb::Floats { values: values.to_vec() };
    let kind = match score {
        Score::Logits(logits) => pb::score::Kind::Logits(floats(logits)),
        Score::Embedding(embedding) => pb::score::Kind::Embedding(floats(embedding)),
        Score::Similarity(Similarity { precision, recall }) => {
            pb::score::Kind::Similarity(pb::Matching { precision: *precision, recall: *recall })
        }
        Score::Tokens(tokens) => pb::score::Kind::Tokens(pb::TokenScores {
            starts: tokens.iter().map(|token| token.start).collect(),
            ends: tokens.iter().map(|token| token.end).collect(),
            hallucination_probabilities: tokens.iter().map(|token| token.hallucination_probability).collect(),
        }),
    };
    pb::Score { kind: Some(kind) }
}

fn score_from_wire(score: pb::Score) -> Result<Score, WireError> {
    let finite = |floats: pb::Floats| {
        let are_finite = floats.values.iter().all(|value| value.is_finite());
        if are_finite { Ok(Arc::from(floats.values)) } else { Err(out_of_range("values")) }
    };
    Ok(match score.kind.ok_or(missing("score"))? {
        pb::score::Kind::Logits(logits) => Score::Logits(finite(logits)?),
        pb::score::Kind::Embedding(embedding) => Score::Embedding(finite(embedding)?),
        pb::score::Kind::Similarity(pb::Matching { precision, recall }) => {
            if !precision.is_finite() || !recall.is_finite() {
                return Err(out_of_range("similarity"));
            }
            Score::Similarity(Similarity { precision, recall })
        }
        pb::score::Kind::Tokens(tokens) => Score::Tokens(tokens_from_wire(&tokens)?),
    })
}

fn tokens_from_wire(tokens: &pb::TokenScores) -> Result<Arc<[TokenScore]>, WireError> {
    let pb::TokenScores { starts, ends, hallucination_probabilities: probabilities } = tokens;
    if starts.len() != ends.len() || starts.len() != probabilities.len() {
        return Err(out_of_range("tokens"));
    }
    let places = starts.iter().zip(ends).zip(probabilities);
    let token = |((&start, &end), &hallucination_probability): ((&u32, &u32), &f32)| {
        let is_probability = (0.0..=1.0).contains(&hallucination_probability);
        let token = TokenScore { start, end, hallucination_probability };
        (is_probability && start < end).then_some(token).ok_or(out_of_range("tokens"))
    };
    places.map(token).collect()
}

//! Asking the judge: a detector's question in the judge's words, and its answer in the detector's.

use groundline_judge::{
    Judge, JudgeFailure, JudgeLabel, JudgeUsage, JudgeVerdict, Judged, SelfCheckQuestion, VerdictQuestion,
};
use groundline_telemetry::{ActiveSpan, JudgeEnd, JudgeTask, SpanKey, record};
use groundline_types::{
    Answer, Answered, Code, JudgeCost, Judgement, Outcome, Probability, Question, Reason,
};
use std::time::Duration;
use tokio::time::Instant;

/// Asks one question. Ends by the deadline, whatever the backend does; a failure is never an answer.
pub(crate) async fn ask(
    judge: &Judge,
    question: &Question,
    deadline: Instant,
    span: &ActiveSpan,
) -> Answered {
    let began = Instant::now();
    let (task, answered) = match question {
        Question::Verdict { passages, claim, question, earlier_support_probability } => {
            let asked = VerdictQuestion {
                passages: passages.iter().map(|passage| passage.to_string()).collect(),
                claim: claim.to_string(),
                question: question.as_ref().map(|question| question.to_string()),
                prior_support_probability: earlier_support_probability
                    .map(|support| f64::from(support.get())),
            };
            let end = judge.verdict(&asked, Some(deadline)).await;
            (JudgeTask::Verdict, answered(end, |verdict| Answer::Verdict(judgement(verdict))))
        }
        Question::SelfCheck { sentence, sample } => {
            let asked = SelfCheckQuestion { sentence: sentence.to_string(), sample: sample.to_string() };
            let end = judge.selfcheck(&asked, Some(deadline)).await;
            (JudgeTask::SelfCheck, answered(end, |answer| Answer::Inconsistency(answer.inconsistency())))
        }
    };
    told(task, &answered.cost, answered.outcome.reason().map(|reason| reason.code), began.elapsed(), span);
    answered
}

/// Tells the outside of a question: what it was, what it took, how it ended. No text of it.
pub(crate) fn told(task: JudgeTask, cost: &JudgeCost, code: Option<Code>, took: Duration, span: &ActiveSpan) {
    let end = match code {
        None if cost.calls == 0 => JudgeEnd::Cached,
        None => JudgeEnd::Answered,
        Some(_) => JudgeEnd::Failed,
    };
    record::judge_asked(task, end, took);
    record::judge_spent(cost.calls, cost.input_tokens, cost.output_tokens);
    span.set(SpanKey::JUDGE_TASK, task.as_str());
    span.set(SpanKey::JUDGE_CALLS, usize::try_from(cost.calls).unwrap_or(usize::MAX));
    span.set(SpanKey::INPUT_TOKENS, usize::try_from(cost.input_tokens).unwrap_or(usize::MAX));
    span.set(SpanKey::OUTPUT_TOKENS, usize::try_from(cost.output_tokens).unwrap_or(usize::MAX));
    if let Some(code) = code {
        record::judge_failed(code);
        span.fail(code);
    }
}

fn answered<T>(end: Result<Judged<T>, JudgeFailure>, read: impl FnOnce(T) -> Answer) -> Answered {
    match end {
        Ok(Judged { value, usage }) => Answered { outcome: Outcome::Scored(read(value)), cost: cost(&usage) },
        Err(JudgeFailure { problem, usage }) => {
            let (code, reason) = (problem.code, Reason::from(problem));
            // Nothing to judge is how the texts are; everything else should have been answered.
            let outcome = match code == Code::JUDGE_NOTHING_TO_JUDGE {
                true => Outcome::Abstained(reason),
                false => Outcome::Failed(reason),
            };
            Answered { outcome, cost: cost(&usage) }
        }
    }
}

/// What a question took.
pub(crate) fn cost(usage: &JudgeUsage) -> JudgeCost {
    JudgeCost {
        calls: usage.calls,
        input_tokens: usage.tokens.input_tokens,
        output_tokens: usage.tokens.output_tokens,
        money: usage.cost,
        cache_hits: usage.cache_hits,
    }
}

fn judgement(said: JudgeVerdict) -> Judgement {
    let probabilities = said.probabilities.map(|of| [of.supported, of.contradicted, of.unsupported]);
    Judgement {
        verdict: said.label.verdict(),
        probabilities: probabilities.filter(|of| agrees(said.label, of)),
        reason: said.reason,
        quote: said.quote,
        quoted_passage: said.quoted_passage,
        is_downgraded: said.is_downgraded,
        votes: said.votes,
    }
}

/// Whether the verdict is the most likely one. Probabilities that say otherwise were read at another place than the verdict, or its
/// votes were; the verdict is what the judge said.
fn agrees(label: JudgeLabel, [supported, contradicted, unsupported]: &[Probability; 3]) -> bool {
    let own = match label {
        JudgeLabel::Supported => supported,
        JudgeLabel::Contradicted => contradicted,
        JudgeLabel::Unsupported => unsupported,
    };
    [supported, contradicted, unsupported].into_iter().all(|other| own >= other)
}

#[cfg(test)]
mod tests;

//! Asking the judge: a detector's question in the judge's words, and its answer in the detector's.

use groundline_judge::{
    Judge, JudgeFailure, JudgeLabel, JudgeUsage, JudgeVerdict, Judged, SelfCheckQuestion, VerdictQuestion,
};
use groundline_telemetry::{ActiveSpan, JudgeEnd, JudgeTask, SpanKey, record};
use groundline_types::{
    Answer, Answered, Code, JudgeCost, Judgement, Outcome, Probability, Question, Reason,
};
use std::sync::{Mutex, PoisonError};
use tokio::time::Instant;

/// Who asks a judge: until when, and what is told of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asker<'a> {
    pub(crate) judge: &'a Judge,
    pub(crate) deadline: Instant,
    pub(crate) spending: &'a Spending,
    pub(crate) span: &'a ActiveSpan,
}

/// What metrics have been told of a judge's spending. They are told what all questions took since, and so also what a question took
/// that was given up.
#[derive(Debug, Default)]
pub(crate) struct Spending(Mutex<JudgeUsage>);

impl Spending {
    fn tell(&self, judge: &Judge) {
        // Nothing panics while it is held.
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = judge.usage();
        record::judge_spent(
            now.calls - told.calls,
            now.tokens.input_tokens - told.tokens.input_tokens,
            now.tokens.output_tokens - told.tokens.output_tokens,
        );
        *told = now;
    }

    /// HTTP calls that metrics were told of.
    #[cfg(test)]
    pub(crate) fn told_calls(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).calls
    }
}

/// Asks one question. Ends by the deadline, whatever the backend does; a failure is never an answer.
pub(crate) async fn ask(asker: Asker<'_>, question: &Question) -> Answered {
    let Asker { judge, deadline, .. } = asker;
    let (told, answered) = match question {
        Question::Verdict { passages, claim, question, earlier_support_probability } => {
            let told = Told::begin(asker, JudgeTask::Verdict);
            let asked = VerdictQuestion {
                passages: passages.iter().map(|passage| passage.to_string()).collect(),
                claim: claim.to_string(),
                question: question.as_ref().map(|question| question.to_string()),
                prior_support_probability: earlier_support_probability
                    .map(|support| f64::from(support.get())),
            };
            let end = judge.verdict(&asked, Some(deadline)).await;
            (told, answered(end, |verdict| Answer::Verdict(judgement(verdict))))
        }
        Question::SelfCheck { sentence, sample } => {
            let told = Told::begin(asker, JudgeTask::SelfCheck);
            let asked = SelfCheckQuestion { sentence: sentence.to_string(), sample: sample.to_string() };
            let end = judge.selfcheck(&asked, Some(deadline)).await;
            (told, answered(end, |answer| Answer::Inconsistency(answer.inconsistency())))
        }
    };
    told.ended(&answered.cost, answered.outcome.reason().map(|reason| reason.code));
    answered
}

/// A question as the outside is told of it: what it was, what it took, how it ended. No text of it. Whatever ends it, the end is told
/// once: a question that is dropped was given up.
pub(crate) struct Told<'a> {
    asker: Asker<'a>,
    task: JudgeTask,
    began: Instant,
    end: JudgeEnd,
}

impl<'a> Told<'a> {
    pub(crate) fn begin(asker: Asker<'a>, task: JudgeTask) -> Self {
        asker.span.set(SpanKey::JUDGE_TASK, task.as_str());
        Self { asker, task, began: Instant::now(), end: JudgeEnd::GivenUp }
    }

    /// The question has ended by itself.
    pub(crate) fn ended(mut self, cost: &JudgeCost, code: Option<Code>) {
        self.end = match code {
            None if cost.calls == 0 => JudgeEnd::Cached,
            None => JudgeEnd::Answered,
            Some(_) => JudgeEnd::Failed,
        };
        let span = self.asker.span;
        span.set(SpanKey::JUDGE_CALLS, usize::try_from(cost.calls).unwrap_or(usize::MAX));
        span.set(SpanKey::INPUT_TOKENS, usize::try_from(cost.input_tokens).unwrap_or(usize::MAX));
        span.set(SpanKey::OUTPUT_TOKENS, usize::try_from(cost.output_tokens).unwrap_or(usize::MAX));
        if let Some(code) = code {
            record::judge_failed(code);
            span.fail(code);
        }
    }
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        let Asker { judge, spending, .. } = self.asker;
        record::judge_asked(self.task, self.end, self.began.elapsed());
        record::judge_available(judge.health().is_available);
        spending.tell(judge);
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

//! Drawing samples for a check that has none and asks for them.

use super::asking::{Asker, Told, cost};
use groundline_judge::{Judged, SampleRequest};
use groundline_telemetry::JudgeTask;
use groundline_types::{CheckRequest, Code, JudgeCost, Note, Problem};
use std::time::Duration;
use tokio::time::Instant;

/// Share of the time left that drawing may take: what is drawn has to be compared with, too.
const DRAWING_SHARE: u32 = 2;
/// Longest part of drawing without an end in sight: the rest of the check has its own time.
const MAX_DRAWING: Duration = Duration::from_secs(600);

/// What drawing brought.
#[derive(Debug)]
pub(crate) struct Drawn {
    /// The samples; none where the judge gave none.
    pub(crate) samples: Vec<String>,
    /// What to tell of them.
    pub(crate) note: Note,
    /// Why there are none.
    pub(crate) problem: Option<Problem>,
    /// What it took.
    pub(crate) cost: JudgeCost,
}

/// Until when samples may be drawn.
pub(crate) fn drawing_deadline(now: Instant, deadline: Instant) -> Instant {
    now + (deadline.saturating_duration_since(now) / DRAWING_SHARE).min(MAX_DRAWING)
}

/// Draws samples of an answer to the request's question, as the judge's configuration says.
pub(crate) async fn draw(asker: Asker<'_>, request: &CheckRequest) -> Drawn {
    let Asker { judge, deadline, .. } = asker;
    let options = &judge.options().sampling;
    let wanted = SampleRequest {
        system: None,
        prompt: request.question.clone().unwrap_or_default(),
        n: options.samples,
        temperature: options.temperature,
        seed: Some(options.seed).filter(|seed| *seed > 0),
    };
    let told = Told::begin(asker, JudgeTask::Sample);
    let drawn = match judge.sample(&wanted, Some(deadline)).await {
        Ok(Judged { value, usage }) => {
            let message = format!(
                "{} of {} samples were drawn from the judge's endpoint (temperature {}, {}); unless that is the model that \
                 wrote the response, they tell whether another model agrees",
                value.texts.len(),
                wanted.n,
                wanted.temperature,
                wanted.seed.map_or("no seed".to_owned(), |seed| format!("seed {seed}")),
            );
            let note = note(Code::JUDGE_SAMPLES, message);
            Drawn { samples: value.texts, note, problem: None, cost: cost(&usage) }
        }
        Err(failure) => {
            let problem = failure.problem;
            let note = note(problem.code, format!("no samples could be drawn: {}", problem.message));
            Drawn { samples: Vec::new(), note, problem: Some(problem), cost: cost(&failure.usage) }
        }
    };
    told.ended(&drawn.cost, drawn.problem.as_ref().map(|problem| problem.code));
    drawn
}

fn note(code: Code, message: String) -> Note {
    Note { code, message, location: Some("samples".to_owned()) }
}

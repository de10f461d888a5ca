//! The judge's part in a check: samples before it begins, questions while it runs.

use super::CheckState;
use crate::cascade::needs;
use crate::check::asking::{Asker, ask};
use crate::check::drawing::{Drawn, draw, drawing_deadline};
use crate::check::machine::Event;
use crate::check::message::CheckMessage;
use crate::stream::StreamSamples;
use groundline_actors::{OwnedTask, TaskKind, spawn_task};
use groundline_detectors::Need;
use groundline_judge::Judge;
use groundline_telemetry::{SpanName, in_span};
use groundline_types::{Answered, CheckRequest, Code, JudgeCost, Note, Problem, Question, Reason};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::time::Instant;

/// What is under way with the judge.
#[derive(Debug)]
pub(super) struct Judging {
    /// Until when answers are of use.
    pub(super) answer_by: Instant,
    /// Questions that the detectors plan.
    pub(super) planned: usize,
    /// Counts rounds of questions, so that an answer to an earlier one is known.
    turn: u32,
    questions: Vec<Question>,
    asking: BTreeMap<usize, OwnedTask>,
    drawing: Option<OwnedTask>,
    /// Why no samples could be drawn.
    not_drawn: Option<Problem>,
}

impl Judging {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            answer_by: now,
            planned: 0,
            turn: 0,
            questions: Vec::new(),
            asking: BTreeMap::new(),
            drawing: None,
            not_drawn: None,
        }
    }

    /// Opens a round.
    pub(super) fn begin(&mut self, questions: Vec<Question>) -> Event {
        self.turn = self.turn.wrapping_add(1);
        let count = questions.len();
        self.questions = questions;
        Event::Ask(count)
    }

    /// Ends the round: what is still asked stops at once.
    pub(super) fn stop(&mut self) {
        self.asking.clear();
        self.questions.clear();
    }

    /// What to tell in place of a refusal: where samples could not be drawn, that is why there are none.
    pub(super) fn instead_of(&mut self, refusal: Problem) -> Problem {
        match self.not_drawn.take() {
            Some(why) if matches!(refusal.code, Code::WEAK_SAMPLES | Code::EMPTY_SOURCE) => why,
            _ => refusal,
        }
    }
}

impl CheckState {
    /// Begins: with the texts, or with drawing samples where the request has none and asks for them.
    pub(super) fn draw_or_prepare(&mut self) {
        let request = &self.setup.request;
        let options = &self.setup.shared.options;
        let wants = request.draw_samples
            && request.samples.is_empty()
            && needs(request, &options.policies, Need::Samples);
        // All checks of a stream compare with the same samples; where drawing failed once, it is not paid for with each sentence.
        let drawn = self.setup.part.as_ref().and_then(|part| part.drawn.get().cloned());
        match (drawn.filter(|_| wants), self.judge().filter(|_| wants)) {
            (Some(StreamSamples { samples, note, problem }), _) => {
                self.judging.not_drawn = problem;
                self.prepare_with(samples, note);
            }
            (None, Some(judge)) => self.draw(judge),
            (None, None) => self.prepare(),
        }
    }

    /// Who is asked. Tenants share no answers, as they share no scores.
    fn judge(&self) -> Option<Judge> {
        self.setup.shared.judge.as_ref().map(|judge| judge.scoped(self.setup.tenant.as_str()))
    }

    fn draw(&mut self, judge: Judge) {
        let (request, myself) = (Arc::clone(&self.setup.request), self.myself.clone());
        let deadline = drawing_deadline(Instant::now(), self.setup.deadline);
        let (span, shared) = (self.setup.observed.child(SpanName::Judge), Arc::clone(&self.setup.shared));
        let task = async move {
            let asker = Asker { judge: &judge, deadline, spending: &shared.judge_spending, span: &span };
            let drawn = in_span(&span, draw(asker, &request)).await;
            drop(span);
            let _ = myself.send_message(CheckMessage::Drawn(Box::new(drawn)));
        };
        self.judging.drawing = Some(spawn_task(TaskKind::Judge, task));
    }

    pub(super) fn on_drawn(&mut self, drawn: Drawn) {
        if self.judging.drawing.take().is_none() {
            return;
        }
        let Drawn { samples, note, problem, cost } = drawn;
        self.spend(&cost);
        if let Some(part) = &self.setup.part {
            let drawn =
                StreamSamples { samples: samples.clone(), note: note.clone(), problem: problem.clone() };
            // The checks of a stream run one after the other, so nobody else has set it.
            let _ = part.drawn.set(drawn);
        }
        self.judging.not_drawn = problem;
        self.prepare_with(samples, note);
    }

    fn prepare_with(&mut self, samples: Vec<String>, note: Note) {
        self.notes.push(note);
        let request = CheckRequest { samples, ..CheckRequest::clone(&self.setup.request) };
        self.is_short = super::is_short(&request);
        self.setup.request = Arc::new(request);
        self.prepare();
    }

    /// Goes on without samples where they are still being drawn.
    pub(super) fn stop_drawing(&mut self) {
        if self.judging.drawing.take().is_some() {
            self.judging.not_drawn =
                Some(Problem::new(Code::JUDGE_DEADLINE, "the check was to end before samples were drawn"));
            self.prepare();
        }
    }

    pub(super) fn ask(&mut self, question: usize) {
        let (turn, myself, deadline) = (self.judging.turn, self.myself.clone(), self.judging.answer_by);
        let (asked, judge) = match self.to_ask(question) {
            Ok(to_ask) => to_ask,
            Err(reason) => {
                let answered = Box::new(Answered::failed(reason));
                let _ = myself.send_message(CheckMessage::Answered { turn, question, answered });
                return;
            }
        };
        let (span, shared) = (self.setup.observed.child(SpanName::Judge), Arc::clone(&self.setup.shared));
        let task = async move {
            let asker = Asker { judge: &judge, deadline, spending: &shared.judge_spending, span: &span };
            let answered = Box::new(in_span(&span, ask(asker, &asked)).await);
            drop(span);
            let _ = myself.send_message(CheckMessage::Answered { turn, question, answered });
        };
        self.judging.asking.insert(question, spawn_task(TaskKind::Judge, task));
    }

    /// A question and who is asked, or why nobody is.
    fn to_ask(&self, question: usize) -> Result<(Question, Judge), Reason> {
        let asked = self.judging.questions.get(question).cloned();
        let (Some(asked), Some(judge)) = (asked, self.judge()) else {
            return Err(Reason::new(Code::JUDGE_MISSING, "no judge is configured"));
        };
        // A claim that is too long for the model may be none for a judge.
        let refused = self.ground.as_ref().and_then(|ground| ground.refused.get(asked.claim()));
        match refused.filter(|reason| reason.code == Code::STREAM_STOPPED) {
            Some(reason) => Err(reason.clone()),
            None => Ok((asked, judge)),
        }
    }

    pub(super) fn on_answered(&mut self, turn: u32, question: usize, answered: Box<Answered>) {
        if turn != self.judging.turn {
            return;
        }
        self.judging.asking.remove(&question);
        self.spend(&answered.cost);
        self.step(Event::Answered { question, answered });
    }

    fn spend(&mut self, cost: &JudgeCost) {
        let tokens = usize::try_from(cost.tokens()).unwrap_or(usize::MAX);
        self.usage.judge_tokens = self.usage.judge_tokens.saturating_add(tokens);
    }
}

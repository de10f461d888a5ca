//! The detectors of one check, asked together.
//!
//! Methods ask for equal work: SummaC and entailment read the same pairs. Their rounds run in step, so equal work meets in one
//! round and is done once. Questions to a judge come when no work is left to ask for: they take seconds, and models must not wait
//! for them.

use crate::cascade::{StageOutcome, Stages};
use crate::key::{Key, KeyMaker};
use groundline_detectors::{Detector, Next};
use groundline_types::{
    Answered, Head, ModelFacts, Outcome, PreparedCheck, Question, Reason, Report, Score, Work,
};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// Bytes of text for one token, about, for languages in Latin script. For sizes of jobs and turns, not for any limit.
const BYTES_PER_TOKEN: usize = 4;

/// What the detectors want in one round.
#[derive(Debug)]
pub(crate) enum Wanted {
    /// Work for engines.
    Round(Round),
    /// Answers of a judge, in the members' order.
    Questions(Vec<Question>),
}

/// Work of one round, each piece once.
#[derive(Debug, Default)]
pub(crate) struct Round {
    pub(crate) work: Vec<Work>,
    pub(crate) keys: Vec<Key>,
    /// How often each is asked for.
    pub(crate) asked: Vec<usize>,
}

#[derive(Debug)]
struct Member {
    detector: Box<dyn Detector>,
    /// Places in the round of what it asked for, in its order.
    asked: Vec<usize>,
    /// What it wants to ask a judge, until that is asked.
    questions: Vec<Question>,
    /// How many of its questions are being asked.
    asking: usize,
    report: Option<Report>,
}

/// The detectors of one check.
#[derive(Debug)]
pub(crate) struct Panel {
    members: Vec<Member>,
    keys: KeyMaker,
    stages: Stages,
    /// Who joins where the first stage leaves the check open.
    later: Vec<Box<dyn Detector>>,
    /// What those who join start on.
    ground: Option<(Arc<PreparedCheck>, ModelFacts)>,
}

impl Panel {
    pub(crate) fn new(detectors: Vec<Box<dyn Detector>>, keys: KeyMaker) -> Self {
        let members = detectors.into_iter().map(Member::new).collect();
        Self { members, keys, stages: Stages::default(), later: Vec::new(), ground: None }
    }

    /// The same, with detectors that start where `stages` says so after the others' reports.
    pub(crate) fn with_stages(self, stages: Stages, later: Vec<Box<dyn Detector>>) -> Self {
        Self { stages, later, ..self }
    }

    /// Items that the detectors, once started, ask for in all, equal ones counted for each.
    pub(crate) fn planned_items(&self) -> usize {
        self.members.iter().map(|member| member.detector.planned_items()).sum()
    }

    /// Questions that the detectors, once started, ask a judge in all.
    pub(crate) fn planned_questions(&self) -> usize {
        self.members.iter().map(|member| member.detector.planned_questions()).sum()
    }

    /// The first round; `None`: nothing is to be scored.
    pub(crate) fn start(&mut self, check: &Arc<PreparedCheck>, facts: &ModelFacts) -> Option<Wanted> {
        self.ground = Some((Arc::clone(check), facts.clone()));
        let next = self.members.iter_mut().map(|member| member.detector.start(check, facts)).collect();
        self.merge(next)
    }

    /// The next round, given the last one's outcomes in its order; `None`: the detectors are done.
    pub(crate) fn resume(&mut self, outcomes: &[Outcome<Score>]) -> Option<Wanted> {
        let next =
            self.members.iter_mut().map(|member| member.wake(|member| member.resume(outcomes))).collect();
        self.merge(next)
    }

    /// The next round, given the answers to the last one's questions in its order; `None`: the detectors are done.
    pub(crate) fn hear(&mut self, answers: &[Answered]) -> Option<Wanted> {
        let mut rest = answers;
        let next =
            self.members.iter_mut().map(|member| member.wake(|member| member.hear(&mut rest))).collect();
        self.merge(next)
    }

    /// Gives the detectors a round's outcomes, and fails with `reason` whatever they still ask for, also those of a later stage.
    pub(crate) fn fail_rest(&mut self, outcomes: &[Outcome<Score>], reason: &Reason) {
        let next =
            self.members.iter_mut().map(|member| member.wake(|member| member.resume(outcomes))).collect();
        self.fail_all(next, reason);
    }

    /// The same for a round of questions.
    pub(crate) fn fail_unheard(&mut self, answers: &[Answered], reason: &Reason) {
        let mut rest = answers;
        let next =
            self.members.iter_mut().map(|member| member.wake(|member| member.hear(&mut rest))).collect();
        self.fail_all(next, reason);
    }

    fn fail_all(&mut self, next: Vec<Next>, reason: &Reason) {
        for (member, next) in self.members.iter_mut().zip(next) {
            member.fail(next, reason);
        }
        let began = self.members.len();
        for (member, next) in self.join_later().into_iter().enumerate() {
            self.members[began + member].fail(next, reason);
        }
    }

    /// What the detectors found, once they are done, and what became of the stages.
    pub(crate) fn finish(self) -> (Vec<Report>, StageOutcome) {
        let reports = self.members.into_iter().filter_map(|member| member.report).collect();
        (reports, self.stages.into_outcome())
    }

    fn merge(&mut self, next: Vec<Next>) -> Option<Wanted> {
        let mut merger = Merger::default();
        self.place(0, next, &mut merger);
        if merger.round.work.is_empty() && !self.has_questions() {
            let began = self.members.len();
            let next = self.join_later();
            self.place(began, next, &mut merger);
        }
        if !merger.round.work.is_empty() {
            return Some(Wanted::Round(merger.round));
        }
        let questions = self.members.iter_mut().flat_map(Member::ask).collect::<Vec<_>>();
        (!questions.is_empty()).then_some(Wanted::Questions(questions))
    }

    fn has_questions(&self) -> bool {
        self.members.iter().any(|member| !member.questions.is_empty())
    }

    /// Starts the detectors of the later stage where all others have reported and it is due.
    fn join_later(&mut self) -> Vec<Next> {
        let reports = self.members.iter().filter_map(|member| member.report.as_ref()).collect::<Vec<_>>();
        let (true, Some((check, facts))) = (self.stages.decide_grey(&reports), &self.ground) else {
            return Vec::new();
        };
        let earlier = Arc::new(self.stages.earlier(&reports));
        let mut joined = self.later.drain(..).map(Member::new).collect::<Vec<_>>();
        for member in &mut joined {
            member.detector.begin_after(&earlier);
        }
        let next = joined.iter_mut().map(|member| member.detector.start(check, facts)).collect();
        self.members.append(&mut joined);
        next
    }

    /// Takes in what the members from `first` on want next.
    fn place(&mut self, first: usize, next: Vec<Next>, merger: &mut Merger) {
        for (member, next) in self.members[first..].iter_mut().zip(next) {
            match next {
                Next::Done(report) => member.report = Some(report),
                Next::Work(work) => {
                    member.asked = work.into_iter().map(|work| merger.place(work, &mut self.keys)).collect();
                }
                Next::Ask(questions) => member.questions = questions,
            }
        }
    }
}

impl Member {
    fn new(detector: Box<dyn Detector>) -> Self {
        Self { detector, asked: Vec::new(), questions: Vec::new(), asking: 0, report: None }
    }

    /// What it wants next: what it wanted before, where that was not looked after yet.
    fn wake(&mut self, wake: impl FnOnce(&mut Self) -> Next) -> Next {
        if let Some(report) = self.report.take() {
            return Next::Done(report);
        }
        match self.questions.is_empty() {
            true => wake(self),
            false => Next::Ask(std::mem::take(&mut self.questions)),
        }
    }

    /// Its questions, which are asked now.
    fn ask(&mut self) -> Vec<Question> {
        let questions = std::mem::take(&mut self.questions);
        self.asking = questions.len();
        questions
    }

    /// Takes its answers from the front of `rest`.
    fn hear(&mut self, rest: &mut &[Answered]) -> Next {
        let (mine, others) = rest.split_at(std::mem::take(&mut self.asking).min(rest.len()));
        *rest = others;
        self.detector.hear(mine)
    }

    /// Fails whatever the detector asks for until it is done.
    fn fail(&mut self, mut next: Next, reason: &Reason) {
        self.report = loop {
            match next {
                Next::Done(report) => break Some(report),
                Next::Work(work) => {
                    next = self.detector.resume(&vec![Outcome::Failed(reason.clone()); work.len()]);
                }
                Next::Ask(questions) => {
                    next = self.detector.hear(&vec![Answered::failed(reason.clone()); questions.len()]);
                }
            }
        };
    }

    fn resume(&mut self, outcomes: &[Outcome<Score>]) -> Next {
        let mine = self.asked.drain(..).filter_map(|place| outcomes.get(place).cloned()).collect::<Vec<_>>();
        self.detector.resume(&mine)
    }
}

/// Texts by their address, and whether their tokens are labelled: texts are shared, so this finds most equal work without reading it.
type ByAddress = (usize, usize, Option<Head>, bool);

#[derive(Default)]
struct Merger {
    round: Round,
    by_address: HashMap<ByAddress, usize>,
    by_key: HashMap<Key, usize>,
    keep: Vec<Work>,
}

fn address_of(text: &Arc<str>) -> usize {
    text.as_ptr().addr()
}

impl Merger {
    fn place(&mut self, work: Work, keys: &mut KeyMaker) -> usize {
        // Every text that has an entry is kept alive until the round is merged, so an address names one text.
        let address = match &work {
            Work::Pair { premise, hypothesis, head } => {
                (address_of(premise), address_of(hypothesis), Some(*head), false)
            }
            Work::Embed { text } => (address_of(text), 0, None, false),
            // No text has the address 0.
            Work::Similarity { candidate, reference } => {
                (address_of(candidate), address_of(reference), None, false)
            }
            Work::Tokens { context, text, head } => {
                (address_of(context), address_of(text), Some(*head), true)
            }
        };
        let place = match self.by_address.entry(address) {
            Entry::Occupied(place) => *place.get(),
            Entry::Vacant(entry) => {
                let key = keys.key(&work);
                let place = *self.by_key.entry(key).or_insert(self.round.work.len());
                if place == self.round.work.len() {
                    self.round.work.push(work.clone());
                    self.round.keys.push(key);
                    self.round.asked.push(0);
                }
                self.keep.push(work);
                *entry.insert(place)
            }
        };
        self.round.asked[place] += 1;
        place
    }
}

/// Bytes of the texts of a piece of work.
pub(crate) fn text_bytes(work: &Work) -> usize {
    match work {
        Work::Pair { premise, hypothesis, .. } => premise.len() + hypothesis.len(),
        Work::Embed { text } => text.len(),
        Work::Similarity { candidate, reference } => candidate.len() + reference.len(),
        Work::Tokens { context, text, .. } => context.len() + text.len(),
    }
}

/// Tokens of a piece of work, roughly.
pub(crate) fn estimated_tokens(work: &Work, overhead_tokens: usize) -> usize {
    text_bytes(work) / BYTES_PER_TOKEN + overhead_tokens + 1
}

#[cfg(test)]
mod tests;

//! What the machine hears and says.

use groundline_types::{Answered, CheckResult, Outcome, Problem, Reason, Score};

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    /// The texts are split.
    Prepared,
    /// The detectors ask for a round of distinct work.
    Round(Vec<RoundItem>),
    /// The detectors ask a judge so many questions.
    Ask(usize),
    /// A question of the round has ended.
    Answered { question: usize, answered: Box<Answered> },
    /// The detectors are done.
    DetectorsDone,
    /// A job has been answered, with one outcome for each of its items.
    JobScored { serial: u32, outcomes: Vec<Outcome<Score>> },
    /// A worker wants the items of a job one by one.
    JobSplit { serial: u32 },
    /// A job was given up.
    JobFailed { serial: u32, reason: Reason },
    /// Another check's job has landed: the score of an item that waits for it, or nothing.
    Landed { item: usize, score: Option<Score> },
    /// The answer to [`Effect::Claim`].
    Claimed(Vec<(usize, Standing)>),
    /// The deadline, or the caller, wants the answer now.
    Finish(Reason),
    /// Nobody waits for the answer any more.
    CallerGone,
    /// The dispatcher lost its queue.
    DispatchLost,
    /// Results may have been lost on their way.
    ResultsLost,
    /// The verdict is made.
    Concluded(Box<CheckResult>),
    /// Something failed that must not.
    Broken(Problem),
}

/// One distinct piece of work of a round.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RoundItem {
    pub(crate) standing: Standing,
    /// Estimated.
    pub(crate) tokens: usize,
    /// Of its texts.
    pub(crate) bytes: usize,
    /// How often detectors ask for it.
    pub(crate) asked: usize,
}

/// How an item stands when it comes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Standing {
    /// Its score is known.
    Hit(Score),
    /// Its score is not known, and nobody was asked for it yet.
    Open,
    /// This check gets it.
    Lead,
    /// Another check gets it.
    Wait,
    /// It cannot be scored.
    Refused(Reason),
}

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    /// Ask the detectors for their first round.
    StartDetectors,
    /// Give them a round's outcomes, and ask for the next one.
    Resume(Vec<Outcome<Score>>),
    /// Give them a round's outcomes, and answer all that they still ask for with this reason.
    FailRest(Vec<Outcome<Score>>, Reason),
    /// Ask the judge this question of the round.
    Ask(usize),
    /// Give the detectors the answers to a round's questions, and ask for the next one.
    Hear(Vec<Answered>),
    /// Give them the answers to a round's questions, and answer all that they still ask for with this reason.
    FailUnheard(Vec<Answered>, Reason),
    /// Send a job of these items of the round.
    Submit { serial: u32, items: Vec<usize> },
    /// Send it again to a dispatcher that may not know it.
    Resubmit { serial: u32, items: Vec<usize> },
    /// Let the dispatcher send it again to the bus.
    Resend { serial: u32 },
    /// The dispatcher need not wait for this job any more.
    Settled { serial: u32 },
    /// Tell who waits for these items.
    Resolve(Vec<(usize, Option<Score>)>),
    /// Ask how these items stand now, and lead those that nobody gets yet.
    Claim(Vec<usize>),
    /// Make the verdict.
    Conclude,
    /// Answer the caller.
    Reply(Box<Result<CheckResult, Problem>>),
    /// Drop every job and every question, and give up what others wait for.
    Cancel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Preparing,
    Detecting,
    Scoring,
    Concluding,
    Done,
}

/// Counts for progress and usage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Settled items, as often as they were asked for.
    pub(crate) done: usize,
    /// Items scored without a job of this check.
    pub(crate) cache_hits: usize,
}

//! What must hold of what callers saw.

use super::load::{Nature, nature};
use super::schedule::{CALM_FROM, Leave, PlannedCheck};
use groundline_types::{CheckResult, Code, Problem, SentenceResult, SentenceStatus, Status, Timings};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::time::Duration;
use tokio::time::Instant;

/// How late an answer may be: what timers and messages of one instant take.
const TICK: Duration = Duration::from_millis(10);

/// What is lost is found and made good within this time, whoever waits behind it.
const TIME_TO_RECOVER: Duration = Duration::from_secs(60);

/// One check, and how it ended.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) check: PlannedCheck,
    /// `None` while nobody knows.
    pub(crate) ending: Option<(Instant, Ending)>,
}

/// How a check ended.
#[derive(Debug, Clone)]
pub(crate) enum Ending {
    /// With an answer, so long after the run began.
    Answered(Duration, Box<Result<CheckResult, Problem>>),
    /// Its caller left.
    Left,
    /// Its coordinator died.
    ProcessDied,
    /// There was no coordinator.
    NobodyThere,
}

/// Everything that does not hold.
pub(super) fn check(records: &[Record], reference: &BTreeMap<usize, CheckResult>) -> Vec<String> {
    let mut violations = Vec::new();
    for (number, record) in records.iter().enumerate() {
        let mut say = |what: String| violations.push(format!("check {number}: {what}"));
        let Some((_, ending)) = &record.ending else {
            say("it was never answered".to_owned());
            continue;
        };
        let Ending::Answered(at, answer) = ending else { continue };
        let late = at.saturating_sub(record.check.at + record.check.deadline);
        if late > TICK {
            say(format!("answered {late:?} after its deadline"));
        }
        match (&**answer, reference.get(&record.check.template)) {
            (Ok(result), Some(expected)) => {
                let mut wrong = compare(result, expected, &record.check);
                wrong.extend(gave_up_early(result, &record.check));
                wrong.into_iter().for_each(say);
            }
            (Ok(_), None) => say("nobody knows what the answer should be".to_owned()),
            (Err(problem), _) if is_fair(problem, &record.check) => {}
            (Err(problem), _) => say(format!("refused for no reason: {problem}")),
        }
    }
    violations
}

/// Whether a check may end with this error.
fn is_fair(problem: &Problem, check: &PlannedCheck) -> bool {
    match problem.code {
        Code::OVERLOADED => true,
        Code::INTERNAL => check.may_fail,
        _ => false,
    }
}

/// What is wrong with an answer. `expected`: what a cluster without faults says.
fn compare(result: &CheckResult, expected: &CheckResult, check: &PlannedCheck) -> Vec<String> {
    let mut wrong = Vec::new();
    if result.sentences.len() != expected.sentences.len() {
        return vec![format!("{} sentences of {}", result.sentences.len(), expected.sentences.len())];
    }
    // Without embeddings the nearest evidence may be other evidence, which a note says: then support alone is the same.
    let lacks_embeddings = result.notes.iter().any(|note| note.message.contains("no embedding"));
    for (index, (sentence, expected)) in result.sentences.iter().zip(&expected.sentences).enumerate() {
        if sentence.status == SentenceStatus::Scored && !says_the_same(sentence, expected, lacks_embeddings) {
            wrong.push(format!("sentence {index} is {sentence:?} instead of {expected:?}"));
        }
        if sentence.status == SentenceStatus::Failed && sentence.support_probability.is_some() {
            wrong.push(format!("sentence {index} is unchecked and has a probability"));
        }
    }
    let count = |of| result.sentences.iter().filter(|sentence| sentence.status == of).count();
    let (scored, failed) = (count(SentenceStatus::Scored), count(SentenceStatus::Failed));
    let reached = scored as f32 / (scored + failed).max(1) as f32;
    if result.coverage.is_some_and(|claimed| claimed > reached + 1e-6) {
        wrong.push(format!("coverage {:?} is claimed, {reached} was reached", result.coverage));
    }
    if result.status == Status::Scored && result.notes == expected.notes {
        let (mut result, mut expected) = (result.clone(), expected.clone());
        for result in [&mut result, &mut expected] {
            result.timings = Timings::default();
            result.usage.cache_hits = 0;
            result.id = String::new();
        }
        let parts = [
            ("scores", result.scores != expected.scores),
            ("methods", result.methods != expected.methods),
            ("usage", result.usage != expected.usage),
            ("sentences", result.sentences != expected.sentences),
            ("something", result != expected),
        ];
        if let Some((part, _)) = parts.iter().find(|(_, differs)| *differs) {
            wrong.push(format!("{part} of a whole answer differs: {result:?} instead of {expected:?}"));
        }
    }
    wrong.extend(
        result.notes.iter().filter(|note| !is_known(note.code, check)).map(|note| format!("{note:?}")),
    );
    wrong
}

fn says_the_same(sentence: &SentenceResult, expected: &SentenceResult, support_alone: bool) -> bool {
    let same_support = sentence.support_probability == expected.support_probability;
    let same_rest = sentence.verdict == expected.verdict
        && sentence.contradiction_probability == expected.contradiction_probability;
    same_support && (support_alone || same_rest)
}

/// What was lost in the storm is found to be lost, and made good, once the storm is over: a check that has the time for that does
/// not end at its deadline.
fn gave_up_early(result: &CheckResult, check: &PlannedCheck) -> Option<String> {
    let ended =
        has_time_after_the_storm(check) && result.notes.iter().any(|note| note.code == Code::DEADLINE);
    ended.then(|| "it ended at its deadline, long after everything worked again".to_owned())
}

/// Whether nothing but the network stood between a check and its answer, and it had time after the network worked again.
fn has_time_after_the_storm(check: &PlannedCheck) -> bool {
    check.leave.is_none()
        && !check.may_fail
        && nature(check.template) == Nature::Good
        && check.at + check.deadline >= CALM_FROM + TIME_TO_RECOVER
}

/// Whether an answer to this check may have a note of this code.
fn is_known(code: Code, check: &PlannedCheck) -> bool {
    match code {
        Code::DEADLINE | Code::JOB_DEAD => true,
        Code::CANCELLED => matches!(check.leave, Some(Leave::Cancel(_))),
        Code::INTERNAL => nature(check.template) == Nature::Unscorable,
        Code::FOREIGN_BACKBONE => true,
        _ => false,
    }
}

/// Whether a check that nothing stood in the way of in the end was answered in full: `None` where that is not to be expected.
pub(super) fn is_whole(record: &Record) -> Option<bool> {
    let ending = record.ending.as_ref().map(|(_, ending)| ending);
    let Some(Ending::Answered(_, answer)) = ending else { return None };
    match &**answer {
        Ok(result) if has_time_after_the_storm(&record.check) => Some(result.coverage == Some(1.0)),
        _ => None,
    }
}

/// How a check ended, in a line.
pub(super) fn in_short(record: &Record) -> String {
    match &record.ending {
        Some((_, Ending::Answered(at, answer))) => match &**answer {
            Ok(result) => {
                let codes = result.notes.iter().map(|note| note.code.as_str()).collect::<Vec<_>>();
                format!("{:?} at {at:?}, coverage {:?}, notes {codes:?}", result.status, result.coverage)
            }
            Err(problem) => format!("{problem} at {at:?}"),
        },
        ending => format!("{:?}", ending.as_ref().map(|(_, ending)| ending)),
    }
}

/// Of everything that callers saw, and when.
pub(super) fn digest(records: &[Record]) -> u64 {
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let of = |record: &Record| match &record.ending {
        Some((_, Ending::Answered(at, answer))) => {
            let coverage = answer.as_ref().as_ref().map(|result| result.coverage);
            format!("{at:?} {coverage:?}")
        }
        ending => format!("{:?}", ending.as_ref().map(|(_, ending)| ending)),
    };
    hasher.hash_one(records.iter().map(of).collect::<Vec<_>>())
}

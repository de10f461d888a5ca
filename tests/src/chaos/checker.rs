//! What must hold of what callers saw.

use super::load::{Ending, Kind, ORDINARY, Record};
use super::schedule::{Fault, Incident, Node, Schedule};
use groundline_types::Code;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// How late an answer may be: a tick of the timers, on a machine where everything competes for two cores.
const TICK: Duration = Duration::from_secs(1);
/// How long after an incident a gateway may still be coming up.
const COMING_UP: Duration = Duration::from_secs(3);
/// Differences between numbers that are rounding.
const TOLERANCE: f64 = 1e-4;

/// Everything that does not hold, and how many checks ended how.
pub(super) fn check(
    schedule: &Schedule,
    records: &[Record],
    submitted: u64,
    references: &BTreeMap<u64, Value>,
) -> (Vec<String>, BTreeMap<&'static str, usize>) {
    let (mut violations, mut counts) = (Vec::new(), BTreeMap::new());
    if records.len() as u64 != submitted {
        violations.push(format!("{submitted} checks were asked for, {} ended", records.len()));
    }
    for (number, record) in records.iter().enumerate() {
        let at = record.at.as_secs_f64();
        let mut say = |what: String| {
            violations.push(format!(
                "check {number} ({:?} at {at:.2} s, gateway{}): {what}",
                record.kind, record.gateway
            ));
        };
        let late = record.took.saturating_sub(record.deadline + TICK + frozen(schedule, record));
        if record.kind != Kind::Flood && late > Duration::ZERO {
            say(format!("answered {:?} after its deadline", record.took - record.deadline));
        }
        let ending = match &record.ending {
            Ending::Answered(answer) => {
                answered(schedule, record, answer, references).into_iter().for_each(say);
                "answered"
            }
            Ending::Refused(code) => {
                if code == "none" {
                    say("it was refused without a code".to_owned());
                }
                "refused"
            }
            Ending::Failed { status, code } => {
                if !is_lost(schedule, record) {
                    say(format!("failed with status {status}, code {code}"));
                }
                "failed"
            }
            Ending::Broken(error) => {
                if !may_break(schedule, record) {
                    say(format!("the connection broke: {error}"));
                }
                "broken"
            }
            Ending::Forgotten => {
                if !is_lost(schedule, record) {
                    say("it was accepted, and never answered".to_owned());
                }
                "forgotten"
            }
        };
        *counts.entry(ending).or_default() += 1;
    }
    (violations, counts)
}

/// Incidents at the gateway of a check while it ran.
fn at_its_gateway<'a>(schedule: &'a Schedule, record: &'a Record) -> impl Iterator<Item = &'a Incident> {
    let (begin, end) = (record.at, record.at + record.took);
    schedule.incidents.iter().filter(move |incident| {
        incident.node == Node::Gateway(record.gateway)
            && incident.at <= end + COMING_UP
            && begin <= incident.end() + COMING_UP
    })
}

/// For how long nobody at its gateway could answer.
fn frozen(schedule: &Schedule, record: &Record) -> Duration {
    let freezes = at_its_gateway(schedule, record).filter(|incident| incident.fault == Fault::Freeze);
    freezes.map(|incident| incident.lasts + COMING_UP).sum()
}

/// Whether a check was handed in at a broker that lost everything before the answer was fetched.
fn is_lost(schedule: &Schedule, record: &Record) -> bool {
    let mut wipes = schedule.incidents.iter().filter(|incident| incident.fault == Fault::Wipe);
    record.kind == Kind::HandedIn
        && wipes.any(|wipe| record.at <= wipe.end() && wipe.at <= record.at + record.took)
}

fn may_break(schedule: &Schedule, record: &Record) -> bool {
    at_its_gateway(schedule, record).any(|incident| match incident.fault {
        Fault::Kill | Fault::Freeze => true,
        // What was under way is answered; who comes later finds nobody.
        Fault::Stop => record.at + TICK >= incident.at,
        _ => false,
    })
}

fn answered(
    schedule: &Schedule,
    record: &Record,
    answer: &Value,
    references: &BTreeMap<u64, Value>,
) -> Vec<String> {
    match record.kind {
        Kind::Poisoned => poisoned(answer),
        Kind::Flood => {
            let results = answer["results"].as_array().map(Vec::as_slice).unwrap_or_default();
            let whole =
                results.iter().enumerate().filter(|(_, result)| result["schema"] != "groundline.error/1");
            let wrong = |(item, result): (usize, &Value)| {
                let template = item as u64 % references.len() as u64;
                compare(result, &references[&template])
            };
            whole.flat_map(wrong).collect()
        }
        Kind::Waited | Kind::HandedIn => {
            let mut wrong = compare(answer, &references[&record.template]);
            let frozen = frozen(schedule, record) > Duration::ZERO;
            if record.deadline >= ORDINARY && answer["coverage"] != 1.0 && !frozen {
                wrong.push(format!("coverage {}, notes {}", answer["coverage"], codes(answer)));
            }
            wrong
        }
    }
}

/// The poison is given up with its code, its neighbours are scored.
fn poisoned(answer: &Value) -> Vec<String> {
    let sentences = answer["sentences"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some((poison, others)) = sentences.split_last() else {
        return vec![format!("it has no sentences: {answer}")];
    };
    let mut wrong = Vec::new();
    if poison["status"] != "failed" || !codes(answer).contains(Code::JOB_DEAD.as_str()) {
        wrong.push(format!("the poison is {}, notes {}", poison["status"], codes(answer)));
    }
    if others.iter().any(|sentence| sentence["status"] != "scored") {
        wrong.push(format!("a neighbour of the poison is not scored: notes {}", codes(answer)));
    }
    wrong
}

fn codes(answer: &Value) -> String {
    let notes = answer["notes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let codes = notes.iter().map(|note| note["code"].as_str().unwrap_or("none")).collect::<Vec<_>>();
    codes.join(" ")
}

/// What is wrong with an answer. `expected`: what one process alone says.
fn compare(result: &Value, expected: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let list = |value: &Value| value["sentences"].as_array().cloned().unwrap_or_default();
    let (sentences, expected_sentences) = (list(result), list(expected));
    if sentences.len() != expected_sentences.len() {
        return vec![format!("{} sentences of {}", sentences.len(), expected_sentences.len())];
    }
    let scored = |sentence: &&Value| sentence["status"] == "scored";
    for (sentence, expected) in sentences.iter().zip(&expected_sentences).filter(|(one, _)| scored(one)) {
        if !is_close(&sentence["support_probability"], &expected["support_probability"]) {
            wrong.push(format!("a sentence says {sentence} instead of {expected}"));
        }
    }
    let failed = sentences.iter().filter(|sentence| sentence["status"] == "failed").count();
    let reached = sentences.iter().filter(scored).count();
    let share = reached as f64 / (reached + failed).max(1) as f64;
    if result["coverage"].as_f64().is_some_and(|claimed| claimed > share + TOLERANCE) {
        wrong.push(format!("coverage {} is claimed, {share} was reached", result["coverage"]));
    }
    if result["status"] == "scored" && codes(result) == codes(expected) {
        for part in ["verdict", "action", "scores", "sentences", "coverage"] {
            if !is_close(&result[part], &expected[part]) {
                wrong.push(format!(
                    "{part} of a whole answer: {} instead of {}",
                    result[part], expected[part]
                ));
            }
        }
        let pairs = |result: &Value| result["usage"]["pairs"].clone();
        if pairs(result) != pairs(expected) {
            wrong.push(format!("{} pairs instead of the {} planned", pairs(result), pairs(expected)));
        }
    }
    wrong
}

/// Equal, but for the rounding of numbers.
fn is_close(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            let difference = one.as_f64().unwrap_or(f64::NAN) - other.as_f64().unwrap_or(f64::NAN);
            difference.abs() <= TOLERANCE
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_close(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|other| is_close(one, other)))
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(support: f64, coverage: f64, status: &str) -> Value {
        json!({
            "status": status, "coverage": coverage, "notes": [], "usage": {"pairs": 7}, "verdict": "supported",
            "sentences": [
                {"status": "scored", "support_probability": support},
                {"status": if status == "scored" { "scored" } else { "failed" }, "support_probability": 0.25},
            ],
        })
    }

    #[test]
    fn a_wrong_score_a_claimed_coverage_and_another_number_of_pairs_are_seen() {
        let expected = answer(0.5, 1.0, "scored");
        assert!(compare(&answer(0.50001, 1.0, "scored"), &expected).is_empty());
        assert!(compare(&answer(0.5, 0.5, "partial"), &expected).is_empty());
        assert_eq!(compare(&answer(0.6, 0.5, "partial"), &expected).len(), 1);
        assert!(compare(&answer(0.5, 1.0, "partial"), &expected)[0].contains("claimed"));
        let mut twice = expected.clone();
        twice["usage"]["pairs"] = json!(8);
        assert!(compare(&twice, &expected)[0].contains("8 pairs"));
    }

    #[test]
    fn a_poison_must_be_given_up_and_its_neighbours_scored() {
        let given_up = |first: &str, code: &str| {
            let sentences = [first, "failed"].map(|status| json!({"status": status}));
            json!({"sentences": sentences, "notes": [{"code": code}]})
        };
        assert!(poisoned(&given_up("scored", Code::JOB_DEAD.as_str())).is_empty());
        assert_eq!(poisoned(&given_up("failed", Code::JOB_DEAD.as_str())).len(), 1);
        assert_eq!(poisoned(&given_up("scored", "GL2002")).len(), 1);
    }

    #[test]
    fn a_late_answer_a_broken_connection_and_a_forgotten_check_are_seen() {
        let schedule = Schedule { seed: 0, storm: Duration::from_secs(60), incidents: Vec::new() };
        let record = |took, ending| Record {
            kind: Kind::Waited,
            template: 0,
            gateway: 0,
            at: Duration::from_secs(1),
            took: Duration::from_secs(took),
            deadline: Duration::from_secs(3),
            ending,
        };
        let references = BTreeMap::from([(0, answer(0.5, 1.0, "scored"))]);
        let whole = || Ending::Answered(Box::new(answer(0.5, 1.0, "scored")));
        let violations = |records: &[Record]| check(&schedule, records, records.len() as u64, &references).0;
        assert!(violations(&[record(3, whole())]).is_empty());
        assert_eq!(violations(&[record(5, whole())]).len(), 1);
        assert_eq!(violations(&[record(1, Ending::Broken(String::new()))]).len(), 1);
        assert_eq!(violations(&[record(1, Ending::Forgotten)]).len(), 1);
        assert_eq!(check(&schedule, &[], 1, &references).0.len(), 1);
    }

    #[test]
    fn only_what_was_handed_in_may_be_lost_with_the_broker() {
        let wipe = Incident {
            at: Duration::from_secs(10),
            lasts: Duration::from_secs(2),
            fault: Fault::Wipe,
            node: Node::Broker,
        };
        let schedule = Schedule { seed: 0, storm: Duration::from_secs(60), incidents: vec![wipe] };
        let lost = |kind, at| {
            let record = Record {
                kind,
                template: 0,
                gateway: 0,
                at: Duration::from_secs(at),
                took: Duration::from_secs(5),
                deadline: Duration::from_secs(30),
                ending: Ending::Forgotten,
            };
            check(&schedule, &[record], 1, &BTreeMap::new()).0.is_empty()
        };
        assert!(lost(Kind::HandedIn, 6));
        assert!(!lost(Kind::Waited, 6) && !lost(Kind::HandedIn, 4) && !lost(Kind::HandedIn, 13));
    }
}

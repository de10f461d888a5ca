//! Scores of the two sides, response by response: a faster way to other numbers is no faster way.

use anyhow::{Context as _, bail};
use serde_json::Value;
use std::fmt::Write as _;

/// The largest difference between two SummaC-ZS that counts as rounding. It is the one that `bench-cpu` grants to logits: a
/// difference of two probabilities moves by no more than the logits behind them do.
const TOLERANCE: f64 = 1e-3;
/// How many disagreements are listed.
const LISTED: usize = 5;

/// What one side says of one response.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Answer {
    /// SummaC-ZS, -1..=1; `None` where a side abstains.
    pub(super) score: Option<f64>,
    /// (source sentence, response sentence) pairs that it is made of.
    pub(super) pairs: u64,
}

/// That both sides say the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Agreement {
    /// Responses with a score of both sides.
    pub(super) compared: usize,
    /// Responses without a pair: ours abstains, the published code says 0.
    pub(super) empty: usize,
    pub(super) largest_difference: f64,
}

impl Agreement {
    /// The tolerance that was kept.
    pub(super) const fn tolerance() -> f64 {
        TOLERANCE
    }
}

/// Reads our results.
pub(super) fn ours(results: &[Value]) -> anyhow::Result<Vec<Answer>> {
    let answer = |result: &Value| {
        if let Some(code) = result["code"].as_str() {
            bail!("request {} was refused: {code}", result["id"]);
        }
        let pairs = result["methods"]["summac"]["work_items"].as_u64();
        Ok(Answer {
            score: result["scores"]["summac_zs"].as_f64(),
            pairs: pairs.context("no work_items in a result")?,
        })
    };
    results.iter().map(answer).collect()
}

/// Reads the peer's answer.
pub(super) fn theirs(answer: &Value) -> anyhow::Result<Vec<Answer>> {
    let scores = answer["scores"].as_array().context("no scores")?;
    let pairs = answer["pairs"].as_array().context("no pairs")?;
    let read = |(score, pairs): (&Value, &Value)| {
        Some(Answer { score: Some(score.as_f64()?), pairs: pairs.as_u64()? })
    };
    scores.iter().zip(pairs).map(|both| read(both).context("a score is no number")).collect()
}

/// The pairs of all responses.
pub(super) fn pairs(answers: &[Answer]) -> u64 {
    answers.iter().map(|answer| answer.pairs).sum()
}

/// Compares the two sides, request by request.
///
/// # Errors
///
/// Where they differ on any response, in its score or in its number of pairs: the worst are listed by their request's `id`.
pub(super) fn compare(requests: &[Value], ours: &[Answer], theirs: &[Answer]) -> anyhow::Result<Agreement> {
    if ours.is_empty() || ours.len() != theirs.len() || ours.len() != requests.len() {
        bail!(
            "of {} responses {} are scored by us, {} by the peer",
            requests.len(),
            ours.len(),
            theirs.len()
        );
    }
    let mut agreement = Agreement { compared: 0, empty: 0, largest_difference: 0.0 };
    let mut apart = Vec::new();
    for (at, (own, other)) in ours.iter().zip(theirs).enumerate() {
        let difference = difference(own, other);
        if own.pairs != other.pairs || difference > TOLERANCE {
            apart.push((difference, at));
        } else if own.score.is_none() {
            agreement.empty += 1;
        } else {
            agreement.compared += 1;
            agreement.largest_difference = agreement.largest_difference.max(difference);
        }
    }
    if apart.is_empty() {
        return Ok(agreement);
    }
    apart.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let mut message = format!("{} of {} responses differ; nothing to compare", apart.len(), ours.len());
    for (_, at) in apart.iter().take(LISTED) {
        let (line, own, other) = (&requests[*at]["id"], &ours[*at], &theirs[*at]);
        // Writing to a string cannot fail.
        let _ = write!(message, "\n  line {line}: {} here, {} there", shown(own), shown(other));
    }
    bail!(message)
}

/// Of two scores their distance, infinite where one is missing that should be there.
fn difference(own: &Answer, other: &Answer) -> f64 {
    match (own.score, other.score) {
        (Some(own), Some(other)) => (own - other).abs(),
        // The published code has no word for "nothing to compare".
        (None, Some(other)) if own.pairs == 0 => other.abs(),
        _ => f64::INFINITY,
    }
}

fn shown(answer: &Answer) -> String {
    let score = answer.score.map_or_else(|| "none".to_owned(), |score| format!("{score:.6}"));
    format!("{score} of {} pairs", answer.pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn requests(count: usize) -> Vec<Value> {
        (1..=count).map(|line| json!({ "id": line })).collect()
    }

    fn answers(rows: &[(Option<f64>, u64)]) -> Vec<Answer> {
        rows.iter().map(|&(score, pairs)| Answer { score, pairs }).collect()
    }

    #[test]
    fn equal_scores_of_equal_work_agree() {
        let ours = answers(&[(Some(0.5), 6), (None, 0), (Some(-0.25), 2)]);
        let theirs = answers(&[(Some(0.5004), 6), (Some(0.0), 0), (Some(-0.25), 2)]);
        let agreement = compare(&requests(3), &ours, &theirs).unwrap();
        assert_eq!((agreement.compared, agreement.empty), (2, 1));
        assert!((agreement.largest_difference - 4e-4).abs() < 1e-9);
    }

    #[test]
    fn another_score_another_amount_of_work_and_a_missing_score_do_not() {
        let ours = answers(&[(Some(0.5), 6)]);
        let one = requests(1);
        let message = compare(&one, &ours, &answers(&[(Some(0.502), 6)])).unwrap_err().to_string();
        assert!(message.contains("line 1: 0.500000 of 6 pairs here, 0.502000 of 6"), "{message}");
        assert!(compare(&one, &ours, &answers(&[(Some(0.5), 8)])).is_err());
        assert!(compare(&one, &answers(&[(None, 6)]), &ours).is_err());
        assert!(compare(&one, &ours, &[]).is_err());
        assert!(compare(&[], &[], &[]).is_err());
    }

    #[test]
    fn the_worst_are_listed_first() {
        let ours = answers(&[(Some(0.1), 1), (Some(0.2), 1), (Some(0.3), 1)]);
        let theirs = answers(&[(Some(0.2), 1), (Some(0.2), 1), (Some(0.9), 1)]);
        let message = compare(&requests(3), &ours, &theirs).unwrap_err().to_string();
        assert!(message.starts_with("2 of 3 responses differ"), "{message}");
        assert!(message.find("line 3").unwrap() < message.find("line 1").unwrap(), "{message}");
    }

    #[test]
    fn answers_are_read_from_results_and_from_the_peer() {
        let result = json!({ "scores": { "summac_zs": 0.5 }, "methods": { "summac": { "work_items": 6 } } });
        let none = json!({ "scores": { "summac_zs": null }, "methods": { "summac": { "work_items": 0 } } });
        assert_eq!(ours(&[result, none]).unwrap(), answers(&[(Some(0.5), 6), (None, 0)]));
        let refused = json!({ "schema": "groundline.error/1", "code": "GL1001", "id": "7" });
        assert!(ours(&[refused]).unwrap_err().to_string().contains("GL1001"));
        let peer = json!({ "scores": [0.5, 0.0], "pairs": [6, 0] });
        assert_eq!(pairs(&theirs(&peer).unwrap()), 6);
        assert!(theirs(&json!({ "scores": ["x"], "pairs": [1] })).is_err());
    }
}

use super::*;
use groundline_judge::ProbabilityBasis;
use groundline_types::{Problem, Verdict};

fn p(value: f32) -> Probability {
    Probability::new(value).unwrap()
}

fn said(label: JudgeLabel, [supported, contradicted, unsupported]: [f32; 3]) -> JudgeVerdict {
    let probabilities = groundline_judge::LabelProbabilities {
        supported: p(supported),
        contradicted: p(contradicted),
        unsupported: p(unsupported),
    };
    JudgeVerdict {
        label,
        reason: "r".to_owned(),
        quote: None,
        quoted_passage: None,
        is_downgraded: false,
        probabilities: Some(probabilities),
        basis: Some(ProbabilityBasis::Logprobs),
        votes: 1,
        prompt: "verdict/1",
    }
}

#[test]
fn probabilities_that_say_something_else_than_the_verdict_are_not_taken() {
    let agreeing = judgement(said(JudgeLabel::Contradicted, [0.2, 0.7, 0.1]));
    assert_eq!(
        (agreeing.verdict, agreeing.probabilities),
        (Verdict::Contradicted, Some([p(0.2), p(0.7), p(0.1)]))
    );
    let other = judgement(said(JudgeLabel::Unsupported, [0.9, 0.05, 0.05]));
    assert_eq!((other.verdict, other.probabilities), (Verdict::NotMentioned, None));
}

#[test]
fn a_failure_is_failed_and_only_nothing_to_judge_is_abstained_from() {
    for (code, is_abstained) in [
        (Code::JUDGE_REFUSED, false),
        (Code::JUDGE_UNREADABLE, false),
        (Code::JUDGE_BUDGET, false),
        (Code::JUDGE_DEADLINE, false),
        (Code::JUDGE_NOTHING_TO_JUDGE, true),
    ] {
        let usage = JudgeUsage { calls: 2, ..JudgeUsage::default() };
        let failure = JudgeFailure { problem: Problem::new(code, "x"), usage };
        let answered = answered::<()>(Err(failure), |()| Answer::Inconsistency(0.0));
        assert_eq!(matches!(answered.outcome, Outcome::Abstained(_)), is_abstained, "{code}");
        assert!(answered.outcome.scored().is_none());
        assert_eq!(answered.cost.calls, 2, "what failed was paid for too");
    }
}

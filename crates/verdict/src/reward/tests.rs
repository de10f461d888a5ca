use super::*;
use groundline_types::{
    ModelResult, Probability, SCHEMA, Scores, SentenceStatus, Status, Timings, Usage, Verdict::*,
};
use proptest::prelude::*;

/// A checkable sentence with this verdict, or one that could not be checked.
fn sentence(verdict: Option<Verdict>, weight: f32) -> SentenceResult {
    let support = verdict.map(|verdict| if verdict == Supported { 0.9 } else { 0.1 });
    SentenceResult {
        text: "s".to_owned(),
        start: 10,
        end: 20,
        status: if verdict.is_some() { SentenceStatus::Scored } else { SentenceStatus::Failed },
        verdict,
        support_probability: support.and_then(Probability::new),
        contradiction_probability: None,
        neutral_probability: None,
        weight,
        tags: Vec::new(),
        reason: if verdict.is_some() { VerdictReason::Entailed } else { VerdictReason::Unchecked },
        detail: None,
        evidence: Vec::new(),
        facts: Vec::new(),
    }
}

fn greeting() -> SentenceResult {
    SentenceResult {
        status: SentenceStatus::Abstained,
        reason: VerdictReason::NotAClaim,
        ..sentence(None, 1.0)
    }
}

fn result(sentences: Vec<SentenceResult>) -> CheckResult {
    CheckResult {
        id: "id".to_owned(),
        schema: SCHEMA.to_owned(),
        status: Status::Scored,
        verdict: None,
        action: None,
        alert: false,
        scores: Scores::default(),
        coverage: None,
        calibrated: false,
        model: ModelResult { name: String::new(), revision: String::new(), engine: String::new() },
        config_hash: String::new(),
        sentences,
        methods: BTreeMap::new(),
        notes: Vec::new(),
        usage: Usage::default(),
        timings: Timings::default(),
        matrix: None,
        ensemble: None,
        spans: None,
    }
}

fn verdicts(verdicts: &[Option<Verdict>]) -> CheckResult {
    result(verdicts.iter().map(|verdict| sentence(*verdict, 1.0)).collect())
}

fn ternary(verdicts_: &[Option<Verdict>]) -> Option<f64> {
    reward(&verdicts(verdicts_), &RewardProfile::default()).reward
}

fn binary(verdicts_: &[Option<Verdict>]) -> Option<f64> {
    let profile = RewardProfile { profile: RewardShape::BinaryContradiction, ..RewardProfile::default() };
    reward(&verdicts(verdicts_), &profile).reward
}

const S: Option<Verdict> = Some(Supported);
const C: Option<Verdict> = Some(Contradicted);
const N: Option<Verdict> = Some(NotMentioned);

#[test]
fn the_ternary_reward_is_the_mean_with_short_praise_cut() {
    for (sentences, expected) in [
        (&[S, S, S][..], 1.0),
        (&[S, S, C], 0.333),
        (&[S, N, N], 0.0),
        (&[S, S, S, N], 0.625),
        (&[C, C, C], -1.0),
        (&[S], 0.333),
        (&[S, S], 0.667),
        (&[S, N], 0.167),
        (&[N], -0.5),
        (&[C], -1.0),
        (&[S, C], 0.0),
    ] {
        assert_eq!(ternary(sentences), Some(expected), "{sentences:?}");
    }
}

#[test]
fn the_binary_reward_punishes_contradiction_alone() {
    for (sentences, expected) in [(&[S, N, N][..], 0.0), (&[N], 0.0), (&[S, S, C], -1.0), (&[S, S, S], 0.0)] {
        assert_eq!(binary(sentences), Some(expected), "{sentences:?}");
    }
}

#[test]
fn sentences_count_by_their_weight() {
    let weighted = result(vec![sentence(C, 2.0), sentence(S, 1.0), sentence(S, 1.0)]);
    let given = reward(&weighted, &RewardProfile::default());
    assert_eq!(given.reward, Some(0.0));
    assert!((given.components.mean_weight - 4.0 / 3.0).abs() < 1e-12);
}

#[test]
fn what_makes_no_claim_counts_nowhere() {
    let mut sentences = vec![greeting(), sentence(S, 1.0), greeting(), sentence(S, 1.0), sentence(S, 1.0)];
    sentences[1].start = 6;
    let given = reward(&result(sentences), &RewardProfile::default());
    assert_eq!((given.status, given.reward, given.sentences.len()), (RewardStatus::Scored, Some(1.0), 3));
    assert_eq!((given.sentences[0].start, given.sentences[0].end), (6, 20));
    assert_eq!(given.sentences[0].reward, Some(1.0));
}

#[test]
fn no_claim_and_no_verdict_are_unscored_and_never_perfect() {
    for sentences in [vec![], vec![greeting()], vec![sentence(None, 1.0); 4]] {
        for profile in RewardShape::ALL {
            let profile = RewardProfile { profile, ..RewardProfile::default() };
            let given = reward(&result(sentences.clone()), &profile);
            assert_eq!((given.status, given.reward), (RewardStatus::Unscored, None));
            assert!(given.components.numbers().values().all(|number| number.is_finite()));
        }
    }
}

#[test]
fn an_unchecked_sentence_counts_as_the_worst_and_the_reward_says_partial() {
    let given = reward(&verdicts(&[S, S, S, None]), &RewardProfile::default());
    assert_eq!((given.status, given.reward), (RewardStatus::Partial, Some(0.5)));
    assert_eq!((given.sentences[3].reward, given.sentences[3].verdict), (None, None));
    assert_eq!((given.components.unchecked, given.components.coverage), (1, 0.75));
    assert_eq!(binary(&[S, S, None]), Some(-1.0));
}

#[test]
fn names_say_what_made_the_number() {
    let plain = RewardProfile::default();
    assert_eq!(plain.versioned_name(), "ternary/1");
    let mild = RewardProfile { not_mentioned_reward: -0.25, ..plain };
    assert_eq!(mild.versioned_name(), "ternary/1 not_mentioned=-0.25");
    assert_eq!(reward(&verdicts(&[N]), &mild).reward, Some(-0.25));
    let binary = mild.named("binary_contradiction/1").unwrap();
    assert_eq!(binary.versioned_name(), "binary_contradiction/1");
    let problem = plain.named("ternery").unwrap_err();
    assert_eq!(problem.code, Code::INVALID_FIELD);
    assert!(problem.message.ends_with("did you mean `ternary`?"), "{problem}");
    assert!(plain.named("f1").unwrap_err().message.contains("binary_contradiction"));
}

#[test]
fn settings_out_of_range_or_unknown_are_refused() {
    for value in [0.1, -1.5, f64::NAN] {
        let profile = RewardProfile { not_mentioned_reward: value, ..RewardProfile::default() };
        assert_eq!(profile.validate().unwrap_err().code, Code::INVALID_CONFIG);
        let given = reward(&verdicts(&[N, N, N]), &profile).reward.unwrap();
        assert!((-1.0..=0.0).contains(&given), "{given}");
    }
    assert_eq!(serde_json::from_str::<RewardProfile>("{}").unwrap(), RewardProfile::default());
    assert!(serde_json::from_str::<RewardProfile>(r#"{"not_mentionned_reward": 0}"#).is_err());
    assert!(serde_json::from_str::<RewardProfile>(r#"{"profile": "other"}"#).is_err());
}

#[test]
fn the_flat_numbers_have_the_names_of_the_fields() {
    let given = reward(&verdicts(&[S, C, N, None]), &RewardProfile::default());
    let json = serde_json::to_value(given.components).unwrap();
    let fields = json.as_object().unwrap();
    let numbers = given.components.numbers();
    assert_eq!(numbers.len(), fields.len());
    for (name, number) in numbers {
        assert_eq!(fields[name].as_f64(), Some(number), "{name}");
    }
    let text = serde_json::to_string(&given).unwrap();
    assert_eq!(serde_json::from_str::<Reward>(&text).unwrap(), given);
}

fn any_verdict() -> impl Strategy<Value = Option<Verdict>> {
    prop_oneof![3 => Just(S), 2 => Just(C), 2 => Just(N), 1 => Just(None)]
}

proptest! {
    #[test]
    fn rewards_are_bounded_monotone_quantised_and_repeatable(
        drawn in proptest::collection::vec((any_verdict(), 1.0_f32..4.0, any::<bool>()), 0..12),
        at: prop::sample::Index,
        shape in prop_oneof![Just(RewardShape::Ternary), Just(RewardShape::BinaryContradiction)],
        not_mentioned_reward in -1.0_f64..=0.0,
    ) {
        let profile = RewardProfile { profile: shape, not_mentioned_reward };
        let sentences = drawn.iter().map(|(verdict, weight, claim)| if *claim { sentence(*verdict, *weight) } else { greeting() });
        let sentences = sentences.collect::<Vec<_>>();
        let given = reward(&result(sentences.clone()), &profile);
        prop_assert_eq!(&given, &reward(&result(sentences.clone()), &profile));
        prop_assert_eq!(given.reward.is_none(), given.status == RewardStatus::Unscored);
        if let Some(number) = given.reward {
            prop_assert!((-1.0..=1.0).contains(&number));
            prop_assert!((number * 1000.0 - (number * 1000.0).round()).abs() < 1e-9);
            let all_supported = given.sentences.iter().all(|sentence| sentence.verdict == S);
            prop_assert!(number < 1.0 || (all_supported && given.sentences.len() >= BREVITY_SENTENCES));
        }
        let claims = sentences.iter().enumerate().filter(|(_, sentence)| sentence.reason != VerdictReason::NotAClaim);
        let claims = claims.map(|(at, _)| at).collect::<Vec<_>>();
        if claims.is_empty() {
            return Ok(());
        }
        let with = |verdict| {
            let mut changed = sentences.clone();
            let place = claims[at.index(claims.len())];
            changed[place] = sentence(verdict, changed[place].weight);
            reward(&result(changed), &profile).reward
        };
        let (supported, not_mentioned, contradicted, unchecked) = (with(S), with(N), with(C), with(None));
        prop_assert!(supported >= not_mentioned, "supported {:?}, not mentioned {:?}", supported, not_mentioned);
        prop_assert!(not_mentioned >= contradicted);
        if let Some(unchecked) = unchecked {
            prop_assert!(Some(unchecked) <= contradicted, "what is not checked pays");
        }
    }
}

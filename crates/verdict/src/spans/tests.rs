use super::*;
use crate::{Decision, decide, decide_staged};
use groundline_types::{
    AtomicFact, CheckRequest, Claim, ClaimKind, Code, EvidenceSentence, MethodScore, Polarity,
    PreparedSource, Reason, Span,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

fn p(value: f32) -> Probability {
    Probability::new(value).unwrap()
}

/// A response of sentences of ten bytes, each of two facts of its halves, against one sentence of evidence.
fn check_of(sentences: usize, facts: bool) -> PreparedCheck {
    let claim = |index: usize| {
        let start = index * 11;
        let fact = |from: usize, to: usize| AtomicFact {
            text: format!("fact {from}").into(),
            span: Span::new(start + from, start + to),
        };
        Claim {
            span: Span::new(start, start + 10),
            text: "abcd efghi".into(),
            places: Default::default(),
            kind: ClaimKind::Statement,
            tags: Vec::new(),
            facts: vec![fact(0, 4), fact(5, 10)],
        }
    };
    let evidence = EvidenceSentence { span: Span::new(0, 1), text: "x".into(), tokens: 1 };
    let source = PreparedSource {
        id: "source-1".into(),
        text: "x".into(),
        sentences: vec![evidence],
        windows: Vec::new(),
    };
    let mut request = CheckRequest::new("abcd efghi ".repeat(sentences), "x");
    request.facts = facts;
    PreparedCheck {
        request: Arc::new(request),
        claims: (0..sentences).map(claim).collect(),
        before: None,
        sources: vec![source],
        samples: Vec::new(),
        refused: Default::default(),
        derived: Default::default(),
    }
}

fn finding(support: f32) -> Outcome<ClaimFinding> {
    Outcome::Scored(ClaimFinding { support: Some(p(support)), ..ClaimFinding::default() })
}

fn report(
    method: &'static str,
    claims: Vec<Outcome<ClaimFinding>>,
    facts: Vec<Vec<Outcome<ClaimFinding>>>,
) -> Report {
    Report {
        method,
        claims,
        facts,
        score: Outcome::Scored(MethodScore { value: 0.5, polarity: Polarity::HigherIsSupported }),
        extra: BTreeMap::new(),
        matrix: None,
        notes: Vec::new(),
        work_items: 1,
    }
}

/// What a token classifier says of the sentence `index`: tokens of two bytes from its start on.
fn labelled(index: usize, probabilities: &[f32]) -> Outcome<ClaimFinding> {
    let token = |(at, &probability): (usize, &f32)| TokenFinding {
        span: Span::new(index * 11 + at * 2, index * 11 + at * 2 + 2),
        hallucination_probability: p(probability),
    };
    let worst = probabilities.iter().copied().fold(0.0, f32::max);
    Outcome::Scored(ClaimFinding {
        support: Some(p(1.0 - worst)),
        tokens: probabilities.iter().enumerate().map(token).collect(),
        ..ClaimFinding::default()
    })
}

type Shown = (usize, usize, usize, SpanOrigin, f32, Option<Verdict>);

fn shown(decision: &Decision) -> Option<Vec<Shown>> {
    let show = |span: &SpanResult| {
        let probability = span.hallucination_probability.get();
        (span.start, span.end, span.sentence, span.source, probability, span.verdict)
    };
    decision.spans.as_ref().map(|spans| spans.iter().map(show).collect())
}

fn decided(check: &PreparedCheck, reports: &[Report]) -> Decision {
    decide(check, reports, &VerdictPolicy::default())
}

#[test]
fn without_facts_and_token_classifiers_nothing_is_said_of_parts() {
    let decision = decided(&check_of(1, false), &[report("entailment", vec![finding(0.1)], Vec::new())]);
    assert_eq!(decision.spans, None);
}

#[test]
fn facts_that_are_not_supported_are_the_spans_of_facts() {
    let facts = vec![
        vec![finding(0.875), finding(0.25)],
        vec![finding(0.75), finding(0.5)],
        vec![
            Outcome::Failed(Reason::new(Code::DEADLINE, "too late")),
            Outcome::Scored(ClaimFinding {
                support: Some(p(0.125)),
                contradiction: Some(p(0.9)),
                ..ClaimFinding::default()
            }),
        ],
    ];
    let entailment = report("entailment", vec![finding(0.1), finding(0.9), finding(0.2)], facts);
    let decision = decided(&check_of(3, true), &[entailment]);
    let found = shown(&decision).unwrap();
    assert_eq!(
        found,
        [
            (5, 10, 0, SpanOrigin::Facts, 0.75, Some(Verdict::NotMentioned)),
            (27, 32, 2, SpanOrigin::Facts, 0.875, Some(Verdict::Contradicted)),
        ],
        "a fact that was not scored is no span"
    );
}

#[test]
fn facts_of_one_place_are_one_span_as_bad_as_the_worst() {
    let mut check = check_of(1, true);
    check.claims[0].facts[1].span = check.claims[0].facts[0].span;
    let facts = vec![vec![finding(0.25), finding(0.125)]];
    let decision = decided(&check, &[report("entailment", vec![finding(0.1)], facts)]);
    let expected = (0, 4, 0, SpanOrigin::Facts, 0.875, Some(Verdict::NotMentioned));
    assert_eq!(shown(&decision).unwrap(), [expected]);
}

#[test]
fn neighbouring_tokens_that_are_hallucinated_are_one_span_as_probable_as_the_worst() {
    let tokens = vec![labelled(0, &[0.1, 0.75, 0.875, 0.5, 0.625]), labelled(1, &[0.1, 0.5])];
    let decision = decided(&check_of(2, false), &[report("lettucedetect", tokens, Vec::new())]);
    let found = shown(&decision).unwrap();
    let of_tokens = |start, end, probability| (start, end, 0, SpanOrigin::Tokens, probability, None);
    assert_eq!(
        found,
        [of_tokens(2, 6, 0.875), of_tokens(8, 10, 0.625)],
        "half is supported, as sentences are"
    );
    assert_eq!(decision.sentences[1].verdict, Some(Verdict::Supported));
    let texts: Vec<&str> = decision.spans.iter().flatten().map(|span| span.text.as_str()).collect();
    assert_eq!(texts, ["cd e", "hi"]);
}

#[test]
fn tokens_go_before_facts_and_facts_stand_in_where_a_sentence_has_no_tokens() {
    let failed = || Outcome::Failed(Reason::new(Code::CLAIM_TOO_LONG, "too long"));
    let facts = vec![vec![finding(0.1), finding(0.1)], vec![finding(0.25), finding(0.9)]];
    let reports = [
        report("entailment", vec![finding(0.1), finding(0.2)], facts),
        report("lettucedetect", vec![labelled(0, &[0.75, 0.1]), failed()], Vec::new()),
    ];
    let decision = decided(&check_of(2, true), &reports);
    assert_eq!(
        shown(&decision).unwrap(),
        [
            (0, 2, 0, SpanOrigin::Tokens, 0.75, None),
            (11, 15, 1, SpanOrigin::Facts, 0.75, Some(Verdict::NotMentioned))
        ]
    );
    let roles = Roles { advisory: vec!["lettucedetect"], ..Roles::default() };
    let decision = decide_staged(&check_of(2, false), &reports, &roles, &VerdictPolicy::default());
    assert_eq!(decision.spans, None, "what is heard as advice marks nothing");
}

#[test]
fn a_sentence_that_was_not_scored_has_no_span() {
    let mut check = check_of(2, true);
    check.claims[0].kind = ClaimKind::Question;
    let reports = [
        report(
            "entailment",
            vec![finding(0.1), Outcome::Failed(Reason::new(Code::DEADLINE, "late"))],
            Vec::new(),
        ),
        report("lettucedetect", vec![labelled(0, &[0.9]), labelled(1, &[0.9])], Vec::new()),
    ];
    assert_eq!(decided(&check, &reports).spans, Some(Vec::new()));
}

#[test]
fn tokens_of_one_place_are_one_span() {
    // As all tokens of a row of a table are.
    let token =
        |probability: f32| TokenFinding { span: Span::new(0, 10), hallucination_probability: p(probability) };
    let tokens = [0.75, 0.1, 0.875].map(token).to_vec();
    let row = Outcome::Scored(ClaimFinding { support: Some(p(0.125)), tokens, ..ClaimFinding::default() });
    let decision = decided(&check_of(1, false), &[report("lettucedetect", vec![row], Vec::new())]);
    assert_eq!(shown(&decision).unwrap(), [(0, 10, 0, SpanOrigin::Tokens, 0.875, None)]);
}

proptest! {
    #[test]
    fn a_sentence_that_a_token_classifier_decides_has_a_span_exactly_where_it_is_not_supported(
        sentences in proptest::collection::vec(proptest::collection::vec(0.0_f32..=1.0, 1..6), 1..6),
        support_threshold in 0.05_f32..0.95,
    ) {
        let policy = VerdictPolicy { support_threshold, ..VerdictPolicy::default() };
        let claims = sentences.iter().enumerate().map(|(index, tokens)| labelled(index, tokens)).collect();
        let check = check_of(sentences.len(), false);
        let decision = decide(&check, &[report("lettucedetect", claims, Vec::new())], &policy);
        let spans = decision.spans.unwrap();
        for (index, sentence) in decision.sentences.iter().enumerate() {
            let own: Vec<&SpanResult> = spans.iter().filter(|span| span.sentence == index).collect();
            prop_assert_eq!(sentence.verdict == Some(Verdict::Supported), own.is_empty());
            for span in own {
                prop_assert!(sentence.start <= span.start && span.start < span.end && span.end <= sentence.end);
            }
        }
        prop_assert!(spans.windows(2).all(|pair| pair[0].end <= pair[1].start));
    }

    #[test]
    fn spans_of_facts_are_the_unsupported_facts_and_no_others(
        sentences in proptest::collection::vec((0.0_f32..=1.0, 0.0_f32..=1.0, 0.0_f32..=1.0), 1..6),
    ) {
        let claims = sentences.iter().map(|(sentence, _, _)| finding(*sentence)).collect();
        let facts = sentences.iter().map(|(_, one, other)| vec![finding(*one), finding(*other)]).collect();
        let decision = decided(&check_of(sentences.len(), true), &[report("entailment", claims, facts)]);
        let unsupported: Vec<(usize, usize)> = decision
            .sentences
            .iter()
            .flat_map(|sentence| &sentence.facts)
            .filter(|fact| fact.verdict != Some(Verdict::Supported))
            .map(|fact| (fact.start, fact.end))
            .collect();
        let spans: Vec<(usize, usize)> =
            decision.spans.unwrap().iter().map(|span| (span.start, span.end)).collect();
        prop_assert_eq!(spans, unsupported);
    }
}

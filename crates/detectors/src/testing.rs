//! Checks and scorers for tests: no model, fixed numbers.

use crate::{Detector, Next};
use groundline_types::{
    Answer, Answered, CheckRequest, Claim, ClaimKind, CountTokens, EvidenceSentence, EvidenceWindow,
    JudgeCost, ModelFacts, ModelId, NliLabels, Outcome, PreparedCheck, PreparedSource, Question, Report,
    Score, Span, Work,
};
use std::sync::Arc;

/// Counts words.
struct Words;

impl CountTokens for Words {
    fn count_tokens(&self, text: &str) -> usize {
        text.split_whitespace().count()
    }

    fn prefix_within(&self, text: &str, budget: usize) -> usize {
        text.match_indices(' ').nth(budget.saturating_sub(1)).map_or(text.len(), |(at, _)| at)
    }
}

pub(crate) fn facts() -> ModelFacts {
    ModelFacts {
        id: ModelId { name: "fixed".to_owned(), revision: "0".to_owned() },
        labels: NliLabels::from_names(&["contradiction", "entailment", "neutral"]).unwrap(),
        max_tokens: 64,
        pair_overhead_tokens: 3,
        window_tokens: 24,
        has_support_head: false,
        summac_conv_fitted: false,
        similarity_baseline: None,
        counter: Arc::new(Words),
        learned: Vec::new(),
    }
}

pub(crate) fn claim(text: &str) -> Claim {
    Claim {
        span: Span::new(0, text.len()),
        text: text.into(),
        places: Default::default(),
        kind: ClaimKind::Statement,
        tags: Vec::new(),
        facts: Vec::new(),
    }
}

/// A check of checkable claims against sources given as sentences, with windows of two sentences that overlap by one.
pub(crate) fn check_of(sources: &[&[&str]], claims: &[&str]) -> PreparedCheck {
    let sources = sources.iter().enumerate().map(|(index, sentences)| source(index, sentences)).collect();
    PreparedCheck {
        request: Arc::new(CheckRequest::new(claims.join(" "), "")),
        claims: claims.iter().map(|text| claim(text)).collect(),
        before: None,
        sources,
        samples: Vec::new(),
        refused: Default::default(),
        derived: Default::default(),
    }
}

/// A check of checkable claims with samples and no source, samples read in windows of at most `window_words`.
pub(crate) fn sampled_check(samples: &[&str], claims: &[&str], window_words: usize) -> PreparedCheck {
    let sample = |(index, text): (usize, &&str)| {
        let sentences = groundline_claims::split_source(text);
        let source = groundline_evidence::SourceText {
            id: format!("sample-{}", index + 1).into(),
            text: (*text).into(),
            sentences: sentences.into_iter().map(|sentence| (sentence.span, sentence.text)).collect(),
        };
        groundline_evidence::prepare_source(source, &Words, window_words).0
    };
    let mut check = check_of(&[], claims);
    let mut request = CheckRequest::with_sources(claims.join(" "), Vec::new());
    request.samples = samples.iter().map(|text| (*text).to_owned()).collect();
    check.request = Arc::new(request);
    check.samples = samples.iter().enumerate().map(sample).collect();
    check
}

/// The number of a method about a claim.
pub(crate) fn claim_score(report: &Report, claim: usize) -> f64 {
    report.claims[claim].scored().unwrap().score.unwrap()
}

/// A further number of a method about a claim.
pub(crate) fn claim_extra(report: &Report, claim: usize, name: &str) -> Option<f64> {
    report.claims[claim].scored().unwrap().extra.get(name).copied()
}

/// What a method plans for a check once it is started on it.
pub(crate) fn planned_items(mut detector: impl crate::Detector, check: &Arc<PreparedCheck>) -> usize {
    assert_eq!(detector.planned_items(), 0, "nothing is planned before the start");
    let _ = detector.start(check, &facts());
    detector.planned_items()
}

fn source(index: usize, texts: &[&str]) -> PreparedSource {
    let mut sentences = Vec::new();
    let mut start = 0;
    for text in texts {
        let span = Span::new(start, start + text.len());
        sentences.push(EvidenceSentence {
            span,
            text: (*text).into(),
            tokens: text.split_whitespace().count(),
        });
        start = span.end + 1;
    }
    let window = |first: usize, end: usize| EvidenceWindow {
        span: Span::new(sentences[first].span.start, sentences[end - 1].span.end),
        text: texts[first..end].join(" ").into(),
        first_sentence: first,
        end_sentence: end,
    };
    let windows = match texts.len() {
        0 => Vec::new(),
        1 => vec![window(0, 1)],
        count => (0..count - 1).map(|first| window(first, first + 2)).collect(),
    };
    PreparedSource {
        id: format!("source-{}", index + 1).into(),
        text: texts.join(" ").into(),
        sentences,
        windows,
    }
}

/// Logits in the order of [`facts`]' labels for wanted probabilities of entailment and contradiction.
pub(crate) fn logits(entailment: f32, contradiction: f32) -> Outcome<Score> {
    let neutral = (1.0 - entailment - contradiction).max(1e-6);
    let values = [contradiction.max(1e-6).ln(), entailment.max(1e-6).ln(), neutral.ln()];
    Outcome::Scored(Score::Logits(values.into()))
}

/// An embedding that puts texts with common words near each other.
pub(crate) fn embedding(text: &str) -> Outcome<Score> {
    let mut values = [0.01_f32; 32];
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let at = word.bytes().fold(7_usize, |hash, byte| hash.wrapping_mul(31) + usize::from(byte));
        values[at % 32] += 1.0;
    }
    let norm = values.iter().map(|value| value * value).sum::<f32>().sqrt();
    Outcome::Scored(Score::Embedding(values.iter().map(|value| value / norm).collect()))
}

/// Of each text's words, the share that the other has.
fn shared_words(candidate: &str, reference: &str) -> Outcome<Score> {
    let share = |of: &str, with: &str| {
        let found = of.split_whitespace().filter(|word| with.split_whitespace().any(|other| other == *word));
        found.count() as f32 / of.split_whitespace().count().max(1) as f32
    };
    let (precision, recall) = (share(candidate, reference), share(reference, candidate));
    Outcome::Scored(Score::Similarity(groundline_types::Similarity { precision, recall }))
}

/// Runs a detector to its end; gives its report and the rounds of work it asked for.
pub(crate) fn run(
    detector: &mut dyn Detector,
    check: &Arc<PreparedCheck>,
    mut answer: impl FnMut(&Work) -> Outcome<Score>,
) -> (Report, Vec<Vec<Work>>) {
    let mut rounds = Vec::new();
    let mut next = detector.start(check, &facts());
    loop {
        match next {
            Next::Done(report) => return (report, rounds),
            Next::Work(work) => {
                assert!(!work.is_empty(), "an empty round would never end");
                let outcomes: Vec<_> = work.iter().map(&mut answer).collect();
                rounds.push(work);
                next = detector.resume(&outcomes);
            }
            Next::Ask(_) => panic!("{} asks a judge", detector.name()),
        }
    }
}

/// Runs a detector that asks a judge to its end; gives its report and the questions of each round.
pub(crate) fn run_judged(
    detector: &mut dyn Detector,
    check: &Arc<PreparedCheck>,
    mut answer: impl FnMut(&Question) -> Answered,
) -> (Report, Vec<Vec<Question>>) {
    let mut rounds = Vec::new();
    let mut next = detector.start(check, &facts());
    loop {
        match next {
            Next::Done(report) => return (report, rounds),
            Next::Ask(questions) => {
                assert!(!questions.is_empty(), "an empty round would never end");
                let answers: Vec<_> = questions.iter().map(&mut answer).collect();
                rounds.push(questions);
                next = detector.hear(&answers);
            }
            Next::Work(_) => panic!("{} asks for work", detector.name()),
        }
    }
}

/// An answer of a judge that took one call.
pub(crate) fn judged(outcome: Outcome<Answer>) -> Answered {
    let cost = JudgeCost { calls: 1, input_tokens: 100, output_tokens: 10, money: 0.5, cache_hits: 0 };
    Answered { outcome, cost }
}

/// Answers with `nli` for pairs and with [`embedding`] for texts.
pub(crate) fn scorer(nli: impl Fn(&str, &str) -> (f32, f32)) -> impl FnMut(&Work) -> Outcome<Score> {
    move |work| match work {
        Work::Embed { text } => embedding(text),
        Work::Similarity { candidate, reference } => shared_words(candidate, reference),
        Work::Tokens { .. } => panic!("a scorer of pairs is asked to label tokens"),
        Work::Pair { premise, hypothesis, head: groundline_types::Head::Nli } => {
            let (entailment, contradiction) = nli(premise, hypothesis);
            logits(entailment, contradiction)
        }
        Work::Pair {
            premise,
            hypothesis,
            head: groundline_types::Head::Support | groundline_types::Head::Learned(_),
        } => {
            let (support, _) = nli(premise, hypothesis);
            Outcome::Scored(Score::Logits([0.0, (support / (1.0 - support)).ln()].into()))
        }
    }
}

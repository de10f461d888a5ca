//! `judge`: a language model's verdict on each claim, with a reason and a quote.
//!
//! One question a claim: do these passages of the sources support it? Sources that fit `judge.passage_bytes` together are shown
//! whole; of longer ones the windows nearest to the claim by names, numbers and words, each claim with its own, and a note says
//! that not everything was shown.
//!
//! The judge's probabilities are its own where it has them (log probabilities or votes). A verdict without any counts as
//! `judge.verdict_probability`. The evidence is the sentence that its quote is from; a verdict without a quote lists none.
//!
//! A question that brings no answer fails its claim with the judge's code and is noted: a refusal is no verdict. Where an earlier
//! stage left only some claims open, only these are asked about; the others are abstained from, and keep what that stage said.
//!
//! The response's number is its weakest sentence's support.

use crate::judged::{Ledger, wrong_kind};
use crate::reading::reading;
use crate::tally::{PICKS, never_started, response_number, weakest_support};
use crate::{Detector, DetectorOptions, JudgeMethodOptions, Next};
use groundline_evidence::{NearnessWeights, nearness_score, rank};
use groundline_types::{
    Answer, Answered, ClaimFinding, Code, EarlierFindings, EvidencePick, Judgement, ModelFacts,
    NliProbabilities, Outcome, Polarity, PreparedCheck, Probability, Question, Reason, Report, Score,
    Verdict,
};
use std::sync::Arc;

const METHOD: &str = "judge";

/// Questions that are asked at once; the next ones follow their answers. Bounds memory: each holds its own passages.
const QUESTIONS_PER_ROUND: usize = 256;

/// Verdicts of a judge.
#[derive(Debug)]
pub(crate) struct JudgeVerdicts {
    options: JudgeMethodOptions,
    earlier: Option<Arc<EarlierFindings>>,
    run: Option<Run>,
}

/// Passages that a claim is shown with: (source, window), or a whole source without a window.
type Shown = Vec<(usize, Option<usize>)>;

#[derive(Debug)]
struct Run {
    check: Arc<PreparedCheck>,
    /// What the response answers, once for all questions: it may be as large as a request.
    question: Option<Arc<str>>,
    earlier: Option<Arc<EarlierFindings>>,
    settled: Vec<Option<Outcome<ClaimFinding>>>,
    /// Claims to ask about, in order.
    claims: Vec<usize>,
    /// Whether the sources fit as they are.
    fits: bool,
    asked: usize,
    answered: usize,
    /// What the claims that are being asked about are shown with.
    shown: Vec<Shown>,
    ledger: Ledger,
}

impl JudgeVerdicts {
    pub(crate) fn new(options: &DetectorOptions) -> Self {
        Self { options: options.judge.clone(), earlier: None, run: None }
    }

    fn next(&mut self) -> Next {
        let Some(run) = &mut self.run else {
            return Next::Done(never_started(METHOD));
        };
        if run.asked == run.claims.len() {
            return Next::Done(run.report(&self.options));
        }
        let end = (run.asked + QUESTIONS_PER_ROUND).min(run.claims.len());
        let claims = run.claims[run.asked..end].to_vec();
        run.asked = end;
        run.shown = claims.iter().map(|claim| run.passages(*claim, self.options.passage_bytes)).collect();
        Next::Ask(claims.iter().zip(&run.shown).map(|(claim, shown)| run.question(*claim, shown)).collect())
    }
}

impl Detector for JudgeVerdicts {
    fn name(&self) -> &'static str {
        METHOD
    }

    fn begin_after(&mut self, earlier: &Arc<EarlierFindings>) {
        self.earlier = Some(Arc::clone(earlier));
    }

    fn start(&mut self, check: &Arc<PreparedCheck>, _facts: &ModelFacts) -> Next {
        self.run = Some(Run::new(check, self.earlier.clone(), self.options.passage_bytes));
        self.next()
    }

    fn planned_items(&self) -> usize {
        0
    }

    fn planned_questions(&self) -> usize {
        self.run.as_ref().map_or(0, |run| run.claims.len())
    }

    fn resume(&mut self, _outcomes: &[Outcome<Score>]) -> Next {
        self.hear(&[])
    }

    fn hear(&mut self, answers: &[Answered]) -> Next {
        if let Some(run) = &mut self.run {
            run.take(answers, &self.options);
        }
        self.next()
    }
}

impl Run {
    fn new(check: &Arc<PreparedCheck>, earlier: Option<Arc<EarlierFindings>>, passage_bytes: usize) -> Self {
        let has_evidence = check.sources.iter().any(|source| !source.sentences.is_empty());
        let is_open = |index: usize| {
            earlier.as_ref().is_none_or(|earlier| earlier.is_grey.get(index).copied().unwrap_or(true))
        };
        let settle = |(index, claim): (usize, &groundline_types::Claim)| {
            if !claim.kind.is_checkable() {
                let message = "the sentence makes no claim that could be checked";
                Some(Outcome::Abstained(Reason::new(Code::NO_CHECKABLE_CLAIM, message)))
            } else if !has_evidence {
                let message = "there is no sentence of evidence to check against";
                Some(Outcome::Abstained(Reason::new(Code::EMPTY_SOURCE, message)))
            } else if !is_open(index) {
                let message = "the sentence is outside the grey zone, so the judge was not asked";
                Some(Outcome::Abstained(Reason::new(Code::POLICY_STAGE, message)))
            } else {
                None
            }
        };
        let settled = check.claims.iter().enumerate().map(settle).collect::<Vec<_>>();
        let open = settled.iter().enumerate().filter(|(_, settled)| settled.is_none());
        let claims = open.map(|(index, _)| index).collect();
        let bytes = check.sources.iter().map(|source| source.text.len()).sum::<usize>();
        Self {
            check: Arc::clone(check),
            question: check.request.question.as_deref().map(Arc::from),
            earlier,
            settled,
            claims,
            fits: bytes <= passage_bytes,
            asked: 0,
            answered: 0,
            shown: Vec::new(),
            ledger: Ledger::default(),
        }
    }

    /// The whole sources where they fit; else as many of the windows nearest to the claim as fit, nearest first and at least one.
    fn passages(&self, claim: usize, passage_bytes: usize) -> Shown {
        let sources = self.check.sources.iter().enumerate();
        if self.fits {
            let with_words = sources.filter(|(_, source)| !source.sentences.is_empty());
            return with_words.map(|(index, _)| (index, None)).collect();
        }
        let windows: Vec<(usize, usize)> = sources
            .flat_map(|(index, source)| (0..source.windows.len()).map(move |at| (index, at)))
            .collect();
        let texts = windows.iter().map(|(source, window)| &self.check.sources[*source].windows[*window].text);
        let mut left = passage_bytes;
        let mut shown = Shown::new();
        for at in self.nearest(&self.check.claims[claim].text, texts) {
            let (source, window) = windows[at];
            let bytes = self.check.sources[source].windows[window].text.len();
            if bytes > left && !shown.is_empty() {
                break;
            }
            left = left.saturating_sub(bytes);
            shown.push((source, Some(window)));
        }
        shown
    }

    /// Indexes of texts by falling nearness to a text, by names, numbers and words.
    fn nearest<'a>(&self, text: &str, texts: impl Iterator<Item = &'a Arc<str>>) -> Vec<usize> {
        let (wanted, weights) = (reading(&self.check, text), NearnessWeights::default());
        let score = |other: &Arc<str>| {
            let other = reading(&self.check, other);
            nearness_score((&wanted.features, None), (&other.features, None), &weights)
        };
        rank(texts.map(score)).into_iter().map(|near| near.index).collect()
    }

    fn question(&self, claim: usize, shown: &Shown) -> Question {
        let text = |(source, window): &(usize, Option<usize>)| {
            let source = &self.check.sources[*source];
            Arc::clone(window.map_or(&source.text, |window| &source.windows[window].text))
        };
        let earlier = self.earlier.as_ref();
        Question::Verdict {
            passages: shown.iter().map(text).collect(),
            claim: Arc::clone(&self.check.claims[claim].text),
            question: self.question.clone(),
            earlier_support_probability: earlier
                .and_then(|earlier| earlier.support_probabilities.get(claim).copied().flatten()),
        }
    }

    fn take(&mut self, answers: &[Answered], options: &JudgeMethodOptions) {
        let shown = std::mem::take(&mut self.shown);
        for (at, shown) in shown.into_iter().enumerate() {
            let claim = self.claims[self.answered + at];
            let outcome = match self.ledger.take(answers.get(at)) {
                Outcome::Scored(Answer::Verdict(judgement)) => {
                    Outcome::Scored(self.finding(&judgement, &shown, options))
                }
                Outcome::Scored(Answer::Inconsistency(_)) => Outcome::Failed(wrong_kind()),
                Outcome::Abstained(reason) => Outcome::Abstained(reason),
                Outcome::Failed(reason) => Outcome::Failed(reason),
            };
            self.settled[claim] = Some(outcome);
        }
        self.answered = self.asked;
    }

    fn finding(&self, judgement: &Judgement, shown: &Shown, options: &JudgeMethodOptions) -> ClaimFinding {
        let counted = judgement.probabilities.unwrap_or_else(|| spread(judgement.verdict, options));
        let [support, contradiction, neutral] = counted;
        let probabilities = NliProbabilities { entailment: support, contradiction, neutral };
        let evidence = match (&judgement.quote, judgement.quoted_passage.and_then(|at| shown.get(at))) {
            (Some(quote), Some(passage)) => self.quoted(quote, *passage, probabilities),
            _ => Vec::new(),
        };
        let mut finding = ClaimFinding {
            support: Some(support),
            contradiction: Some(contradiction),
            neutral: Some(neutral),
            evidence,
            remark: Some(judgement.reason.clone()).filter(|reason| !reason.is_empty()),
            score: Some(f64::from(support.get())),
            ..ClaimFinding::default()
        };
        finding.extra.insert("votes", f64::from(judgement.votes));
        if judgement.is_downgraded {
            finding.extra.insert("without_quote", 1.0);
        }
        if judgement.probabilities.is_none() {
            finding.extra.insert("without_probabilities", 1.0);
        }
        finding
    }

    /// The sentence of a passage that a quote is nearest to. A quote may span two; the one it shares most with stands for both.
    fn quoted(
        &self,
        quote: &str,
        (source, window): (usize, Option<usize>),
        probabilities: NliProbabilities,
    ) -> Vec<EvidencePick> {
        let sentences = &self.check.sources[source].sentences;
        let held = match window.and_then(|window| self.check.sources[source].windows.get(window)) {
            Some(window) => window.first_sentence..window.end_sentence.min(sentences.len()),
            None => 0..sentences.len(),
        };
        let holds = |at: &usize| {
            let text = &*sentences[*at].text;
            text.contains(quote.trim()) || quote.contains(text)
        };
        let exact: Vec<usize> = held.clone().filter(holds).take(PICKS).collect();
        let places = match exact.is_empty() {
            false => exact,
            true => {
                let texts = sentences[held.clone()].iter().map(|sentence| &sentence.text);
                self.nearest(quote, texts).into_iter().take(1).map(|at| held.start + at).collect()
            }
        };
        places.into_iter().map(|sentence| EvidencePick { source, sentence, probabilities }).collect()
    }

    fn report(&mut self, options: &JudgeMethodOptions) -> Report {
        let missing = || {
            Outcome::Failed(Reason::new(Code::INTERNAL, "the method ended before this sentence was judged"))
        };
        let settled = std::mem::take(&mut self.settled);
        let claims: Vec<Outcome<ClaimFinding>> =
            settled.into_iter().map(|outcome| outcome.unwrap_or_else(missing)).collect();
        let mut notes = self.ledger.notes();
        if !self.fits && !self.claims.is_empty() {
            let message = format!(
                "the sources are longer together than detectors.judge.passage_bytes ({}); the judge read of them what is \
                 nearest to each sentence",
                options.passage_bytes
            );
            notes.push((Code::JUDGE_TEXT_TOO_LONG, message));
        }
        Report {
            method: METHOD,
            score: response_number(&claims, weakest_support(&claims), Polarity::HigherIsSupported),
            claims,
            facts: Vec::new(),
            extra: self.ledger.extra(),
            matrix: None,
            notes,
            work_items: 0,
        }
    }
}

/// Support, contradiction and neither of a verdict without probabilities.
fn spread(verdict: Verdict, options: &JudgeMethodOptions) -> [Probability; 3] {
    let sure = Probability::new(options.verdict_probability).unwrap_or(Probability::ONE);
    let rest = Probability::new((1.0 - sure.get()) / 2.0).unwrap_or(Probability::ZERO);
    match verdict {
        Verdict::Supported => [sure, rest, rest],
        Verdict::Contradicted => [rest, sure, rest],
        Verdict::NotMentioned => [rest, rest, sure],
    }
}

#[cfg(test)]
mod tests;

//! The verdict on one sentence or fact.

use crate::VerdictPolicy;
use groundline_types::{
    AtomicFact, Claim, ClaimFinding, Code, EvidencePick, EvidenceResult, FactResult, NliProbabilities,
    Outcome, PreparedCheck, Probability, Reason, Report, SentenceResult, SentenceStatus, SourceHedge,
    Verdict, VerdictReason,
};

/// Methods whose findings decide sentences, best first. The first of them that reported decides all sentences.
const DECIDING_METHODS: [&str; 12] = [
    "entailment",
    "summac",
    "support",
    "minicheck_flan_t5",
    "minicheck_deberta",
    "minicheck_roberta",
    "hhem",
    "alignscore",
    "true",
    "lettucedetect",
    "factcc",
    JUDGE,
];
/// The method that asks a language model: last, because unlike the others it can be talked to by what it reads.
pub(crate) const JUDGE: &str = "judge";
/// The method that only adds conflicts.
const NUMERIC: &str = "numeric";

/// The method that says something of facts.
const FACTS: &str = "entailment";

/// Whether a method gives sentences a support probability, from which they can be decided.
pub fn decides(method: &str) -> bool {
    DECIDING_METHODS.contains(&method)
}

/// The one of these methods that decides sentences where all of them speak. The order of the list says nothing.
pub fn deciding(methods: &[&'static str]) -> Option<&'static str> {
    DECIDING_METHODS.into_iter().find(|name| methods.contains(name))
}

/// Whether a method's verdict on a sentence stands where it was brought in because earlier methods left the sentence open.
pub fn escalates(method: &str) -> bool {
    method == JUDGE
}

/// What part methods have in a decision, where they ran in stages. By default they all speak, the best decides alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roles {
    /// Methods whose numbers are shown and compared, and that decide no sentence.
    pub advisory: Vec<&'static str>,
    /// The method of an earlier stage that decides what the deciding method of a later one could not score.
    pub fallback: Option<&'static str>,
    /// The method of a later stage that decides the sentences that it scored, before all others; see [`escalates`].
    pub escalation: Option<&'static str>,
}

/// The reports that sentences are decided from.
pub(crate) struct Findings<'a> {
    check: &'a PreparedCheck,
    deciding: Option<&'a Report>,
    fallback: Option<&'a Report>,
    escalation: Option<&'a Report>,
    numeric: Option<&'a Report>,
    has_reports: bool,
    /// Whether there is a sentence of evidence. Without one only what needs no source has spoken.
    has_evidence: bool,
    policy: &'a VerdictPolicy,
}

/// What is known of a sentence or fact, before it is given its place in the text.
#[derive(Clone)]
struct Decided {
    status: SentenceStatus,
    verdict: Option<Verdict>,
    probabilities: Option<[Probability; 3]>,
    reason: VerdictReason,
    detail: Option<String>,
    evidence: Vec<EvidenceResult>,
}

impl<'a> Findings<'a> {
    pub(crate) fn new(
        check: &'a PreparedCheck,
        reports: &'a [Report],
        roles: &Roles,
        policy: &'a VerdictPolicy,
    ) -> Self {
        let by_name = |name: &str| {
            reports.iter().find(|report| report.method == name && !roles.advisory.contains(&report.method))
        };
        let deciding = DECIDING_METHODS.iter().find_map(|name| by_name(name));
        let fallback = roles.fallback.and_then(by_name);
        let escalation = roles.escalation.and_then(by_name);
        let has_reports = !reports.is_empty();
        let has_evidence = check.sources.iter().any(|source| !source.sentences.is_empty());
        let numeric = by_name(NUMERIC);
        Self { check, deciding, fallback, escalation, numeric, has_reports, has_evidence, policy }
    }

    /// The result for the claim at `index`, and why it was not scored where it should have been.
    pub(crate) fn sentence(&self, index: usize, claim: &Claim) -> (SentenceResult, Option<Reason>) {
        let (decided, unchecked) = if !claim.kind.is_checkable() {
            (Decided::unscored(SentenceStatus::Abstained, VerdictReason::NotAClaim, None), None)
        } else {
            let (outcome, by_judge) = self.outcome(index);
            let (mut decided, unchecked) =
                self.decide_with(&outcome, self.numeric.and_then(|report| report.claims.get(index)));
            if by_judge
                && decided.status == SentenceStatus::Scored
                && decided.reason != VerdictReason::Numeric
            {
                decided.reason = VerdictReason::Judge;
                decided.detail = outcome.scored().and_then(|finding| finding.remark.clone());
            }
            (decided, unchecked)
        };
        let facts = self.facts(index, claim, &decided);
        let [support, contradiction, neutral] = decided.split();
        let result = SentenceResult {
            text: claim.text.to_string(),
            start: claim.span.start,
            end: claim.span.end,
            status: decided.status,
            verdict: decided.verdict,
            support_probability: support,
            contradiction_probability: contradiction,
            neutral_probability: neutral,
            weight: self.policy.weight(!claim.tags.is_empty()),
            tags: claim.tags.clone(),
            reason: decided.reason,
            detail: decided.detail,
            evidence: decided.evidence,
            facts,
        };
        (result, unchecked)
    }

    /// Whether methods reported and none of them can say whether a source supports a sentence. That is how the request was, and
    /// no fault.
    pub(crate) fn give_no_verdict(&self) -> bool {
        (self.deciding.is_none() || !self.has_evidence) && self.has_reports
    }

    fn no_verdict(&self) -> Outcome<ClaimFinding> {
        if self.has_reports && !self.has_evidence {
            let message = "no source was given, so that no sentence has a verdict; that a model repeats itself is no support";
            return Outcome::Abstained(Reason::new(Code::EMPTY_SOURCE, message));
        }
        if self.give_no_verdict() {
            let message = "the methods asked give no verdict on sentences: add entailment or summac";
            return Outcome::Abstained(Reason::new(Code::UNKNOWN_METHOD, message));
        }
        failed("no method reported")
    }

    /// What is said of a sentence, and whether a judge says it.
    fn outcome(&self, index: usize) -> (Outcome<ClaimFinding>, bool) {
        if self.has_reports && !self.has_evidence {
            return (self.no_verdict(), false);
        }
        let is_judge = |report: Option<&Report>| report.is_some_and(|report| report.method == JUDGE);
        let by = |report: Option<&Report>| (self.outcome_in(report, index), is_judge(report));
        let escalated = self.escalation.map(|report| by(Some(report)));
        if let Some(escalated) = escalated.filter(|(outcome, _)| outcome.scored().is_some()) {
            return escalated;
        }
        let decided = by(self.deciding);
        if decided.0.scored().is_none() && self.fallback.is_some() {
            let earlier = by(self.fallback);
            if earlier.0.scored().is_some() {
                return earlier;
            }
        }
        decided
    }

    fn outcome_in(&self, report: Option<&Report>, index: usize) -> Outcome<ClaimFinding> {
        match report {
            None => self.no_verdict(),
            Some(report) => match (report.claims.get(index), report.score.reason()) {
                (Some(outcome), _) => outcome.clone(),
                // A method that could not run as a whole says why in its score.
                (None, Some(reason)) => Outcome::Failed(reason.clone()),
                (None, None) => failed("the method gave no finding for this sentence"),
            },
        }
    }

    /// The decision on a sentence or fact from what the deciding and the numeric method say of it, and why it was not scored.
    fn decide_with(
        &self,
        outcome: &Outcome<ClaimFinding>,
        numeric: Option<&Outcome<ClaimFinding>>,
    ) -> (Decided, Option<Reason>) {
        let numeric = numeric.and_then(Outcome::scored);
        let conflict = numeric.and_then(|finding| finding.numeric_conflict.clone());
        match self.decide(outcome) {
            Ok(mut decided) => {
                if let (Some(conflict), Some(finding)) = (conflict, numeric) {
                    decided.verdict = Some(Verdict::Contradicted);
                    decided.reason = VerdictReason::Numeric;
                    decided.detail = Some(conflict);
                    self.lead_with(&mut decided.evidence, &finding.evidence);
                }
                (decided, None)
            }
            Err((status, reason)) => {
                let detail = match conflict {
                    Some(conflict) => format!("{}; numbers conflict: {conflict}", reason.message),
                    None => reason.message.clone(),
                };
                (Decided::unscored(status, VerdictReason::Unchecked, Some(detail)), Some(reason))
            }
        }
    }

    /// Moves the evidence that a conflict is with to the front, where it is among the listed. Its probabilities are the deciding
    /// method's: the numeric method has none.
    fn lead_with(&self, evidence: &mut [EvidenceResult], conflicting: &[EvidencePick]) {
        let Some(wanted) = conflicting.first().and_then(|pick| self.evidence(pick)) else { return };
        let is_wanted = |item: &EvidenceResult| {
            (item.start, item.end, &item.source) == (wanted.start, wanted.end, &wanted.source)
        };
        if let Some(at) = evidence.iter().position(is_wanted) {
            evidence[..=at].rotate_right(1);
        }
    }

    /// The rule: contradicted where the contradiction reaches its threshold and is above the support; else supported where the
    /// support reaches its threshold; else not mentioned.
    fn decide(&self, outcome: &Outcome<ClaimFinding>) -> Result<Decided, (SentenceStatus, Reason)> {
        let finding = match outcome {
            Outcome::Scored(finding) => finding,
            Outcome::Abstained(reason) => return Err((SentenceStatus::Abstained, reason.clone())),
            Outcome::Failed(reason) => return Err((SentenceStatus::Failed, reason.clone())),
        };
        let Some(support) = finding.support else {
            let reason =
                Reason::new(Code::INTERNAL, "the method scored this sentence without a support probability");
            return Err((SentenceStatus::Failed, reason));
        };
        let contradiction = finding.contradiction.unwrap_or(Probability::ZERO);
        let rest = 1.0 - support.max(contradiction).get();
        let neutral = finding.neutral.or(Probability::new(rest)).unwrap_or(Probability::ZERO);
        let policy = self.policy;
        let (verdict, reason) =
            if contradiction.get() >= policy.contradiction_threshold && contradiction > support {
                (Verdict::Contradicted, VerdictReason::Contradicted)
            } else if support.get() >= policy.support_threshold {
                (Verdict::Supported, VerdictReason::Entailed)
            } else {
                (Verdict::NotMentioned, VerdictReason::NoEvidence)
            };
        let hedged = finding.hedge.as_ref().and_then(|hedge| hedged(verdict, hedge));
        let (reason, detail) = hedged.unwrap_or_else(|| (reason, finding.remark.clone()));
        Ok(Decided {
            status: SentenceStatus::Scored,
            verdict: Some(verdict),
            probabilities: Some([support, contradiction, neutral]),
            reason,
            detail,
            evidence: finding.evidence.iter().filter_map(|pick| self.evidence(pick)).collect(),
        })
    }

    /// The facts of a claim. One with the text of its sentence has its sentence's decision.
    fn facts(&self, index: usize, claim: &Claim, sentence: &Decided) -> Vec<FactResult> {
        if !self.check.request.facts || !claim.kind.is_checkable() {
            return Vec::new();
        }
        let of_numeric = |number: usize| self.numeric.and_then(|report| report.facts.get(index)?.get(number));
        let decide = |(number, fact): (usize, &AtomicFact)| {
            let decided = if fact.text == claim.text {
                sentence.clone()
            } else {
                self.decide_with(&self.fact_outcome(index, number), of_numeric(number)).0
            };
            self.fact(fact, claim, decided)
        };
        claim.facts.iter().enumerate().map(decide).collect()
    }

    fn fact_outcome(&self, index: usize, number: usize) -> Outcome<ClaimFinding> {
        let Some(report) = self.deciding.filter(|_| self.has_evidence) else { return self.no_verdict() };
        match (report.facts.get(index).and_then(|facts| facts.get(number)), report.score.reason()) {
            (Some(outcome), _) => outcome.clone(),
            (None, Some(reason)) => Outcome::Failed(reason.clone()),
            (None, None) if report.method != FACTS => {
                let message = "the methods asked give no verdict on facts: add entailment";
                Outcome::Abstained(Reason::new(Code::UNKNOWN_METHOD, message))
            }
            (None, None) => failed("the method gave no finding for this fact"),
        }
    }

    fn fact(&self, fact: &AtomicFact, claim: &Claim, decided: Decided) -> FactResult {
        let [support, contradiction, neutral] = decided.split();
        FactResult {
            text: fact.text.to_string(),
            start: fact.span.start,
            end: fact.span.end,
            status: decided.status,
            verdict: decided.verdict,
            support_probability: support,
            contradiction_probability: contradiction,
            neutral_probability: neutral,
            weight: self.policy.weight(!claim.tags.is_empty()),
            tags: claim.tags.clone(),
            reason: decided.reason,
            detail: decided.detail,
            evidence: decided.evidence,
        }
    }

    /// A pick with its place and text; `None` where it points outside the sources.
    fn evidence(&self, pick: &EvidencePick) -> Option<EvidenceResult> {
        let source = self.check.sources.get(pick.source)?;
        let sentence = source.sentences.get(pick.sentence)?;
        let NliProbabilities { entailment, contradiction, neutral } = pick.probabilities;
        Some(EvidenceResult {
            source: source.id.to_string(),
            start: sentence.span.start,
            end: sentence.span.end,
            text: sentence.text.to_string(),
            support_probability: entailment,
            contradiction_probability: contradiction,
            neutral_probability: neutral,
        })
    }
}

/// The reason that names a hedge of the source, and its words. A contradiction is explained by it only where the evidence says all
/// that the claim says: else something else may be the difference.
fn hedged(verdict: Verdict, hedge: &SourceHedge) -> Option<(VerdictReason, Option<String>)> {
    if verdict == Verdict::Contradicted && !hedge.says_all {
        return None;
    }
    let (reason, what) = match hedge.is_disputed {
        true => (VerdictReason::DisputedSource, "the source says that this is disputed or not known"),
        false => (VerdictReason::HedgedSource, "the source only says that this may be so"),
    };
    Some((reason, Some(format!("{what}: “{}”", hedge.words))))
}

fn failed(message: &str) -> Outcome<ClaimFinding> {
    Outcome::Failed(Reason::new(Code::INTERNAL, message))
}

impl Decided {
    fn unscored(status: SentenceStatus, reason: VerdictReason, detail: Option<String>) -> Self {
        Self { status, verdict: None, probabilities: None, reason, detail, evidence: Vec::new() }
    }

    fn split(&self) -> [Option<Probability>; 3] {
        self.probabilities.map_or([None; 3], |probabilities| probabilities.map(Some))
    }
}

//! Verdicts on claims.

pub(crate) mod quote;

#[cfg(test)]
mod tests;

use crate::cache::{CacheKey, Kept};
use crate::fence::{sanitised, says_something};
use crate::judge::Asking;
use crate::logprobs::label_probabilities;
use crate::prompts::{VERDICT_PROMPT, verdict, verdict_schema};
use crate::wire::ChatRequest;
use crate::{Judge, JudgeResult};
use groundline_types::{Code, Probability, Problem, Verdict};
use quote::find_quote;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tokio::time::Instant;

/// Longest reason that is kept, in characters: one sentence was asked for.
const MAX_REASON_CHARS: usize = 300;
/// Longest quote that is kept, in characters.
const MAX_QUOTE_CHARS: usize = 600;

/// What a judge can say of a claim. The order is that of [`JudgeLabel::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgeLabel {
    /// The source says it, or what it follows from.
    Supported,
    /// The source says otherwise.
    Contradicted,
    /// The source does not say.
    Unsupported,
}

impl JudgeLabel {
    /// Every label.
    pub const ALL: [JudgeLabel; 3] = [Self::Supported, Self::Contradicted, Self::Unsupported];

    /// The word that the judge writes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Supported => "supported",
            Self::Contradicted => "contradicted",
            Self::Unsupported => "unsupported",
        }
    }

    /// The verdict of a result that it is.
    pub fn verdict(self) -> Verdict {
        match self {
            Self::Supported => Verdict::Supported,
            Self::Contradicted => Verdict::Contradicted,
            Self::Unsupported => Verdict::NotMentioned,
        }
    }
}

/// How likely each label is; the three sum to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LabelProbabilities {
    /// Of [`JudgeLabel::Supported`].
    pub supported: Probability,
    /// Of [`JudgeLabel::Contradicted`].
    pub contradicted: Probability,
    /// Of [`JudgeLabel::Unsupported`].
    pub unsupported: Probability,
}

/// Where [`JudgeVerdict::probabilities`] come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbabilityBasis {
    /// Log probabilities of the verdict's token in the first answer. Not calibrated.
    Logprobs,
    /// Shares of the votes.
    Votes,
}

/// A claim and what it is judged by.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct VerdictQuestion {
    /// Passages of the sources, best first.
    pub passages: Vec<String>,
    /// One claim: a sentence, or an atomic fact.
    pub claim: String,
    /// The question that the response answers; gives meaning to the claim and is no evidence.
    pub question: Option<String>,
    /// Support probability of another method, in `0.0..=1.0`, such as an NLI model. In the grey zone it calls for votes, where the
    /// judge itself has no probability.
    pub prior_support_probability: Option<f64>,
}

/// What the judge says of a claim.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgeVerdict {
    /// The verdict.
    pub label: JudgeLabel,
    /// Why, in the judge's words, at most 300 characters. Text of a model that read untrusted text: for people, never for logs.
    pub reason: String,
    /// What the judge quotes from the source, at most 600 characters.
    pub quote: Option<String>,
    /// Index of the passage that holds the quote.
    pub quoted_passage: Option<usize>,
    /// Whether the judge said something else than `unsupported`, with a quote that no passage holds.
    pub is_downgraded: bool,
    /// How likely each label is, where that is known.
    pub probabilities: Option<LabelProbabilities>,
    /// Where they come from.
    pub basis: Option<ProbabilityBasis>,
    /// Answers that were counted: 1 outside the grey zone.
    pub votes: u32,
    /// Version of the prompt.
    pub prompt: &'static str,
}

/// The object that the judge writes.
#[derive(Debug, PartialEq, Deserialize)]
struct Written {
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    quote: Option<String>,
    verdict: JudgeLabel,
}

/// The texts of a question as the judge reads them.
struct Texts {
    passages: Vec<String>,
    claim: String,
    question: Option<String>,
    nonce: String,
}

impl Judge {
    /// Asks whether the passages support a claim.
    ///
    /// # Errors
    ///
    /// `GL5013` where claim or passages say nothing, `GL5010` where they are too long, `GL5008` and `GL5009` where the judge refuses
    /// or cannot be read, `GL5014` where its votes do not agree, and what else [`Judge`] fails for.
    pub async fn verdict(
        &self,
        question: &VerdictQuestion,
        deadline: Option<Instant>,
    ) -> JudgeResult<JudgeVerdict> {
        let mut asking = self.asking(deadline);
        let until = asking.deadline;
        let kept = match self.check_verdict(question) {
            Ok(key) => self.remember(key, until, self.ask_verdict(question, &mut asking)).await,
            Err(problem) => Err(problem),
        };
        self.end(kept, asking, |kept| match kept {
            Kept::Verdict(verdict) => Some(Arc::unwrap_or_clone(verdict)),
            _ => None,
        })
    }

    /// The key of a question that can be asked.
    fn check_verdict(&self, question: &VerdictQuestion) -> Result<CacheKey, Problem> {
        if !says_something(&question.claim) || !question.passages.iter().any(|text| says_something(text)) {
            let message = "the claim or the passages hold nothing that can be judged";
            return Err(Problem::new(Code::JUDGE_NOTHING_TO_JUDGE, message));
        }
        let texts = question.passages.iter().chain([&question.claim]).chain(&question.question);
        let texts = texts.map(String::as_str).collect::<Vec<_>>();
        self.check_length(texts.iter().copied())?;
        let options = &self.options().verdict;
        let parameters = format!(
            "{}/{}/{}/{}/{}/{:?}",
            options.max_output_tokens,
            options.use_logprobs,
            options.require_quote,
            options.votes,
            self.in_grey_zone(question.prior_support_probability),
            question.question.is_some(),
        );
        let head = [VERDICT_PROMPT, &self.options().model, &self.options().base_url, &parameters];
        Ok(CacheKey::new(head.into_iter().chain(texts)))
    }

    fn in_grey_zone(&self, support_probability: Option<f64>) -> bool {
        let options = &self.options().verdict;
        support_probability.is_some_and(|support| (options.grey_low..=options.grey_high).contains(&support))
    }

    async fn ask_verdict(&self, question: &VerdictQuestion, asking: &mut Asking) -> Result<Kept, Problem> {
        let passages = question.passages.iter().map(|text| sanitised(text)).collect::<Vec<_>>();
        let claim = sanitised(&question.claim);
        let asked = question.question.as_deref().map(sanitised);
        let all = passages.iter().chain([&claim]).chain(&asked).map(String::as_str).collect::<Vec<_>>();
        let nonce = self.nonce(VERDICT_PROMPT, &all);
        let texts = Texts { passages, claim, question: asked, nonce };
        let first = self.vote(&texts, 0, asking).await?;
        let own = first.probabilities.map(|all| f64::from(all.supported.get()));
        let is_grey = self.in_grey_zone(own.or(question.prior_support_probability));
        let verdict = if is_grey { self.count_votes(first, &texts, asking).await? } else { first };
        Ok(Kept::Verdict(Arc::new(verdict)))
    }

    /// Asks until one label has the majority of all votes.
    async fn count_votes(
        &self,
        first: JudgeVerdict,
        texts: &Texts,
        asking: &mut Asking,
    ) -> Result<JudgeVerdict, Problem> {
        let most = self.options().verdict.votes;
        let majority = most / 2 + 1;
        let mut votes = vec![first];
        let mut failed = None;
        for number in 1..most {
            if JudgeLabel::ALL.iter().any(|label| share(&votes, *label) >= majority) {
                break;
            }
            match self.vote(texts, number, asking).await {
                Ok(vote) => votes.push(vote),
                Err(problem) => failed = Some(problem),
            }
        }
        let winner = JudgeLabel::ALL.into_iter().find(|label| share(&votes, *label) >= majority);
        let Some(winner) = winner else {
            let disagree = || {
                let message = format!("none of the judge's labels has a majority of {} votes", votes.len());
                Problem::new(Code::JUDGE_DISAGREES, message)
            };
            return Err(failed.unwrap_or_else(disagree));
        };
        let counted = votes.len() as u32;
        let shares = JudgeLabel::ALL.map(|label| share(&votes, label) as f32 / counted as f32);
        let voted = shares.map(Probability::new);
        let mut verdict = votes.swap_remove(votes.iter().position(|vote| vote.label == winner).unwrap_or(0));
        if most > 1
            && verdict.basis.is_none()
            && let [Some(supported), Some(contradicted), Some(unsupported)] = voted
        {
            verdict.probabilities = Some(LabelProbabilities { supported, contradicted, unsupported });
            verdict.basis = Some(ProbabilityBasis::Votes);
        }
        verdict.votes = counted;
        Ok(verdict)
    }

    /// One answer. The first is deterministic; later ones are sampled, with the passages in another order each, because judges
    /// favour what stands at certain places.
    async fn vote(&self, texts: &Texts, number: u32, asking: &mut Asking) -> Result<JudgeVerdict, Problem> {
        let options = &self.options().verdict;
        let mut passages = texts.passages.iter().map(String::as_str).collect::<Vec<_>>();
        let places = passages.len().max(1);
        passages.rotate_left(number as usize % places);
        let prompt = verdict(&passages, &texts.claim, texts.question.as_deref(), &texts.nonce);
        let mut request = ChatRequest::new(prompt.system, prompt.user, options.max_output_tokens);
        request.schema = Some(verdict_schema());
        request.wants_logprobs = options.use_logprobs && number == 0;
        request.seed = Some(u64::from(number));
        if number > 0 {
            request.temperature = options.vote_temperature;
        }
        let (written, at, choice) = self.ask::<Written>(request, "verdict", asking).await?;
        let found = written.quote.as_deref().and_then(|quote| find_quote(quote, &texts.passages));
        let is_downgraded =
            options.require_quote && written.verdict != JudgeLabel::Unsupported && found.is_none();
        let probabilities = label_probabilities(&choice.text, at, &choice.tokens).filter(|_| !is_downgraded);
        Ok(JudgeVerdict {
            label: if is_downgraded { JudgeLabel::Unsupported } else { written.verdict },
            reason: bounded(&written.reason.unwrap_or_default(), MAX_REASON_CHARS),
            quote: written
                .quote
                .map(|quote| bounded(&quote, MAX_QUOTE_CHARS))
                .filter(|quote| !quote.is_empty()),
            quoted_passage: found,
            is_downgraded,
            probabilities,
            basis: probabilities.map(|_| ProbabilityBasis::Logprobs),
            votes: 1,
            prompt: VERDICT_PROMPT,
        })
    }
}

fn share(votes: &[JudgeVerdict], label: JudgeLabel) -> u32 {
    votes.iter().filter(|vote| vote.label == label).count() as u32
}

/// The beginning of a text of the model, without what could act as markup somewhere else.
fn bounded(text: &str, most_chars: usize) -> String {
    sanitised(text).trim().chars().take(most_chars).collect()
}

//! Decomposition of a text into atomic facts that are traceable to it.

#[cfg(test)]
mod tests;

use crate::cache::{CacheKey, Kept};
use crate::fence::{sanitised, says_something};
use crate::judge::{Asking, unreadable};
use crate::prompts::{FACTS_PROMPT, facts, facts_schema};
use crate::trace::{Origin, Untraceable};
use crate::wire::ChatRequest;
use crate::{Judge, JudgeResult};
use groundline_types::{Code, Problem, Span};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::time::Instant;

/// A text to take apart. One sentence at a time keeps spans short and facts checkable.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FactsRequest {
    /// The text.
    pub text: String,
    /// What comes before it: tells who "she" is. Facts may take names from it, and nothing else is theirs to say.
    pub context: Option<String>,
}

/// One fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JudgeFact {
    /// The fact, in the judge's words.
    pub text: String,
    /// Bytes of [`FactsRequest::text`] that it was taken from: the shortest stretch with all of its words.
    pub span: Span,
}

/// The facts of a text, at least one.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Facts {
    /// The facts, in the judge's order.
    pub facts: Vec<JudgeFact>,
    /// Facts that the judge wrote and that are not traceable to the text: their number, not their words.
    pub untraceable: usize,
    /// Share of the text's own words that are in some fact, in `0.0..=1.0`. Far below 1, something was left out.
    pub coverage: f64,
    /// Version of the prompt.
    pub prompt: &'static str,
}

/// The object that the judge writes.
#[derive(Debug, PartialEq, Deserialize)]
struct Written {
    facts: Vec<String>,
}

impl Judge {
    /// Takes a text apart into facts. Facts with a number, a name or a negation that the text does not have, or with too many
    /// words of their own, are dropped and counted.
    ///
    /// # Errors
    ///
    /// `GL5011` where nothing is left, or the facts together lost the text's negation or doubt; `GL5013`, `GL5010`, `GL5008`, `GL5009`
    /// as for verdicts. Rules (`groundline-claims`) are what to fall back to.
    pub async fn decompose(&self, request: &FactsRequest, deadline: Option<Instant>) -> JudgeResult<Facts> {
        let mut asking = self.asking(deadline);
        let until = asking.deadline;
        let kept = match self.check_facts(request) {
            Ok(key) => self.remember(key, until, self.ask_facts(request, &mut asking)).await,
            Err(problem) => Err(problem),
        };
        self.end(kept, asking, |kept| match kept {
            Kept::Facts(facts) => Some(Arc::unwrap_or_clone(facts)),
            _ => None,
        })
    }

    fn check_facts(&self, request: &FactsRequest) -> Result<CacheKey, Problem> {
        if !says_something(&request.text) {
            let message = "the text holds nothing that can be taken apart";
            return Err(Problem::new(Code::JUDGE_NOTHING_TO_JUDGE, message));
        }
        let context = request.context.as_deref();
        self.check_length([request.text.as_str(), context.unwrap_or_default()])?;
        let options = &self.options().facts;
        let parameters =
            format!("{}/{}/{:?}", options.max_output_tokens, options.max_facts, context.is_some());
        let (model, place) = (&self.options().model, &self.options().base_url);
        let texts = [request.text.as_str(), context.unwrap_or_default()];
        Ok(CacheKey::new([FACTS_PROMPT, model, place, &parameters].into_iter().chain(texts)))
    }

    async fn ask_facts(&self, request: &FactsRequest, asking: &mut Asking) -> Result<Kept, Problem> {
        let text = sanitised(&request.text);
        let context = request.context.as_deref().map(sanitised);
        let nonce = self.nonce(FACTS_PROMPT, &[&text, context.as_deref().unwrap_or_default()]);
        let prompt = facts(&text, context.as_deref(), &nonce);
        let options = &self.options().facts;
        let mut asked = ChatRequest::new(prompt.system, prompt.user, options.max_output_tokens);
        asked.schema = Some(facts_schema());
        let (written, _, _) = self.ask::<Written>(asked, "facts", asking).await?;
        if written.facts.len() > options.max_facts {
            let (count, most) = (written.facts.len(), options.max_facts);
            return Err(unreadable(&format!("the judge wrote {count} facts; facts.max_facts is {most}")));
        }
        let found = traced(&written.facts, request)?;
        Ok(Kept::Facts(Arc::new(found)))
    }
}

/// The facts that are traceable to the text they are said to be from.
fn traced(written: &[String], request: &FactsRequest) -> Result<Facts, Problem> {
    let untraceable = |message: String| Problem::new(Code::JUDGE_UNTRACEABLE, message);
    let origin = Origin::new(&request.text, request.context.as_deref());
    let mut found = Facts { prompt: FACTS_PROMPT, ..Facts::default() };
    let mut seen = BTreeSet::new();
    let mut reasons = BTreeSet::<Untraceable>::new();
    for fact in written {
        let fact = sanitised(fact).trim().to_owned();
        if !says_something(&fact) || !seen.insert(fact.to_lowercase()) {
            continue;
        }
        match origin.trace(&fact) {
            Ok(span) => found.facts.push(JudgeFact { text: fact, span }),
            Err(reason) => {
                reasons.insert(reason);
                found.untraceable += 1;
            }
        }
    }
    if found.facts.is_empty() {
        let reasons = reasons.iter().map(|reason| reason.as_str()).collect::<Vec<_>>().join(", ");
        let reasons = if reasons.is_empty() { "no fact at all".to_owned() } else { reasons };
        return Err(untraceable(format!("none of the judge's facts is traceable to the text: {reasons}")));
    }
    let texts = found.facts.iter().map(|fact| fact.text.as_str()).collect::<Vec<_>>();
    if let Some(lost) = origin.lost(&texts) {
        return Err(untraceable(format!("the judge's facts leave out {lost} of the text")));
    }
    found.coverage = origin.coverage(&texts);
    Ok(found)
}

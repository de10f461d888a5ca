//! SelfCheckGPT's prompt method: does a sample support a sentence? (arXiv 2303.08896, `modeling_selfcheck_apiprompt.py`.)

#[cfg(test)]
mod tests;

use crate::cache::{CacheKey, Kept};
use crate::fence::{sanitised, says_something};
use crate::judge::{Asking, refused, unreadable};
use crate::parse::{is_refusal, without_thoughts};
use crate::prompts::{SELFCHECK_PROMPT, SELFCHECK_REFERENCE_PROMPT, selfcheck, selfcheck_reference};
use crate::wire::ChatRequest;
use crate::{Judge, JudgeResult, SelfCheckPrompt};
use groundline_types::{Code, Problem};
use serde::Serialize;
use tokio::time::Instant;

/// A sentence under test and one sampled response.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SelfCheckQuestion {
    /// The sentence of the response.
    pub sentence: String,
    /// The whole sample; its newlines are read as spaces.
    pub sample: String,
}

/// What the judge answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SelfCheckAnswer {
    /// The sample supports the sentence.
    Yes,
    /// It does not.
    No,
    /// Something else.
    Neither,
}

impl SelfCheckAnswer {
    /// Reads an answer as the reference does: lower case, by how it begins. So "Not sure" counts as no.
    pub fn read(answer: &str) -> Self {
        let answer = answer.trim().to_lowercase();
        if answer.starts_with("yes") {
            Self::Yes
        } else if answer.starts_with("no") {
            Self::No
        } else {
            Self::Neither
        }
    }

    /// The reference's number: 0 for yes, 1 for no, 0.5 for anything else. Higher is more likely hallucinated.
    pub fn inconsistency(self) -> f64 {
        match self {
            Self::Yes => 0.0,
            Self::No => 1.0,
            Self::Neither => 0.5,
        }
    }
}

/// A sentence's score: the mean over its samples. `None` without a sample. Higher is more likely hallucinated.
pub fn selfcheck_inconsistency(answers: &[SelfCheckAnswer]) -> Option<f64> {
    let sum = answers.iter().map(|answer| answer.inconsistency()).sum::<f64>();
    (!answers.is_empty()).then(|| sum / answers.len() as f64)
}

impl Judge {
    /// Asks whether a sample supports a sentence.
    ///
    /// # Errors
    ///
    /// `GL5013` where one of them says nothing, `GL5010` where they are too long, `GL5008` where the judge refuses, `GL5009` where its answer
    /// is empty, and what else [`Judge`] fails for. An answer that is neither yes nor no is none of these: the method has a number
    /// for it.
    pub async fn selfcheck(
        &self,
        question: &SelfCheckQuestion,
        deadline: Option<Instant>,
    ) -> JudgeResult<SelfCheckAnswer> {
        let mut asking = self.asking(deadline);
        let until = asking.deadline;
        let kept = match self.check_selfcheck(question) {
            Ok(key) => self.remember(key, until, self.ask_selfcheck(question, &mut asking)).await,
            Err(problem) => Err(problem),
        };
        self.end(kept, asking, |kept| match kept {
            Kept::SelfCheck(answer) => Some(answer),
            _ => None,
        })
    }

    fn check_selfcheck(&self, question: &SelfCheckQuestion) -> Result<CacheKey, Problem> {
        let SelfCheckQuestion { sentence, sample } = question;
        if !says_something(sentence) || !says_something(sample) {
            let message = "the sentence or the sample holds nothing that can be judged";
            return Err(Problem::new(Code::JUDGE_NOTHING_TO_JUDGE, message));
        }
        self.check_length([sentence.as_str(), sample])?;
        let options = &self.options().selfcheck;
        let version = match options.prompt {
            SelfCheckPrompt::Fenced => SELFCHECK_PROMPT,
            SelfCheckPrompt::Reference => SELFCHECK_REFERENCE_PROMPT,
        };
        let parameters = options.max_output_tokens.to_string();
        let place = &self.options().base_url;
        Ok(CacheKey::new([version, &self.options().model, place, &parameters, sentence, sample]))
    }

    async fn ask_selfcheck(
        &self,
        question: &SelfCheckQuestion,
        asking: &mut Asking,
    ) -> Result<Kept, Problem> {
        let SelfCheckQuestion { sentence, sample } = question;
        let options = &self.options().selfcheck;
        let prompt = match options.prompt {
            SelfCheckPrompt::Fenced => {
                let (sentence, sample) = (sanitised(sentence), sanitised(sample));
                let nonce = self.nonce(SELFCHECK_PROMPT, &[&sentence, &sample]);
                selfcheck(&sentence, &sample, &nonce)
            }
            SelfCheckPrompt::Reference => selfcheck_reference(sentence, sample),
        };
        let request = ChatRequest::new(prompt.system, prompt.user, options.max_output_tokens);
        let mut asks_left = self.options().retry.unreadable_reasks;
        loop {
            let choice = self.choose(&request, asking).await.map_err(|failure| failure.problem)?;
            let text = without_thoughts(&choice.text).trim();
            if is_refusal(text) {
                return Err(refused());
            }
            if !text.is_empty() {
                return Ok(Kept::SelfCheck(SelfCheckAnswer::read(text)));
            }
            if asks_left == 0 {
                return Err(unreadable("the judge's answer is empty; a model that thinks needs more tokens"));
            }
            asks_left -= 1;
        }
    }
}

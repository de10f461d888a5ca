//! What LettuceDetect reads before a response: the prompt with its passages that RAGTruth's responses were written to.

use groundline_types::{Code, LearnedFacts};
use std::sync::Arc;

/// A question may fill this part of what the model reads; the rest is for the response and its sources.
const QUESTION_PART: usize = 2;
/// Tokens that the form may have beyond those of its parts: words join differently at the seams.
const SEAM_TOKENS: usize = 4;

/// What stands before and behind a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Form {
    before: String,
    after: &'static str,
    /// Tokens around a window.
    pub(super) tokens: usize,
}

impl Form {
    /// The form that asks the question, or where there is none asks for a summary; and what a reader should know of it.
    pub(super) fn for_question(
        question: Option<&str>,
        learned: &LearnedFacts,
    ) -> (Self, Option<(Code, String)>) {
        let of = |before: String, after: &'static str| {
            let tokens = learned.counter.count_tokens(&format!("{before}{after}")) + SEAM_TOKENS;
            Self { before, after, tokens }
        };
        let summary = || of("Summarize the following text:\npassage 1: ".to_owned(), "\noutput:");
        let Some(question) = question.map(str::trim).filter(|question| !question.is_empty()) else {
            return (summary(), None);
        };
        let before = format!(
            "Briefly answer the following question:\n{question}\nBear in mind that your response should be strictly based on the \
             following 1 passages:\npassage 1: "
        );
        let after = "\nIn case the passages do not contain the necessary information to answer the question, please reply with: \
                     \"Unable to answer based on given passages.\"\noutput:";
        let form = of(before, after);
        let most = learned.max_tokens / QUESTION_PART;
        if form.tokens <= most {
            return (form, None);
        }
        let message = format!(
            "the question with what stands around it has {} tokens and may have {most} beside a response and its sources: the model \
             was asked as if there were none",
            form.tokens
        );
        (summary(), Some((Code::TEXT_TOO_LONG, message)))
    }

    /// The prompt with a window as its passage.
    pub(super) fn around(&self, window: &str) -> Arc<str> {
        [&self.before, window, self.after].concat().into()
    }
}

//! Label probabilities from the log probabilities of tokens.

#[cfg(test)]
mod tests;

use crate::wire::TokenChoice;
use crate::{JudgeLabel, LabelProbabilities};
use groundline_types::Probability;

/// Share of the probability at the label's token that the known labels must have: below that the model would rather have
/// written something else, and the rest says little.
const MIN_LABEL_MASS: f64 = 0.5;
/// Tokens at the end that are told but are no text (end of turn, end of text).
const MAX_END_TOKENS: usize = 2;

/// Reads how likely each label was at the place where the model wrote its verdict.
///
/// `object_at` is where the answer's JSON object begins in `text`, and `tokens` are the tokens that `text` was written in. The
/// token where the value of `"verdict"` begins decides: every alternative there that begins one label is counted for it. The
/// three numbers are normalised over the labels. `None` where the place is not found or the labels have less than half of the
/// probability.
pub(crate) fn label_probabilities(
    text: &str,
    object_at: usize,
    tokens: &[TokenChoice],
) -> Option<LabelProbabilities> {
    let value_at = value_start(text, object_at)?;
    let alternatives = &token_at(text, tokens, value_at)?.alternatives;
    let mut mass = [0.0_f64; 3];
    for (token, logprob) in alternatives {
        if let Some(label) = label_begun_by(token) {
            mass[label as usize] += logprob.exp();
        }
    }
    let total = mass.iter().sum::<f64>();
    if !(MIN_LABEL_MASS..=1.001).contains(&total) {
        return None;
    }
    let share = |label: JudgeLabel| Probability::new((mass[label as usize] / total) as f32);
    Some(LabelProbabilities {
        supported: share(JudgeLabel::Supported)?,
        contradicted: share(JudgeLabel::Contradicted)?,
        unsupported: share(JudgeLabel::Unsupported)?,
    })
}

/// Where the value of the last `"verdict"` key begins, after its quote. The last: a reason may speak of a verdict before it.
fn value_start(text: &str, object_at: usize) -> Option<usize> {
    let key = "\"verdict\"";
    let after = text[object_at..].rfind(key)? + object_at + key.len();
    let rest = text[after..].trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    Some(text.len() - rest.len())
}

/// The token that covers the byte `at`, where the last tokens are the end of the text. Counted from the end: the verdict stands
/// there, and earlier tokens may be halves of characters, which are not told as text.
fn token_at<'a>(text: &str, tokens: &'a [TokenChoice], at: usize) -> Option<&'a TokenChoice> {
    (0..=MAX_END_TOKENS).find_map(|ends| {
        let mut start = text.len();
        for token in tokens.iter().rev().skip(ends) {
            start = text[..start].strip_suffix(token.text.as_str())?.len();
            if start <= at {
                return Some(token);
            }
        }
        None
    })
}

/// The label that a token begins, such as `"supp` or ` contr`; the labels differ in their first letter.
fn label_begun_by(token: &str) -> Option<JudgeLabel> {
    let word = token.trim_start_matches(['"', ' ', ':']).trim_end_matches(['"', ' ', '}', '\n']);
    let word = word.to_lowercase();
    if word.is_empty() {
        return None;
    }
    JudgeLabel::ALL.into_iter().find(|label| label.as_str().starts_with(&word))
}

//! Model families by name: a judge favours what its own family wrote (arXiv 2404.13076).

#[cfg(test)]
mod tests;

use groundline_types::{Code, Problem};
use std::collections::BTreeSet;

/// Words of model names, and the family they mean. A word is a run of letters, with the digits that follow where they are part of
/// the name ("o1"). What is distilled from or built on another family carries that family's word in its name, and so belongs to
/// both.
const FAMILIES: &[(&str, &str)] = &[
    ("aya", "Cohere"),
    ("bloom", "BLOOM"),
    ("bloomz", "BLOOM"),
    ("c4ai", "Cohere"),
    ("chatglm", "GLM"),
    ("chatgpt", "GPT"),
    ("claude", "Claude"),
    ("codegemma", "Gemma and Gemini"),
    ("codellama", "Llama"),
    ("codestral", "Mistral"),
    ("command", "Cohere"),
    ("dbrx", "DBRX"),
    ("deepseek", "DeepSeek"),
    ("devstral", "Mistral"),
    ("ernie", "ERNIE"),
    ("exaone", "EXAONE"),
    ("falcon", "Falcon"),
    ("flan", "T5"),
    ("gemini", "Gemma and Gemini"),
    ("gemma", "Gemma and Gemini"),
    ("glm", "GLM"),
    ("gpt", "GPT"),
    ("granite", "Granite"),
    ("grok", "Grok"),
    ("hunyuan", "Hunyuan"),
    ("internlm", "InternLM"),
    ("jamba", "Jamba"),
    ("kimi", "Kimi"),
    ("llama", "Llama"),
    ("magistral", "Mistral"),
    ("medgemma", "Gemma and Gemini"),
    ("minimax", "MiniMax"),
    ("ministral", "Mistral"),
    ("mistral", "Mistral"),
    ("mixtral", "Mistral"),
    ("moonshot", "Kimi"),
    ("mpt", "MPT"),
    ("nemotron", "Nemotron"),
    ("nova", "Nova"),
    ("o1", "GPT"),
    ("o3", "GPT"),
    ("o4", "GPT"),
    ("olmo", "OLMo"),
    ("openai", "GPT"),
    ("paligemma", "Gemma and Gemini"),
    ("phi", "Phi"),
    ("pixtral", "Mistral"),
    ("pythia", "Pythia"),
    ("qvq", "Qwen"),
    ("qwen", "Qwen"),
    ("qwq", "Qwen"),
    ("smollm", "SmolLM"),
    ("solar", "Solar"),
    ("stablelm", "StableLM"),
    ("t5", "T5"),
    ("titan", "Titan"),
    ("vicuna", "Llama"),
    ("yi", "Yi"),
    ("zephyr", "Mistral"),
];
/// Names that begin like those of a family and are of none: EleutherAI's GPT-J and GPT-Neo share only three letters with OpenAI's.
const STRANGERS: &[(&str, &str)] = &[("gptj", "GPT-J"), ("gptneo", "GPT-Neo"), ("gptneox", "GPT-Neo")];

/// Whether two models are of one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FamilyMatch {
    /// Both are of this family, or are the same model of a family that is not known.
    Same(&'static str),
    /// They are of different families.
    Different,
    /// One of the names says no family that is known.
    Unknown,
}

/// Compares the families of two models by their names, such as `meta-llama/Llama-3.1-8B-Instruct` and `llama3.2:3b`.
pub fn compare_families(judge_model: &str, generator_model: &str) -> FamilyMatch {
    let (judge, generator) = (families(judge_model), families(generator_model));
    if let Some(family) = judge.intersection(&generator).next() {
        return FamilyMatch::Same(family);
    }
    let (judge_name, generator_name) = (plain(judge_model), plain(generator_model));
    if !judge_name.is_empty() && judge_name == generator_name {
        return FamilyMatch::Same("the same model");
    }
    if judge.is_empty() || generator.is_empty() { FamilyMatch::Unknown } else { FamilyMatch::Different }
}

/// The warning for a judge of the generator's own family: a note for the result, no failure. It names the family, never the text of
/// the request's `generator` field.
pub fn same_family_warning(judge_model: &str, generator_model: &str) -> Option<Problem> {
    let FamilyMatch::Same(family) = compare_families(judge_model, generator_model) else { return None };
    let message = format!(
        "judge and generator are of one model family ({family}); a judge favours what its own family wrote: use \
         another one"
    );
    Some(Problem::new(Code::JUDGE_SAME_FAMILY, message))
}

/// The families that the words of a name mean.
fn families(model: &str) -> BTreeSet<&'static str> {
    let name = plain(model);
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let words = words.collect::<Vec<_>>();
    let mut found = BTreeSet::new();
    for (at, word) in words.iter().enumerate() {
        let joined = words.get(at + 1).map(|next| format!("{word}{}", letters(next))).unwrap_or_default();
        let known = |list: &'static [(&str, &str)], word: &str| {
            list.iter().find(|(name, _)| *name == word).map(|(_, family)| *family)
        };
        let family = known(STRANGERS, &joined)
            .or_else(|| known(STRANGERS, word))
            .or_else(|| known(FAMILIES, word))
            .or_else(|| known(FAMILIES, letters(word)));
        found.extend(family);
    }
    found
}

/// The letters that a word begins with: "qwen2" is "qwen".
fn letters(word: &str) -> &str {
    let end = word.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(word.len());
    &word[..end]
}

/// A name without who publishes it and without the ending of its file, in lower case.
fn plain(model: &str) -> String {
    let name = model.trim().to_lowercase();
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    name.strip_suffix(".gguf").unwrap_or(name).to_owned()
}

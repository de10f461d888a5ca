//! The methods there are.

mod table;

use crate::entailment::Entailment;
use crate::judge::JudgeVerdicts;
use crate::numeric::Numeric;
use crate::selfcheck::{SelfcheckBertscore, SelfcheckNgram, SelfcheckNli, SelfcheckOverlap, SelfcheckPrompt};
use crate::summac::Summac;
use crate::summac_conv::SummacConv;
use crate::support::Support;
use crate::tokens::TokenClassifier;
use crate::{Detector, DetectorOptions};
use groundline_types::{Code, Polarity, Preset, Problem, nearest_name};
use serde::Serialize;
use table::METHODS;

pub use table::methods_table;

/// What a request or an installation must have for a method to say anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Need {
    /// A source to check against.
    Source,
    /// Other answers to the same prompt, in the request's `samples`.
    Samples,
    /// A language model that judges.
    Judge,
    /// A collection of texts to look for evidence in.
    Corpus,
    /// A knowledge graph.
    Graph,
}

impl Need {
    /// Its name, such as `source`.
    pub fn as_str(self) -> &'static str {
        match self {
            Need::Source => "source",
            Need::Samples => "samples",
            Need::Judge => "judge",
            Need::Corpus => "corpus",
            Need::Graph => "graph",
        }
    }
}

/// What a user should know of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MethodInfo {
    /// Its name in a request's `methods`.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// What its number for a response means.
    pub number: &'static str,
    /// The range of its number, such as `0..1`.
    pub range: &'static str,
    /// Which way its number points.
    pub polarity: Polarity,
    /// What it says something about, such as `sentences, response`.
    pub speaks_about: &'static str,
    /// What it needs; without one of these it abstains.
    pub needs: &'static [Need],
    /// What it costs: pairs and texts for a model, or calls.
    pub cost: &'static str,
    /// Where it was published; empty for one of our own.
    pub paper: &'static str,
    /// Whether `default` includes it.
    pub in_default: bool,
}

impl MethodInfo {
    /// Its polarity in words.
    pub fn direction(&self) -> &'static str {
        match self.polarity {
            Polarity::HigherIsSupported => "higher is better supported",
            Polarity::HigherIsHallucinated => "higher is worse",
        }
    }
}

/// The methods that are learned detectors.
const LEARNED: [(&str, Preset); 7] = [
    ("factcc", Preset::Factcc),
    ("minicheck_roberta", Preset::MinicheckRoberta),
    ("minicheck_deberta", Preset::MinicheckDeberta),
    ("minicheck_flan_t5", Preset::MinicheckFlanT5),
    ("alignscore", Preset::Alignscore),
    ("true", Preset::True),
    ("hhem", Preset::Hhem),
];

/// The name that stands for the methods with [`MethodInfo::in_default`].
const DEFAULT: &str = "default";

/// Every method, in the order in which they are run and listed.
pub fn methods() -> &'static [MethodInfo] {
    METHODS
}

/// The method of a name.
pub fn method(name: &str) -> Option<&'static MethodInfo> {
    METHODS.iter().find(|info| info.name == name)
}

/// The methods that a request's names stand for: `default` expanded, each once, in the order of [`methods`].
///
/// # Errors
/// [`Code::UNKNOWN_METHOD`] naming the nearest method and all there are; [`Code::INVALID_FIELD`] where no name is given.
pub fn resolve(names: &[String]) -> Result<Vec<&'static str>, Problem> {
    if names.is_empty() {
        return Err(Problem::new(
            Code::INVALID_FIELD,
            "`methods` is empty; leave it out for the default methods",
        ));
    }
    if let Some(unknown) =
        names.iter().find(|name| *name != DEFAULT && METHODS.iter().all(|info| info.name != **name))
    {
        return Err(unknown_method(unknown));
    }
    let wanted = |info: &&MethodInfo| {
        names.iter().any(|name| name == info.name || (info.in_default && name == DEFAULT))
    };
    Ok(METHODS.iter().filter(wanted).map(|info| info.name).collect())
}

fn unknown_method(name: &str) -> Problem {
    let shown: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
    let known = || METHODS.iter().map(|info| info.name).chain([DEFAULT]);
    let hint = match nearest_name(&shown.to_lowercase(), known()) {
        Some(nearest) => format!("did you mean `{nearest}`? "),
        None => String::new(),
    };
    let all = known().collect::<Vec<_>>().join(", ");
    Problem::new(Code::UNKNOWN_METHOD, format!("unknown method `{shown}`; {hint}known methods are {all}"))
}

/// A fresh detector of a method by its name, or `None` where there is no such method.
pub fn create(method: &str, options: &DetectorOptions) -> Option<Box<dyn Detector>> {
    Some(match method {
        "entailment" => Box::new(Entailment::new(options)),
        "summac" => Box::new(Summac::new(options)),
        "summac_conv" => Box::new(SummacConv::new(options)),
        "numeric" => Box::new(Numeric::new(options)),
        "support" => Box::new(Support::new(options)),
        "selfcheck_nli" => Box::new(SelfcheckNli::new(options)),
        "selfcheck_bertscore" => Box::new(SelfcheckBertscore::new(options)),
        "selfcheck_ngram" => Box::new(SelfcheckNgram::new(options)),
        "selfcheck_overlap" => Box::new(SelfcheckOverlap::new(options)),
        "selfcheck_prompt" => Box::new(SelfcheckPrompt::new(options)),
        "judge" => Box::new(JudgeVerdicts::new(options)),
        "lettucedetect" => Box::new(TokenClassifier::new("lettucedetect", Preset::Lettucedetect, options)),
        name => {
            let (method, preset) = LEARNED.iter().copied().find(|(method, _)| *method == name)?;
            Box::new(Support::learned(method, preset, options))
        }
    })
}

#[cfg(test)]
mod tests;

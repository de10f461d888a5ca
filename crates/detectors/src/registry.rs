//! The methods there are.

use crate::entailment::Entailment;
use crate::numeric::Numeric;
use crate::summac::Summac;
use crate::summac_conv::SummacConv;
use crate::{Detector, DetectorOptions};
use groundline_types::{Code, Polarity, Problem, nearest_name};

/// What a user should know of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodInfo {
    /// Its name in a request's `methods`.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// Where it was published; empty for one of our own.
    pub paper: &'static str,
    /// Which way its number points.
    pub polarity: Polarity,
    /// Whether `default` includes it.
    pub in_default: bool,
}

/// The name that stands for the methods with [`MethodInfo::in_default`].
const DEFAULT: &str = "default";

const METHODS: &[MethodInfo] = &[
    MethodInfo {
        name: "entailment",
        summary: "best entailment of each sentence over windows and sentences of the source; contradiction from the nearest \
                  evidence; its number is the weakest sentence's support",
        paper: "",
        polarity: Polarity::HigherIsSupported,
        in_default: true,
    },
    MethodInfo {
        name: "summac",
        summary: "mean over response sentences of the best entailment over source sentences, and SummaC-ZS as published",
        paper: "Laban et al. 2022, SummaC: Re-Visiting NLI-based Models for Inconsistency Detection (arXiv:2111.09525)",
        polarity: Polarity::HigherIsSupported,
        in_default: true,
    },
    MethodInfo {
        name: "summac_conv",
        summary: "SummaC-Conv: a learned layer over the histogram of each sentence's entailment, with the released weights",
        paper: "Laban et al. 2022, SummaC: Re-Visiting NLI-based Models for Inconsistency Detection (arXiv:2111.09525)",
        polarity: Polarity::HigherIsSupported,
        in_default: true,
    },
    MethodInfo {
        name: "numeric",
        summary: "numbers, quantities and dates that conflict with the evidence; its number is the share of sentences without \
                  a conflict",
        paper: "",
        polarity: Polarity::HigherIsSupported,
        in_default: true,
    },
];

/// Every method, in the order in which they are run and listed.
pub fn methods() -> &'static [MethodInfo] {
    METHODS
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
        _ => return None,
    })
}

#[cfg(test)]
mod tests;

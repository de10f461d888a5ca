//! Which logit means what.

use crate::Probability;

/// Positions of the classes in a logit vector, found by label name and never by habit: checkpoints differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NliLabels {
    /// Number of logits.
    pub count: usize,
    /// Index of the entailment logit.
    pub entailment: usize,
    /// Index of the contradiction logit; `None` for two-class models (entailment / not_entailment).
    pub contradiction: Option<usize>,
    /// Index of the neutral logit, or of `not_entailment` in two-class models.
    pub neutral: Option<usize>,
}

/// The label names of a checkpoint do not say which logit means entailment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot tell which logit means what: the checkpoint names its labels {found:?}; give their order by hand, for example \
     --labels entailment,neutral,contradiction"
)]
pub struct LabelError {
    /// The names as the checkpoint has them, in logit order.
    pub found: Vec<String>,
}

impl NliLabels {
    /// Reads label names in logit order, ignoring case and surrounding white space.
    ///
    /// Accepted sets: entailment, neutral, contradiction in any order; entailment and not_entailment; entailment and
    /// contradiction. Names may be shortened (`entail`, `contra`, `con`, `neu`).
    pub fn from_names<S: AsRef<str>>(names: &[S]) -> Result<Self, LabelError> {
        let error = || LabelError { found: names.iter().map(|name| name.as_ref().to_owned()).collect() };
        let (mut entailment, mut contradiction, mut neutral) = (None, None, None);
        for (index, name) in names.iter().enumerate() {
            let name = name.as_ref().trim().to_lowercase().replace(['-', ' '], "_");
            let slot = match name.as_str() {
                "entailment" | "entail" | "entailed" | "ent" => &mut entailment,
                "contradiction" | "contradict" | "contradicted" | "contra" | "con" => &mut contradiction,
                "neutral" | "neu" | "not_entailment" | "not_entailed" | "non_entailment" => &mut neutral,
                _ => return Err(error()),
            };
            if slot.replace(index).is_some() {
                return Err(error());
            }
        }
        match entailment {
            Some(entailment) if names.len() >= 2 => {
                Ok(Self { count: names.len(), entailment, contradiction, neutral })
            }
            _ => Err(error()),
        }
    }

    /// Softmax over `logits`, read by name. `None` where the number of logits is another than the labels' or a logit is
    /// not finite.
    ///
    /// A class that the model does not have gets probability 0.
    pub fn probabilities(&self, logits: &[f32]) -> Option<NliProbabilities> {
        if logits.len() != self.count || logits.iter().any(|logit| !logit.is_finite()) {
            return None;
        }
        let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f32 = logits.iter().map(|logit| (logit - highest).exp()).sum();
        let of = |index: Option<usize>| {
            index.map_or(Some(Probability::ZERO), |i| Probability::new((logits[i] - highest).exp() / sum))
        };
        Some(NliProbabilities {
            entailment: of(Some(self.entailment))?,
            contradiction: of(self.contradiction)?,
            neutral: of(self.neutral)?,
        })
    }
}

/// What an NLI model says of a (premise, hypothesis) pair; the three sum to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NliProbabilities {
    /// The premise entails the hypothesis.
    pub entailment: Probability,
    /// The premise contradicts the hypothesis.
    pub contradiction: Probability,
    /// Neither.
    pub neutral: Probability,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_found_by_name_in_any_order_and_case() {
        let labels = NliLabels::from_names(&["CONTRADICTION", "entailment ", "Neutral"]).unwrap();
        assert_eq!((labels.contradiction, labels.entailment, labels.neutral), (Some(0), 1, Some(2)));
        let two = NliLabels::from_names(&["entailment", "not_entailment"]).unwrap();
        assert_eq!((two.entailment, two.contradiction, two.neutral), (0, None, Some(1)));
    }

    #[test]
    fn unknown_and_doubled_labels_are_refused_with_their_names() {
        let error = NliLabels::from_names(&["LABEL_0", "LABEL_1"]).unwrap_err();
        assert!(error.to_string().contains("LABEL_1"), "{error}");
        assert!(NliLabels::from_names(&["entailment", "entailment"]).is_err());
        assert!(NliLabels::from_names(&["neutral", "contradiction"]).is_err());
    }

    #[test]
    fn probabilities_follow_the_labels_and_refuse_nan() {
        let labels = NliLabels::from_names(&["contradiction", "entailment", "neutral"]).unwrap();
        let read = labels.probabilities(&[0.0, 2.0, 0.0]).unwrap();
        assert!((read.entailment.get() - 0.786_986).abs() < 1e-5);
        assert!((read.contradiction.get() - 0.106_507).abs() < 1e-5);
        assert_eq!(labels.probabilities(&[f32::NAN, 0.0, 0.0]), None);
        assert_eq!(labels.probabilities(&[0.0, 0.0]), None);
    }
}

//! Learned detectors as their authors run them: input format, windows, and which output means support.

use serde::{Deserialize, Serialize};

/// A learned detector by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// FactCC, a BERT.
    Factcc,
    /// MiniCheck on RoBERTa-large.
    MinicheckRoberta,
    /// MiniCheck on DeBERTa-v3-large.
    MinicheckDeberta,
    /// MiniCheck on Flan-T5-large.
    #[serde(rename = "minicheck-flan-t5")]
    MinicheckFlanT5,
    /// AlignScore, its three-way head.
    Alignscore,
    /// TRUE: a T5 that answers 1 or 0.
    True,
    /// HHEM-2.1-open, a Flan-T5 with a head over tokens.
    Hhem,
    /// LettuceDetect: a ModernBERT that labels every token of the response.
    Lettucedetect,
}

/// How a (source, claim) pair is put before the model. No format ever cuts the claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairInput {
    /// The tokenizer's own pair: source, then claim.
    Pair,
    /// One text of both with a single separator between them, the source after a prefix.
    Joined {
        /// What stands before the source; often nothing.
        prefix: &'static str,
    },
    /// One text of a fixed form.
    Prompt {
        /// A special token at the very start, by name.
        marker: Option<&'static str>,
        /// What stands before the source.
        before: &'static str,
        /// What stands between the source and the claim.
        between: &'static str,
    },
}

/// How a source is cut into what the model reads at once. The best window counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PresetWindows {
    /// Whole sentences, as many as fit into so many words.
    Words(usize),
    /// Whole sentences, as many as fit into so many of the model's tokens.
    Tokens(usize),
    /// Groups of equally many sentences, one group for each so many words, and one more.
    EqualGroups {
        /// Words that ask for another group.
        words: usize,
    },
    /// Whole sentences, as many as the model reads beside the claim.
    Longest,
}

/// What is known of a learned detector.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PresetInfo {
    /// Which.
    pub preset: Preset,
    /// Its name in configurations, such as `minicheck-roberta`.
    pub name: &'static str,
    /// How a pair is put before the model.
    pub input: PairInput,
    /// How a source is cut.
    pub windows: PresetWindows,
    /// Longest input in tokens; `None` for what the checkpoint says.
    pub max_tokens: Option<usize>,
    /// Whether it labels every token of the second text in place of the pair.
    pub labels_tokens: bool,
    /// Outputs of its head.
    pub labels: usize,
    /// Which of them means that the claim, or the token, is supported. A single output means it by its sigmoid.
    pub supported_label: usize,
    /// Texts that the model answers with in place of labels, in the order of the labels; each is known by its first token.
    pub answers: &'static [&'static str],
    /// Probability from which on its authors call a claim supported.
    pub threshold: f32,
    /// Where it was published.
    pub paper: &'static str,
}

const MINICHECK: &str = "Tang, Laban, Durrett 2024, MiniCheck: Efficient Fact-Checking of LLMs on Grounding Documents \
                         (arXiv:2404.10774)";

/// MiniCheck on an encoder: windows of 400 tokens, two labels.
const MINICHECK_ENCODER: PresetInfo = PresetInfo {
    preset: Preset::MinicheckRoberta,
    name: "minicheck-roberta",
    input: PairInput::Joined { prefix: "" },
    windows: PresetWindows::Tokens(400),
    max_tokens: Some(512),
    labels_tokens: false,
    labels: 2,
    supported_label: 1,
    answers: &[],
    threshold: 0.5,
    paper: MINICHECK,
};

/// Every preset, in the order in which they are listed.
pub const PRESETS: [PresetInfo; 8] = [
    PresetInfo {
        preset: Preset::Factcc,
        name: "factcc",
        input: PairInput::Pair,
        windows: PresetWindows::Longest,
        supported_label: 0,
        paper: "Kryscinski et al. 2020, Evaluating the Factual Consistency of Abstractive Text Summarization \
                (arXiv:1910.12840)",
        ..MINICHECK_ENCODER
    },
    MINICHECK_ENCODER,
    PresetInfo {
        preset: Preset::MinicheckDeberta,
        name: "minicheck-deberta",
        max_tokens: Some(2048),
        ..MINICHECK_ENCODER
    },
    PresetInfo {
        preset: Preset::MinicheckFlanT5,
        name: "minicheck-flan-t5",
        input: PairInput::Joined { prefix: "predict: " },
        windows: PresetWindows::Words(500),
        max_tokens: Some(2048),
        answers: &["0", "1"],
        ..MINICHECK_ENCODER
    },
    PresetInfo {
        preset: Preset::Alignscore,
        name: "alignscore",
        input: PairInput::Pair,
        windows: PresetWindows::EqualGroups { words: 350 },
        labels: 3,
        supported_label: 0,
        paper: "Zha et al. 2023, AlignScore: Evaluating Factual Consistency with a Unified Alignment Function \
                (arXiv:2305.16739)",
        ..MINICHECK_ENCODER
    },
    PresetInfo {
        preset: Preset::True,
        name: "true",
        input: PairInput::Prompt { marker: None, before: "premise: ", between: " hypothesis: " },
        windows: PresetWindows::Longest,
        max_tokens: Some(512),
        answers: &["0", "1"],
        paper: "Honovich et al. 2022, TRUE: Re-evaluating Factual Consistency Evaluation (arXiv:2204.04991)",
        ..MINICHECK_ENCODER
    },
    PresetInfo {
        preset: Preset::Hhem,
        name: "hhem",
        input: PairInput::Prompt {
            marker: Some("<pad>"),
            before: "Determine if the hypothesis is true given the premise?\n\nPremise: ",
            between: "\n\nHypothesis: ",
        },
        windows: PresetWindows::Longest,
        max_tokens: Some(2048),
        paper: "Vectara, HHEM-2.1-Open (model card)",
        ..MINICHECK_ENCODER
    },
    PresetInfo {
        preset: Preset::Lettucedetect,
        name: "lettucedetect",
        input: PairInput::Pair,
        windows: PresetWindows::Longest,
        max_tokens: Some(4096),
        labels_tokens: true,
        supported_label: 0,
        paper: "Kovács, Recski 2025, LettuceDetect: A Hallucination Detection Framework for RAG Applications \
                (arXiv:2502.17125)",
        ..MINICHECK_ENCODER
    },
];

/// The presets, at one address.
static TABLE: [PresetInfo; 8] = PRESETS;

impl Preset {
    /// What is known of it.
    pub fn info(self) -> &'static PresetInfo {
        // The table is in the order of the variants, which a test checks.
        &TABLE[self as usize]
    }

    /// The preset of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        PRESETS.iter().find(|info| info.name == name).map(|info| info.preset)
    }

    /// Its name in configurations.
    pub fn name(self) -> &'static str {
        self.info().name
    }
}

/// Logits of a head with any number of outputs as `[not supported, supported]`, whose softmax has the same probability of
/// support. A single output is the logit of support itself.
///
/// `None` where there is no output of that number.
pub fn support_logits(logits: &[f32], supported_label: usize) -> Option<[f32; 2]> {
    if let [single] = logits {
        return Some([0.0, *single]);
    }
    let supported = f64::from(*logits.get(supported_label)?);
    let others = || logits.iter().enumerate().filter(|(index, _)| *index != supported_label);
    let top = others().map(|(_, &logit)| f64::from(logit)).fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = others().map(|(_, &logit)| (f64::from(logit) - top).exp()).sum();
    Some([0.0, (supported - top - sum.ln()) as f32])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_is_found_by_its_name_and_by_itself() {
        for info in &PRESETS {
            assert_eq!(info.preset.info().name, info.name);
            assert_eq!(Preset::from_name(info.name), Some(info.preset));
            assert_eq!(serde_json::to_value(info.preset).unwrap(), info.name);
            assert!(info.supported_label < info.labels);
            assert!(info.answers.is_empty() || info.answers.len() == info.labels);
        }
        assert_eq!(Preset::from_name("minicheck"), None);
    }

    #[test]
    fn support_logits_keep_the_probability_of_support() {
        let probability = |[against, supported]: [f32; 2]| 1.0 / (1.0 + (against - supported).exp());
        let softmax = |logits: &[f32], label: usize| {
            logits[label].exp() / logits.iter().map(|logit| logit.exp()).sum::<f32>()
        };
        for (logits, label) in [(vec![0.3, -1.2], 0), (vec![0.3, -1.2], 1), (vec![1.0, 0.5, -2.0], 0)] {
            let found = probability(support_logits(&logits, label).unwrap());
            assert!((found - softmax(&logits, label)).abs() < 1e-6);
        }
        assert!((probability(support_logits(&[2.0], 0).unwrap()) - 0.880_797).abs() < 1e-6);
        assert_eq!(support_logits(&[1.0, 2.0], 2), None);
        // Far apart, nothing overflows.
        assert!(support_logits(&[500.0, -500.0, 400.0], 1).unwrap().iter().all(|logit| logit.is_finite()));
    }
}

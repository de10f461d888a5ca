//! What users should know of each method: the one place that `groundline methods`, the gateway's listing and docs/methods.md are
//! made from.

use super::{MethodInfo, Need};
use groundline_types::Polarity::{HigherIsHallucinated, HigherIsSupported};
use groundline_types::{PRESETS, Preset};

const SUMMAC: &str =
    "Laban et al. 2022, SummaC: Re-Visiting NLI-based Models for Inconsistency Detection (arXiv:2111.09525)";
const SELFCHECK: &str = "Manakul, Liusie, Gales 2023, SelfCheckGPT: Zero-Resource Black-Box Hallucination Detection for \
                         Generative Large Language Models (arXiv:2303.08896)";

/// What learned detectors have in common.
const LEARNED_DETECTOR: MethodInfo = MethodInfo {
    name: "",
    summary: "",
    number: "the weakest sentence's probability of support, each the largest over windows",
    range: "0..1",
    polarity: HigherIsSupported,
    speaks_about: "sentences, response",
    needs: &[Need::Source],
    cost: "",
    paper: "",
    in_default: false,
};

/// Every method, in the order in which they are run and listed.
pub(super) const METHODS: &[MethodInfo] = &[
    MethodInfo {
        name: "entailment",
        summary: "best entailment of each sentence over windows and sentences of the source; contradiction from the nearest \
                  evidence",
        number: "the weakest sentence's probability of support",
        range: "0..1",
        polarity: HigherIsSupported,
        speaks_about: "sentences, facts, response",
        needs: &[Need::Source],
        cost: "claims × (source sentences + windows) pairs, one embedding for each claim and source sentence",
        paper: "",
        in_default: true,
    },
    MethodInfo {
        name: "summac",
        summary: "best entailment of each sentence over single source sentences, and SummaC-ZS as published",
        number: "mean over response sentences of the best entailment over source sentences; `summac_zs`, -1..1, is best \
                 entailment minus best contradiction",
        range: "0..1",
        polarity: HigherIsSupported,
        speaks_about: "sentences, response",
        needs: &[Need::Source],
        cost: "claims × source sentences pairs, which entailment asks for too",
        paper: SUMMAC,
        in_default: true,
    },
    MethodInfo {
        name: "summac_conv",
        summary: "SummaC-Conv: a learned layer over the histogram of each sentence's entailment, with the released weights",
        number: "probability of \"consistent\", comparable only with numbers of the same model",
        range: "0..1",
        polarity: HigherIsSupported,
        speaks_about: "response",
        needs: &[Need::Source],
        cost: "claims × source sentences pairs, which entailment asks for too",
        paper: SUMMAC,
        in_default: true,
    },
    MethodInfo {
        name: "numeric",
        summary: "numbers, quantities and dates that conflict with the evidence",
        number: "the share of sentences without a conflict",
        range: "0..1",
        polarity: HigherIsSupported,
        speaks_about: "sentences, facts, response",
        needs: &[Need::Source],
        cost: "at most 5 pairs for each claim with a value, which entailment asks for too",
        paper: "",
        in_default: true,
    },
    MethodInfo {
        name: "support",
        summary: "the model's learned support head over windows and sentences of the source; tells supported from not supported, \
                  and no contradiction",
        number: "the weakest sentence's probability of support",
        range: "0..1",
        polarity: HigherIsSupported,
        speaks_about: "sentences, response",
        needs: &[Need::Source],
        cost: "claims × (source sentences + windows) pairs for the support head",
        paper: "",
        in_default: false,
    },
    MethodInfo {
        name: "factcc",
        summary: "FactCC on windows as long as it reads",
        number: LEARNED_DETECTOR.number,
        cost: "claims × windows pairs for FactCC",
        paper: PRESETS[Preset::Factcc as usize].paper,
        ..LEARNED_DETECTOR
    },
    MethodInfo {
        name: "minicheck_roberta",
        summary: "MiniCheck-RoBERTa on windows of 400 tokens",
        number: LEARNED_DETECTOR.number,
        cost: "claims × windows pairs for MiniCheck",
        paper: PRESETS[Preset::MinicheckRoberta as usize].paper,
        ..LEARNED_DETECTOR
    },
    MethodInfo {
        name: "minicheck_deberta",
        summary: "MiniCheck-DeBERTa on windows of 400 tokens",
        number: LEARNED_DETECTOR.number,
        cost: "claims × windows pairs for MiniCheck",
        paper: PRESETS[Preset::MinicheckDeberta as usize].paper,
        ..LEARNED_DETECTOR
    },
    MethodInfo {
        name: "minicheck_flan_t5",
        summary: "MiniCheck-Flan-T5 on windows of 500 words",
        number: LEARNED_DETECTOR.number,
        cost: "claims × windows pairs for MiniCheck",
        paper: PRESETS[Preset::MinicheckFlanT5 as usize].paper,
        ..LEARNED_DETECTOR
    },
    MethodInfo {
        name: "alignscore",
        summary: "AlignScore on equal groups of source sentences",
        number: "mean over response sentences of the best alignment over groups of source sentences",
        cost: "claims × groups pairs for AlignScore",
        paper: PRESETS[Preset::Alignscore as usize].paper,
        ..LEARNED_DETECTOR
    },
    MethodInfo {
        name: "true",
        summary: "TRUE on windows as long as it reads",
        number: LEARNED_DETECTOR.number,
        cost: "claims × windows pairs for TRUE",
        paper: PRESETS[Preset::True as usize].paper,
        ..LEARNED_DETECTOR
    },
    MethodInfo {
        name: "hhem",
        summary: "HHEM-2.1-open on windows as long as it reads",
        number: LEARNED_DETECTOR.number,
        cost: "claims × windows pairs for HHEM",
        paper: PRESETS[Preset::Hhem as usize].paper,
        ..LEARNED_DETECTOR
    },
    MethodInfo {
        name: "lettucedetect",
        summary: "LettuceDetect, which labels every token of the response, beside windows as long as it reads",
        number: "the weakest sentence's 1 minus the largest hallucination probability of its tokens, each the smallest over windows",
        speaks_about: "tokens, sentences, response",
        cost: "windows pairs for LettuceDetect, times the parts of a response that fills more than half of what it reads",
        paper: PRESETS[Preset::Lettucedetect as usize].paper,
        ..LEARNED_DETECTOR
    },
    MethodInfo {
        name: "selfcheck_nli",
        summary: "whether each sentence contradicts other answers to the same prompt, by NLI",
        number: "mean over sentences and samples of the probability of contradiction among contradiction and entailment",
        range: "0..1",
        polarity: HigherIsHallucinated,
        speaks_about: "sentences, response",
        needs: &[Need::Samples],
        cost: "claims × samples pairs; more where a sample is longer than the model reads at once",
        paper: SELFCHECK,
        in_default: false,
    },
    MethodInfo {
        name: "selfcheck_bertscore",
        summary: "whether other answers to the same prompt have a sentence with nearly the same words in nearly the same places, by \
                  BERTScore",
        number: "mean over sentences and samples of 1 minus the best F1 of matched tokens with a sentence of the sample, rescaled so \
                 that unrelated sentences are at 1",
        range: "0 to a little above 1",
        polarity: HigherIsHallucinated,
        speaks_about: "sentences, response",
        needs: &[Need::Samples],
        cost: "claims × sample sentences pairs of texts, each text computed about once",
        paper: SELFCHECK,
        in_default: false,
    },
    MethodInfo {
        name: "selfcheck_ngram",
        summary: "how surprising each sentence's words are to an n-gram model of the response and other answers to the same prompt",
        number: "mean over sentences of the surprise of the most surprising word, in nats",
        range: "0 and up",
        polarity: HigherIsHallucinated,
        speaks_about: "sentences, response",
        needs: &[Need::Samples],
        cost: "none: no model",
        paper: SELFCHECK,
        in_default: false,
    },
    MethodInfo {
        name: "selfcheck_overlap",
        summary: "the share of each sentence's word pairs that other answers to the same prompt do not have",
        number: "mean over sentences and samples of that share",
        range: "0..1",
        polarity: HigherIsHallucinated,
        speaks_about: "sentences, response",
        needs: &[Need::Samples],
        cost: "none: no model",
        paper: "",
        in_default: false,
    },
    MethodInfo {
        name: "selfcheck_prompt",
        summary: "whether other answers to the same prompt support each sentence, asked of a language model",
        number: "mean over sentences and samples of 0 for yes, 1 for no, 0.5 for anything else",
        range: "0..1",
        polarity: HigherIsHallucinated,
        speaks_about: "sentences, response",
        needs: &[Need::Samples, Need::Judge],
        cost: "claims × samples questions to a judge",
        paper: SELFCHECK,
        in_default: false,
    },
    MethodInfo {
        name: "judge",
        summary: "a language model's verdict on each sentence, with a reason and a quote from the source",
        number: "the weakest sentence's probability of support",
        range: "0..1",
        polarity: HigherIsSupported,
        speaks_about: "sentences, response",
        needs: &[Need::Source, Need::Judge],
        cost: "a question to a judge for each claim, up to two more where its votes are asked for; in a grey zone for its claims alone",
        paper: "",
        in_default: false,
    },
];

/// The table of methods in docs/methods.md, in Markdown, with a line break at its end.
pub fn methods_table() -> String {
    let head = "| name | its number | range | direction | speaks about | needs | cost | paper |\n|---|---|---|---|---|---|---|---|\n";
    let row = |info: &MethodInfo| {
        let star = if info.in_default { " *" } else { "" };
        let needs = info.needs.iter().map(|need| need.as_str()).collect::<Vec<_>>().join(", ");
        let paper = if info.paper.is_empty() { "our own" } else { info.paper };
        let MethodInfo { name, number, range, speaks_about, cost, .. } = info;
        let direction = info.direction();
        format!(
            "| [{name}](#{name}){star} | {number} | {range} | {direction} | {speaks_about} | {needs} | {cost} | {paper} |\n"
        )
    };
    let rows: Vec<String> = METHODS.iter().map(row).collect();
    head.to_owned() + &rows.concat()
}

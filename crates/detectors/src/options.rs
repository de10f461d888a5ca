//! Settings of the methods, each with its default.

use crate::selfcheck::math::MAX_ORDER;
use groundline_types::{Code, Problem};
use serde::{Deserialize, Serialize};

/// Largest number to add to counts of n-grams: beyond it all are alike.
const MAX_SMOOTHING: f64 = 1000.0;

/// Settings of all methods. Unknown names are refused when reading, missing ones take their default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DetectorOptions {
    /// Work items that a method asks for at once, at least 2 (default 4096). Bounds memory, and how much is lost at a deadline.
    pub pairs_per_round: usize,
    /// How many of the evidence sentences nearest to a claim may contradict it, at least 1 (default 3).
    pub contradiction_neighbours: usize,
    /// How many of the evidence sentences nearest to a claim `entailment` compares it with, besides the windows that hold one of
    /// them; 0: all (default 0). Never fewer than may contradict it. Saves pairs on long sources, and may miss support that stands
    /// far from what looks like the claim.
    pub candidate_sentences: usize,
    /// Support from which on a sentence of evidence supports a claim, 0 to 1 (default 0.5). Decides the order of evidence, and
    /// verdicts too: where a sentence supports a claim, only evidence at least as near may contradict the claim, and `numeric`
    /// takes such a sentence to speak of the same thing. The verdict itself has a threshold of its own.
    pub support_threshold: f32,
    /// Contradiction from which on a claim's evidence is listed by how much it contradicts, 0 to 1 (default 0.5).
    pub contradiction_threshold: f32,
    /// Settings of SummaC-ZS and SummaC-Conv.
    pub summac: SummacOptions,
    /// Settings of the methods that compare with samples.
    pub selfcheck: SelfcheckOptions,
    /// Settings of the method that asks a judge for verdicts.
    pub judge: JudgeMethodOptions,
}

impl Default for DetectorOptions {
    fn default() -> Self {
        Self {
            pairs_per_round: 4096,
            contradiction_neighbours: 3,
            candidate_sentences: 0,
            support_threshold: 0.5,
            contradiction_threshold: 0.5,
            summac: SummacOptions::default(),
            selfcheck: SelfcheckOptions::default(),
            judge: JudgeMethodOptions::default(),
        }
    }
}

/// Settings of the method `judge`. Where the judge is and what it may cost is set elsewhere: a detector knows no endpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JudgeMethodOptions {
    /// Bytes of sources that are shown with one claim, at least 256 (default 12,000, about 3,000 tokens). Sources that are longer
    /// together are shown in the windows nearest to the claim, and a note says so.
    pub passage_bytes: usize,
    /// How probable the judge's verdict counts as where it tells no probabilities, 0.5 to 1 (default 0.9); the rest is shared by the
    /// other two.
    pub verdict_probability: f32,
}

impl Default for JudgeMethodOptions {
    fn default() -> Self {
        Self { passage_bytes: 12_000, verdict_probability: 0.9 }
    }
}

/// Fewest bytes of sources to show: less than a sentence tells a judge nothing.
const MIN_PASSAGE_BYTES: usize = 256;

impl JudgeMethodOptions {
    fn validate(&self) -> Result<(), Problem> {
        let refuse = |what: String| Err(Problem::new(Code::INVALID_CONFIG, what));
        if self.passage_bytes < MIN_PASSAGE_BYTES {
            let bytes = self.passage_bytes;
            return refuse(format!(
                "judge.passage_bytes is {bytes}, it must be at least {MIN_PASSAGE_BYTES}"
            ));
        }
        let probability = self.verdict_probability;
        if !(0.5..=1.0).contains(&probability) {
            return refuse(format!(
                "judge.verdict_probability is {probability}, it must be between 0.5 and 1"
            ));
        }
        Ok(())
    }
}

/// Settings of the self-consistency methods (after Manakul et al. 2023, "SelfCheckGPT").
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SelfcheckOptions {
    /// Added to the count of every n-gram by `selfcheck_ngram`, 0 to 1000 (default 1). With anything above 0 no n-gram is
    /// impossible, so that its number is never infinite; 0 is the published method.
    pub ngram_smoothing: f64,
    /// Words of the n-grams whose share is `selfcheck_overlap`'s number, 1 to 3 (default 2). The others are reported too.
    pub overlap_words: usize,
    /// Which text of a pair is the premise in `selfcheck_nli` (default the sentence, as published).
    pub nli_premise: NliPremise,
}

/// Which text is the premise where a sentence meets a sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NliPremise {
    /// The sentence under test, and the sample is the hypothesis: as in the published code, for models trained on MNLI.
    #[default]
    Sentence,
    /// The sample, and the sentence is the hypothesis: for models trained on sources and claims, to which a sample is a source
    /// (as in Zhang et al. 2024, "LUQ: Long-text Uncertainty Quantification for LLMs", arXiv 2403.20279).
    Sample,
}

impl Default for SelfcheckOptions {
    fn default() -> Self {
        Self { ngram_smoothing: 1.0, overlap_words: 2, nli_premise: NliPremise::default() }
    }
}

impl SelfcheckOptions {
    fn validate(&self) -> Result<(), Problem> {
        let refuse = |what: String| Err(Problem::new(Code::INVALID_CONFIG, what));
        let smoothing = self.ngram_smoothing;
        if !(0.0..=MAX_SMOOTHING).contains(&smoothing) {
            return refuse(format!(
                "selfcheck.ngram_smoothing is {smoothing}, it must be between 0 and {MAX_SMOOTHING}"
            ));
        }
        let words = self.overlap_words;
        if !(1..=MAX_ORDER).contains(&words) {
            return refuse(format!(
                "selfcheck.overlap_words is {words}, it must be between 1 and {MAX_ORDER}"
            ));
        }
        Ok(())
    }
}

/// Settings of SummaC (Laban et al. 2022, "SummaC: Re-Visiting NLI-based Models for Inconsistency Detection").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SummacOptions {
    /// Over source sentences, for each response sentence: the paper's op1 (default max). Applies to entailment and to
    /// contradiction alike.
    pub first_operator: SummacOperator,
    /// Over response sentences: the paper's op2 (default mean).
    pub second_operator: SummacOperator,
    /// Whether entailment counts (default true).
    pub use_entailment: bool,
    /// Whether contradiction counts against (default true). At least one of the two must.
    pub use_contradiction: bool,
    /// Whether to do as the published code does where this one differs on purpose (default false):
    ///
    /// | | default | published |
    /// |---|---|---|
    /// | source sentences | all | the first 100 of all sources together |
    /// | sentences of at most 10 characters | count | are dropped on both sides |
    /// | response sentences | the checkable ones | all |
    /// | rows that SummaC-Conv reads | all | the first 10 |
    ///
    /// The published code gives 0 (ZS) or 0.2001 (Conv) where a side is empty; here that is abstained from in either mode.
    pub parity: bool,
}

impl Default for SummacOptions {
    fn default() -> Self {
        Self {
            first_operator: SummacOperator::Max,
            second_operator: SummacOperator::Mean,
            use_entailment: true,
            use_contradiction: true,
            parity: false,
        }
    }
}

/// How SummaC-ZS makes one number of many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SummacOperator {
    /// The largest.
    Max,
    /// The mean.
    Mean,
    /// The smallest.
    Min,
}

impl DetectorOptions {
    /// Checks that every setting is in its range.
    ///
    /// # Errors
    /// [`Code::INVALID_CONFIG`] naming the setting, what it is and what it may be.
    pub fn validate(&self) -> Result<(), Problem> {
        let refuse = |what: String| Err(Problem::new(Code::INVALID_CONFIG, what));
        if self.pairs_per_round < 2 {
            return refuse(format!("pairs_per_round is {}, it must be at least 2", self.pairs_per_round));
        }
        if self.contradiction_neighbours == 0 {
            return refuse("contradiction_neighbours is 0, it must be at least 1".to_owned());
        }
        let (candidates, neighbours) = (self.candidate_sentences, self.contradiction_neighbours);
        if candidates != 0 && candidates < neighbours {
            return refuse(format!(
                "candidate_sentences is {candidates}, it must be 0 (all sentences) or at least {neighbours}:                  contradiction_neighbours says that so many may contradict a claim"
            ));
        }
        let thresholds = [
            ("support_threshold", self.support_threshold),
            ("contradiction_threshold", self.contradiction_threshold),
        ];
        for (name, value) in thresholds {
            if !(0.0..=1.0).contains(&value) {
                return refuse(format!("{name} is {value}, it must be between 0 and 1"));
            }
        }
        if !self.summac.use_entailment && !self.summac.use_contradiction {
            return refuse(
                "summac.use_entailment and summac.use_contradiction are both false, one must be true"
                    .to_owned(),
            );
        }
        self.selfcheck.validate()?;
        self.judge.validate()
    }

    /// Pairs of the (claim, source sentence) grid in a round. Half a round, the same for all methods that walk the grid: the
    /// other half is for work that only one of them needs, and equal pairs still meet in the same round.
    pub(crate) fn grid_chunk(&self) -> usize {
        (self.pairs_per_round / 2).max(1)
    }
}

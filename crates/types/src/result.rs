//! What is answered. Schema `groundline.check/1`: fields may be added, these stay.

use crate::{
    Code, EnsembleResult, HighStakesTag, OffsetUnit, Polarity, Probability, Span, SpanResult, Verdict,
    VerdictReason,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name and version of the result's schema.
pub const SCHEMA: &str = "groundline.check/1";

/// The answer to one [`crate::CheckRequest`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CheckResult {
    /// The request's id.
    pub id: String,
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Whether everything that should be scored was.
    pub status: Status,
    /// The worst sentence's verdict; null where nothing was scored.
    pub verdict: Option<Verdict>,
    /// What to do with the response, by configured thresholds.
    pub action: Option<Action>,
    /// Whether the weakest sentence is below the alert threshold.
    pub alert: bool,
    /// Numbers for the whole response.
    pub scores: Scores,
    /// Scored sentences divided by checkable ones, 0 to 1; null where none is checkable.
    pub coverage: Option<f32>,
    /// Whether probabilities were calibrated by a profile.
    pub calibrated: bool,
    /// Which model answered.
    pub model: ModelResult,
    /// Hash of every setting that can change a result.
    pub config_hash: String,
    /// Every sentence of the response, in order.
    pub sentences: Vec<SentenceResult>,
    /// What each method did.
    pub methods: BTreeMap<String, MethodResult>,
    /// Things a reader should know.
    pub notes: Vec<Note>,
    /// What it cost.
    pub usage: Usage,
    /// How long it took.
    pub timings: Timings,
    /// The SummaC matrix, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matrix: Option<MatrixResult>,
    /// What makes up `scores.ensemble`, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ensemble: Option<EnsembleResult>,
    /// The parts of the response that no source supports, in order, each within one scored sentence: by token, where a token classifier
    /// said so, else by atomic fact. Absent where neither a token classifier ran nor facts were asked for; empty where nothing is
    /// unsupported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spans: Option<Vec<SpanResult>>,
}

/// The probabilities of every (source sentence, response sentence) pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MatrixResult {
    /// The source sentences, a row each.
    pub rows: Vec<MatrixRow>,
    /// Indices into `sentences` of the result, a column each.
    pub columns: Vec<usize>,
    /// `[row][column]`, null where a pair was not scored.
    pub entailment: Vec<Vec<Option<Probability>>>,
    /// `[row][column]`, null where a pair was not scored.
    pub contradiction: Vec<Vec<Option<Probability>>>,
    /// `[row][column]`, null where a pair was not scored.
    pub neutral: Vec<Vec<Option<Probability>>>,
}

/// One source sentence of a matrix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MatrixRow {
    /// Id of its source.
    pub source: String,
    /// Start in that source.
    pub start: usize,
    /// End in that source.
    pub end: usize,
    /// Its text.
    pub text: String,
}

/// Whether everything that should be scored was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Every checkable sentence has a verdict.
    Scored,
    /// Some checkable sentence has none.
    Partial,
    /// There was no checkable sentence, or no method was asked that gives verdicts.
    Abstained,
    /// No checkable sentence has a verdict.
    Failed,
}

/// What to do with a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Deliver it.
    Accept,
    /// Look for more evidence.
    RetrieveMore,
    /// Let a person look.
    Review,
    /// Do not deliver it.
    Block,
}

/// Numbers for the whole response. Null where there is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Scores {
    /// Lowest `support_probability` of a sentence.
    pub min: Option<Probability>,
    /// Mean `support_probability` over sentences.
    pub mean: Option<Probability>,
    /// Mean `support_probability` weighted by sentence weight.
    pub weighted: Option<Probability>,
    /// Mean over response sentences of the best entailment over source sentences, 0 to 1.
    pub summac: Option<Probability>,
    /// SummaC-ZS as published: best entailment minus best contradiction, mean over response sentences, -1 to 1.
    pub summac_zs: Option<f64>,
    /// SummaC-Conv as published, 0 to 1.
    pub summac_conv: Option<Probability>,
    /// One calibrated probability from all methods; null without a profile for the model, and where none of its methods gave a
    /// number.
    pub ensemble: Option<Probability>,
}

/// Which model answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelResult {
    /// Its name.
    pub name: String,
    /// Its revision: a hash over its files.
    pub revision: String,
    /// The engine that computed, such as `cpu-avx512-f32`.
    pub engine: String,
}

/// One sentence of the response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SentenceResult {
    /// The sentence as it was scored, without markup.
    pub text: String,
    /// Start in the response.
    pub start: usize,
    /// End in the response.
    pub end: usize,
    /// Whether it was scored.
    pub status: SentenceStatus,
    /// Its verdict; null where it was not scored.
    pub verdict: Option<Verdict>,
    /// Probability that the sources entail it.
    pub support_probability: Option<Probability>,
    /// Probability that they contradict it.
    pub contradiction_probability: Option<Probability>,
    /// Probability of neither.
    pub neutral_probability: Option<Probability>,
    /// Its weight in `scores.weighted`.
    pub weight: f32,
    /// What makes it high-stakes.
    pub tags: Vec<HighStakesTag>,
    /// Why it has this verdict.
    pub reason: VerdictReason,
    /// More about the reason: the conflicting values, or why it was not scored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// At most 3 pieces of evidence, best first.
    pub evidence: Vec<EvidenceResult>,
    /// Its atomic facts, where they were asked for.
    pub facts: Vec<FactResult>,
}

/// Whether a sentence was scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SentenceStatus {
    /// It was.
    Scored,
    /// It makes no claim that could be checked, or no method was asked that gives verdicts.
    Abstained,
    /// It should have been and was not.
    Failed,
}

/// A piece of evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EvidenceResult {
    /// Id of its source.
    pub source: String,
    /// Start in that source.
    pub start: usize,
    /// End in that source.
    pub end: usize,
    /// Its text.
    pub text: String,
    /// Probability that it entails the claim.
    pub support_probability: Probability,
    /// Probability that it contradicts the claim.
    pub contradiction_probability: Probability,
    /// Probability of neither.
    pub neutral_probability: Probability,
}

/// One atomic fact of a sentence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FactResult {
    /// The fact as a sentence of its own.
    pub text: String,
    /// Start of the part of the response that it was taken from.
    pub start: usize,
    /// End of that part.
    pub end: usize,
    /// Whether it was scored.
    pub status: SentenceStatus,
    /// Its verdict; null where it was not scored.
    pub verdict: Option<Verdict>,
    /// Probability that the sources entail it.
    pub support_probability: Option<Probability>,
    /// Probability that they contradict it.
    pub contradiction_probability: Option<Probability>,
    /// Probability of neither.
    pub neutral_probability: Option<Probability>,
    /// Its sentence's weight.
    #[serde(default = "plain_weight")]
    pub weight: f32,
    /// Its sentence's tags.
    #[serde(default)]
    pub tags: Vec<HighStakesTag>,
    /// Why it has this verdict.
    pub reason: VerdictReason,
    /// More about the reason: the conflicting values, or why it was not scored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// At most 3 pieces of evidence, best first.
    pub evidence: Vec<EvidenceResult>,
}

/// The weight of a fact in a result that gives none.
fn plain_weight() -> f32 {
    1.0
}

/// What a method did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MethodResult {
    /// Whether it gave a number.
    pub status: MethodStatus,
    /// Its number.
    pub score: Option<f64>,
    /// Which way the number points.
    pub polarity: Polarity,
    /// Pairs and texts that it asked to be scored, before caches.
    pub work_items: usize,
    /// Why there is no number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Note>,
    /// Further numbers about the response by name; docs/methods.md says what each means.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, f64>,
    /// Its own number for each of the result's sentences, in their order; empty where it has none besides the verdict's
    /// probabilities.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sentences: Vec<MethodSentence>,
}

/// What a method says of one sentence, on its own scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MethodSentence {
    /// Whether it gave a number.
    pub status: SentenceStatus,
    /// Its number, in the range and polarity of the method's score.
    pub score: Option<f64>,
    /// Further numbers by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, f64>,
}

/// Whether a method gave a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum MethodStatus {
    /// It did.
    Scored,
    /// There was nothing for it to score.
    Abstained,
    /// It should have and did not.
    Failed,
    /// The policy did not ask it.
    Skipped,
}

/// Something a reader should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Note {
    /// A stable code.
    pub code: Code,
    /// What it is.
    pub message: String,
    /// What it is about, such as `source-1` or `sentence 4`.
    #[serde(rename = "where", default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
}

/// What a check cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Usage {
    /// Distinct pairs that the check needed.
    pub pairs: usize,
    /// Distinct texts embedded.
    pub embeddings: usize,
    /// How many of both were answered from the cache.
    pub cache_hits: usize,
    /// Tokens of judge calls.
    pub judge_tokens: usize,
}

/// How long a check took, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Timings {
    /// Splitting and windowing.
    pub prepare_ms: f64,
    /// From the first job to the last score.
    pub score_ms: f64,
    /// From request to result.
    pub total_ms: f64,
}

impl CheckResult {
    /// The same result with every offset in another unit. `response` and `source_text(id)` are the original texts.
    ///
    /// Offsets that do not fit their text are left as they are.
    pub fn with_offsets<'a>(
        mut self,
        unit: OffsetUnit,
        response: &str,
        source_text: impl Fn(&str) -> Option<&'a str>,
    ) -> Self {
        if unit == OffsetUnit::Bytes {
            return self;
        }
        let convert = |text: &str, start: &mut usize, end: &mut usize| {
            if let Some(span) = Span::new(*start, *end).in_unit(text, unit) {
                (*start, *end) = (span.start, span.end);
            }
        };
        let convert_evidence = |evidence: &mut Vec<EvidenceResult>| {
            for item in evidence {
                if let Some(text) = source_text(&item.source) {
                    convert(text, &mut item.start, &mut item.end);
                }
            }
        };
        for sentence in &mut self.sentences {
            convert(response, &mut sentence.start, &mut sentence.end);
            convert_evidence(&mut sentence.evidence);
            for fact in &mut sentence.facts {
                convert(response, &mut fact.start, &mut fact.end);
                convert_evidence(&mut fact.evidence);
            }
        }
        for span in self.spans.iter_mut().flatten() {
            convert(response, &mut span.start, &mut span.end);
        }
        for row in self.matrix.iter_mut().flat_map(|matrix| &mut matrix.rows) {
            if let Some(text) = source_text(&row.source) {
                convert(text, &mut row.start, &mut row.end);
            }
        }
        self
    }
}

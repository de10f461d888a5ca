//! How well self-consistency tells wrong sentences from right ones: AUC-PR on WikiBio passages of GPT-3, beside the published figures.
//!
//! `cargo run --release -p benches --bin selfcheck-wikibio -- wikibio_gpt3_samples.jsonl`
//!
//! The file has a passage on each line with `sentences`, `annotations` (`accurate`, `minor_inaccurate`, `major_inaccurate`) and
//! `samples`. The file's sentences are scored as they are. A sentence that is not accurate is a positive of *NonFact*; *Factual* is
//! the reverse. The passage's number is the mean of its sentences', and so is its human score with 0, 0.5 and 1.
//!
//! Nothing is tuned here: every setting is the product's default, or the published one.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "the table goes to standard output")]

mod figures;

use anyhow::{Context as _, anyhow, ensure};
use clap::Parser;
use figures::{Scored, Table};
use groundline_claims::split_source;
use groundline_detectors::{DetectorOptions, Next, NliPremise, SelfcheckOptions, create};
use groundline_evidence::{SourceText, prepare_source};
use groundline_inference::{Engine, LoadOptions, Model};
use groundline_types::{
    CheckRequest, Claim, ClaimKind, Outcome, PreparedCheck, PreparedSource, Problem, Reason, Report, Score,
    Span, Work,
};
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;

/// Tokens left free beside a sample for the sentence.
const SENTENCE_TOKENS: usize = 128;

#[derive(Debug, Parser)]
struct Arguments {
    /// JSONL with `sentences`, `annotations` and `samples`.
    file: PathBuf,
    /// The model's folder, for NLI.
    #[arg(long, default_value = "models/groundline-mini")]
    model: PathBuf,
    /// How many passages NLI reads, spread evenly over the file; 0 for all. A passage of 8 sentences and 20 samples is 160 pairs.
    #[arg(long, default_value_t = 20)]
    nli_passages: usize,
    /// The same for BERTScore, which computes each of a passage's 170 sentences about once.
    #[arg(long, default_value_t = 0)]
    bertscore_passages: usize,
}

#[derive(Debug, Deserialize)]
struct Passage {
    sentences: Vec<String>,
    annotations: Vec<String>,
    samples: Vec<String>,
}

impl Passage {
    /// How wrong each sentence is by its annotation: 0, 0.5 or 1.
    fn labels(&self) -> anyhow::Result<Vec<f64>> {
        let label = |annotation: &String| match annotation.as_str() {
            "accurate" => Ok(0.0),
            "minor_inaccurate" => Ok(0.5),
            "major_inaccurate" => Ok(1.0),
            other => Err(anyhow!("unknown annotation {other:?}")),
        };
        ensure!(self.sentences.len() == self.annotations.len(), "sentences and annotations differ in number");
        self.annotations.iter().map(label).collect()
    }

    fn check(&self, engine: &Model) -> PreparedCheck {
        let facts = engine.facts();
        let window_tokens =
            facts.max_tokens.saturating_sub(facts.pair_overhead_tokens + SENTENCE_TOKENS).max(1);
        let sample = |(index, text): (usize, &String)| -> PreparedSource {
            let sentences = split_source(text).into_iter().map(|one| (one.span, one.text)).collect();
            let id = format!("sample-{}", index + 1).into();
            let source = SourceText { id, text: text.as_str().into(), sentences };
            prepare_source(source, &*facts.counter, window_tokens).0
        };
        let claim = |text: &String| Claim {
            span: Span::new(0, text.len()),
            text: text.as_str().into(),
            places: Default::default(),
            kind: ClaimKind::Statement,
            tags: Vec::new(),
            facts: Vec::new(),
        };
        let mut request = CheckRequest::with_sources(self.sentences.join(" "), Vec::new());
        request.samples.clone_from(&self.samples);
        PreparedCheck {
            request: Arc::new(request),
            claims: self.sentences.iter().map(claim).collect(),
            before: None,
            sources: Vec::new(),
            samples: self.samples.iter().enumerate().map(sample).collect(),
            refused: Default::default(),
            derived: Default::default(),
        }
    }
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let text = std::fs::read_to_string(&arguments.file)
        .with_context(|| format!("cannot read {}", arguments.file.display()))?;
    let passages: Vec<Passage> = text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()
        .context("not a line of the data set")?;
    let engine = Model::load(&arguments.model, &LoadOptions::default()).map_err(failed)?;
    let published = DetectorOptions {
        selfcheck: SelfcheckOptions { ngram_smoothing: 0.0, ..SelfcheckOptions::default() },
        ..DetectorOptions::default()
    };
    let default = DetectorOptions::default();

    let mut table = Table::default();
    let all: Vec<&Passage> = passages.iter().collect();
    let exact = run_all("selfcheck_ngram", &published, &all, &engine)?;
    table.add("n-gram, unigram (max), as published", "85.63 / 58.47 / 64.71", &exact.own);
    table.add("the same, subject only", "", &exact.subject_only);
    table.add("n-gram, unigram (avg), as published", "", &exact.extra("unigram_avg"));
    let smoothed = run_all("selfcheck_ngram", &default, &all, &engine)?;
    table.add("n-gram, unigram (max), smoothed (default)", "", &smoothed.own);
    table.add("the same, subject only", "", &smoothed.subject_only);
    let overlap = run_all("selfcheck_overlap", &default, &all, &engine)?;
    table.add("overlap, word pairs (default)", "", &overlap.own);
    table.add("the same, subject only", "", &overlap.subject_only);
    table.add("overlap, single words", "", &overlap.extra("unigram"));

    let spread = |wanted: usize| -> Vec<&Passage> {
        let step = passages.len().checked_div(wanted).unwrap_or(1).max(1);
        let most = if wanted == 0 { passages.len() } else { wanted };
        passages.iter().step_by(step).take(most).collect()
    };
    let some = spread(arguments.bertscore_passages);
    let bertscore = run_all("selfcheck_bertscore", &default, &some, &engine)?;
    let name = format!("BERTScore, {}, {} passages", engine.facts().id.name, some.len());
    table.add(&name, "81.96 / 44.23 / 58.18 (roberta-large)", &bertscore.own);
    table.add("the same, subject only", "", &bertscore.subject_only);
    let same = run_all("selfcheck_ngram", &default, &some, &engine)?;
    table.add("n-gram, smoothed, on the passages of BERTScore", "", &same.own);

    let some = spread(arguments.nli_passages);
    let nli = run_all("selfcheck_nli", &default, &some, &engine)?;
    table.add(
        &format!("NLI, {}", engine.facts().id.name),
        "92.50 / 66.08 / 74.14 (DeBERTa-v3-large)",
        &nli.own,
    );
    table.add("the same, subject only", "", &nli.subject_only);
    let mut turned = default.clone();
    turned.selfcheck.nli_premise = NliPremise::Sample;
    let nli = run_all("selfcheck_nli", &turned, &some, &engine)?;
    table.add("NLI with the sample as premise", "", &nli.own);
    table.add("the same, subject only", "", &nli.subject_only);
    let same = run_all("selfcheck_ngram", &default, &some, &engine)?;
    table.add("n-gram, smoothed, on the passages of NLI", "", &same.own);
    println!("{table}");
    Ok(())
}

/// The numbers of a method.
struct Numbers {
    own: Vec<Vec<Scored>>,
    subject_only: Vec<Vec<Scored>>,
    reports: Vec<(Report, Vec<f64>)>,
}

impl Numbers {
    fn extra(&self, name: &str) -> Vec<Vec<Scored>> {
        let passage = |(report, labels): &(Report, Vec<f64>)| {
            let scores = report.claims.iter().map(|claim| claim.scored()?.extra.get(name).copied());
            scored(scores, labels)
        };
        self.reports.iter().map(passage).collect()
    }
}

fn scored(scores: impl Iterator<Item = Option<f64>>, labels: &[f64]) -> Vec<Scored> {
    let pairs = scores.zip(labels);
    pairs.filter_map(|(score, label)| Some(Scored { score: score?, label: *label })).collect()
}

fn run_all(
    method: &str,
    options: &DetectorOptions,
    passages: &[&Passage],
    engine: &Model,
) -> anyhow::Result<Numbers> {
    let mut reports = Vec::with_capacity(passages.len());
    for passage in passages {
        let report = run(method, options, passage.check(engine), engine)?;
        reports.push((report, passage.labels()?));
    }
    let own = |(report, labels): &(Report, Vec<f64>)| {
        scored(report.claims.iter().map(|claim| claim.scored()?.score), labels)
    };
    let own = reports.iter().map(own).collect();
    let mut numbers = Numbers { own, subject_only: Vec::new(), reports };
    numbers.subject_only = numbers.extra("subject_only");
    Ok(numbers)
}

/// Runs a method on a passage to its end.
fn run(
    method: &str,
    options: &DetectorOptions,
    check: PreparedCheck,
    engine: &Model,
) -> anyhow::Result<Report> {
    let mut detector = create(method, options).with_context(|| format!("there is no method {method}"))?;
    let mut next = detector.start(&Arc::new(check), engine.facts());
    loop {
        match next {
            Next::Done(report) => return Ok(report),
            Next::Work(work) => next = detector.resume(&score(&work, engine)),
            Next::Ask(_) => anyhow::bail!("{method} asks a judge, and there is none here"),
        }
    }
}

/// Scores work in batches of similar length.
fn score(work: &[Work], engine: &Model) -> Vec<Outcome<Score>> {
    let mut outcomes: Vec<Option<Outcome<Score>>> = vec![None; work.len()];
    let mut encoded = Vec::new();
    for (place, work) in work.iter().enumerate() {
        match engine.encode(work) {
            Ok(item) => encoded.push((place, item)),
            Err(problem) => outcomes[place] = Some(Outcome::Failed(Reason::from(problem))),
        }
    }
    let mut rest = encoded.as_slice();
    while !rest.is_empty() {
        let mut tokens = 0;
        let fits = |(_, item): &&(usize, groundline_inference::Encoded)| {
            tokens += item.ids.len();
            tokens <= engine.batch_tokens()
        };
        let (batch, behind) = rest.split_at(rest.iter().take_while(fits).count().max(1));
        let items: Vec<_> = batch.iter().map(|(_, item)| item.clone()).collect();
        for ((place, _), answer) in batch.iter().zip(engine.run(&items)) {
            outcomes[*place] = Some(match answer {
                Ok(score) => Outcome::Scored(score),
                Err(problem) => Outcome::Failed(Reason::from(problem)),
            });
        }
        rest = behind;
    }
    outcomes.into_iter().flatten().collect()
}

fn failed(problem: Problem) -> anyhow::Error {
    anyhow!("{problem}")
}

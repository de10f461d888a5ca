//! `groundline models candidates`.

use crate::console::Console;
use crate::failure::{EXIT_OK, Failure};
use crate::input::{InputLimits, spawn_reader};
use crate::output::{Sink, one_line, push};
use crate::progress::thousands;
use groundline::{
    CandidateReport, Config, MeasuredCandidates, ScoredWork, load_engine, measure_candidates, resolve_methods,
};
use groundline_types::{CheckRequest, Code, Problem, Verdict};
use std::path::PathBuf;

/// Threads for actors and timers; the engine has a pool of its own.
const RUNTIME_THREADS: usize = 2;

/// What to measure.
pub(crate) struct Measurement {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) candidates: Vec<usize>,
    /// Instead of the requests' own; empty: those.
    pub(crate) methods: Vec<String>,
    pub(crate) json: bool,
}

/// Measures, and says what was found.
pub(crate) fn run(
    measurement: Measurement,
    config: &Config,
    console: &mut Console,
    sink: &mut Sink,
) -> Result<u8, Failure> {
    let Measurement { files, candidates, methods, json } = measurement;
    if !methods.is_empty() {
        resolve_methods(&methods)?;
    }
    let mut requests = read(files, config)?;
    if !methods.is_empty() {
        for request in &mut requests {
            (request.methods, request.policy) = (methods.clone(), None);
        }
    }
    if requests.iter().any(reads_every_pair) {
        console.tell(
            "summac and summac_conv read every pair of sentences, whatever the candidates; \
             --methods entailment,numeric shows what can be saved without them",
        );
    }
    let engine = load_engine(config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(RUNTIME_THREADS)
        .enable_all()
        .build()
        .map_err(|error| Problem::new(Code::INTERNAL, format!("cannot start the runtime: {error}")))?;
    let progress = |done: usize, of: usize| {
        console.draw(done as u64, of as u64, format!("{done} of {of} checks"));
    };
    let measured = runtime.block_on(measure_candidates(engine, config, &requests, &candidates, progress));
    console.clear();
    let report = measured?;
    sink.write(&if json { serde_json::to_string_pretty(&report)? + "\n" } else { text(&report) })?;
    Ok(EXIT_OK)
}

/// All requests; the first broken one ends it, for a share of some other set of requests would be misread.
fn read(files: Vec<PathBuf>, config: &Config) -> Result<Vec<CheckRequest>, Failure> {
    let limits = InputLimits { request: config.limits.request(), line_bytes: config.limits.line_bytes };
    let (mut records, mut requests) = (spawn_reader(files, limits)?, Vec::new());
    while let Some(record) = records.blocking_recv() {
        requests.push(record.request.map_err(
            |Problem { code, message }| match record.position.describe() {
                // Some problems name the file themselves.
                Some(place) if !message.contains(&place) => {
                    Problem::new(code, format!("{}: {message}", one_line(&place)))
                }
                _ => Problem::new(code, message),
            },
        )?);
    }
    Ok(requests)
}

fn reads_every_pair(request: &CheckRequest) -> bool {
    let methods = resolve_methods(&request.methods).unwrap_or_default();
    request.policy.is_none() && methods.iter().any(|method| method.starts_with("summac"))
}

fn text(report: &CandidateReport) -> String {
    let CandidateReport { model, requests, all, measured } = report;
    let plural = if *requests == 1 { "" } else { "s" };
    let mut text = format!("{requests} request{plural} with {} on {}\n", one_line(&model.name), model.engine);
    push(
        &mut text,
        format_args!(
            "    {:>9}{:>12}{:>9}{:>11}{:>17}{:>13}{:>10}\n",
            "sentences", "pairs", "saved", "seconds", "other verdict", "mean drift", "largest"
        ),
    );
    push(&mut text, format_args!("{}\n", work("all", all)));
    for one in measured {
        push(&mut text, format_args!("{}", row(one, all)));
    }
    let limited = measured.iter().map(|one| one.limited_requests).max().unwrap_or(0);
    if limited < *requests {
        let others = requests - limited;
        push(
            &mut text,
            format_args!("    {others} of the requests have so few sentences that nothing is left out\n"),
        );
    }
    text
}

/// The first columns.
fn work(sentences: &str, work: &ScoredWork) -> String {
    format!("    {sentences:>9}{:>12}{:>9}{:>11.1}", thousands(work.pairs as u64), "", work.seconds)
}

fn row(one: &MeasuredCandidates, all: &ScoredWork) -> String {
    let saved = format!("{:.1} %", one.saved_pairs * 100.0);
    let faster = if one.work.seconds > 0.0 { all.seconds / one.work.seconds } else { 1.0 };
    let changed = format!("{} ({:.1} %)", one.changed_sentences, one.changed_share * 100.0);
    let mut text = format!(
        "    {:>9}{:>12}{saved:>9}{:>11.1}{changed:>17}{:>13.4}{:>10.3}\n",
        one.candidate_sentences,
        thousands(one.work.pairs as u64),
        one.work.seconds,
        one.mean_support_drift,
        one.largest_support_drift
    );
    push(
        &mut text,
        format_args!(
            "              {faster:.2} times as fast; of {} sentences",
            thousands(one.compared_sentences as u64)
        ),
    );
    if one.changes.is_empty() {
        text.push_str(", none changes");
    }
    for change in &one.changes {
        push(&mut text, format_args!(", {} {} → {}", change.sentences, word(change.from), word(change.to)));
    }
    text.push('\n');
    text
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Supported => "supported",
        Verdict::NotMentioned => "not mentioned",
        Verdict::Contradicted => "contradicted",
    }
}

//! Options of `groundline check`.

use clap::{Args, ValueEnum};
use groundline::{DeviceChoice, MAX_THREADS};
use groundline_types::{CascadePolicy, CheckRequest, PolicyChoice, Problem};
use std::path::PathBuf;

/// Check responses against their sources.
///
/// One response: name the files with --source and --response, or give texts with --source-text and --claim.
///
/// Many responses: a JSONL file with a request on each line, a JSON file with one request or a list of them, or - for
/// standard input. Results come in input order as they are ready. A broken line is reported with its number and the rest
/// goes on; the exit status is then 2.
///
/// A request is {"source": "…", "response": "…"}. Instead of `source` it may have `sources`: a list of texts or of
/// {"id", "title", "text"}. Further fields: id, question, methods, facts, matrix, samples, draw_samples, generator, deadline_ms,
/// offsets.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP, after_long_help = AFTER_LONG_HELP)]
pub(crate) struct CheckArgs {
    /// JSON or JSONL files with requests, or - for standard input
    #[arg(value_name = "FILE", conflicts_with_all = ["source", "source_text", "response", "claim"])]
    pub(crate) files: Vec<PathBuf>,

    /// The same as FILE
    #[arg(long, value_name = "FILE", conflicts_with_all = ["source", "source_text", "response", "claim"], hide = true)]
    pub(crate) input: Vec<PathBuf>,

    /// A text file that counts as evidence, or - for standard input; may be repeated, each is kept apart
    #[arg(short, long, value_name = "FILE", help_heading = "Input")]
    pub(crate) source: Vec<PathBuf>,

    /// A text that counts as evidence; may be repeated
    #[arg(long, value_name = "TEXT", help_heading = "Input")]
    pub(crate) source_text: Vec<String>,

    /// The text file to check, or - for standard input
    #[arg(short, long, value_name = "FILE", conflicts_with = "claim", help_heading = "Input")]
    pub(crate) response: Option<PathBuf>,

    /// The text to check
    #[arg(long, value_name = "TEXT", help_heading = "Input")]
    pub(crate) claim: Option<String>,

    /// What the response answers; context, never evidence
    #[arg(long, value_name = "TEXT", help_heading = "Input")]
    pub(crate) question: Option<String>,

    /// Name of the model that wrote the response, such as gpt-4o-mini: a judge of its family is warned of
    #[arg(long, value_name = "MODEL", help_heading = "Check")]
    pub(crate) generator: Option<String>,

    /// Draw other answers to --question from the judge's endpoint, for methods that compare with samples
    #[arg(long, help_heading = "Check")]
    pub(crate) draw_samples: bool,

    /// Methods to use, with commas between (see `groundline methods`) [default: default]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Check")]
    pub(crate) methods: Vec<String>,

    /// Methods in stages instead: the name of a policy of the configuration, or one as JSON, such as
    /// '{"always": ["entailment"], "grey_zone": {"methods": ["summac"]}}'
    #[arg(long, value_name = "NAME|JSON", value_parser = policy_choice, conflicts_with = "methods", help_heading = "Check")]
    pub(crate) policy: Option<PolicyChoice>,

    /// Also check the atomic facts of each sentence
    #[arg(long, help_heading = "Check")]
    pub(crate) facts: bool,

    /// Also show the SummaC matrix: every source sentence against every response sentence
    #[arg(long, help_heading = "Output")]
    pub(crate) matrix: bool,

    /// End with status 1 where the weakest sentence of a response is below X (0 to 1), or was not checked
    #[arg(long, value_name = "X", value_parser = fraction, allow_negative_numbers = true, help_heading = "Output")]
    pub(crate) fail_under: Option<f32>,

    /// Print one JSON object for each response, one on each line (schema groundline.check/1)
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,

    /// Count offsets in bytes of UTF-8, in characters (Python) or in UTF-16 units (JavaScript, Java)
    #[arg(long, value_name = "UNIT", help_heading = "Output")]
    pub(crate) offsets: Option<OffsetsArg>,

    /// Answer after this time with what is done by then [default: none; Ctrl-C does the same]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true, help_heading = "Check")]
    pub(crate) deadline: Option<f64>,

    /// Threads that compute [default: one for each core]
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true, help_heading = "Check")]
    pub(crate) threads: Option<usize>,

    /// What computes: cpu, cuda:0 (the first GPU), or auto (a GPU where one can be used) [default: cpu]
    #[arg(long, value_name = "DEVICE", help_heading = "Check")]
    pub(crate) device: Option<DeviceChoice>,

    /// How exactly the processor computes: f32, auto (the fastest that the model was measured to be exact enough in), bf16 or
    /// int8 [default: f32]
    #[arg(long, value_name = "PRECISION", hide_possible_values = true, help_heading = "Check")]
    pub(crate) precision: Option<PrecisionArg>,

    /// Compare each claim with its N nearest source sentences alone, and the windows that hold one of them; 0: with all
    /// [default: 0]. Saves time on long sources and may miss support; methods that read every pair (summac, summac_conv) still do.
    /// `groundline models candidates` measures both on your requests
    #[arg(long, value_name = "N", help_heading = "Check")]
    pub(crate) candidates: Option<usize>,

    /// The model: a name (see `groundline models`) or a folder
    #[arg(short, long, value_name = "NAME|DIR", help_heading = "Check")]
    pub(crate) model: Option<String>,

    /// Label names of the model in logit order, where the checkpoint's own say nothing
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Check")]
    pub(crate) labels: Vec<String>,

    /// Responses in flight at a time; their pairs share batches
    #[arg(short, long, value_name = "N", default_value_t = 4, value_parser = jobs, allow_negative_numbers = true, help_heading = "Check")]
    pub(crate) jobs: usize,

    /// Write the results to a file instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Examples:
  groundline check --source article.txt --response summary.txt
  groundline check answers.jsonl --json > verdicts.jsonl";

const AFTER_LONG_HELP: &str = "\
Examples:
  groundline check --source article.txt --response summary.txt
  groundline check --source page1.txt --source page2.txt --response - < answer.md
  groundline check --source-text 'The bridge opened in 1937.' --claim 'It opened in 1936.'
  groundline check answers.jsonl --json --output verdicts.jsonl
  some-program | groundline check - --json | jq 'select(.alert)'
  groundline check answers.jsonl --fail-under 0.5 --quiet      in a build pipeline

Reading the text output:
  ✓ supported      the sources say so
  ✗ contradicted   the sources say otherwise
  ? not mentioned  the sources do not say
  ! not checked    it should have been: the deadline passed, or an error (see the line below it)
  · not checked    it makes no claim: a question, a heading, a greeting, code
  `support` is the probability that the sources support the sentence, whatever the verdict.

Exit status: 0 fine; 1 a response is below --fail-under; 2 bad input (also where only some lines
are broken; 2 wins over 1); 70 internal error; 75 device lost; 130 ended by Ctrl-C. At the first
Ctrl-C what is done is printed, the rest marked as not checked; a second one ends at once.";

/// Most responses in flight.
const MAX_JOBS: usize = 256;

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum OffsetsArg {
    Bytes,
    Chars,
    Utf16,
}

impl OffsetsArg {
    /// As it is written in a configuration.
    pub(crate) fn name(self) -> &'static str {
        match self {
            OffsetsArg::Bytes => "bytes",
            OffsetsArg::Chars => "chars",
            OffsetsArg::Utf16 => "utf16",
        }
    }
}

fn fraction(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(value),
        _ => Err("must be 0 to 1, such as 0.5".to_owned()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('s').parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 1e6 => Ok(value),
        _ => Err("give a number of seconds above 0, such as 30".to_owned()),
    }
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(value) if value <= MAX_THREADS => Ok(value),
        _ => Err(format!("give a number from 1 to {MAX_THREADS}")),
    }
}

fn jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(value) if (1..=MAX_JOBS).contains(&value) => Ok(value),
        _ => Err(format!("give a number from 1 to {MAX_JOBS}")),
    }
}

/// A policy of the configuration, or one's own.
fn policy_choice(text: &str) -> Result<PolicyChoice, Problem> {
    if !text.trim_start().starts_with('{') {
        return Ok(PolicyChoice::Named(text.to_owned()));
    }
    CheckRequest::value_from_json(text).and_then(CascadePolicy::from_value).map(PolicyChoice::Own)
}

/// Values of `--precision`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrecisionArg {
    F32,
    Auto,
    Bf16,
    Int8,
}

impl PrecisionArg {
    /// As in a configuration file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            PrecisionArg::F32 => "f32",
            PrecisionArg::Auto => "auto",
            PrecisionArg::Bf16 => "bf16",
            PrecisionArg::Int8 => "int8",
        }
    }
}

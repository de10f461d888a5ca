//! What can be typed.

mod check;
#[cfg(feature = "cluster")]
mod cluster;
mod ensemble;

pub(crate) use check::{CheckArgs, PrecisionArg};
#[cfg(feature = "cluster")]
pub(crate) use cluster::{DeadCommand, DoctorArgs, KeysCommand, RoleArgs};
pub(crate) use ensemble::{EnsembleArgs, EnsembleCommand, LabelledArgs};

use clap::{Args, Parser, Subcommand, ValueEnum};
use groundline::{BaselineOptions, ColorMode};
use std::path::PathBuf;

/// Check what a language model says against its sources.
///
/// Groundline reads a response sentence by sentence and says which sentences the sources support, which they contradict
/// and which they do not mention, with the evidence next to each. The model ships with it: no network, no account.
#[derive(Debug, Parser)]
#[command(name = "groundline", version, propagate_version = true, after_help = AFTER_HELP, after_long_help = AFTER_HELP)]
#[command(subcommand_required = true, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  groundline check --source article.txt --response summary.txt
  groundline check answers.jsonl --json > verdicts.jsonl
  groundline check --source-text 'Marie Curie was born in Warsaw.' --claim 'She was born in France.'

Exit status: 0 fine; 1 a response is below --fail-under; 2 bad input or usage; 70 internal error;
75 device lost; 130 ended by Ctrl-C.";

/// Heading of the options of every command.
const GLOBAL: &str = "Options of every command";

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct GlobalArgs {
    /// Read settings from this TOML file
    ///
    /// `groundline config default` prints one with every option. Environment variables (GROUNDLINE_…) win over the file,
    /// options on the command line win over both.
    #[arg(long, global = true, value_name = "FILE", help_heading = GLOBAL)]
    pub(crate) config: Option<PathBuf>,

    /// When to colour [default: auto: on a terminal, unless NO_COLOR is set]
    #[arg(long, global = true, value_name = "WHEN", help_heading = GLOBAL)]
    pub(crate) color: Option<ColorArg>,

    /// Say nothing on standard error but errors: no progress bar, no estimates
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    pub(crate) quiet: bool,

    /// Log what happens to standard error; twice for more. RUST_LOG is honoured
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = GLOBAL)]
    pub(crate) verbose: u8,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ColorArg {
    Auto,
    Always,
    Never,
}

impl From<ColorArg> for ColorMode {
    fn from(color: ColorArg) -> Self {
        match color {
            ColorArg::Auto => ColorMode::Auto,
            ColorArg::Always => ColorMode::Always,
            ColorArg::Never => ColorMode::Never,
        }
    }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Check(Box<CheckArgs>),
    Models(ModelsArgs),
    /// List the methods that a check can use: what each needs, what its number means, and what it costs
    Methods {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    Ensemble(EnsembleArgs),
    /// Print every option with its default, or check a configuration file
    #[command(subcommand)]
    Config(ConfigCommand),
    /// See what the configured judge's backend can do
    #[command(subcommand)]
    Judge(JudgeCommand),
    #[cfg(feature = "cluster")]
    Serve(RoleArgs),
    /// Answer HTTP and gRPC, and let the workers of a cluster score
    #[cfg(feature = "cluster")]
    Gateway(RoleArgs),
    /// Work through the cluster's durable queue of checks
    #[cfg(feature = "cluster")]
    Coordinator(RoleArgs),
    /// Score for a cluster, with one engine
    #[cfg(feature = "cluster")]
    Worker(RoleArgs),
    /// Say what is wrong with a cluster, seen from outside
    #[cfg(feature = "cluster")]
    Doctor(DoctorArgs),
    /// List, show, retry or drop jobs that are not delivered any more
    #[cfg(feature = "cluster")]
    #[command(subcommand)]
    Dead(DeadCommand),
    /// Make API keys for the gateway
    #[cfg(feature = "cluster")]
    #[command(subcommand)]
    Keys(KeysCommand),
    #[cfg(not(feature = "cluster"))]
    #[command(hide = true, aliases = ["gateway", "coordinator", "worker", "doctor", "dead", "keys"])]
    Serve(LeftOut),
}

/// What to do with the judge.
#[derive(Debug, Subcommand)]
pub(crate) enum JudgeCommand {
    /// Ask the backend a few tiny questions and say what it can do
    ///
    /// Set judge.base_url and judge.model first, in the configuration or as GROUNDLINE_JUDGE_BASE_URL and GROUNDLINE_JUDGE_MODEL.
    /// Takes about five calls of some dozen tokens each.
    Probe {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// A command that this build leaves out, with whatever was typed after it.
#[cfg(not(feature = "cluster"))]
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct LeftOut {
    /// What the command was given; nothing reads it
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    pub(crate) rest: Vec<String>,
}

/// List the models that are found, verify one, or convert one.
///
/// A model is a Hugging Face folder of a DeBERTa, BERT, RoBERTa or ModernBERT fine-tuned for natural-language inference, or of a learned
/// detector: config.json, tokenizer.json and safetensors weights.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  groundline models                              what is found, and where
  groundline models verify                       load the default model and compare it with its reference
  groundline models verify ./my-deberta-mnli     the same for a folder of your own")]
pub(crate) struct ModelsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ModelsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// List the models that are found (what `groundline models` does)
    List,
    /// Load a model, check its files, and compare its numbers with its golden.json where it has one
    Verify {
        /// A name as listed, or a folder [default: the model that a check would use]
        #[arg(value_name = "NAME|DIR")]
        model: Option<String>,
        /// Label names in logit order, where the checkpoint's own say nothing
        #[arg(long, value_name = "NAMES", value_delimiter = ',')]
        labels: Vec<String>,
    },
    /// Measure the similarity of unrelated sentences with a model, which selfcheck_bertscore is rescaled by, and write it into its folder
    #[command(after_help = "\
Example:
  groundline models baseline path/to/model passages.txt

The file has a passage on each line; one that ends in .jsonl has a JSON string, or an object with a \"text\", on each line.
Pairs are drawn from different lines. The processor computes.")]
    Baseline {
        /// A name as listed, or a folder
        #[arg(value_name = "NAME|DIR")]
        model: String,
        /// The passages
        #[arg(value_name = "FILE")]
        texts: PathBuf,
        /// Pairs of sentences to draw
        #[arg(long, value_name = "N", default_value_t = BaselineOptions::default().pairs)]
        pairs: usize,
        /// What the draw begins with
        #[arg(long, value_name = "N", default_value_t = BaselineOptions::default().seed)]
        seed: u64,
    },
    /// Measure how exactly a model answers in bf16 and int8, and write into its folder which of them `--precision auto` may take
    #[command(after_help = "\
Example:
  groundline models precision path/to/model pairs.jsonl

The file has an object with \"premise\" and \"claim\" on each line: at least 500, of the kind that will be checked. Each is scored in
every precision, and compared with single precision. The processor computes.")]
    Precision {
        /// A name as listed, or a folder
        #[arg(value_name = "NAME|DIR")]
        model: String,
        /// The pairs
        #[arg(value_name = "FILE")]
        pairs: PathBuf,
    },
    /// Measure on your requests what comparing each claim with its nearest source sentences alone saves, and which verdicts it changes
    #[command(after_help = "\
Example:
  groundline models candidates answers.jsonl --candidates 4,8,16 --methods entailment,numeric

Each request is checked with all source sentences and once with each number, by the same model in
the same process. The methods summac and summac_conv read every pair of sentences whatever the
number. What suits is then set with `check --candidates N` or detectors.candidate_sentences.")]
    Candidates {
        /// JSON or JSONL files with requests, as for `groundline check`, or - for standard input
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        /// Numbers of sentences to try, with commas between
        #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "4,8,16")]
        candidates: Vec<usize>,
        /// Methods to use instead of the requests' own, with commas between
        #[arg(long, value_name = "NAMES", value_delimiter = ',')]
        methods: Vec<String>,
        /// The model: a name as listed, or a folder [default: the model that a check would use]
        #[arg(short, long, value_name = "NAME|DIR")]
        model: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Turn a checkpoint of pickled weights (.bin, .pt, .ckpt) into a folder with safetensors; needs python3 and no package
    #[command(after_help = "\
Examples:
  groundline models convert factcc-checkpoint/pytorch_model.bin factcc --preset factcc --base bert-base-uncased
  groundline models convert AlignScore-large.ckpt alignscore --preset alignscore --base roberta-large")]
    Convert {
        /// The pickled weights
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The folder to make
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// The learned detector that it is, such as factcc or alignscore
        #[arg(long, value_name = "PRESET")]
        preset: Option<String>,
        /// Folder of the base model, for a tokenizer.json and config.json that the checkpoint comes without
        #[arg(long, value_name = "DIR")]
        base: Option<PathBuf>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print a configuration file with every option, its meaning and its default
    #[command(after_help = "Example:\n  groundline config default > groundline.toml")]
    Default,
    /// Say whether a configuration file is right, and what is wrong where it is not
    #[command(after_help = "Example:\n  groundline config check groundline.toml")]
    Check {
        /// The file, or - for standard input
        file: PathBuf,
    },
}

#[cfg(test)]
mod tests;

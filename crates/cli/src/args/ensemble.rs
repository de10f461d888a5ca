//! Options of `groundline ensemble`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Fit the weights of an ensemble to labelled responses, and see how good they are.
///
/// An ensemble makes one calibrated probability, `scores.ensemble`, of several methods' numbers. Its weights belong to one model.
/// Checking takes the time, fitting does not: the steps go by files.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  groundline ensemble prepare fm2.jsonl expertqa.jsonl --output fit.jsonl
  GROUNDLINE_ENSEMBLE_PROFILE=off groundline check fit.jsonl --json --output fit-results.jsonl
  groundline ensemble fit --requests fit.jsonl --results fit-results.jsonl --output ensemble.json
  groundline ensemble report --requests other.jsonl --results other-results.jsonl --profile ensemble.json
  GROUNDLINE_ENSEMBLE_PROFILE=ensemble.json groundline check answers.jsonl")]
pub(crate) struct EnsembleArgs {
    #[command(subcommand)]
    pub(crate) command: EnsembleCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EnsembleCommand {
    /// Turn labelled sets into requests for `groundline check`
    ///
    /// A set is a JSONL file; its name without the ending is the set's. A row has `label` (1 supported, 0 not), `claim` or `response`,
    /// and `source` or `samples` or both. Of a large set, evenly spaced rows are taken.
    Prepare {
        /// The sets
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        /// Most rows of a set
        #[arg(long, value_name = "N", default_value_t = 300)]
        rows: usize,
        /// Leave out rows with a longer source, in words
        #[arg(long, value_name = "N", default_value_t = 350)]
        source_words: usize,
        /// Leave out rows with a longer response, in words
        #[arg(long, value_name = "N", default_value_t = 100)]
        response_words: usize,
        /// Write to a file instead of standard output
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Fit weights
    Fit {
        #[command(flatten)]
        labelled: LabelledArgs,
        /// The profile's name, which results carry
        #[arg(long, value_name = "NAME", default_value = "default")]
        name: String,
        /// Write the profile to a file instead of standard output
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Compare a profile with each of its inputs, on sets that it was not fitted to
    Report {
        #[command(flatten)]
        labelled: LabelledArgs,
        /// The profile
        #[arg(long, value_name = "FILE")]
        profile: PathBuf,
        /// Inputs to compare with; responses without one of them are left out
        #[arg(
            long,
            value_name = "NAMES",
            value_delimiter = ',',
            default_value = "min,mean,weighted,contradiction,summac,summac_zs,summac_conv,numeric"
        )]
        inputs: Vec<String>,
        /// Draws behind the intervals
        #[arg(long, value_name = "N", default_value_t = 2000)]
        draws: usize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Labelled requests and what was found about them.
#[derive(Debug, Args)]
pub(crate) struct LabelledArgs {
    /// What `prepare` wrote
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    pub(crate) requests: Vec<PathBuf>,
    /// What `check --json` answered, in any order
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    pub(crate) results: Vec<PathBuf>,
}

//! Commands of a build with the roles of a cluster.

use super::check::PrecisionArg;
use clap::{Args, Subcommand};
use groundline::DeviceChoice;

/// Serve checks over HTTP and gRPC from this process alone: no broker, no other process.
#[derive(Debug, Args)]
#[command(after_help = "\
Settings come from --config FILE and from GROUNDLINE_… variables; `groundline config default` prints all of them.
The first SIGTERM or Ctrl-C stops in good order, the second at once.

Examples:
  groundline serve
  groundline gateway --nats nats://broker:4222 --listen 0.0.0.0:8080
  GROUNDLINE_NATS_URL=nats://broker:4222 groundline worker")]
pub(crate) struct RoleArgs {
    /// The broker of the cluster
    #[arg(long, value_name = "URL")]
    pub(crate) nats: Option<String>,

    /// Address and port of the service
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,

    /// Address and port of health and metrics; an empty text for none
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) admin_listen: Option<String>,

    /// A model: a name as listed by `groundline models`, or a folder
    #[arg(long, value_name = "NAME|DIR")]
    pub(crate) model: Option<String>,

    /// Threads that compute
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,

    /// What computes: cpu, cuda:0 (the first GPU), or auto (a GPU where one can be used)
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<DeviceChoice>,

    /// How exactly the processor computes: f32, auto (the fastest that the model was measured to be exact enough in), bf16 or
    /// int8
    #[arg(long, value_name = "PRECISION", hide_possible_values = true)]
    pub(crate) precision: Option<PrecisionArg>,

    /// Compare each claim with its N nearest source sentences alone (0: all; see `groundline models candidates`); workers take no
    /// notice
    #[arg(long, value_name = "N")]
    pub(crate) candidates: Option<usize>,
}

/// Options of `groundline doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// The broker of the cluster
    #[arg(long, value_name = "URL")]
    pub(crate) nats: Option<String>,

    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to do with dead jobs.
#[derive(Debug, Subcommand)]
pub(crate) enum DeadCommand {
    /// List them, oldest first
    List {
        /// Most that are listed
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: usize,
        /// Only those with a higher number
        #[arg(long, value_name = "NUMBER", default_value_t = 0)]
        after: u64,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Show one, as JSON
    Show {
        /// Its number
        number: u64,
        /// Also the texts that users sent
        #[arg(long)]
        texts: bool,
    },
    /// Publish one again, to see whether it still kills its worker
    Retry {
        /// Its number
        number: u64,
    },
    /// Delete one, with its texts
    Drop {
        /// Its number
        number: u64,
    },
}

/// What to do with keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Make a key, and print it with the entry for the gateway's file of keys
    ///
    /// The key is shown this once; the file holds its hash alone.
    New {
        /// Whose key it is
        #[arg(long, value_name = "NAME")]
        tenant: String,
    },
}

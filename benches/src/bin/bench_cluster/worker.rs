//! A worker with a simulated device, as a process of its own.

use crate::engine::{Pace, SimulatedDevice};
use groundline::{ConfigLayers, WorkerNode};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How it works.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Configuration of the cluster.
    #[arg(long)]
    config: PathBuf,
    /// Tokens of a batch.
    #[arg(long)]
    batch_tokens: usize,
    /// Speed of the device; without, it answers at once.
    #[arg(long)]
    items_per_second: Option<f64>,
}

/// Prints `ready` once it works; after that, for each line on standard input, how much it has scored. Ends with standard input.
pub(crate) async fn run(options: Options) -> anyhow::Result<()> {
    let config = ConfigLayers::default().file(options.config).load()?;
    let pace = Pace { items_per_second: options.items_per_second, batch_tokens: options.batch_tokens };
    let device = SimulatedDevice::new(&config, pace)?;
    let scored = device.scored();
    let node = WorkerNode::with_engine(Arc::new(device), &config).await?;
    println!("ready");
    let answer_questions = move || {
        for _question in std::io::stdin().lines().map_while(Result::ok) {
            println!("{}", scored.load(Ordering::Relaxed));
        }
    };
    tokio::task::spawn_blocking(answer_questions).await?;
    node.drain().await;
    Ok(())
}

//! `groundline dead`: jobs that are not delivered any more.

use crate::args::DeadCommand;
use crate::failure::{EXIT_INPUT, EXIT_OK, Failure};
use crate::output::Sink;
use groundline::{Config, DeadLetters};
use groundline_types::{Code, Problem};
use serde_json::json;

/// Lists, shows, retries or drops dead jobs.
pub(crate) fn run(command: &DeadCommand, config: Config, sink: &mut Sink) -> Result<u8, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Problem::new(Code::INTERNAL, format!("cannot start the runtime: {error}")))?;
    runtime.block_on(act(command, config, sink))
}

async fn act(command: &DeadCommand, config: Config, sink: &mut Sink) -> Result<u8, Failure> {
    let dead = DeadLetters::connect(&config).await?;
    match command {
        DeadCommand::List { limit, after, json } => {
            let jobs = dead.list(*limit, *after).await?;
            for job in &jobs {
                if *json {
                    sink.write(&format!("{}\n", serde_json::to_string(job)?))?;
                } else {
                    let line = format!(
                        "{:>8}  {}  {}  {}/{}  {}\n",
                        job.sequence, job.reason_code, job.job, job.lane, job.tenant, job.reason
                    );
                    sink.write(&line)?;
                }
            }
            if jobs.is_empty() && !json {
                sink.write("no dead jobs\n")?;
            }
        }
        DeadCommand::Show { number, texts } => {
            let Some(job) = dead.show(*number, *texts).await? else { return missing(*number, sink) };
            sink.write(&format!("{}\n", serde_json::to_string_pretty(&job)?))?;
        }
        DeadCommand::Retry { number } => {
            if !dead.retry(*number).await? {
                return missing(*number, sink);
            }
            sink.write(&format!("{}\n", json!({"retried": number})))?;
        }
        DeadCommand::Drop { number } => {
            if !dead.delete(*number).await? {
                return missing(*number, sink);
            }
            sink.write(&format!("{}\n", json!({"dropped": number})))?;
        }
    }
    Ok(EXIT_OK)
}

fn missing(number: u64, sink: &mut Sink) -> Result<u8, Failure> {
    sink.write(&format!("no dead job has the number {number}, or it cannot be decoded\n"))?;
    Ok(EXIT_INPUT)
}

//! `groundline doctor`: what is wrong with a cluster, seen from outside.

use crate::failure::{EXIT_OK, Failure};
use crate::output::{Sink, one_line};
use groundline::{Config, Finding, Health, diagnose};
use groundline_types::{Code, Problem};

/// Exit status where something is ill.
const EXIT_ILL: u8 = 1;

/// Looks, prints what it finds, and ends with 1 where something is ill.
pub(crate) fn run(json: bool, config: &Config, sink: &mut Sink) -> Result<u8, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Problem::new(Code::INTERNAL, format!("cannot start the runtime: {error}")))?;
    let findings = runtime.block_on(diagnose(config));
    for finding in &findings {
        let line = if json { serde_json::to_string(finding)? } else { line(finding) };
        sink.write(&format!("{line}\n"))?;
    }
    let is_ill = findings.iter().any(|finding| finding.health == Health::Ill);
    Ok(if is_ill { EXIT_ILL } else { EXIT_OK })
}

fn line(finding: &Finding) -> String {
    let mark = match finding.health {
        Health::Well => "ok",
        Health::Warning => "warning",
        Health::Ill => "ILL",
        Health::Skipped => "skipped",
    };
    format!("{:<8} {mark:<8} {}", finding.what, one_line(&finding.detail))
}

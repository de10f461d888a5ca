//! The judge of a configuration.

use crate::Config;
use groundline_judge::{Capabilities, Judge, JudgeUsage};
use groundline_types::{Code, Problem};
use serde::Serialize;
use tokio::time::Instant;

/// What a first look at a judge found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgeProbe {
    /// The model, as its backend knows it.
    pub model: String,
    /// Where it is.
    pub base_url: String,
    /// What the backend can do.
    pub capabilities: Capabilities,
    /// What finding out took.
    pub usage: JudgeUsage,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// The judge that a configuration names, if it names one. Connects to nothing.
///
/// # Errors
/// [`Code::JUDGE_OPTIONS`] where options are invalid, or a key or certificate cannot be read.
pub(crate) fn judge_of(config: &Config) -> Result<Option<Judge>, Problem> {
    config.judge.is_on().then(|| Judge::new(config.judge.clone())).transpose()
}

/// Asks the configured judge's backend a few tiny questions and says what it can do. A few calls, some hundred tokens.
///
/// # Errors
/// [`Code::JUDGE_MISSING`] where none is configured; [`Code::JUDGE_OPTIONS`]; any other `GL5xxx` where the backend does not answer
/// the simplest question.
pub async fn probe_judge(config: &Config) -> Result<JudgeProbe, Problem> {
    // What is set by hand would be shown as if it had been found.
    let options = groundline_judge::JudgeOptions { capabilities: None, ..config.judge.clone() };
    if !options.is_on() {
        let message = "no judge is configured; set judge.base_url and judge.model";
        return Err(Problem::new(Code::JUDGE_MISSING, message));
    }
    let judge = Judge::new(options)?;
    let began = Instant::now();
    let probed = judge.probe(None).await.map_err(|failure| failure.problem)?;
    Ok(JudgeProbe {
        model: config.judge.model.clone(),
        base_url: config.judge.base_url.clone(),
        capabilities: probed.value,
        usage: probed.usage,
        took_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
    })
}

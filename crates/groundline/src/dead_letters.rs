//! The dead jobs of a cluster, for whoever looks after it.

use crate::Config;
use groundline_bus::{DeadJob, DeadJobs, JobBus, NatsBus, NatsOptions};
use groundline_types::{Lane, Problem, Work};
use serde::Serialize;

/// The dead jobs of the broker that a configuration names.
#[derive(Debug)]
pub struct DeadLetters {
    bus: NatsBus,
}

/// One dead job, as it is shown. Texts of users are in it only where they were asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeadLetter {
    /// Its number among the dead.
    pub sequence: u64,
    /// Name of the job; empty where its message cannot be decoded.
    pub job: String,
    /// Which queue it waited in.
    pub lane: String,
    /// Whose it was.
    pub tenant: String,
    /// Stable code of why it is dead.
    pub reason_code: String,
    /// Why it is dead.
    pub reason: String,
    /// What became of each of its deliveries, in order.
    pub history: Vec<String>,
    /// When it died, in milliseconds since 1970.
    pub died_at_ms: u64,
    /// Pieces of work in it.
    pub items: usize,
    /// Its texts, premise and hypothesis or the one to embed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<Vec<String>>,
}

impl DeadLetters {
    /// Connects, and changes no stream.
    ///
    /// # Errors
    /// `GL1013`, `GL3001`, `GL3004` and `GL3005`, as a bus that cannot be reached or used.
    pub async fn connect(config: &Config) -> Result<Self, Problem> {
        let options = NatsOptions { manages_streams: false, runs_janitor: false, ..config.nats.clone() };
        Ok(Self { bus: NatsBus::connect(options).await? })
    }

    /// Up to `limit` of them with a number above `after`, oldest first.
    ///
    /// # Errors
    /// `GL3001` where the broker cannot be reached; so for every call.
    pub async fn list(&self, limit: usize, after: u64) -> Result<Vec<DeadLetter>, Problem> {
        let jobs = self.bus.list(limit, after).await?;
        Ok(jobs.iter().map(|job| shown(job, false)).collect())
    }

    /// One of them, with its texts where `texts` is true; `None` where there is none of this number.
    ///
    /// # Errors
    /// `GL3001`.
    pub async fn show(&self, sequence: u64, texts: bool) -> Result<Option<DeadLetter>, Problem> {
        Ok(self.bus.get(sequence).await?.map(|job| shown(&job, texts)))
    }

    /// Publishes it again; `false` where there is none of this number, or where it cannot be decoded.
    ///
    /// # Errors
    /// `GL3001`, or why the bus refuses it.
    pub async fn retry(&self, sequence: u64) -> Result<bool, Problem> {
        Ok(DeadJobs::retry(&self.bus, sequence).await?.is_some())
    }

    /// Deletes it with its texts; `false` where there is none of this number.
    ///
    /// # Errors
    /// `GL3001`.
    pub async fn delete(&self, sequence: u64) -> Result<bool, Problem> {
        DeadJobs::drop(&self.bus, sequence).await
    }

    /// Closes the connection once everything is sent.
    pub async fn close(self) {
        // One that is closed already is what is wanted.
        let _ = self.bus.drain().await;
    }
}

fn shown(dead: &DeadJob, with_texts: bool) -> DeadLetter {
    let lane = match dead.lane.lane {
        Lane::Online => "online",
        Lane::Bulk => "bulk",
    };
    let job = dead.job.as_deref();
    let texts_of = |work: Work| match work {
        Work::Pair { premise, hypothesis, .. } => vec![premise.to_string(), hypothesis.to_string()],
        Work::Embed { text } => vec![text.to_string()],
        Work::Similarity { candidate, reference } => vec![candidate.to_string(), reference.to_string()],
        Work::Tokens { context, text, .. } => vec![context.to_string(), text.to_string()],
    };
    let texts = match job {
        Some(job) if with_texts => job.texts.work().map(texts_of).collect(),
        _ => Vec::new(),
    };
    DeadLetter {
        sequence: dead.sequence,
        job: job.map(|job| job.id.to_string()).unwrap_or_default(),
        lane: format!("{}.{lane}", dead.lane.model.as_str()),
        tenant: dead.tenant.as_str().to_owned(),
        reason_code: dead.reason.code.as_str().to_owned(),
        reason: dead.reason.message.clone(),
        history: dead.history.clone(),
        died_at_ms: dead.died_at_ms,
        items: job.map_or(0, |job| job.texts.len()),
        texts,
    }
}

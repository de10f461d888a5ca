//! What a person does with the dead jobs of a [`MemoryBus`].

use super::MemoryBus;
use crate::{DeadJob, DeadJobs, Job, JobBus, PublishError, Published};
use groundline_types::{Code, Problem};

impl DeadJobs for MemoryBus {
    async fn list(&self, limit: usize, after: u64) -> Result<Vec<DeadJob>, Problem> {
        Ok(self.shared.queue().dead(after).take(limit).cloned().collect())
    }

    async fn get(&self, sequence: u64) -> Result<Option<DeadJob>, Problem> {
        let before = sequence.saturating_sub(1);
        let first = self.shared.queue().dead(before).next().cloned();
        Ok(first.filter(|dead| dead.sequence == sequence))
    }

    async fn retry(&self, sequence: u64) -> Result<Option<Published>, Problem> {
        let Some(job) = self.get(sequence).await?.and_then(|dead| dead.job) else { return Ok(None) };
        let again = Job { attempt: job.attempt.saturating_add(1), ..Job::clone(&job) };
        let published = self.publish(again).await.map_err(refused)?;
        self.shared.queue().remove_dead(sequence);
        Ok(Some(published))
    }

    async fn drop(&self, sequence: u64) -> Result<bool, Problem> {
        Ok(self.shared.queue().remove_dead(sequence).is_some())
    }
}

fn refused(error: PublishError) -> Problem {
    Problem::new(Code::BUS_UNAVAILABLE, error.to_string())
}

//! Batches on their way to the device, and back.

use super::{BatcherState, Moment};
use crate::batcher::machine::Closed;
use crate::device::{Batch, BatchResults, DeviceMessage, MAX_BATCHES};
use groundline_actors::Condition;
use groundline_bus::JobBus;
use groundline_inference::Encoded;
use groundline_telemetry::{ActiveSpan, SpanKey, SpanName, record};
use groundline_types::Outcome;

/// A batch at the device.
pub(super) struct AtDevice {
    /// The (job, item) of each of its places.
    places: Vec<(u64, usize)>,
    /// Ends with the batch.
    _span: ActiveSpan,
}

impl<B: JobBus> BatcherState<B> {
    /// Closes batches while the device can take one.
    pub(super) fn feed_device(&mut self, now: Moment) {
        while self.at_device.len() < MAX_BATCHES {
            let Some(closed) = self.machine.take(now, self.at_device.is_empty()) else { break };
            record::batch_closed(closed.reason, closed.items.len(), closed.tokens, closed.longest_wait);
            let span = self.batch_span(&closed);
            let items = closed.items;
            let (mut places, mut encoded) =
                (Vec::with_capacity(items.len()), Vec::with_capacity(items.len()));
            for item in items {
                if let Some(held) = self.jobs.get_mut(item.job) {
                    held.is_started = true;
                }
                places.push((item.job, item.index));
                encoded.push(item.payload);
            }
            let id = self.next_batch;
            self.next_batch += 1;
            // A device between two lives takes this actor down with it, and the bus delivers the jobs again.
            let _ = self.setup.device.send(DeviceMessage::Run(Batch { id, items: encoded }));
            self.at_device.insert(id, AtDevice { places, _span: span });
        }
        let condition = if self.jobs.is_empty() { Condition::Idle } else { Condition::Busy };
        self.setup.health.report(condition);
    }

    /// A batch mixes the jobs of many checks: its span is linked to each of theirs.
    fn batch_span(&self, closed: &Closed<Encoded>) -> ActiveSpan {
        let jobs = closed.items.iter().filter_map(|item| self.jobs.get(item.job));
        let span = ActiveSpan::start_linked(
            SpanName::Batch,
            jobs.filter_map(|held| held.delivery.job().trace.as_deref()),
        );
        span.set(SpanKey::BATCH_ITEMS, closed.items.len());
        span.set(SpanKey::BATCH_TOKENS, closed.tokens);
        span.set(SpanKey::BATCH_REASON, closed.reason.as_str());
        span
    }

    pub(super) fn on_scored(&mut self, results: BatchResults) {
        let batch = self.at_device.remove(&results.batch);
        let places = batch.map(|batch| batch.places).unwrap_or_default();
        for ((slot, index), result) in places.into_iter().zip(results.items) {
            let outcome = result.map_or_else(|problem| Outcome::Failed(problem.into()), Outcome::Scored);
            self.settle(slot, index, outcome);
        }
    }
}

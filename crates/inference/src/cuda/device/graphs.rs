//! A bucket's launches as one graph: sent to the device with one call instead of two hundred.

use super::super::runner::Fault;
use super::status::fault_of;
use cudarc::driver::{result, sys};
use std::collections::BTreeMap;

/// A captured list of launches, ready to be replayed.
pub(super) struct Graph(sys::CUgraphExec);

/// The same before it is made ready, which is all that it is for.
struct Captured(sys::CUgraph);

impl Graph {
    /// Captures what `launches` sends to `stream`; nothing of it runs.
    pub(super) fn capture(
        stream: sys::CUstream,
        launches: impl FnOnce() -> Result<(), Fault>,
    ) -> Result<Self, Fault> {
        // Relaxed: the library of products may load code while it is captured.
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream is alive and belongs to this thread.
        unsafe { result::stream::begin_capture(stream, mode) }.map_err(fault_of)?;
        let sent = launches();
        // SAFETY: the capture that was just begun; it ends whatever became of the launches.
        let captured = unsafe { result::stream::end_capture(stream) }.map(Captured).map_err(fault_of);
        sent?;
        let captured = captured?;
        // SAFETY: the graph was just captured.
        unsafe { result::graph::instantiate(captured.0, sys::CUgraphInstantiate_flags(0)) }
            .map(Self)
            .map_err(fault_of)
    }

    pub(super) fn launch(&self, stream: sys::CUstream) -> Result<(), Fault> {
        // SAFETY: graph and stream are alive, and the memory that the graph names outlives it: both belong to one arena.
        unsafe { result::graph::launch(self.0, stream) }.map_err(fault_of)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: instantiated in `capture`, and not running.
        let _ = unsafe { result::graph::exec_destroy(self.0) };
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        // SAFETY: captured in `capture`; what was instantiated does not need it.
        let _ = unsafe { result::graph::destroy(self.0) };
    }
}

/// The entries that were used last, at most a fixed number.
pub(super) struct Recent<K, V> {
    most: usize,
    clock: u64,
    entries: BTreeMap<K, (u64, V)>,
}

impl<K: Ord + Copy, V> Recent<K, V> {
    pub(super) fn new(most: usize) -> Self {
        Self { most, clock: 0, entries: BTreeMap::new() }
    }

    /// Takes an entry out, to be put back.
    pub(super) fn take(&mut self, key: &K) -> Option<V> {
        self.entries.remove(key).map(|(_, value)| value)
    }

    /// Puts one in as the latest; the one that was used longest ago comes out where there are too many.
    pub(super) fn put(&mut self, key: K, value: V) -> Option<V> {
        self.clock += 1;
        self.entries.insert(key, (self.clock, value));
        if self.entries.len() <= self.most {
            return None;
        }
        let oldest = self.entries.iter().min_by_key(|(_, (used, _))| *used).map(|(key, _)| *key)?;
        self.take(&oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_makes_room() {
        let mut recent = Recent::new(2);
        assert_eq!((recent.put(1, 'a'), recent.put(2, 'b')), (None, None));
        let a = recent.take(&1).unwrap();
        assert_eq!(recent.put(1, a), None);
        assert_eq!(recent.put(3, 'c'), Some('b'));
        assert_eq!((recent.take(&2), recent.take(&1), recent.take(&3)), (None, Some('a'), Some('c')));
    }
}

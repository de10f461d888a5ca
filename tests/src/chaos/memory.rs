//! How much memory each process takes: at most, and at rest in comparison to when it was warm.

use super::events::Events;
use super::schedule::Node;
use crate::resident_bytes;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The most that a process of a small cluster may take: several times what each takes, and far from what a leak takes.
const MAX_BYTES: usize = 512 << 20;
/// A process that has worked for so long is warm.
const WARM_UP: Duration = Duration::from_secs(4);
/// What a process may have at rest beyond twice what it had when it was warm: what its allocator keeps after the largest flood.
const SLACK_BYTES: usize = 64 << 20;

/// One process, from its start on.
#[derive(Debug, Clone, Copy)]
struct Watched {
    pid: u32,
    since: Instant,
    warm_bytes: Option<usize>,
    last_bytes: usize,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Memory {
    watched: BTreeMap<Node, Watched>,
    /// Of all processes that took a place.
    peak_bytes: BTreeMap<Node, usize>,
}

impl Memory {
    /// Looks at the process that has a place now.
    pub(super) fn look(&mut self, node: Node, pid: u32) {
        // One that has just ended takes nothing.
        let Some(bytes) = resident_bytes(pid) else { return };
        self.note(node, pid, bytes, Instant::now());
    }

    fn note(&mut self, node: Node, pid: u32, bytes: usize, now: Instant) {
        let peak = self.peak_bytes.entry(node).or_default();
        *peak = (*peak).max(bytes);
        let new = Watched { pid, since: now, warm_bytes: None, last_bytes: bytes };
        let watched = self.watched.entry(node).or_insert(new);
        if watched.pid != pid {
            *watched = new;
        }
        watched.last_bytes = bytes;
        if now.duration_since(watched.since) >= WARM_UP {
            watched.warm_bytes.get_or_insert(bytes);
        }
    }

    /// Tells what it was, and what of it is too much.
    pub(super) fn verdict(&self, events: &mut Events) -> Vec<String> {
        let mib = |of: &dyn Fn(&Watched) -> Option<usize>| {
            let shown =
                self.watched.iter().filter_map(|(node, watched)| Some((node.to_string(), of(watched)?)));
            Value::Object(shown.map(|(node, bytes)| (node, json!(bytes >> 20))).collect())
        };
        let peak = self.peak_bytes.iter().map(|(node, bytes)| (node.to_string(), json!(bytes >> 20)));
        let details = json!({
            "peak_mib": peak.collect::<Map<_, _>>(),
            "warm_mib": mib(&|watched| watched.warm_bytes),
            "at_rest_mib": mib(&|watched| Some(watched.last_bytes)),
        });
        events.tell("memory", details);
        self.too_much()
    }

    fn too_much(&self) -> Vec<String> {
        let large = self.peak_bytes.iter().filter(|(_, bytes)| **bytes > MAX_BYTES);
        let large = large.map(|(node, bytes)| format!("{node} took {} MiB", bytes >> 20));
        let grown = self.watched.iter().filter_map(|(node, watched)| {
            let (warm, rest) = (watched.warm_bytes?, watched.last_bytes);
            (rest > 2 * warm + SLACK_BYTES)
                .then(|| format!("{node} grew from {} MiB to {} MiB", warm >> 20, rest >> 20))
        });
        large.chain(grown).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn a_process_that_grows_is_seen_and_one_that_is_new_is_measured_anew() {
        let mut memory = Memory::default();
        let began = Instant::now();
        let mut note = |pid, after: u64, mib: usize| {
            memory.note(Node::Coordinator, pid, mib * MIB, began + Duration::from_secs(after));
            memory.too_much()
        };
        assert!(note(1, 0, 5).is_empty());
        assert!(note(1, 3, 40).is_empty(), "it is not warm yet");
        assert!(note(1, 5, 40).is_empty());
        assert!(note(1, 90, 144).is_empty());
        assert_eq!(note(1, 91, 145), ["coordinator grew from 40 MiB to 145 MiB"]);
        assert!(note(2, 92, 200).is_empty(), "another process");
        assert!(note(2, 99, 200).is_empty());
        assert_eq!(note(2, 100, 600).len(), 2, "too large, and grown");
    }
}

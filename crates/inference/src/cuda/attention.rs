//! How the fused attention kernels are laid out in shared memory, and how they are launched.
//!
//! The formulas are those of kernels/attention_disentangled.cu and attention_plain.cu; tests compare them with the table that the
//! kernels' own source printed (kernels/gen/launches.txt).

use super::shape::Relative;

/// Queries and keys of a tile.
pub(super) const TILE: usize = 64;
/// Threads of a group, which computes one tile of queries.
pub(super) const GROUP_THREADS: usize = 128;
/// Groups of a block, at most: three leave 168 registers a thread.
const MOST_GROUPS: usize = 3;
const WARPS: usize = 4;
const BAND_STRIDE: usize = 88;
const SLICE: usize = 128;

/// What of a device a launch depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DeviceLimits {
    /// Shared memory that a block may ask for.
    pub block_shared_bytes: usize,
    /// Shared memory of a multiprocessor.
    pub shared_bytes: usize,
    pub multiprocessors: usize,
}

/// How attention is launched over sequences of a certain length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AttentionLaunch {
    /// Tables lie in shared memory for the life of a block.
    pub resident: bool,
    pub groups: usize,
    /// Tiles of keys brought ahead.
    pub stages: usize,
    pub shared_bytes: usize,
}

/// The slots that a launch over sequences of up to `window` tokens needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SlotWindow {
    pub first: usize,
    pub slots: usize,
    pub reach: usize,
}

impl SlotWindow {
    /// `window` is a multiple of [`TILE`].
    pub(super) fn of(relative: &Relative, window: usize) -> Self {
        let far = window as isize - 1;
        let first = relative.slot(-far);
        Self { first, slots: relative.slot(far) - first + 1, reach: window.min(relative.reach) }
    }
}

pub(super) fn disentangled_bytes(width: usize, window: SlotWindow, launch: AttentionLaunch) -> usize {
    let AttentionLaunch { resident, groups, stages, .. } = launch;
    let lut = if resident { 2 * window.slots * width } else { 0 };
    let start = (lut + 2 * window.reach - 1).next_multiple_of(64);
    let stage = (2 * TILE + if resident { 0 } else { 2 * SLICE }) * width;
    let group = stages * stage + WARPS * 16 * BAND_STRIDE + TILE * BAND_STRIDE;
    2 * (start + groups * group)
}

pub(super) fn plain_bytes(width: usize, launch: AttentionLaunch) -> usize {
    2 * launch.groups * (launch.stages * 2 * TILE * width + TILE * width)
}

/// (resident, groups, stages) in the order of preference: resident tables first, then as many groups as fit (they hide each
/// other's waits), then two stages. The order is a guess until a device has been measured.
pub(super) const PREFERENCE: [(bool, usize, usize); 10] = [
    (true, 3, 2),
    (true, 2, 2),
    (true, 3, 1),
    (true, 2, 1),
    (true, 1, 2),
    (true, 1, 1),
    (false, 2, 2),
    (false, 1, 2),
    (false, 2, 1),
    (false, 1, 1),
];

/// The launch over relative positions that fits `limit` bytes; `None` where none does.
pub(super) fn disentangled_launch(limit: usize, width: usize, window: SlotWindow) -> Option<AttentionLaunch> {
    first_that_fits(limit, |launch| disentangled_bytes(width, window, launch))
}

/// The launch without relative positions that fits `limit` bytes.
pub(super) fn plain_launch(limit: usize, width: usize) -> Option<AttentionLaunch> {
    first_that_fits(limit, |launch| plain_bytes(width, launch))
}

fn first_that_fits(limit: usize, bytes: impl Fn(AttentionLaunch) -> usize) -> Option<AttentionLaunch> {
    let launches = PREFERENCE.iter().map(|&(resident, groups, stages)| {
        let launch = AttentionLaunch { resident, groups, stages, shared_bytes: 0 };
        AttentionLaunch { shared_bytes: bytes(launch), ..launch }
    });
    launches.into_iter().find(|launch| launch.shared_bytes <= limit)
}

/// Blocks for each head: as many as the device holds at once, and no more than there is work for. A block brings its tables once
/// and then takes tile after tile.
pub(super) fn blocks(device: &DeviceLimits, launch: AttentionLaunch, heads: usize, tiles: usize) -> usize {
    // A kibibyte of each block is the system's.
    let by_memory = device.shared_bytes / (launch.shared_bytes + 1024);
    let at_once = device.multiprocessors * by_memory.clamp(1, MOST_GROUPS / launch.groups);
    (at_once / heads).clamp(1, tiles.div_ceil(launch.groups).max(1))
}

#[cfg(test)]
mod tests;

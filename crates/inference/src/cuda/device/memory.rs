//! Memory of the device, memory that it can copy to and from by itself, and events; each is given back when it is dropped.

use super::super::runner::Fault;
use super::status::fault_of;
use cudarc::driver::{result, sys};
use std::ptr::NonNull;

/// Memory of the device.
pub(super) struct DeviceMemory {
    address: sys::CUdeviceptr,
    bytes: usize,
}

impl DeviceMemory {
    pub(super) fn new(bytes: usize) -> Result<Self, Fault> {
        let bytes = bytes.max(1);
        // SAFETY: a context is current on this thread; what is there is not read before it is written.
        let address = unsafe { result::malloc_sync(bytes) }.map_err(fault_of)?;
        Ok(Self { address, bytes })
    }

    pub(super) fn address(&self) -> u64 {
        self.address
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes at an offset, and waits.
    pub(super) fn write(&self, at: usize, bytes: &[u8]) -> Result<(), Fault> {
        if at + bytes.len() > self.bytes {
            return Err(Fault::Refused("a copy past the end of the device's memory".to_owned()));
        }
        // SAFETY: within the allocation, as just checked; the call returns after the copy.
        unsafe { result::memcpy_htod_sync(self.address + at as u64, bytes) }.map_err(fault_of)
    }
}

#[cfg(feature = "kernels-host")]
impl DeviceMemory {
    /// Reads from an offset, and waits.
    pub(super) fn read(&self, at: usize, bytes: usize) -> Result<Vec<u8>, Fault> {
        if at + bytes > self.bytes {
            return Err(Fault::Refused("a copy past the end of the device's memory".to_owned()));
        }
        let mut read = vec![0; bytes];
        // SAFETY: within the allocation, as just checked; the call returns after the copy.
        unsafe { result::memcpy_dtoh_sync(&mut read, self.address + at as u64) }.map_err(fault_of)?;
        Ok(read)
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new`, and nothing runs that uses it. An error here means that the device is lost, and says nothing new.
        let _ = unsafe { result::free_sync(self.address) };
    }
}

/// Memory on this side that the device copies to and from while the processor does something else.
pub(super) struct PinnedMemory {
    start: NonNull<u8>,
    bytes: usize,
}

impl PinnedMemory {
    pub(super) fn new(bytes: usize) -> Result<Self, Fault> {
        let bytes = bytes.max(1);
        // SAFETY: a context is current on this thread.
        let start = unsafe { result::malloc_host(bytes, 0) }.map_err(fault_of)?.cast::<u8>();
        let start = NonNull::new(start).ok_or(Fault::OutOfMemory)?;
        // SAFETY: just allocated, this long; from here on every byte has a value.
        unsafe { start.as_ptr().write_bytes(0, bytes) };
        Ok(Self { start, bytes })
    }

    /// Copies `bytes` to its beginning, and gives that part.
    pub(super) fn fill(&mut self, bytes: &[u8]) -> &[u8] {
        let part = self.part_mut(bytes.len());
        part.copy_from_slice(&bytes[..part.len()]);
        part
    }

    pub(super) fn part(&self, bytes: usize) -> &[u8] {
        // SAFETY: within the allocation, whose bytes all have a value; the device has written, as an event has said.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), bytes.min(self.bytes)) }
    }

    pub(super) fn part_mut(&mut self, bytes: usize) -> &mut [u8] {
        // SAFETY: the same.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), bytes.min(self.bytes)) }
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new`, and nothing runs that uses it.
        let _ = unsafe { result::free_host(self.start.as_ptr().cast()) };
    }
}

/// A mark in a stream.
pub(super) struct Event(sys::CUevent);

impl Event {
    pub(super) fn new() -> Result<Self, Fault> {
        let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING;
        result::event::create(flags).map(Self).map_err(fault_of)
    }

    /// One that can tell the time since another.
    #[cfg(feature = "kernels-host")]
    pub(super) fn timed() -> Result<Self, Fault> {
        result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).map(Self).map_err(fault_of)
    }

    /// Milliseconds from `earlier` to this; both were recorded, and this is done.
    #[cfg(feature = "kernels-host")]
    pub(super) fn since(&self, earlier: &Self) -> Result<f32, Fault> {
        // SAFETY: both events are alive.
        unsafe { result::event::elapsed(earlier.0, self.0) }.map_err(fault_of)
    }

    pub(super) fn record(&self, stream: sys::CUstream) -> Result<(), Fault> {
        // SAFETY: event and stream are alive.
        unsafe { result::event::record(self.0, stream) }.map_err(fault_of)
    }

    /// Waits until everything before the mark is done.
    pub(super) fn wait(&self) -> Result<(), Fault> {
        // SAFETY: the event is alive.
        unsafe { result::event::synchronize(self.0) }.map_err(fault_of)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: created in `new`.
        let _ = unsafe { result::event::destroy(self.0) };
    }
}

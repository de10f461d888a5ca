//! The bus that a configuration names.

use groundline_bus::{JobBus, MemoryBus};

/// One of the buses there are. Clones are the same bus.
#[derive(Debug, Clone)]
pub(crate) enum AnyBus {
    /// In this process.
    Memory(MemoryBus),
}

impl AnyBus {
    /// Whether jobs go in and out now.
    pub(crate) fn is_connected(&self) -> bool {
        match self {
            AnyBus::Memory(bus) => bus.state().borrow().connected,
        }
    }

    /// Sends what is under way and closes the connection, for all clones of it.
    pub(crate) async fn drain(self) {
        // One that is closed already is what is wanted.
        let _ = match self {
            AnyBus::Memory(bus) => bus.drain().await,
        };
    }
}

//! The bus that a configuration names.

use crate::readiness::NotReady;
#[cfg(feature = "cluster")]
use groundline_bus::NatsBus;
use groundline_bus::{JobBus, MemoryBus};

/// One of the buses there are. Clones are the same bus.
#[derive(Debug, Clone)]
pub(crate) enum AnyBus {
    /// In this process.
    Memory(MemoryBus),
    /// A broker.
    #[cfg(feature = "cluster")]
    Nats(NatsBus),
}

impl AnyBus {
    /// Why no job goes in and out now, where that is so.
    pub(crate) fn not_ready(&self) -> Option<NotReady> {
        let reason = match self {
            AnyBus::Memory(bus) => (!bus.state().borrow().connected).then_some("it is closed"),
            #[cfg(feature = "cluster")]
            AnyBus::Nats(bus) => bus.trouble(),
        };
        reason.map(|reason| NotReady { component: "bus", reason })
    }

    /// Sends what is under way and closes the connection, for all clones of it.
    pub(crate) async fn drain(self) {
        // One that is closed already is what is wanted.
        let _ = match self {
            AnyBus::Memory(bus) => bus.drain().await,
            #[cfg(feature = "cluster")]
            AnyBus::Nats(bus) => bus.drain().await,
        };
    }
}

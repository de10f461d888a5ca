//! An address that survives a restart.

use ractor::{ActorRef, Message};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::watch;

/// The address of a role, whichever actor fills it at the moment.
///
/// ractor's own reference dies with its actor; a holder of a `Handle` goes on, and learns from
/// [`generations`](Handle::generations) that what it had sent may be lost.
pub struct Handle<M: Message> {
    shared: Arc<Shared<M>>,
}

struct Shared<M: Message> {
    actor: RwLock<Option<ActorRef<M>>>,
    generation: watch::Sender<u64>,
}

/// Nobody fills the role at the moment, or the actor is about to end; here is the message back.
#[derive(Debug, PartialEq, Eq)]
pub struct Unsent<M>(pub M);

impl<M> fmt::Display for Unsent<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("send a message: no actor has this role now")
    }
}

impl<M: Message> Handle<M> {
    /// The handle of a role that nobody fills yet.
    pub fn vacant() -> Self {
        Self { shared: Arc::new(Shared { actor: RwLock::new(None), generation: watch::Sender::new(0) }) }
    }

    /// Gives the role to `actor` and counts a generation up.
    pub fn assign(&self, actor: ActorRef<M>) {
        *self.shared.actor.write().unwrap_or_else(PoisonError::into_inner) = Some(actor);
        self.shared.generation.send_modify(|generation| *generation += 1);
    }

    /// Sends a message to whoever has the role.
    pub fn send(&self, message: M) -> Result<(), Unsent<M>> {
        let guard = self.shared.actor.read().unwrap_or_else(PoisonError::into_inner);
        let Some(actor) = &*guard else { return Err(Unsent(message)) };
        match actor.send_message(message) {
            Ok(()) => Ok(()),
            Err(ractor::MessagingErr::SendErr(message)) => Err(Unsent(message)),
            // Both mean that the message's type is not its actor's, which a typed reference rules out.
            Err(ractor::MessagingErr::InvalidActorType | ractor::MessagingErr::ChannelClosed) => {
                unreachable!("a typed reference was refused by its own actor")
            }
        }
    }

    /// How often the role was given away: 1 for the first actor, 2 after its first restart.
    pub fn generations(&self) -> watch::Receiver<u64> {
        self.shared.generation.subscribe()
    }
}

impl<M: Message> Clone for Handle<M> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<M: Message> fmt::Debug for Handle<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("generation", &*self.shared.generation.borrow())
            .finish_non_exhaustive()
    }
}

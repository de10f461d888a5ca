//! Bodies that are too large for a message.

use super::{Shared, subjects, topology, trouble};
use crate::MAX_CHECK_BYTES;
use crate::wire::Stored;
use async_nats::jetstream::object_store::{GetErrorKind, ObjectStore};
use groundline_types::Problem;
use std::fmt;
use tokio::io::AsyncReadExt as _;
use tokio::sync::OnceCell;

/// The object store, once it was asked for.
#[derive(Default)]
pub(in crate::nats) struct Bodies {
    store: OnceCell<ObjectStore>,
}

impl fmt::Debug for Bodies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bodies")
    }
}

impl Shared {
    async fn bodies(&self) -> Result<&ObjectStore, Problem> {
        let open = || self.connection.jetstream.get_object_store(subjects::BODIES_BUCKET);
        self.bodies.store.get_or_try_init(open).await.map_err(trouble)
    }

    /// Puts a body where it belongs by its size.
    pub(super) async fn save(&self, name: &str, body: Vec<u8>) -> Result<Stored, Problem> {
        if body.len() <= topology::MAX_INLINE_BYTES {
            return Ok(Stored::Inline(body));
        }
        self.bodies().await?.put(name, &mut body.as_slice()).await.map_err(trouble)?;
        Ok(Stored::Object(name.to_owned()))
    }

    /// A body from where it lies; `None` where it has expired.
    pub(super) async fn load(&self, body: Stored) -> Result<Option<Vec<u8>>, Problem> {
        let name = match body {
            Stored::Inline(body) => return Ok(Some(body)),
            Stored::Object(name) => name,
        };
        let object = match self.bodies().await?.get(&name).await {
            Ok(object) => object,
            Err(error) if error.kind() == GetErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(trouble(error)),
        };
        let mut body = Vec::with_capacity(object.info.size.min(MAX_CHECK_BYTES));
        object.take(MAX_CHECK_BYTES as u64).read_to_end(&mut body).await.map_err(trouble)?;
        Ok(Some(body))
    }

    /// Deletes a body. Where that fails, it expires.
    pub(super) async fn forget_body(&self, name: &str) {
        let Ok(bodies) = self.bodies().await else { return };
        if let Err(error) = bodies.delete(name).await {
            tracing::debug!("a body is left to expire: {error}");
        }
    }
}

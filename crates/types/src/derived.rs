//! What is derived of something, kept beside it.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A place for what several methods derive of the same thing, so that each kind is made once: one value of each type.
///
/// It belongs to the thing and is not part of what it says: a clone starts empty.
#[derive(Default)]
pub struct Derived {
    kinds: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl Derived {
    /// The value of type `T`, made empty where there is none yet.
    pub fn get<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        // Nothing that holds the lock panics half-way through a change.
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let kind = kinds.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default()));
        // The entry of a type holds a value of that type.
        Arc::clone(kind).downcast().unwrap_or_default()
    }
}

impl Clone for Derived {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for Derived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Derived")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn each_kind_is_made_once_and_a_clone_starts_empty() {
        let derived = Derived::default();
        derived.get::<AtomicUsize>().fetch_add(2, Ordering::Relaxed);
        derived.get::<Mutex<String>>().lock().unwrap().push('x');
        let clone = derived.clone();
        assert_eq!(derived.get::<AtomicUsize>().load(Ordering::Relaxed), 2);
        assert_eq!(*derived.get::<Mutex<String>>().lock().unwrap(), "x");
        assert_eq!(clone.get::<AtomicUsize>().load(Ordering::Relaxed), 0);
    }
}

//! The places that a process has given out.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::Name;

/// The places that are in use, by type and name. One that is asked for again is the same: rejections are awaited in the
/// place that was taken, and noticed in the one that observes, so with two of them no call would ever probe.
#[derive(Debug, Default)]
pub(super) struct Places(Mutex<HashMap<(TypeId, Name), Weak<dyn Any + Send + Sync>>>);

impl Places {
    pub(super) fn find<P>(&self, name: Name, place: impl FnOnce(Name) -> P) -> Arc<P>
    where
        P: Send + Sync + 'static,
    {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of = (TypeId::of::<P>(), name.clone());
        let found = places.get(&of).and_then(Weak::upgrade);
        if let Some(Ok(found)) = found.map(Arc::downcast::<P>) {
            return found;
        }
        let new = Arc::new(place(name));
        let kept: Weak<P> = Arc::downgrade(&new);
        places.retain(|_, place| place.strong_count() > 0);
        places.insert(of, kept);
        new
    }
}

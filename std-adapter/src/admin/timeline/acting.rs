//! Who acts on this thread.

use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    static ACTING: RefCell<Option<Operation>> = const { RefCell::new(None) };
}

struct Operation {
    by: Arc<str>,
    /// The registry or breaker.
    of: Arc<str>,
    is_recorded: bool,
}

/// Marks what is done on this thread as the operator's, until it is dropped.
pub(in crate::admin) struct Acting;

impl Acting {
    pub(in crate::admin) fn begin(by: Arc<str>, of: Arc<str>) -> Self {
        ACTING.set(Some(Operation {
            by,
            of,
            is_recorded: false,
        }));
        Self
    }

    /// Who acts, while something happens to this one.
    pub(super) fn note(of: &str) -> Option<Arc<str>> {
        ACTING.with_borrow_mut(|acting| {
            let acting = acting.as_mut()?;
            acting.is_recorded |= *acting.of == *of;
            Some(Arc::clone(&acting.by))
        })
    }

    /// Ends; whether a recorder of the one that it was done to has recorded it.
    pub(in crate::admin) fn end(self) -> bool {
        let is_recorded =
            ACTING.with_borrow(|acting| acting.as_ref().is_some_and(|acting| acting.is_recorded));
        drop(self);
        is_recorded
    }
}

impl Drop for Acting {
    fn drop(&mut self) {
        ACTING.set(None);
    }
}

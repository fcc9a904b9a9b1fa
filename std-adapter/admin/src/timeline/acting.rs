//! Which operator acts on this thread.

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

/// Attributes what is done on this thread to the operator, until it is dropped.
pub(crate) struct Acting;

impl Acting {
    pub(crate) fn begin(by: Arc<str>, of: Arc<str>) -> Self {
        ACTING.set(Some(Operation {
            by,
            of,
            is_recorded: false,
        }));
        Self
    }

    /// The operator who acts, noted when something happens to this target.
    pub(super) fn note(of: &str) -> Option<Arc<str>> {
        ACTING.with_borrow_mut(|acting| {
            let acting = acting.as_mut()?;
            acting.is_recorded |= *acting.of == *of;
            Some(Arc::clone(&acting.by))
        })
    }

    /// Ends it. Returns whether a recorder of the target has recorded the action.
    pub(crate) fn end(self) -> bool {
        let acting = ACTING.take();
        drop(self);
        acting.is_some_and(|acting| acting.is_recorded)
    }
}

impl Drop for Acting {
    fn drop(&mut self) {
        ACTING.set(None);
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The operator who acts on this thread.

use std::cell::RefCell;
use std::sync::Arc;

use super::event::Subject;

thread_local! {
    static ACTING: RefCell<Option<Operation>> = const { RefCell::new(None) };
}

struct Operation {
    by: By,
    /// The breaker or key, or a registry as a whole.
    on: Subject,
    is_recorded: bool,
}

/// The operator who did something by hand, and the reason.
#[derive(Clone, Debug)]
pub(crate) struct By {
    pub(crate) operator: Arc<str>,
    pub(crate) reason: Option<Arc<str>>,
}

/// Attributes what is done to one target on this thread to the operator, until it is dropped.
pub(crate) struct Acting;

impl Acting {
    pub(crate) fn begin(by: By, on: Subject) -> Self {
        ACTING.set(Some(Operation {
            by,
            on,
            is_recorded: false,
        }));
        Self
    }

    /// The operator who acts on this target, noted because something has happened to it. `None` for any other one, which an
    /// observer of the target may change meanwhile.
    pub(super) fn note(on: &Subject) -> Option<By> {
        ACTING.with_borrow_mut(|acting| {
            let acting = acting.as_mut().filter(|acting| acting.on == *on)?;
            acting.is_recorded = true;
            Some(acting.by.clone())
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

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which operator acts on this thread.

use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    static ACTING: RefCell<Option<Operation>> = const { RefCell::new(None) };
}

struct Operation {
    by: By,
    /// The registry or breaker.
    of: Arc<str>,
    is_recorded: bool,
}

/// Who did something by hand, and why.
#[derive(Clone, Debug)]
pub(crate) struct By {
    pub(crate) operator: Arc<str>,
    pub(crate) reason: Option<Arc<str>>,
}

/// Attributes what is done on this thread to the operator, until it is dropped.
pub(crate) struct Acting;

impl Acting {
    pub(crate) fn begin(by: By, of: Arc<str>) -> Self {
        ACTING.set(Some(Operation {
            by,
            of,
            is_recorded: false,
        }));
        Self
    }

    /// The operator who acts, noted when something happens to this target.
    pub(super) fn note(of: &str) -> Option<By> {
        ACTING.with_borrow_mut(|acting| {
            let acting = acting.as_mut()?;
            acting.is_recorded |= *acting.of == *of;
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

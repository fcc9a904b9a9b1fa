//! Who acts.

use std::fmt;
use std::sync::Arc;

use super::text;

/// Who looks and changes: the extension that the authentication layer inserts into each request, as in the
/// [example](super).
///
/// The name is shown in the timeline beside the action, and logged; of a longer one the first 128 bytes are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    name: Arc<str>,
    may_change: bool,
}

impl Operator {
    const MAX_BYTES: usize = 128;

    /// An operator who may look and change.
    pub fn new(name: impl fmt::Display) -> Self {
        Self {
            name: text::bounded(&name, Self::MAX_BYTES).into(),
            may_change: true,
        }
    }

    /// An operator who may look but change nothing.
    pub fn viewer(name: impl fmt::Display) -> Self {
        Self {
            may_change: false,
            ..Self::new(name)
        }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether this operator may change anything.
    pub const fn may_change(&self) -> bool {
        self.may_change
    }

    pub(super) fn shared_name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }
}

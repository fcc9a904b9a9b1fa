//! What stands under a name.

use std::sync::Arc;

/// Something that is shown under a name.
pub(super) struct Named<T> {
    pub(super) name: Arc<str>,
    pub(super) it: T,
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! A guard that undoes something if the code below it unwinds.

use std::mem;

/// Runs a function when it is dropped, unless it is [disarmed](Self::disarm).
#[allow(missing_debug_implementations, reason = "there is nothing to show")]
#[must_use = "it runs when it is dropped"]
pub(crate) struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> OnDrop<F> {
    /// Runs the function when this is dropped.
    #[inline]
    pub(crate) const fn new(run: F) -> Self {
        Self(run)
    }

    /// Does not run it. The function must own nothing, because it is not dropped either.
    #[inline]
    pub(crate) fn disarm(self) {
        mem::forget(self);
    }
}

impl<F: FnMut()> Drop for OnDrop<F> {
    #[inline]
    fn drop(&mut self) {
        (self.0)();
    }
}

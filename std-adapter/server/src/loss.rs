// SPDX-License-Identifier: MIT OR Apache-2.0
//! Failures that several calls share.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How many shared failures were counted, for all resources together. 64 bits never wrap. On 32-bit processors this matters
/// to a resource that had no shared failure while 2³¹ were counted for others, which is a thousand a second for 24 days:
/// then the next 2³¹ do not count for it. Its other failures do.
static COUNTED: AtomicUsize = AtomicUsize::new(0);

/// When a call began, as the number of shared failures counted before it.
#[derive(Clone, Copy, Debug)]
pub struct Begun(usize);

impl Begun {
    /// A call that begins now.
    #[inline]
    pub fn now() -> Self {
        Self(COUNTED.load(Ordering::Relaxed))
    }
}

/// The last shared failure of a resource that was counted: one that ended all the calls that were under way, as the
/// loss of their connection does. The first of these calls to report counts; the others began before it was counted.
///
/// Measured in events, not in time, so it does not matter how late a call notices. Nothing else is ordered by it; a
/// thread that reads an old number treats a call as older than it is, and counts one failure less.
#[derive(Debug, Default)]
pub(crate) struct SharedFailure(AtomicUsize);

impl SharedFailure {
    /// None was counted yet.
    pub(crate) const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// Whether a call that began at that count is the first to report a shared failure; others that were under way then
    /// are not.
    #[cold]
    pub(crate) fn is_first(&self, begun: Begun) -> bool {
        let mut last = self.0.load(Ordering::Relaxed);
        loop {
            // The call began before it: the two are less than half the range apart.
            if begun.0.wrapping_sub(last) > usize::MAX / 2 {
                return false;
            }
            let next = COUNTED.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
            match self
                .0
                .compare_exchange(last, next, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return true,
                Err(found) => last = found,
            }
        }
    }
}

//! Failures that several calls share.

use std::sync::atomic::Ordering;

use number::{Atomic, Number};

/// 64 bits never wrap.
#[cfg(target_has_atomic = "64")]
mod number {
    pub(super) type Number = u64;
    pub(super) type Atomic = std::sync::atomic::AtomicU64;
}

/// Where there are no atomics of 64 bits, on a few old processors of 32, the numbers wrap. It matters to a resource that had
/// no shared failure while 2³¹ were counted of others, a thousand a second for 24 days: as many further ones then do not
/// count for it. Its other failures do.
#[cfg(not(target_has_atomic = "64"))]
mod number {
    pub(super) type Number = u32;
    pub(super) type Atomic = std::sync::atomic::AtomicU32;
}

/// How many shared failures were counted, of whatever resource.
static COUNTED: Atomic = Atomic::new(0);

/// When a call began, in shared failures that were counted before.
#[derive(Clone, Copy, Debug)]
pub struct Begun(Number);

impl Begun {
    #[inline]
    pub(crate) fn now() -> Self {
        Self(COUNTED.load(Ordering::Relaxed))
    }
}

/// The last shared failure of a resource that was counted: one that ended all calls which were under way, as the loss of
/// their connection does. Of these the first one counts: the others began before it was counted.
///
/// Counted in events and not in time, so it does not matter how late a call notices. Nothing else is ordered by it; whoever
/// reads an old number takes a call for older than it is, and counts one failure less.
#[derive(Debug, Default)]
pub(crate) struct SharedFailure(Atomic);

impl SharedFailure {
    pub(crate) const fn new() -> Self {
        Self(Atomic::new(0))
    }

    /// Whether a call that began then is the first to report; the others that were under way no longer are.
    #[cold]
    pub(crate) fn is_first(&self, begun: Begun) -> bool {
        let mut last = self.0.load(Ordering::Relaxed);
        loop {
            // Begun before it: less than half the range apart.
            if begun.0.wrapping_sub(last) > Number::MAX / 2 {
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

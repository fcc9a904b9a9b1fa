//! Different numbers for different callers.

use core::sync::atomic::Ordering;

use portable_atomic::AtomicU32;

/// 2³² divided by the golden ratio: its multiples, modulo 2³², fall evenly between each other however
/// many there are (Weyl's equidistribution; Knuth, TAOCP 3, 6.4).
const GOLDEN: u32 = 0x9E37_79B9;

static LAST: AtomicU32 = AtomicU32::new(0);

/// A fraction of 1, as 2³² parts, for this caller.
///
/// No random number: the callers of one device need different ones, not surprising ones. That
/// different devices do not come in step is for the jitter of the open time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share(u32);

impl Share {
    pub(crate) fn next() -> Self {
        // Only one sequence of numbers is drawn from; nothing else depends on their order.
        Self(LAST.fetch_add(GOLDEN, Ordering::Relaxed))
    }

    /// This share of `ms`, rounded down.
    pub(crate) fn of(self, ms: u32) -> u32 {
        ((u64::from(ms) * u64::from(self.0)) >> u32::BITS) as u32
    }
}

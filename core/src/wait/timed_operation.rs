// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a call with a time limit runs: for guards that repair before a probe, whose repair is not part of the operation.

use crate::word::{self, AtomicU32};

/// What a call runs: a closure that makes its future, or one that is [`ToldTrips`] how far to repair.
#[doc(hidden)]
pub trait TimedOperation {
    /// What is made.
    type Future: Future;

    /// Whether it needs the trips.
    const IS_TOLD: bool;

    /// The limit in milliseconds, longer where a probe may take longer.
    fn limit_ms(&self, trips: u8, limit_ms: u64) -> u64;

    /// What makes the future, and what says whether a repair has ended since it was last asked.
    fn told(self, trips: u8) -> (impl FnOnce() -> Self::Future, impl Fn() -> bool);
}

impl<F: Future, M: FnOnce() -> F> TimedOperation for M {
    type Future = F;
    const IS_TOLD: bool = false;

    #[inline]
    fn limit_ms(&self, _: u8, limit_ms: u64) -> u64 {
        limit_ms
    }

    #[inline]
    fn told(self, _: u8) -> (impl FnOnce() -> F, impl Fn() -> bool) {
        (self, || false)
    }
}

/// Where a repair notes that it has ended, so that the operation behind it is measured by itself.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Repaired(AtomicU32);

impl Repaired {
    /// Nothing was repaired.
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// A repair has ended.
    pub fn note(&self) {
        word::store(&self.0, 1);
    }

    fn take(&self) -> bool {
        let is_noted = word::load_acquire(&self.0) != 0;
        word::store(&self.0, 0);
        is_noted
    }
}

/// An operation that is told the permit's [`trips`](crate::Permit::trips), so that it repairs before a probe.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct ToldTrips<'a, M> {
    /// Makes the future. What blocks here takes none of the limit.
    pub make: M,
    /// Where `make` and its future note that a repair has ended.
    pub repaired: &'a Repaired,
    /// How much longer a probe may take, in milliseconds; without a limit, that is all that it may take. `None`: no longer
    /// than other calls.
    pub repair_ms: Option<u64>,
}

impl<F: Future, M: FnOnce(u8) -> F> TimedOperation for ToldTrips<'_, M> {
    type Future = F;
    const IS_TOLD: bool = true;

    fn limit_ms(&self, trips: u8, limit_ms: u64) -> u64 {
        match self.repair_ms {
            Some(repair_ms) if trips > 0 && limit_ms == u64::MAX => repair_ms,
            Some(repair_ms) if trips > 0 => limit_ms.saturating_add(repair_ms),
            _ => limit_ms,
        }
    }

    fn told(self, trips: u8) -> (impl FnOnce() -> F, impl Fn() -> bool) {
        let Self { make, repaired, .. } = self;
        (move || make(trips), || repaired.take())
    }
}

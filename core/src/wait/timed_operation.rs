// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a call with a time limit runs: for guards of devices that repair before a probe, whose repair is not part of the
//! operation.

use crate::token::Ticket;
use crate::word::{self, AtomicU32, Bits, Peek};

/// What a repair needs to know of the call before which it may run.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// The permit's [`trips`](crate::Permit::trips): 0 if the call is no probe.
    pub trips: u8,
    /// Whether a round of probes begins with this one. An operation that shows nothing leaves the breaker half-open; the
    /// next one is a probe of the same round, and must not reset the device that is about to answer.
    pub is_first: bool,
}

impl Probe {
    /// A call that is no probe.
    pub(crate) const NONE: Self = Self {
        trips: 0,
        is_first: false,
    };

    /// The probe of this ticket, which was granted to a caller that had seen `before`.
    pub(crate) fn of<B: Bits>(ticket: Ticket<B>, before: B) -> Self {
        Self {
            trips: ticket.trips(),
            is_first: !ticket.granted.is_same_epoch(before),
        }
    }
}

/// What a call runs: a closure that makes its future, or one that is [`ToldProbe`].
#[doc(hidden)]
pub trait TimedOperation {
    /// What is made.
    type Future: Future;

    /// Whether it needs to know the probe.
    const IS_TOLD: bool;

    /// The limit in milliseconds, longer where a probe may take longer.
    fn limit_ms(&self, probe: Probe, limit_ms: u64) -> u64;

    /// What makes the future, and what says whether a repair has ended since it was last asked.
    fn told(self, probe: Probe) -> (impl FnOnce() -> Self::Future, impl Fn() -> bool);
}

impl<F: Future, M: FnOnce() -> F> TimedOperation for M {
    type Future = F;
    const IS_TOLD: bool = false;

    #[inline]
    fn limit_ms(&self, _: Probe, limit_ms: u64) -> u64 {
        limit_ms
    }

    #[inline]
    fn told(self, _: Probe) -> (impl FnOnce() -> F, impl Fn() -> bool) {
        (self, || false)
    }
}

/// Marks the end of a repair, so that only the operation behind it is timed.
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

/// An operation that is told the probe, so that it repairs first.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct ToldProbe<'a, M> {
    /// Makes the future. What blocks here takes none of the limit.
    pub make: M,
    /// Where `make` and its future note that a repair has ended.
    pub repaired: &'a Repaired,
    /// How much longer a probe may take, in milliseconds; without a limit, that is all that it may take. `None`: no longer
    /// than other calls.
    pub repair_ms: Option<u64>,
}

impl<F: Future, M: FnOnce(Probe) -> F> TimedOperation for ToldProbe<'_, M> {
    type Future = F;
    const IS_TOLD: bool = true;

    fn limit_ms(&self, probe: Probe, limit_ms: u64) -> u64 {
        match self.repair_ms {
            Some(repair_ms) if probe.trips > 0 && limit_ms == u64::MAX => repair_ms,
            Some(repair_ms) if probe.trips > 0 => limit_ms.saturating_add(repair_ms),
            _ => limit_ms,
        }
    }

    fn told(self, probe: Probe) -> (impl FnOnce() -> F, impl Fn() -> bool) {
        let Self { make, repaired, .. } = self;
        (move || make(probe), || repaired.take())
    }
}

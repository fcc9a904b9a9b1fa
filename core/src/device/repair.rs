// SPDX-License-Identifier: MIT OR Apache-2.0
//! Repairs before the operation of a probe.

use core::fmt;

use crate::wait::{ProbeRound, ProbeSeen, Repaired, TimedOperation, ToldProbe};

/// No repair: the default of a guard.
#[derive(Clone, Copy, Debug)]
pub struct NoRepair;

/// A repair that blocks, of a guard made by [`before_probe`](super::Device::before_probe).
pub struct BeforeProbe<F> {
    repair: F,
    repairs: Repairs,
    repaired: Repaired,
}

/// A repair that waits, of a guard made by [`before_probe_async`](super::Device::before_probe_async).
pub struct BeforeProbeAsync<F> {
    repair: F,
    limit_ms: u64,
    repairs: Repairs,
    repaired: Repaired,
}

/// A guard's memory of its repairs. The word knows all else: the first probe of a round repairs, in any guard.
struct Repairs {
    /// `true` if the last repair was dropped before its end.
    is_unfinished: bool,
    /// The round of the last repair in this outage.
    last: Option<ProbeRound>,
}

impl Repairs {
    const NONE: Self = Self {
        is_unfinished: false,
        last: None,
    };

    fn begin(&mut self, probe: ProbeSeen) -> bool {
        if probe.trips == 0 {
            *self = Self::NONE;
            return false;
        }
        let is_due = probe.is_first || self.is_unfinished;
        if is_due {
            self.last = Some(probe.round);
        }
        self.is_unfinished = is_due;
        is_due
    }

    /// Also if it failed: then the probe has failed, and the next round begins with a repair.
    fn end(&mut self) {
        self.is_unfinished = false;
    }
}

impl<F> BeforeProbe<F> {
    pub(super) const fn new(repair: F) -> Self {
        Self {
            repair,
            repairs: Repairs::NONE,
            repaired: Repaired::new(),
        }
    }
}

impl<F> BeforeProbeAsync<F> {
    pub(super) const fn new(repair: F, limit_ms: u64) -> Self {
        Self {
            repair,
            limit_ms,
            repairs: Repairs::NONE,
            repaired: Repaired::new(),
        }
    }
}

impl<F> fmt::Debug for BeforeProbe<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BeforeProbe")
    }
}

impl<F> fmt::Debug for BeforeProbeAsync<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BeforeProbeAsync")
    }
}

/// The cause of a failed call through a guard that repairs.
#[derive(Clone, Copy, Debug)]
pub enum CallFailure<E> {
    /// The device could not be repaired: a failure, whatever the classifier makes of such an error.
    Repair(E),
    /// The operation failed.
    Operation(E),
}

/// A repair for the blocking operations of a device `D` whose errors are `E`.
pub trait Repair<D, E> {
    /// `true` if there is anything to do.
    const REPAIRS: bool = true;

    /// The round in which the device was repaired last in this outage.
    #[doc(hidden)]
    fn last_round(&self) -> Option<ProbeRound>;

    /// Makes the call of an operation: first a repair, if one is due before this probe. `repaired` is called between the two.
    ///
    /// # Errors
    /// The device could not be repaired, or the operation failed.
    fn operate<V>(
        &mut self,
        device: &mut D,
        probe: ProbeSeen,
        repaired: impl FnOnce(),
        operation: impl FnOnce(&mut D) -> Result<V, E>,
    ) -> Result<V, CallFailure<E>>;
}

impl<D, E> Repair<D, E> for NoRepair {
    const REPAIRS: bool = false;

    #[inline]
    fn last_round(&self) -> Option<ProbeRound> {
        None
    }

    #[inline]
    fn operate<V>(
        &mut self,
        device: &mut D,
        _: ProbeSeen,
        _: impl FnOnce(),
        operation: impl FnOnce(&mut D) -> Result<V, E>,
    ) -> Result<V, CallFailure<E>> {
        operation(device).map_err(CallFailure::Operation)
    }
}

impl<D, E, F: FnMut(&mut D, u8) -> Result<(), E>> Repair<D, E> for BeforeProbe<F> {
    fn last_round(&self) -> Option<ProbeRound> {
        self.repairs.last
    }

    fn operate<V>(
        &mut self,
        device: &mut D,
        probe: ProbeSeen,
        repaired: impl FnOnce(),
        operation: impl FnOnce(&mut D) -> Result<V, E>,
    ) -> Result<V, CallFailure<E>> {
        if self.repairs.begin(probe) {
            let ready = (self.repair)(device, probe.trips);
            self.repairs.end();
            ready.map_err(CallFailure::Repair)?;
            repaired();
        }
        operation(device).map_err(CallFailure::Operation)
    }
}

/// A repair for the async operations of a device `D` whose errors are `E`.
pub trait AsyncRepair<D, E> {
    /// The cause of a failed call.
    type Failure;

    /// Makes the future of a call: the operation, after a repair if one is due before this probe. Without repairs this is the
    /// operation's own future, so that it takes no more memory.
    fn before<'d, V: 'd>(
        &'d mut self,
        device: &'d mut D,
        operation: impl AsyncFnOnce(&'d mut D) -> Result<V, E> + 'd,
    ) -> impl TimedOperation<Future: Future<Output = Result<V, Self::Failure>>>;

    /// Returns the error, as one of the repair or of the operation.
    fn cause(failure: Self::Failure) -> CallFailure<E>;
}

impl<D, E> AsyncRepair<D, E> for NoRepair {
    type Failure = E;

    #[inline]
    fn before<'d, V: 'd>(
        &'d mut self,
        device: &'d mut D,
        operation: impl AsyncFnOnce(&'d mut D) -> Result<V, E> + 'd,
    ) -> impl TimedOperation<Future: Future<Output = Result<V, E>>> {
        || operation(device)
    }

    #[inline]
    fn cause(failure: E) -> CallFailure<E> {
        CallFailure::Operation(failure)
    }
}

impl<D, E, F: FnMut(&mut D, u8) -> Result<(), E>> AsyncRepair<D, E> for BeforeProbe<F> {
    type Failure = CallFailure<E>;

    fn before<'d, V: 'd>(
        &'d mut self,
        device: &'d mut D,
        operation: impl AsyncFnOnce(&'d mut D) -> Result<V, E> + 'd,
    ) -> impl TimedOperation<Future: Future<Output = Result<V, CallFailure<E>>>> {
        let Self {
            repair,
            repairs,
            repaired,
        } = self;
        let repaired = &*repaired;
        ToldProbe {
            last_round: repairs.last,
            repair_ms: None,
            repaired,
            make: move |probe: ProbeSeen| {
                // Not in the future, whose first poll would use up the limit of the operation.
                let ready = if repairs.begin(probe) {
                    let ready = repair(device, probe.trips);
                    repairs.end();
                    repaired.note();
                    ready
                } else {
                    Ok(())
                };
                async move {
                    ready.map_err(CallFailure::Repair)?;
                    operation(device).await.map_err(CallFailure::Operation)
                }
            },
        }
    }

    fn cause(failure: CallFailure<E>) -> CallFailure<E> {
        failure
    }
}

impl<D, E, F: AsyncFnMut(&mut D, u8) -> Result<(), E>> AsyncRepair<D, E> for BeforeProbeAsync<F> {
    type Failure = CallFailure<E>;

    fn before<'d, V: 'd>(
        &'d mut self,
        device: &'d mut D,
        operation: impl AsyncFnOnce(&'d mut D) -> Result<V, E> + 'd,
    ) -> impl TimedOperation<Future: Future<Output = Result<V, CallFailure<E>>>> {
        ToldProbe {
            last_round: self.repairs.last,
            repair_ms: Some(self.limit_ms),
            repaired: &self.repaired,
            make: async |probe: ProbeSeen| {
                if self.repairs.begin(probe) {
                    let ready = (self.repair)(device, probe.trips).await;
                    self.repairs.end();
                    ready.map_err(CallFailure::Repair)?;
                    self.repaired.note();
                }
                operation(device).await.map_err(CallFailure::Operation)
            },
        }
    }

    fn cause(failure: CallFailure<E>) -> CallFailure<E> {
        failure
    }
}

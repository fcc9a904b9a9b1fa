// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is done before the operation of a probe.

use core::fmt;

use atomic_breaker::wait::{Repaired, TimedOperation, ToldTrips};

/// No repair: what a guard does before a probe unless told otherwise.
#[derive(Clone, Copy, Debug)]
pub struct NoRepair;

/// A repair that blocks, of a guard made by [`before_probe`](super::Guarded::before_probe).
pub struct BeforeProbe<F> {
    repair: F,
    done: Done,
    repaired: Repaired,
}

/// A repair that waits, of a guard made by [`before_probe_async`](super::Guarded::before_probe_async).
pub struct BeforeProbeAsync<F> {
    repair: F,
    limit_ms: u64,
    done: Done,
    repaired: Repaired,
}

/// The trips for which the device was repaired, if nothing has failed since; otherwise 0.
///
/// An operation that shows nothing, such as a write into a buffer, leaves the breaker half-open. The next one is a probe
/// again, and must not reset the device that is about to answer.
#[derive(Clone, Copy)]
struct Done(u8);

impl Done {
    /// Whether to repair. Nothing counts as done until the operation has [succeeded](Self::note).
    fn is_needed(&mut self, trips: u8) -> bool {
        let Self(done) = core::mem::replace(self, Self(0));
        trips != 0 && trips != done
    }

    fn note<V, E>(&mut self, trips: u8, result: &Result<V, E>) {
        if result.is_ok() {
            self.0 = trips;
        }
    }
}

impl<F> BeforeProbe<F> {
    pub(super) const fn new(repair: F) -> Self {
        Self {
            repair,
            done: Done(0),
            repaired: Repaired::new(),
        }
    }
}

impl<F> BeforeProbeAsync<F> {
    pub(super) const fn new(repair: F, limit_ms: u64) -> Self {
        Self {
            repair,
            limit_ms,
            done: Done(0),
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

/// Why the call of a guard that repairs failed.
#[derive(Clone, Copy, Debug)]
pub enum CallFailure<E> {
    /// The device could not be repaired: a failure, whatever the classifier makes of such an error.
    Repair(E),
    /// The operation failed.
    Operation(E),
}

impl<E> CallFailure<E> {
    /// The error of the operation; `None` if it was the repair that failed.
    pub(super) const fn of_operation(&self) -> Option<&E> {
        match self {
            Self::Repair(_) => None,
            Self::Operation(error) => Some(error),
        }
    }

    /// The error of the device.
    pub(super) fn into_error(self) -> E {
        match self {
            Self::Repair(error) | Self::Operation(error) => error,
        }
    }
}

/// A repair for the blocking operations of a device `D` whose errors are `E`.
pub trait Repair<D, E> {
    /// Whether there is anything to do.
    const REPAIRS: bool = true;

    /// Makes the call of an operation: first a repair, if `trips` is not 0 and the device was not repaired just before.
    /// `repaired` is called between the two.
    ///
    /// # Errors
    /// The device could not be repaired, or the operation failed.
    fn operate<V>(
        &mut self,
        device: &mut D,
        trips: u8,
        repaired: impl FnOnce(),
        operation: impl FnOnce(&mut D) -> Result<V, E>,
    ) -> Result<V, CallFailure<E>>;
}

impl<D, E> Repair<D, E> for NoRepair {
    const REPAIRS: bool = false;

    #[inline]
    fn operate<V>(
        &mut self,
        device: &mut D,
        _: u8,
        _: impl FnOnce(),
        operation: impl FnOnce(&mut D) -> Result<V, E>,
    ) -> Result<V, CallFailure<E>> {
        operation(device).map_err(CallFailure::Operation)
    }
}

impl<D, E, F: FnMut(&mut D, u8) -> Result<(), E>> Repair<D, E> for BeforeProbe<F> {
    fn operate<V>(
        &mut self,
        device: &mut D,
        trips: u8,
        repaired: impl FnOnce(),
        operation: impl FnOnce(&mut D) -> Result<V, E>,
    ) -> Result<V, CallFailure<E>> {
        if self.done.is_needed(trips) {
            (self.repair)(device, trips).map_err(CallFailure::Repair)?;
            repaired();
        }
        let result = operation(device);
        self.done.note(trips, &result);
        result.map_err(CallFailure::Operation)
    }
}

/// A repair for the async operations of a device `D` whose errors are `E`.
pub trait AsyncRepair<D, E> {
    /// Why a call failed.
    type Failure;

    /// What a call runs: the operation, after a repair if the call is a probe and the device was not repaired just before.
    /// Without repairs this is the operation's own future, so that it takes no more memory.
    fn before<'d, V: 'd>(
        &'d mut self,
        device: &'d mut D,
        operation: impl AsyncFnOnce(&'d mut D) -> Result<V, E> + 'd,
    ) -> impl TimedOperation<Future: Future<Output = Result<V, Self::Failure>>>;

    /// The error of the operation; `None` if it was the repair that failed.
    fn of_operation(failure: &Self::Failure) -> Option<&E>;

    /// The error of the device.
    fn into_error(failure: Self::Failure) -> E;
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
    fn of_operation(failure: &E) -> Option<&E> {
        Some(failure)
    }

    #[inline]
    fn into_error(failure: E) -> E {
        failure
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
            done,
            repaired,
        } = self;
        let repaired = &*repaired;
        ToldTrips {
            repair_ms: None,
            repaired,
            make: move |trips| {
                // Not in the future, whose first poll would use up the limit of the operation.
                let ready = if done.is_needed(trips) {
                    let ready = repair(device, trips);
                    repaired.note();
                    ready
                } else {
                    Ok(())
                };
                async move {
                    ready.map_err(CallFailure::Repair)?;
                    let result = operation(device).await;
                    done.note(trips, &result);
                    result.map_err(CallFailure::Operation)
                }
            },
        }
    }

    fn of_operation(failure: &CallFailure<E>) -> Option<&E> {
        failure.of_operation()
    }

    fn into_error(failure: CallFailure<E>) -> E {
        failure.into_error()
    }
}

impl<D, E, F: AsyncFnMut(&mut D, u8) -> Result<(), E>> AsyncRepair<D, E> for BeforeProbeAsync<F> {
    type Failure = CallFailure<E>;

    fn before<'d, V: 'd>(
        &'d mut self,
        device: &'d mut D,
        operation: impl AsyncFnOnce(&'d mut D) -> Result<V, E> + 'd,
    ) -> impl TimedOperation<Future: Future<Output = Result<V, CallFailure<E>>>> {
        ToldTrips {
            repair_ms: Some(self.limit_ms),
            repaired: &self.repaired,
            make: async |trips| {
                if self.done.is_needed(trips) {
                    let ready = (self.repair)(device, trips).await;
                    ready.map_err(CallFailure::Repair)?;
                    self.repaired.note();
                }
                let result = operation(device).await;
                self.done.note(trips, &result);
                result.map_err(CallFailure::Operation)
            },
        }
    }

    fn of_operation(failure: &CallFailure<E>) -> Option<&E> {
        failure.of_operation()
    }

    fn into_error(failure: CallFailure<E>) -> E {
        failure.into_error()
    }
}

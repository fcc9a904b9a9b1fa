//! What is done before the operation of a probe.

use core::fmt;

use atomic_breaker::wait::{TimedOperation, ToldTrips};

/// No repair: what a guard does before a probe unless told otherwise.
#[derive(Clone, Copy, Debug)]
pub struct NoRepair;

/// A repair that blocks, of a guard made by [`before_probe`](super::Guarded::before_probe).
#[derive(Clone, Copy)]
pub struct BeforeProbe<F>(pub(super) F);

/// A repair that waits, of a guard made by [`before_probe_async`](super::Guarded::before_probe_async).
#[derive(Clone, Copy)]
pub struct BeforeProbeAsync<F> {
    pub(super) repair: F,
    pub(super) limit_ms: u64,
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

/// A repair for the blocking operations of a device `D` whose errors are `E`.
pub trait Repair<D, E> {
    /// Whether there is anything to do.
    const REPAIRS: bool = true;

    /// Repairs, if `trips` is not 0.
    ///
    /// # Errors
    /// The device could not be repaired.
    fn repair(&mut self, device: &mut D, trips: u8) -> Result<(), E>;
}

impl<D, E> Repair<D, E> for NoRepair {
    const REPAIRS: bool = false;

    #[inline]
    fn repair(&mut self, _: &mut D, _: u8) -> Result<(), E> {
        Ok(())
    }
}

impl<D, E, F: FnMut(&mut D, u8) -> Result<(), E>> Repair<D, E> for BeforeProbe<F> {
    fn repair(&mut self, device: &mut D, trips: u8) -> Result<(), E> {
        match trips {
            0 => Ok(()),
            _ => (self.0)(device, trips),
        }
    }
}

/// A repair for the async operations of a device `D` whose errors are `E`.
pub trait AsyncRepair<D, E> {
    /// What a call runs: the operation, after a repair if the call is a probe. Without repairs this is the operation's own
    /// future, so that it takes no more memory.
    fn before<'d, V: 'd>(
        &'d mut self,
        device: &'d mut D,
        operation: impl AsyncFnOnce(&'d mut D) -> Result<V, E> + 'd,
    ) -> impl TimedOperation<Future: Future<Output = Result<V, E>>>;
}

impl<D, E> AsyncRepair<D, E> for NoRepair {
    #[inline]
    fn before<'d, V: 'd>(
        &'d mut self,
        device: &'d mut D,
        operation: impl AsyncFnOnce(&'d mut D) -> Result<V, E> + 'd,
    ) -> impl TimedOperation<Future: Future<Output = Result<V, E>>> {
        || operation(device)
    }
}

impl<D, E, F: FnMut(&mut D, u8) -> Result<(), E>> AsyncRepair<D, E> for BeforeProbe<F> {
    fn before<'d, V: 'd>(
        &'d mut self,
        device: &'d mut D,
        operation: impl AsyncFnOnce(&'d mut D) -> Result<V, E> + 'd,
    ) -> impl TimedOperation<Future: Future<Output = Result<V, E>>> {
        ToldTrips {
            make: async |trips| {
                self.repair(device, trips)?;
                operation(device).await
            },
            repair_ms: 0,
        }
    }
}

impl<D, E, F: AsyncFnMut(&mut D, u8) -> Result<(), E>> AsyncRepair<D, E> for BeforeProbeAsync<F> {
    fn before<'d, V: 'd>(
        &'d mut self,
        device: &'d mut D,
        operation: impl AsyncFnOnce(&'d mut D) -> Result<V, E> + 'd,
    ) -> impl TimedOperation<Future: Future<Output = Result<V, E>>> {
        ToldTrips {
            repair_ms: self.limit_ms,
            make: async |trips| {
                if trips > 0 {
                    (self.repair)(device, trips).await?;
                }
                operation(device).await
            },
        }
    }
}

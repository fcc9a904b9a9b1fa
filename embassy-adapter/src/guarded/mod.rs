//! Devices behind a breaker, for drivers that know nothing of it.
//!
//! Drivers are written against traits; [`Guarded`] implements the same traits, so an unmodified
//! driver takes a guarded bus like any other.

mod error;
#[cfg(feature = "embedded-hal")]
mod i2c;
#[cfg(feature = "embedded-io")]
mod io;
#[cfg(feature = "embedded-hal")]
mod spi;

pub use error::GuardedError;
#[cfg(feature = "embedded-hal")]
pub use i2c::GuardedI2c;
#[cfg(feature = "embedded-io")]
pub use io::GuardedIo;
#[cfg(feature = "embedded-hal")]
pub use spi::GuardedSpi;

use atomic_breaker::Outcome;

use crate::BreakerExt;

/// A device behind a breaker: [`GuardedI2c`], [`GuardedSpi`] or [`GuardedIo`].
///
/// Each operation of the trait is one call of the breaker. Its error is a [`GuardedError`] that keeps
/// the kind of the device's own; `K` is the type of the kind, and what each kind weighs can be said
/// with [`weighing`](Self::weighing).
#[derive(Debug)]
pub struct Guarded<D, B, K> {
    device: D,
    breaker: B,
    weigh: fn(K) -> Outcome,
}

/// What the kinds of error of a trait weigh unless otherwise said.
pub trait Weigh: Copy {
    /// What an error of this kind is.
    fn weigh(self) -> Outcome;
}

impl<D, B: BreakerExt, K: Weigh> Guarded<D, B, K> {
    /// A guarded device.
    pub const fn new(device: D, breaker: B) -> Self {
        Self {
            device,
            breaker,
            weigh: K::weigh,
        }
    }

    /// Says what each kind of error is.
    #[must_use]
    pub const fn weighing(mut self, weigh: fn(K) -> Outcome) -> Self {
        self.weigh = weigh;
        self
    }

    /// The device, for what is not to be guarded.
    pub const fn device(&mut self) -> &mut D {
        &mut self.device
    }

    /// The device back.
    pub fn release(self) -> D {
        self.device
    }

    fn call<R, E>(
        &mut self,
        kind: impl Fn(&E) -> K,
        operation: impl FnOnce(&mut D) -> Result<R, E>,
    ) -> Result<R, GuardedError<E>> {
        let (device, breaker) = (&mut self.device, self.breaker.breaker());
        let judge = judge(self.weigh, kind);
        Ok(breaker.call_with(judge, || operation(device))?)
    }

    async fn call_async<R, E>(
        &mut self,
        kind: impl Fn(&E) -> K,
        operation: impl AsyncFnOnce(&mut D) -> Result<R, E>,
    ) -> Result<R, GuardedError<E>> {
        let (device, breaker) = (&mut self.device, self.breaker.breaker());
        let judge = judge(self.weigh, kind);
        Ok(breaker.call_async_with(judge, || operation(device)).await?)
    }
}

fn judge<R, E, K>(
    weigh: fn(K) -> Outcome,
    kind: impl Fn(&E) -> K,
) -> impl Fn(&Result<R, E>) -> Outcome {
    move |result| match result {
        Ok(_) => Outcome::Success,
        Err(error) => weigh(kind(error)),
    }
}

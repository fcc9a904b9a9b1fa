// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices behind a breaker, for drivers that do not know about it.
//!
//! Drivers are written against traits; [`Guarded`] implements the same traits, so an unmodified driver
//! accepts a guarded bus like any other.

#[cfg(feature = "embedded-can")]
mod can;
mod error;
#[cfg(feature = "embedded-io")]
mod exchange;
#[cfg(feature = "embedded-storage")]
mod flash;
#[cfg(feature = "embedded-hal")]
mod i2c;
#[cfg(feature = "embedded-io")]
mod io;
#[cfg(feature = "embedded-hal")]
mod limited;
#[cfg(feature = "embedded-hal")]
mod spi;
#[cfg(feature = "embedded-nal")]
mod tcp;

#[cfg(feature = "embedded-can")]
pub use can::GuardedCan;
pub use error::GuardedError;
#[cfg(feature = "embedded-io")]
pub use exchange::Exchange;
#[cfg(feature = "embedded-storage")]
pub use flash::GuardedFlash;
#[cfg(feature = "embedded-hal")]
pub use i2c::GuardedI2c;
#[cfg(feature = "embedded-io")]
pub use io::GuardedIo;
#[cfg(feature = "embedded-hal")]
pub use limited::{LimitedError, LimitedI2c};
#[cfg(feature = "embedded-hal")]
pub use spi::GuardedSpi;
#[cfg(feature = "embedded-nal")]
pub use tcp::GuardedTcp;

use core::fmt;

#[cfg(any(
    feature = "embedded-hal",
    feature = "embedded-io",
    feature = "embedded-storage"
))]
use atomic_breaker::device::AsyncRepair;
use atomic_breaker::device::{BeforeProbe, BeforeProbeAsync, NoRepair, Repair};
use atomic_breaker::wait::{HasTimer, Limit, TimeLimit};
use atomic_breaker::{AnyBreaker, AnyError, Device, Outcome};

use crate::clock::EmbassyTimer;

/// A device behind a breaker, for a stack that owns its bus: `GuardedI2c`, `GuardedSpi`, `GuardedIo`, `GuardedCan`,
/// `GuardedTcp` or `GuardedFlash`, each with the feature of its trait. For a driver whose calls are yours, guard the driver:
/// [`Device`].
///
/// Each guard states what a success proves: it counts only if the far end did something that only a living one can. A breaker
/// is that of one device: on a common one, those that answer hide one that is dead.
///
/// Each operation of the trait is one call through the breaker. Its error is a [`GuardedError`] that keeps
/// the kind of the device's own error; `K` is the type of the kind, and
/// [`with_classifier`](Self::with_classifier) sets what each kind counts as.
///
/// # A device that hangs
///
/// An async operation that never ends is not an error: give the guard a [`time_limit`](Self::time_limit). A
/// timeout around the driver is no substitute: it drops the operation, which says nothing about the device,
/// so nothing is counted and the next call hangs as well. The limit includes the time that the device waits for a bus that
/// others hold; for such an I²C bus, `LimitedI2c` has the limit below the lock.
///
/// # One breaker, once
///
/// A breaker that is in a guard must not also be around the driver (`BREAKER.call(..)`,
/// `BREAKER.call_timeout(..)`, `BREAKER.retry(..)`): a call inside a call is counted twice, and while half-open the outer
/// one is the probe and the inner one is rejected, so the breaker never closes again. Guard the bus, or the calls of the
/// driver, or use a breaker for each. Around a guarded bus neither a retry nor the pings of a
/// prober compile, unless the driver keeps nothing of the bus's error; then the guard notices at run time that it is part of
/// the retry's own probe, and lets its operations pass. The others compile, and shut themselves out.
///
/// # Repair
///
/// A device that stays broken until it is reset fails every probe, unless the guard [repairs it](Self::before_probe)
/// first.
#[derive(Debug)]
pub struct Guarded<D, B, K: ClassifyKind, R = NoRepair> {
    device: LimitedDevice<D, B, R>,
    classify: fn(K) -> Outcome,
    /// The outcome of a success that proves nothing by itself.
    unproved: Outcome,
    evidence: K::Evidence,
}

/// A device whose limit is known at run time.
type LimitedDevice<D, B, R> = Device<D, B, AnyError, TimeLimit, R>;

/// The default outcomes of a trait's error kinds.
pub trait ClassifyKind: Copy {
    /// The memory by which a guard tells what a success proves.
    type Evidence: fmt::Debug;

    /// The evidence at first.
    const FRESH: Self::Evidence;

    /// Returns what an error of this kind counts as.
    fn classify(self) -> Outcome;
}

/// The kind of a device's errors, which says what they are.
pub trait KindOf<D>: ClassifyKind {
    /// The errors of the device.
    type Error;
}

impl<D, B: AnyBreaker, K: ClassifyKind> Guarded<D, B, K> {
    /// Creates a guarded device.
    pub const fn new(device: D, breaker: B) -> Self {
        Self {
            device: Device::limited(device, breaker, TimeLimit::NONE),
            classify: K::classify,
            unproved: Outcome::Ignored,
            evidence: K::FRESH,
        }
    }

    /// Repairs the device before the operation of a probe. The closure gets the device and how often in a row the breaker
    /// has tripped, at least 1, so that it can go a step further each time. An error is returned in place of the operation,
    /// which is not made, and is a failure of the probe, whatever the classifier says of such an error. While the breaker is
    /// closed nothing runs.
    ///
    /// The time of the repair is not that of the operation: neither for the [`time_limit`](Self::time_limit) nor for
    /// [`slow_call`](atomic_breaker::Config::slow_call).
    ///
    /// It runs before the first probe of each half-open time, whichever guard makes that probe: see
    /// [`Device::before_probe`]. Operations that follow, because a write shows nothing or several successes are required, are
    /// not repaired again.
    ///
    /// The operations of the device may be blocking or async; a repair that waits is
    /// [`before_probe_async`](Self::before_probe_async). No other operation of the guard is in flight meanwhile, so the repair
    /// may do as it likes with the device.
    ///
    /// ```
    /// use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, GuardedI2c};
    /// use embedded_hal::i2c::I2c;
    ///
    /// static SENSOR: Breaker = Breaker::new(Config::new().consecutive_failures(3), EmbassyClock);
    ///
    /// fn guarded<B: I2c>(bus: B, mut cycle_power: impl FnMut()) -> impl I2c {
    ///     GuardedI2c::new(bus, &SENSOR).before_probe(move |bus, trips| {
    ///         if trips > 2 {
    ///             cycle_power();
    ///         }
    ///         // The sensor's own reset.
    ///         bus.write(0x48, &[0xFE])
    ///     })
    /// }
    /// ```
    #[must_use]
    pub fn before_probe<F>(self, repair: F) -> Guarded<D, B, K, BeforeProbe<F>>
    where
        K: KindOf<D>,
        F: FnMut(&mut D, u8) -> Result<(), K::Error>,
    {
        self.with(|device| device.before_probe(repair))
    }

    /// [`before_probe`](Self::before_probe) with a repair that waits, of a device whose operations are async. A probe may
    /// take `limit` longer than other operations; without a [`time_limit`](Self::time_limit), repair and operation of a probe
    /// together may take that long. Then both are dropped, and the probe has failed.
    ///
    /// Keep both limits together below the [`probe_lease`](atomic_breaker::Config::probe_lease).
    ///
    /// ```
    /// use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, GuardedIo};
    /// use embassy_time::{Duration, Timer};
    /// use embedded_io_async::{Read, Write};
    ///
    /// static MODEM: Breaker = Breaker::new(Config::new(), EmbassyClock);
    ///
    /// fn guarded<P: Read + Write>(port: P) -> impl Read + Write {
    ///     let modem = GuardedIo::new(port, &MODEM).before_probe_async(
    ///         Duration::from_secs(20),
    ///         async |port, trips| {
    ///             port.write_all(if trips > 1 { b"AT+CFUN=1,1\r" } else { b"ATZ\r" }).await?;
    ///             Timer::after_secs(10).await;
    ///             Ok(())
    ///         },
    ///     );
    ///     modem.time_limit(Duration::from_secs(1))
    /// }
    /// ```
    #[must_use]
    pub fn before_probe_async<F>(
        self,
        limit: impl Limit<EmbassyTimer>,
        repair: F,
    ) -> Guarded<D, B, K, BeforeProbeAsync<F>>
    where
        K: KindOf<D>,
        F: AsyncFnMut(&mut D, u8) -> Result<(), K::Error>,
        B::Clock: HasTimer,
    {
        let limit = limit.time_limit();
        self.with(|device| device.before_probe_async(limit, repair))
    }

    fn with<R>(
        self,
        repair: impl FnOnce(LimitedDevice<D, B, NoRepair>) -> LimitedDevice<D, B, R>,
    ) -> Guarded<D, B, K, R> {
        Guarded {
            device: repair(self.device),
            classify: self.classify,
            unproved: self.unproved,
            evidence: self.evidence,
        }
    }
}

impl<D, B: AnyBreaker, K: ClassifyKind, R> Guarded<D, B, K, R> {
    /// Sets what each kind of error counts as.
    #[must_use]
    pub const fn with_classifier(mut self, classify: fn(K) -> Outcome) -> Self {
        self.classify = classify;
        self
    }

    /// Sets how long an async operation may take: a duration of embassy or `core`, or a [`TimeLimit`] that
    /// says what a timeout counts as; there is no limit by default. An operation that takes longer is dropped
    /// and fails with [`GuardedError::TimedOut`].
    ///
    /// Blocking operations cannot be cut short here; only the HAL can do that. To count slow ones as
    /// failures, use [`Config::slow_call`](atomic_breaker::Config::slow_call).
    #[must_use]
    pub fn time_limit(mut self, limit: impl Limit<EmbassyTimer>) -> Self {
        self.device.set_limit(limit.time_limit());
        self
    }

    /// Treats each success as a sign that the device works, also one that proves nothing by itself: see the rules of evidence
    /// of each guard. For devices that are only written to, such as displays, and for peers whose success means that they have
    /// received the data.
    #[must_use]
    pub const fn trusting_writes(mut self) -> Self {
        self.unproved = Outcome::Success;
        self
    }

    /// Returns the device, for operations that are not to be guarded.
    pub const fn device(&mut self) -> &mut D {
        self.device.driver()
    }

    /// Gives the device back.
    pub fn release(self) -> D {
        self.device.release()
    }

    /// `succeeded` returns the outcome of a success.
    fn call<V, E>(
        &mut self,
        kind: impl Fn(&E) -> K,
        succeeded: impl Fn(&V) -> Outcome,
        operation: impl FnOnce(&mut D) -> Result<V, E>,
    ) -> Result<V, GuardedError<E>>
    where
        R: Repair<D, E>,
    {
        let classify = by_kind(self.classify, kind, succeeded);
        Ok(self.device.call_with(classify, operation)?)
    }

    /// `succeeded` returns the outcome of a success.
    #[cfg(any(
        feature = "embedded-hal",
        feature = "embedded-io",
        feature = "embedded-storage"
    ))]
    async fn call_async<V, E>(
        &mut self,
        kind: impl Fn(&E) -> K,
        succeeded: impl Fn(&V) -> Outcome,
        operation: impl AsyncFnOnce(&mut D) -> Result<V, E>,
    ) -> Result<V, GuardedError<E>>
    where
        B::Clock: HasTimer,
        R: AsyncRepair<D, E>,
    {
        let classify = by_kind(self.classify, kind, succeeded);
        Ok(self.device.call_async_with(classify, operation).await?)
    }
}

/// A classifier by the kind of an error, and by what succeeded.
fn by_kind<V, E, K>(
    of_kind: fn(K) -> Outcome,
    kind: impl Fn(&E) -> K,
    succeeded: impl Fn(&V) -> Outcome,
) -> impl Fn(&Result<V, E>) -> Outcome {
    move |result| match result {
        Ok(value) => succeeded(value),
        Err(error) => of_kind(kind(error)),
    }
}

/// Reports what was found without a call, if a call would be admitted: of a device that is listened to.
#[cfg(any(feature = "embedded-io", feature = "embedded-can"))]
fn report(breaker: &impl AnyBreaker, outcome: Outcome) {
    if let Outcome::Ignored = outcome {
        return;
    }
    if let Ok(permit) = breaker.as_breaker().acquire_heard() {
        permit.report(outcome);
    }
}

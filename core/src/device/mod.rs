// SPDX-License-Identifier: MIT OR Apache-2.0
//! A device behind a breaker: its driver, and one call for each measurement.

mod calls;
mod repair;

pub use repair::{AsyncRepair, BeforeProbe, BeforeProbeAsync, CallFailure, NoRepair, Repair};

use crate::breaker::AnyBreaker;
use crate::outcome::{AnyError, Classify, Outcome};
use crate::wait::{HasTimer, Limit, OneFailure, TimeLimit};

/// The timer of a breaker's clock.
type TimerOf<B> = <<B as AnyBreaker>::Clock as HasTimer>::Timer;

/// A device behind a breaker: the guard owns the driver, and one call is one measurement: command, wait, answer and check,
/// as the driver makes them.
///
/// A guard of the bus counts transactions, so a sensor that acknowledges commands and never answers looks half alive to it.
/// The result of a measurement says what counts: the device works, or it does not. Guard the bus only for stacks that own
/// theirs, such as a TCP stack.
///
/// ```
/// use atomic_breaker::{Breaker, Clock, Config, Device};
/// # struct Ticks;
/// # impl Clock for Ticks { fn now_ms(&self) -> u32 { 0 } }
/// # #[derive(Debug, PartialEq)]
/// # struct Error;
/// # struct Sht4x;
/// # impl Sht4x {
/// #     fn new() -> Self { Self }
/// #     fn device_reset(&mut self) -> Result<(), Error> { Ok(()) }
/// #     fn measure(&mut self) -> Result<i32, Error> { Ok(21_000) }
/// # }
///
/// static SENSOR: Breaker<Ticks> = Breaker::new(Config::new().consecutive_failures(3), Ticks);
///
/// let mut sensor = Device::new(Sht4x::new(), &SENSOR).before_probe(|sensor, _| sensor.device_reset());
///
/// let reading = sensor.call(|sensor| sensor.measure());
/// assert_eq!(reading, Ok(21_000));
/// ```
///
/// The names are the same where the driver is async ([`call_async`](Self::call_async)), and with any runtime or none.
///
/// # A breaker per device
///
/// Several devices on one bus have a breaker each: on a common one, those that answer hide one that is dead.
///
/// # One breaker, once
///
/// A breaker that is in a guard must not also be around its calls (`BREAKER.call(..)`): while half-open the outer call is
/// the probe, the inner one is rejected, and the breaker never closes again. A retry or a prober around calls of a guard does
/// not compile, unless the error of the guard is thrown away; a retry then makes the calls part of its own probe.
#[derive(Debug)]
#[must_use]
pub struct Device<D, B, K = AnyError, L = NoLimit, R = NoRepair> {
    driver: D,
    breaker: B,
    classify: K,
    limit: L,
    repair: R,
}

/// A classifier by the error alone: see [`Device::classify`].
#[derive(Clone, Copy, Debug)]
pub struct ByError<F>(F);

impl<V, E, F: Fn(&E) -> Outcome> Classify<V, E> for ByError<F> {
    #[inline]
    fn classify(&self, result: &Result<V, E>) -> Outcome {
        match result {
            Ok(_) => Outcome::Success,
            Err(error) => (self.0)(error),
        }
    }
}

/// No limit of a call's time.
#[derive(Clone, Copy, Debug)]
pub struct NoLimit;

impl<T> Limit<T> for NoLimit {
    type Counts = OneFailure;

    #[inline]
    fn counts(self) -> OneFailure {
        OneFailure
    }

    #[inline]
    fn time_limit(self) -> TimeLimit {
        TimeLimit::NONE
    }
}

impl<D, B: AnyBreaker> Device<D, B> {
    /// Creates a guard that owns the driver. Every error of the driver is a failure of weight 1 unless
    /// [classified](Self::classify).
    pub const fn new(driver: D, breaker: B) -> Self {
        Self {
            driver,
            breaker,
            classify: AnyError,
            limit: NoLimit,
            repair: NoRepair,
        }
    }
}

/// Used by guards that are built upon this one.
#[doc(hidden)]
impl<D, B: AnyBreaker, R> Device<D, B, AnyError, TimeLimit, R> {
    pub const fn set_limit(&mut self, limit: TimeLimit) {
        self.limit = limit;
    }

    pub const fn limit(&self) -> TimeLimit {
        self.limit
    }
}

/// Used by guards that are built upon this one.
#[doc(hidden)]
impl<D, B: AnyBreaker> Device<D, B, AnyError, TimeLimit> {
    pub const fn limited(driver: D, breaker: B, limit: TimeLimit) -> Self {
        Self {
            driver,
            breaker,
            classify: AnyError,
            limit,
            repair: NoRepair,
        }
    }
}

impl<D, B: AnyBreaker, L, R> Device<D, B, AnyError, L, R> {
    /// Sets what each error of the driver counts as. For calls whose value can be wrong as well, such as a reading out of
    /// range, there is [`call_with`](Self::call_with).
    ///
    /// ```
    /// # use atomic_breaker::{Breaker, Config, ManualClock};
    /// use atomic_breaker::{Device, Failure, Outcome};
    ///
    /// # struct Rtc;
    /// enum Error { Bus, InvalidInput }
    ///
    /// # let breaker = Breaker::new(Config::new(), ManualClock::new());
    /// let mut clock = Device::new(Rtc, &breaker).classify(|error: &Error| match error {
    ///     // The caller's own fault.
    ///     Error::InvalidInput => Outcome::Ignored,
    ///     Error::Bus => Failure::new().into(),
    /// });
    /// assert!(clock.call(|_| Err::<(), _>(Error::InvalidInput)).is_err());
    /// assert_eq!(breaker.snapshot().failures(), 0);
    /// # let _ = Error::Bus;
    /// ```
    pub fn classify<E, F: Fn(&E) -> Outcome>(self, classify: F) -> Device<D, B, ByError<F>, L, R> {
        Device {
            driver: self.driver,
            breaker: self.breaker,
            classify: ByError(classify),
            limit: self.limit,
            repair: self.repair,
        }
    }
}

impl<D, B: AnyBreaker, K, R> Device<D, B, K, NoLimit, R> {
    /// Sets how long an async call may take: a duration, or a [`TimeLimit`] that says what a timeout counts as; there is no
    /// limit by default. A call that takes longer is dropped, and has failed. The limit is that of the whole measurement, the
    /// wait for its answer included.
    ///
    /// Blocking calls cannot be cut short here; only the HAL can do that. To count slow ones as failures, use
    /// [`Config::slow_call`](crate::Config::slow_call).
    pub fn time_limit<L: Limit<TimerOf<B>>>(self, limit: L) -> Device<D, B, K, L, R>
    where
        B::Clock: HasTimer,
    {
        Device {
            driver: self.driver,
            breaker: self.breaker,
            classify: self.classify,
            limit,
            repair: self.repair,
        }
    }
}

impl<D, B: AnyBreaker, K, L> Device<D, B, K, L> {
    /// Repairs the device before the operation of a probe, for example by setting it up again as its `new` does: what lost
    /// its power has lost its settings. The closure gets the driver and how often in a row the breaker has tripped, at least
    /// 1, so that it can go a step further each time. Its error is returned in place of the measurement, which is not made,
    /// and is a failure of the probe, whatever the classifier says of such an error. While the breaker is closed nothing runs.
    ///
    /// The time of the repair is not that of the operation: neither for the [`time_limit`](Self::time_limit) nor for
    /// [`slow_call`](crate::Config::slow_call).
    ///
    /// # Once in a round of probes
    ///
    /// The repair belongs to the breaker: it runs before the first probe of each half-open time, whichever guard makes that
    /// probe, also one that was made for this call alone. Probes that follow, because the first one showed nothing or several
    /// successes are required, are not repaired again, as they would reset a device that is about to answer. A repair that
    /// was dropped before its end is made again by the same guard.
    ///
    /// Users of the same breaker that do not repair may take the first probe, and fail. Then the guard does not wait for the
    /// end of the open time: its next call probes, unless its own last repair is less than an open time ago. Better, all users
    /// of a breaker with a repair go through guards that have it, or through one guard: the trips count every probe that failed,
    /// so beside others the ladder begins further up.
    ///
    /// The calls may be blocking or async; a repair that waits is [`before_probe_async`](Self::before_probe_async).
    pub fn before_probe<E, F>(self, repair: F) -> Device<D, B, K, L, BeforeProbe<F>>
    where
        F: FnMut(&mut D, u8) -> Result<(), E>,
    {
        self.with(BeforeProbe::new(repair))
    }

    /// [`before_probe`](Self::before_probe) with a repair that waits, of a device whose calls are async. A probe may take
    /// `limit` longer than other calls; without a [`time_limit`](Self::time_limit), repair and operation of a probe together
    /// may take that long. Then both are dropped, and the probe has failed.
    ///
    /// Keep both limits together below the [`probe_lease`](crate::Config::probe_lease).
    ///
    /// ```
    /// use atomic_breaker::{Breaker, Device, wait::HasTimer};
    /// use core::time::Duration;
    /// # struct Modem;
    /// # impl Modem {
    /// #     async fn restart(&mut self) -> Result<(), ()> { Ok(()) }
    /// #     async fn send(&mut self, _: &[u8]) -> Result<(), ()> { Ok(()) }
    /// # }
    ///
    /// async fn report(modem: Modem, breaker: &Breaker<impl HasTimer>, readings: &[[u8; 8]]) {
    ///     let mut modem = Device::new(modem, breaker)
    ///         .time_limit(Duration::from_secs(2))
    ///         .before_probe_async(Duration::from_secs(20), async |modem, _| modem.restart().await);
    ///     for reading in readings {
    ///         let _ = modem.call_async(async |modem| modem.send(reading).await).await;
    ///     }
    /// }
    /// ```
    pub fn before_probe_async<E, F>(
        self,
        limit: impl Limit<TimerOf<B>>,
        repair: F,
    ) -> Device<D, B, K, L, BeforeProbeAsync<F>>
    where
        F: AsyncFnMut(&mut D, u8) -> Result<(), E>,
        B::Clock: HasTimer,
    {
        let limit_ms = limit.time_limit().ms();
        self.with(BeforeProbeAsync::new(repair, limit_ms))
    }

    fn with<R>(self, repair: R) -> Device<D, B, K, L, R> {
        Device {
            driver: self.driver,
            breaker: self.breaker,
            classify: self.classify,
            limit: self.limit,
            repair,
        }
    }
}

impl<D, B: AnyBreaker, K, L, R> Device<D, B, K, L, R> {
    /// Returns the driver, for operations that are not to be guarded: those that say nothing about the device, or that must
    /// be tried even while the breaker is open.
    pub const fn driver(&mut self) -> &mut D {
        &mut self.driver
    }

    /// The driver, and what leads to the breaker.
    #[doc(hidden)]
    pub const fn parts(&mut self) -> (&mut D, &B) {
        (&mut self.driver, &self.breaker)
    }

    /// The driver, for what asks it without a call.
    #[doc(hidden)]
    pub const fn as_driver(&self) -> &D {
        &self.driver
    }

    /// Returns what leads to the breaker.
    pub const fn breaker(&self) -> &B {
        &self.breaker
    }

    /// Gives the driver back.
    pub fn release(self) -> D {
        self.driver
    }
}

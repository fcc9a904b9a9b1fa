// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls of a guarded device: admit, repair, operate, classify, report.

use super::{AsyncRepair, CallFailure, Device, Repair, TimerOf};
use crate::breaker::AnyBreaker;
use crate::error::CallError;
use crate::outcome::{Classify, Failure, Outcome};
use crate::wait::{HasTimer, Limit, Timed, yield_once};

impl<D, B: AnyBreaker, K, L, R> Device<D, B, K, L, R> {
    /// Makes a measurement, if the breaker admits it. `Ok` counts as a success, `Err` as a failure unless
    /// [classified](Self::classify), a panic as a failure.
    ///
    /// For drivers that are async there is [`call_async`](Self::call_async).
    pub fn call<V, E>(
        &mut self,
        operation: impl FnOnce(&mut D) -> Result<V, E>,
    ) -> Result<V, CallError<E>>
    where
        K: Classify<V, E>,
        R: Repair<D, E>,
    {
        guarded(
            &mut self.driver,
            &self.breaker,
            &self.classify,
            &mut self.repair,
            operation,
        )
    }

    /// [`call`](Self::call) with a classifier for this call, which decides alone: for values that can be wrong.
    ///
    /// ```
    /// # use atomic_breaker::{Breaker, Config, ManualClock};
    /// use atomic_breaker::{Device, Failure, Outcome};
    /// # struct Adc;
    /// # impl Adc { fn read(&mut self) -> Result<u16, ()> { Ok(0xFFFF) } }
    ///
    /// // All ones: nothing drives the line.
    /// fn in_range(result: &Result<u16, ()>) -> Outcome {
    ///     match result {
    ///         Ok(0..=0xFFFE) => Outcome::Success,
    ///         _ => Failure::new().into(),
    ///     }
    /// }
    ///
    /// # let breaker = Breaker::new(Config::new(), ManualClock::new());
    /// let mut adc = Device::new(Adc, &breaker);
    /// assert_eq!(adc.call_with(in_range, |adc| adc.read()), Ok(0xFFFF));
    /// assert_eq!(breaker.snapshot().failures(), 1);
    /// ```
    #[expect(
        clippy::needless_pass_by_value,
        reason = "closures are passed by value"
    )]
    pub fn call_with<V, E>(
        &mut self,
        classify: impl Classify<V, E>,
        operation: impl FnOnce(&mut D) -> Result<V, E>,
    ) -> Result<V, CallError<E>>
    where
        R: Repair<D, E>,
    {
        guarded(
            &mut self.driver,
            &self.breaker,
            &classify,
            &mut self.repair,
            operation,
        )
    }

    /// Makes a measurement with a driver that is async, if the breaker admits it. Dropping the future cancels the call; see
    /// [`Permit`](crate::Permit#dropped). A rejection yields once, so that a loop around it does not hold the executor.
    ///
    /// # Errors
    /// [`CallError::Rejected`] when the device was not asked; [`CallError::Failed`] with [`Timed::TimedOut`] or with the
    /// driver's own error.
    pub async fn call_async<V, E>(
        &mut self,
        operation: impl AsyncFnOnce(&mut D) -> Result<V, E>,
    ) -> Result<V, CallError<Timed<E>>>
    where
        B::Clock: HasTimer,
        K: Classify<V, E>,
        L: Limit<TimerOf<B>>,
        R: AsyncRepair<D, E>,
    {
        guarded_async(
            &mut self.driver,
            &self.breaker,
            &self.classify,
            self.limit,
            &mut self.repair,
            operation,
        )
        .await
    }

    /// [`call_async`](Self::call_async) with a classifier for this call, which decides alone, except that a timeout counts
    /// as the [limit](Self::time_limit) says.
    pub async fn call_async_with<V, E>(
        &mut self,
        classify: impl Classify<V, E>,
        operation: impl AsyncFnOnce(&mut D) -> Result<V, E>,
    ) -> Result<V, CallError<Timed<E>>>
    where
        B::Clock: HasTimer,
        L: Limit<TimerOf<B>>,
        R: AsyncRepair<D, E>,
    {
        guarded_async(
            &mut self.driver,
            &self.breaker,
            &classify,
            self.limit,
            &mut self.repair,
            operation,
        )
        .await
    }
}

/// The one way of a blocking call.
#[inline]
fn guarded<D, B: AnyBreaker, V, E>(
    driver: &mut D,
    breaker: &B,
    classify: &impl Classify<V, E>,
    repair: &mut impl Repair<D, E>,
    operation: impl FnOnce(&mut D) -> Result<V, E>,
) -> Result<V, CallError<E>> {
    fn repairs<D, E, R: Repair<D, E>>(_: &R) -> bool {
        R::REPAIRS
    }
    let breaker = breaker.as_breaker();
    if breaker.is_within_own_probe() {
        return operation(driver).map_err(CallError::Failed);
    }
    if !repairs(repair) {
        let classify = |result: &Result<V, E>| classify.classify(result);
        return breaker.call_with(classify, || operation(driver));
    }
    let (permit, probe) = breaker.acquire_repairing(repair.last_round())?;
    // Dropped only if the repair or the operation panics.
    let mut attempt = permit.failing_when_dropped();
    // A call that waited for a repair is not slow.
    let repaired = || {
        attempt.renew();
    };
    let result = match repair.operate(driver, probe, repaired, operation) {
        Err(CallFailure::Repair(error)) => {
            attempt.failure();
            return Err(CallError::Failed(error));
        }
        Err(CallFailure::Operation(error)) => Err(error),
        Ok(value) => Ok(value),
    };
    attempt.report(classify.classify(&result));
    result.map_err(CallError::Failed)
}

/// The one way of an async call.
async fn guarded_async<D, B, V, E, L, R>(
    driver: &mut D,
    breaker: &B,
    classify: &impl Classify<V, E>,
    limit: L,
    repair: &mut R,
    operation: impl AsyncFnOnce(&mut D) -> Result<V, E>,
) -> Result<V, CallError<Timed<E>>>
where
    B: AnyBreaker<Clock: HasTimer>,
    L: Limit<TimerOf<B>>,
    R: AsyncRepair<D, E>,
{
    if breaker.as_breaker().is_within_own_probe() {
        let result = operation(driver).await;
        return result.map_err(|error| CallError::Failed(Timed::Failed(error)));
    }
    let counts = limit.counts();
    let settle = |answer: Option<Result<V, R::Failure>>| {
        let result = match answer.map(|result| result.map_err(R::cause)) {
            None => return (Err(Timed::TimedOut), Outcome::Failure(counts.into())),
            Some(Err(CallFailure::Repair(error))) => {
                return (Err(Timed::Failed(error)), Failure::new().into());
            }
            Some(Err(CallFailure::Operation(error))) => Err(error),
            Some(Ok(value)) => Ok(value),
        };
        let outcome = classify.classify(&result);
        (result.map_err(Timed::Failed), outcome)
    };
    let operation = repair.before(driver, operation);
    let breaker = breaker.as_breaker();
    let result = breaker
        .call_timed(settle, limit.time_limit(), operation)
        .await;
    if let Err(CallError::Rejected(_)) = result {
        yield_once().await;
    }
    result
}

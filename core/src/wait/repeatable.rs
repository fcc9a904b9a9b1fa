// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations that are tried again.

/// An operation that can be run again: any closure that returns a future, [`Mutating`], or [`Repairing`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an operation that can be run again",
    note = "give a closure that returns a future of a `Result`; an `async` closure that mutates what it captures, such as \
            a driver, goes into `wait::Mutating`: `Mutating(async || radio.send().await)`"
)]
pub trait Repeatable<V, E> {
    /// `true` if a try that is a probe may begin with a repair, whose time is not the resource's.
    #[doc(hidden)]
    const REPAIRS: bool = false;

    /// Starts it once more. `trips` is 0 unless the try is a probe: see [`Repairing`].
    fn start(&mut self, trips: impl FnOnce() -> u8) -> impl Future<Output = Result<V, E>>;
}

impl<O: FnMut() -> F, F: Future<Output = Result<V, E>>, V, E> Repeatable<V, E> for O {
    #[expect(
        refining_impl_trait,
        reason = "it is the future itself, so that the compiler sees whether it is `Send`"
    )]
    fn start(&mut self, _: impl FnOnce() -> u8) -> F {
        self()
    }
}

/// An `async` closure that mutates what it captures, such as a driver, as a [`Repeatable`] operation.
///
/// Today's compiler cannot always show that its future is `Send`, so it may not be possible to spawn a task that runs it.
///
/// ```
/// use atomic_breaker::{Breaker, wait::{HasTimer, Mutating, Retry}};
/// # struct Sensor;
/// # impl Sensor { async fn read(&mut self) -> Result<u16, ()> { Ok(21) } }
///
/// async fn measure(breaker: &Breaker<impl HasTimer>, sensor: &mut Sensor) -> Option<u16> {
///     breaker.retry(Retry::new(), Mutating(async || sensor.read().await)).await.ok()
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Mutating<O>(pub O);

impl<O: AsyncFnMut() -> Result<V, E>, V, E> Repeatable<V, E> for Mutating<O> {
    fn start(&mut self, _: impl FnOnce() -> u8) -> impl Future<Output = Result<V, E>> {
        (self.0)()
    }
}

/// An operation that repairs before it probes: its closure is given the number of trips in a row if the try is a probe,
/// or if it is a ping, and 0 otherwise. For single calls, [`Permit::trips`](crate::Permit::trips) says the same, and
/// why one would repair. A [`Prober`](super::Prober) adds the pings that failed in this outage, so that it climbs the
/// same ladder without any traffic.
///
/// The closure repairs and operates, because both need the device. In a retry an error, a panic or the end of the time
/// limit of either is the failure of the probe. A success is one however long both took, as the time of a repair is not
/// the resource's: whether that is [slow](crate::Config::slow_call) shows in the calls that follow. A ping that fails
/// counts for nothing but the ladder. If the closure mutates what it captures, [`Mutating`] goes around it:
///
/// ```
/// use atomic_breaker::{Breaker, wait::{HasTimer, Mutating, Prober, Repairing}};
/// use core::time::Duration;
/// # struct Modem;
/// # impl Modem {
/// #     async fn join(&mut self) -> Result<(), ()> { Ok(()) }
/// #     async fn cycle_power(&mut self) -> Result<(), ()> { Ok(()) }
/// #     async fn ping(&mut self) -> Result<(), ()> { Ok(()) }
/// # }
///
/// // In a task of its own.
/// async fn keep_alive(breaker: &Breaker<impl HasTimer>, mut modem: Modem) -> ! {
///     let ping = Mutating(Repairing(async |trips: u8| {
///         match trips {
///             0 | 1 => {} // it may come back by itself
///             2 | 3 => modem.join().await?,
///             _ => modem.cycle_power().await?,
///         }
///         modem.ping().await
///     }));
///     breaker.run_prober(Prober::every(Duration::from_secs(5)), ping).await
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Repairing<O>(pub O);

impl<O: FnMut(u8) -> F, F: Future<Output = Result<V, E>>, V, E> Repeatable<V, E> for Repairing<O> {
    const REPAIRS: bool = true;

    #[expect(
        refining_impl_trait,
        reason = "it is the future itself, so that the compiler sees whether it is `Send`"
    )]
    fn start(&mut self, trips: impl FnOnce() -> u8) -> F {
        (self.0)(trips())
    }
}

impl<O: AsyncFnMut(u8) -> Result<V, E>, V, E> Repeatable<V, E> for Mutating<Repairing<O>> {
    const REPAIRS: bool = true;

    fn start(&mut self, trips: impl FnOnce() -> u8) -> impl Future<Output = Result<V, E>> {
        ((self.0).0)(trips())
    }
}

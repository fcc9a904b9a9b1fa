// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time limit of one try of a retry.

use core::pin::Pin;
use core::task::{Context, Poll};

use super::{TimeLimit, Timed, Timer, poll_within};

/// The time limit of each try of a [`Retry`](super::Retry), if there is one: `()` if not, [`TimeLimit`]
/// after [`Retry::try_limit`](super::Retry::try_limit). No other type implements it.
pub trait TryLimit: Copy + Sealed {
    /// The error of an operation whose own error is `E`: `E` without a limit, [`Timed<E>`](Timed) with one.
    type Error<E>;

    /// The future that measures the time of one try.
    type Sleep<T: Timer>;

    /// Starts to measure the time of one try.
    fn sleep<T: Timer>(self, timer: &T) -> Self::Sleep<T>;

    /// Polls the operation, and the time that is left for it.
    fn poll<T: Timer, V, E, F: Future<Output = Result<V, E>>>(
        operation: Pin<&mut F>,
        sleep: Pin<&mut Self::Sleep<T>>,
        context: &mut Context<'_>,
    ) -> Poll<Result<V, Self::Error<E>>>;
}

impl TryLimit for () {
    type Error<E> = E;
    type Sleep<T: Timer> = ();

    fn sleep<T: Timer>(self, _: &T) {}

    fn poll<T: Timer, V, E, F: Future<Output = Result<V, E>>>(
        operation: Pin<&mut F>,
        _: Pin<&mut ()>,
        context: &mut Context<'_>,
    ) -> Poll<Result<V, E>> {
        operation.poll(context)
    }
}

impl TryLimit for TimeLimit {
    type Error<E> = Timed<E>;
    type Sleep<T: Timer> = T::Sleep;

    fn sleep<T: Timer>(self, timer: &T) -> T::Sleep {
        timer.sleep(self.ms())
    }

    fn poll<T: Timer, V, E, F: Future<Output = Result<V, E>>>(
        operation: Pin<&mut F>,
        sleep: Pin<&mut T::Sleep>,
        context: &mut Context<'_>,
    ) -> Poll<Result<V, Timed<E>>> {
        poll_within(operation, sleep, context).map(|ended| match ended {
            Some(result) => result.map_err(Timed::Failed),
            None => Err(Timed::TimedOut),
        })
    }
}

pub trait Sealed {}
impl Sealed for () {}
impl Sealed for TimeLimit {}

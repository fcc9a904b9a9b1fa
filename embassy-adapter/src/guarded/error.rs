// SPDX-License-Identifier: MIT OR Apache-2.0
//! The error of a guarded device.

use core::fmt;
use core::marker::{PhantomData, PhantomPinned};

use atomic_breaker::wait::Timed;
use atomic_breaker::{CallError, Rejected};

/// The reason why a guarded device did not do what was asked.
///
/// It may be a rejection, so a retry through a breaker does not accept it, nor the error of a driver that contains it:
/// see [`Unguarded`](crate::Unguarded).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum GuardedError<E> {
    /// The breaker rejected the call, so the device was not asked. As an error kind: `Other`.
    Rejected(Rejected),
    /// The device was asked and took longer than its [time limit](crate::Guarded::time_limit). As an error kind:
    /// `TimedOut` for a stream, `Other` for a bus.
    TimedOut,
    /// The device was asked and failed.
    Device(E),
}

/// Never `Unpin`, whatever `E` is. The parameter makes the bound below one that the compiler accepts.
#[derive(Debug)]
pub struct Never<E>(PhantomData<E>, PhantomPinned);

/// Never, like [`CallError`]: so [`Unguarded`](crate::Unguarded) can tell it from other errors.
impl<E> Unpin for GuardedError<E> where Never<E>: Unpin {}

impl<E> GuardedError<E> {
    /// The rejection, if it was one: how long to leave the device alone.
    pub const fn rejected(&self) -> Option<Rejected> {
        match self {
            Self::Rejected(rejected) => Some(*rejected),
            Self::TimedOut | Self::Device(_) => None,
        }
    }
}

impl<E> From<CallError<E>> for GuardedError<E> {
    fn from(error: CallError<E>) -> Self {
        match error {
            CallError::Rejected(rejected) => Self::Rejected(rejected),
            CallError::Failed(error) => Self::Device(error),
        }
    }
}

impl<E> From<CallError<Timed<E>>> for GuardedError<E> {
    fn from(error: CallError<Timed<E>>) -> Self {
        match error {
            CallError::Rejected(rejected) => Self::Rejected(rejected),
            CallError::Failed(Timed::TimedOut) => Self::TimedOut,
            CallError::Failed(Timed::Failed(error)) => Self::Device(error),
        }
    }
}

impl<E: fmt::Display> fmt::Display for GuardedError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(rejected) => rejected.fmt(f),
            Self::TimedOut => f.write_str("timed out"),
            Self::Device(error) => error.fmt(f),
        }
    }
}

impl<E: core::error::Error> core::error::Error for GuardedError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Rejected(_) | Self::TimedOut => None,
            Self::Device(error) => error.source(),
        }
    }
}

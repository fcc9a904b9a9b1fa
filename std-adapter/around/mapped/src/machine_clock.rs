// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clocks that all processes on a machine read alike, each with a number.

#[cfg(any(target_os = "linux", target_os = "android"))]
use atomic_breaker_std::CoarseClock;
use atomic_breaker_std::{BootClock, ManualClock, SharedClock};

/// A clock that all processes on a machine read alike, and a number that identifies it: a file keeps the number of the
/// clock by which its words are timed.
///
/// A clock of your own takes a number above 255, the same in every program that shares its files.
///
/// A clock that each process reads in its own way does not compile:
///
/// ```compile_fail,E0277
/// use atomic_breaker_mapped::{Config, MappedBuilder};
/// use atomic_breaker_std::StdClock;
///
/// let builder = MappedBuilder::new(Config::new()).clock(StdClock);
/// # let _ = builder;
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not known to be read alike by all processes of the machine",
    note = "use `BootClock`, or `CoarseClock` on Linux and Android; implement `MachineClock` only for a clock without \
            an origin of its own in each process"
)]
pub trait MachineClock: SharedClock {
    /// The number of the clock.
    const ID: u64;
}

impl MachineClock for BootClock {
    const ID: u64 = 1;
}

#[cfg(any(target_os = "linux", target_os = "android"))]
impl MachineClock for CoarseClock {
    const ID: u64 = 2;
}

/// Read alike within one process, as in tests.
impl MachineClock for ManualClock {
    const ID: u64 = 3;
}

impl<C: MachineClock + ?Sized> MachineClock for &C {
    const ID: u64 = C::ID;
}

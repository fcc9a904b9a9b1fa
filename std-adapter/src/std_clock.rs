// SPDX-License-Identifier: MIT OR Apache-2.0
//! The monotonic clock of `std`.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::time::Instant;

use atomic_breaker::Clock;

/// Milliseconds since this process first read the clock, measured with [`Instant`]. Zero-sized, and all instances
/// agree. On Linux and macOS it stands still while the machine is suspended, so open times are longer by as much, and so
/// does tokio's timer; `BootClock` runs on.
///
/// Each process has its own origin, so this is not a clock for words that other processes can reach or that outlive
/// this process: a breaker would admit probes at once, or reject for too long.
/// [`Breaker::shared`](atomic_breaker::Breaker::shared) rejects it:
///
/// ```compile_fail,E0277
/// use atomic_breaker_std::{Breaker, Config, StdClock, word::NativeWord};
///
/// let mapped = NativeWord::new(0);
/// let breaker = Breaker::shared(&mapped, Config::new(), StdClock);
/// ```
///
/// For words that belong to one process, use [`Breaker::over`](atomic_breaker::Breaker::over):
///
/// ```
/// use atomic_breaker_std::{Breaker, Config, StdClock, word::NativeWord};
///
/// let mine = NativeWord::new(0);
/// let breaker = Breaker::over(&mine, Config::new(), StdClock);
/// assert!(breaker.acquire().is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct StdClock;

static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
static ENTROPY: LazyLock<u32> = LazyLock::new(|| RandomState::new().hash_one(0) as u32);

/// The process ID on systems where a process can fork, otherwise 0.
fn process_id() -> u32 {
    if cfg!(unix) { std::process::id() } else { 0 }
}

impl Clock for StdClock {
    #[inline]
    fn now_ms(&self) -> u32 {
        let age = ORIGIN.elapsed();
        (age.as_secs() as u32)
            .wrapping_mul(1_000)
            .wrapping_add(age.subsec_millis())
    }

    /// A random number drawn once, combined with the process ID, so that the processes of a fleet that tripped together
    /// do not return in lockstep, even if they are forks of a process that had already drawn the number.
    fn entropy(&self) -> u32 {
        *ENTROPY ^ process_id()
    }
}

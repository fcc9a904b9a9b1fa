// SPDX-License-Identifier: MIT OR Apache-2.0
//! A clock that reads the same in all processes of a machine.

use atomic_breaker::{Clock, SharedClock};
use rustix::time::ClockId;

use crate::kernel;
use crate::std_clock::StdClock;

/// Milliseconds since the machine was started, the same in every process: the clock for words that processes
/// share, or that outlive a process. Zero-sized.
///
/// On Linux, Android and OpenBSD it is `CLOCK_BOOTTIME`, which keeps running while the machine is suspended.
/// On other Unix systems it is `CLOCK_MONOTONIC`, which POSIX defines as a system-wide clock; during
/// suspension it keeps running on macOS and iOS and stops on some others, where open times are longer by as
/// much. Elsewhere, such as on Windows, the type does not exist; to write your own clock, implement [`Clock`]
/// and [`SharedClock`] in a few lines around what the system offers (on Windows, `GetTickCount64`).
///
/// # Processes that share a word
///
/// One of the packages around this one, `mapped`, maps it for them. In memory of your own, a page of zeros is a closed
/// breaker, so no process has to come first. Each process attaches to the word with
/// [`Breaker::shared`](atomic_breaker::Breaker::shared); all must use this clock, and a word of the same type.
///
/// ```
/// use atomic_breaker_std::{BootClock, Breaker, Config, word::AtomicU64};
///
/// type Shared = Breaker<BootClock, &'static AtomicU64>;
///
/// fn database(word: &'static AtomicU64) -> Shared {
///     Shared::shared(word, Config::new(), BootClock)
/// }
/// ```
///
/// # Where readings differ
///
/// - **After a restart of the machine** they start over: a word in a file that survives it has to be
///   [restored](atomic_breaker::Breaker::restore) by the first process, before the others make calls.
/// - **In another time namespace** of Linux (`unshare --time`, containers moved by CRIU) they are
///   shifted. Processes share a word only within one; ordinary containers do not have their own.
/// - **On another machine**, of course: to share state between machines, use something else.
#[derive(Clone, Copy, Debug, Default)]
pub struct BootClock;

#[cfg(any(target_os = "linux", target_os = "android", target_os = "openbsd"))]
const SINCE_BOOT: ClockId = ClockId::Boottime;
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "openbsd")))]
const SINCE_BOOT: ClockId = ClockId::Monotonic;

impl Clock for BootClock {
    #[inline]
    fn now_ms(&self) -> u32 {
        kernel::now_ms(SINCE_BOOT)
    }

    /// A different number in each process, as for [`StdClock`].
    fn entropy(&self) -> u32 {
        StdClock.entropy()
    }
}

impl SharedClock for BootClock {}

//! The clock that all processes of a machine read alike.

use atomic_breaker::{Clock, SharedClock};
use rustix::time::ClockId;

use crate::{StdClock, kernel};

/// Milliseconds since the machine was started, the same in every process: the clock for words that processes
/// share, or that outlive a process. Zero-sized.
///
/// On Linux, Android and OpenBSD it is `CLOCK_BOOTTIME`, which goes on while the machine is suspended. On
/// other Unix systems it is `CLOCK_MONOTONIC`, by POSIX a clock of the whole system; it keeps running on
/// macOS and iOS, and stands still on some others, where open times are longer by as much. Elsewhere, as on
/// Windows, the type does not exist; a clock of yours is [`Clock`] and [`SharedClock`], a few lines around
/// what the system offers (there `GetTickCount64`).
///
/// # Processes that share a word
///
/// The word lies in memory that all of them have mapped. A page of zeros is a closed breaker, so
/// nobody needs to come first. Each takes it up by [`Breaker::shared`](atomic_breaker::Breaker::shared);
/// all must use this clock, and a word of the same type.
///
/// ```no_run
/// use atomic_breaker_std::{BootClock, Breaker, Config, word::AtomicU64};
/// use std::{error::Error, fs::OpenOptions};
///
/// type Shared = Breaker<BootClock, &'static AtomicU64>;
///
/// fn database() -> Result<Shared, Box<dyn Error>> {
///     // In a file system that is empty after a restart of the machine, when the clock starts over.
///     let path = "/dev/shm/database-breaker";
///     let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
///     file.set_len(8)?;
///     let map = memmap2::MmapRaw::map_raw(&file)?;
///     let word: *const AtomicU64 = map.as_ptr().cast();
///     // The mapping stays for as long as the process lives.
///     std::mem::forget(map);
///     // SAFETY: mappings are aligned to pages and hold at least eight bytes here, which everybody touches
///     // as one atomic.
///     Ok(Shared::shared(unsafe { &*word }, Config::new(), BootClock))
/// }
/// ```
///
/// # Where readings differ
///
/// - **After a restart of the machine** they start over: a word in a file that survives it is to be
///   [restored](atomic_breaker::Breaker::restore) by whoever comes first, before the others call.
/// - **In another time namespace** of Linux (`unshare --time`, containers moved by CRIU) they are
///   shifted. Processes share a word only within one; ordinary containers do not have their own.
/// - **On another machine**, of course: what is shared between machines goes through something else.
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

    /// As [`StdClock`]'s: another number in each process.
    fn entropy(&self) -> u32 {
        StdClock.entropy()
    }
}

impl SharedClock for BootClock {}

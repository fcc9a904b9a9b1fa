// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clock of the operating system, for breakers that read `Instant` and know no other: in a thread that is in a run it
//! is the time of the run.

use std::ffi::{c_int, c_long};

use harm::clock::{self, SECOND};

/// `timespec` of 64-bit Linux.
#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: c_long,
}

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
}

#[cfg(target_arch = "x86_64")]
const CLOCK_GETTIME: c_long = 228;
#[cfg(target_arch = "aarch64")]
const CLOCK_GETTIME: c_long = 113;

/// Does as `clock_gettime` of the C library would, unless the thread is in a run. `std` finds this one first, as it is
/// linked in.
///
/// # Safety
/// `time` is valid for a write.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int {
    let now = clock::now();
    if now == 0 {
        // SAFETY: the caller promises it.
        return unsafe { syscall(CLOCK_GETTIME, clock, time) } as c_int;
    }
    let reading = Timespec {
        seconds: (now / SECOND).cast_signed(),
        nanoseconds: ((now % SECOND) * 1_000).cast_signed(),
    };
    // SAFETY: the caller promises it.
    unsafe { time.write(reading) };
    0
}

/// Panics unless `Instant` follows the time of a run.
pub(crate) fn check() {
    clock::set_now(clock::BEGIN);
    let began = std::time::Instant::now();
    clock::set_now(clock::BEGIN + 7 * SECOND);
    let passed = began.elapsed();
    clock::set_now(0);
    assert_eq!(passed.as_millis(), 7_000, "`Instant` is not interposed");
}

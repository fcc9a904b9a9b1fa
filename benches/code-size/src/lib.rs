//! What the programs share: an operation that may fail, a clock, and nothing else.
//!
//! Each program is one function, guarded in a different way; what it is longer than `unguarded`
//! is what that guard costs.
#![no_std]

use atomic_breaker::{CallError, Clock, Rejected};

/// A register that a driver would read.
const DEVICE: *const u32 = 0x4000_0000 as *const u32;
/// The counter of milliseconds.
const COUNTER: *const u32 = 0x4000_0004 as *const u32;

/// The device does not answer.
pub struct Silent;

/// Reads the device.
#[inline(always)]
pub fn operation() -> Result<u32, Silent> {
    // SAFETY: never run, only measured.
    match unsafe { DEVICE.read_volatile() } {
        0 => Err(Silent),
        value => Ok(value),
    }
}

/// A counter that the chip keeps.
pub struct Ticks;

impl Clock for Ticks {
    #[inline(always)]
    fn now_ms(&self) -> u32 {
        // SAFETY: never run, only measured.
        unsafe { COUNTER.read_volatile() }
    }
}

/// What a caller makes of it: a value, 0 for a failure, the time to wait for a rejection.
#[inline(always)]
pub fn answer(result: Result<u32, CallError<Silent>>) -> u32 {
    match result {
        Ok(value) => value,
        Err(CallError::Failed(Silent)) => 0,
        Err(CallError::Rejected(rejected)) => wait(rejected),
    }
}

/// How long to wait.
#[inline(always)]
pub fn wait(rejected: Rejected) -> u32 {
    rejected.retry_in_ms().unwrap_or(u32::MAX)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

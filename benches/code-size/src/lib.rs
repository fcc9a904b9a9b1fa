// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs share an operation that may fail, a clock, and nothing else.
//!
//! Each program is one function, guarded in a different way; the bytes beyond those of `unguarded` are the
//! cost of that guard.
#![no_std]

use core::future::poll_fn;
use core::hint::black_box;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};

use atomic_breaker::wait::HasTimer;
use atomic_breaker::{CallError, Clock, Rejected};
use atomic_breaker_embassy::EmbassyTimer;
use embassy_time_driver::Driver as TimeDriver;

/// A register that a driver would read.
const DEVICE: *const u32 = 0x4000_0000 as *const u32;
/// The counter of milliseconds.
const COUNTER: *const u32 = 0x4000_0004 as *const u32;

/// A register of the chip.
pub const CONTROL: *mut u32 = 0x4000_0008 as *mut u32;

/// The device does not respond.
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

/// Reads the device, and waits until it responds, as the operations of real drivers do.
pub async fn operation_that_waits() -> Result<u32, Silent> {
    // SAFETY: never run, only measured.
    let is_busy = || unsafe { CONTROL.read_volatile() } != 0;
    poll_fn(|_| {
        if is_busy() {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    })
    .await;
    operation()
}

/// A driver of the device.
pub struct Driver;

impl Driver {
    /// Reads the device.
    #[inline(always)]
    pub fn measure(&mut self) -> Result<u32, Silent> {
        operation()
    }

    /// Resets the device.
    #[inline(always)]
    #[expect(clippy::unnecessary_wraps, reason = "as repairs are")]
    pub fn reset(&mut self) -> Result<(), Silent> {
        // SAFETY: never run, only measured.
        unsafe { CONTROL.write_volatile(1) };
        Ok(())
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

impl HasTimer for Ticks {
    type Timer = EmbassyTimer;

    #[inline(always)]
    fn timer(&self) -> EmbassyTimer {
        EmbassyTimer
    }
}

/// The time of embassy, in external code.
struct Time;

embassy_time_driver::time_driver_impl!(static TIME: Time = Time);

impl TimeDriver for Time {
    fn now(&self) -> u64 {
        // SAFETY: never run, only measured.
        u64::from(unsafe { COUNTER.read_volatile() })
    }

    fn schedule_wake(&self, _: u64, _: &Waker) {}
}

/// The smallest possible executor. It polls through a pointer, as executors do: they do not see which future it is, so
/// nothing of it is merged into them.
#[inline(always)]
pub fn run(future: impl Future<Output = u32>) -> u32 {
    let future = pin!(future);
    let mut future: Pin<&mut dyn Future<Output = u32>> = black_box(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
}

/// The number that a caller makes of the result: a value, 0 for a failure, the time to wait for a rejection.
#[inline(always)]
pub fn answer(result: Result<u32, CallError<Silent>>) -> u32 {
    match result {
        Ok(value) => value,
        Err(CallError::Failed(Silent)) => 0,
        Err(CallError::Rejected(rejected)) => wait(rejected),
    }
}

/// The time to wait.
#[inline(always)]
pub fn wait(rejected: Rejected) -> u32 {
    rejected.retry_in_ms().unwrap_or(u32::MAX)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

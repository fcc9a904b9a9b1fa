// SPDX-License-Identifier: MIT OR Apache-2.0
//! A guard that owns a driver, rules known at compile time, 32-bit word.
#![no_std]
#![no_main]

use atomic_breaker::word::AtomicU32;
use atomic_breaker::{Breaker, Config, Device};
use code_size::{Driver, Ticks, answer};

static WORD: AtomicU32 = AtomicU32::new(0);
static DEVICE: Breaker<Ticks, &AtomicU32> = Breaker::over(&WORD, Config::new(), Ticks);

#[unsafe(no_mangle)]
extern "C" fn entry() -> u32 {
    let mut device = Device::new(Driver, &DEVICE);
    answer(device.call(|driver| driver.measure()))
}

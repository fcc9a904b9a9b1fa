// SPDX-License-Identifier: MIT OR Apache-2.0
//! A closure, rules known at compile time with a row that must last, 32-bit word.
#![no_std]
#![no_main]

use core::time::Duration;

use atomic_breaker::word::AtomicU32;
use atomic_breaker::{Breaker, Config};
use code_size::{Ticks, answer, operation};

static WORD: AtomicU32 = AtomicU32::new(0);
static DEVICE: Breaker<Ticks, &AtomicU32> = Breaker::over(
    &WORD,
    Config::new().lasting(Duration::from_millis(100)),
    Ticks,
);

#[unsafe(no_mangle)]
extern "C" fn entry() -> u32 {
    answer(DEVICE.call(operation))
}

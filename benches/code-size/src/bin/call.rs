// SPDX-License-Identifier: MIT OR Apache-2.0
//! A closure, rules known at compile time, 32-bit word.
#![no_std]
#![no_main]

use atomic_breaker::word::AtomicU32;
use atomic_breaker::{Breaker, Config};
use code_size::{Ticks, answer, operation};

static WORD: AtomicU32 = AtomicU32::new(0);
static DEVICE: Breaker<Ticks, &AtomicU32> = Breaker::over(&WORD, Config::new(), Ticks);

#[unsafe(no_mangle)]
extern "C" fn entry() -> u32 {
    answer(DEVICE.call(operation))
}

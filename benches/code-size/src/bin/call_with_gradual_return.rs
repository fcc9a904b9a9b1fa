// SPDX-License-Identifier: MIT OR Apache-2.0
//! A closure, rules known at compile time, 32-bit word; traffic comes back gradually.
#![no_std]
#![no_main]

use core::time::Duration;

use atomic_breaker::word::AtomicU32;
use atomic_breaker::{Breaker, Config};
use code_size::{Ticks, answer, operation};

const RULES: Config = Config::new().gradual_return(10, Duration::from_secs(30));

static WORD: AtomicU32 = AtomicU32::new(0);
static DEVICE: Breaker<Ticks, &AtomicU32> = Breaker::over(&WORD, RULES, Ticks);

#[unsafe(no_mangle)]
extern "C" fn entry() -> u32 {
    answer(DEVICE.call(operation))
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two closures, each with a breaker and rules of its own, known at compile time; 32-bit words.
#![no_std]
#![no_main]

use core::time::Duration;

use atomic_breaker::word::AtomicU32;
use atomic_breaker::{Breaker, Config};
use code_size::{Ticks, answer, operation};

static WORD: AtomicU32 = AtomicU32::new(0);
static DEVICE: Breaker<Ticks, &AtomicU32> = Breaker::over(&WORD, Config::new(), Ticks);

static OTHER_WORD: AtomicU32 = AtomicU32::new(0);
static OTHER: Breaker<Ticks, &AtomicU32> = Breaker::over(
    &OTHER_WORD,
    Config::new()
        .consecutive_failures(3)
        .open_for(Duration::from_secs(2)),
    Ticks,
);

#[unsafe(no_mangle)]
extern "C" fn entry() -> u32 {
    answer(DEVICE.call(operation)) ^ answer(OTHER.call(operation))
}

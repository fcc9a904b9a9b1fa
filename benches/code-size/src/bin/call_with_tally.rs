// SPDX-License-Identifier: MIT OR Apache-2.0
//! A closure, with the share of the last calls in a second word.
#![no_std]
#![no_main]

use atomic_breaker::word::AtomicU32;
use atomic_breaker::{Breaker, Config, LastCalls, Ratio};
use code_size::{Ticks, answer, operation};

const RULES: Config = Config::new().failure_ratio(Ratio::percent(50).of_last(20));

static WORD: AtomicU32 = AtomicU32::new(0);
static HISTORY: AtomicU32 = AtomicU32::new(0);
static DEVICE: Breaker<Ticks, &AtomicU32, LastCalls<&AtomicU32>> = Breaker::builder(RULES, Ticks)
    .word(&WORD)
    .last_calls(LastCalls::over(&HISTORY))
    .build();

#[unsafe(no_mangle)]
extern "C" fn entry() -> u32 {
    answer(DEVICE.call(operation))
}

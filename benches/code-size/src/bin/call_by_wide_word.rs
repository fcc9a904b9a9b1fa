// SPDX-License-Identifier: MIT OR Apache-2.0
//! A closure, 64 bits in a critical section.
#![no_std]
#![no_main]

// Provides the critical section.
#[cfg(target_arch = "arm")]
use cortex_m as _;
#[cfg(target_arch = "riscv32")]
use riscv as _;

use atomic_breaker::word::CriticalSectionWord;
use atomic_breaker::{Breaker, Config};
use code_size::{Ticks, answer, operation};

static WORD: CriticalSectionWord = CriticalSectionWord::new();
static DEVICE: Breaker<Ticks, &CriticalSectionWord> = Breaker::over(&WORD, Config::new(), Ticks);

#[unsafe(no_mangle)]
extern "C" fn entry() -> u32 {
    answer(DEVICE.call(operation))
}

//! A closure, with the share of the last calls in a second word.
#![no_std]
#![no_main]

use atomic_breaker::word::AtomicU32;
use atomic_breaker::{Breaker, Config, LastCalls};
use code_size::{Ticks, answer, operation};

static WORD: AtomicU32 = AtomicU32::new(0);
static HISTORY: AtomicU32 = AtomicU32::new(0);
static DEVICE: Breaker<Ticks, &AtomicU32, LastCalls<&AtomicU32>> = Breaker::from_parts(
    &WORD,
    Config::new(),
    Ticks,
    LastCalls::over(&HISTORY, 20, 10, 50),
    (),
);

#[unsafe(no_mangle)]
extern "C" fn entry() -> u32 {
    answer(DEVICE.call(operation))
}

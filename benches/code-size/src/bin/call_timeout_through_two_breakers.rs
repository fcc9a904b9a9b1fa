// SPDX-License-Identifier: MIT OR Apache-2.0
//! Futures with a time limit through two breakers, each with rules of its own.
#![no_std]
#![no_main]

use core::time::Duration;

use atomic_breaker::word::AtomicU32;
use atomic_breaker::{Breaker, CallError, Config};
use code_size::{Ticks, operation_that_waits, run, wait};

static WORD: AtomicU32 = AtomicU32::new(0);
static RADIO: Breaker<Ticks, &AtomicU32> = Breaker::over(&WORD, Config::new(), Ticks);

static OTHER_WORD: AtomicU32 = AtomicU32::new(0);
static MODEM: Breaker<Ticks, &AtomicU32> = Breaker::over(
    &OTHER_WORD,
    Config::new()
        .consecutive_failures(3)
        .open_for(Duration::from_secs(2)),
    Ticks,
);

async fn report(breaker: &'static Breaker<Ticks, &'static AtomicU32>) -> u32 {
    match breaker
        .call_timeout(Duration::from_secs(1), operation_that_waits)
        .await
    {
        Ok(value) => value,
        Err(CallError::Failed(_)) => 0,
        Err(CallError::Rejected(rejected)) => wait(rejected),
    }
}

#[unsafe(no_mangle)]
extern "C" fn entry() -> u32 {
    run(report(&RADIO)) ^ run(report(&MODEM))
}

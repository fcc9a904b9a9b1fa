// SPDX-License-Identifier: MIT OR Apache-2.0
//! Futures with a time limit through two handles of size zero, each with rules of its own.
#![no_std]
#![no_main]

use core::time::Duration;

use atomic_breaker::word::AtomicU32;
use atomic_breaker::{AnyBreaker, Breaker, CallError, Config, static_breaker};
use code_size::{Ticks, operation_that_waits, run, wait};

const OTHER: Config = Config::new()
    .consecutive_failures(3)
    .open_for(Duration::from_secs(2));

static_breaker! {
    struct Radio: Breaker<Ticks, AtomicU32> =
        Breaker::builder(Config::new(), Ticks).word(AtomicU32::new(0));
    struct Modem: Breaker<Ticks, AtomicU32> =
        Breaker::builder(OTHER, Ticks).word(AtomicU32::new(0));
}

async fn report(breaker: impl AnyBreaker<Clock = Ticks>) -> u32 {
    match breaker
        .as_breaker()
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
    run(report(Radio)) ^ run(report(Modem))
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! A future with a time limit, with embassy's timer; rules known at compile time, 32-bit word.
#![no_std]
#![no_main]

use core::time::Duration;

use atomic_breaker::word::AtomicU32;
use atomic_breaker::{Breaker, CallError, Config};
use code_size::{Ticks, operation_that_waits, run, wait};

static WORD: AtomicU32 = AtomicU32::new(0);
static RADIO: Breaker<Ticks, &AtomicU32> = Breaker::over(&WORD, Config::new(), Ticks);

async fn report() -> u32 {
    match RADIO
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
    run(report())
}

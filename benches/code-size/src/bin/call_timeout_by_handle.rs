// SPDX-License-Identifier: MIT OR Apache-2.0
//! A future with a time limit, as in `call_timeout`, through a handle of size zero.
#![no_std]
#![no_main]

use core::time::Duration;

use atomic_breaker::word::AtomicU32;
use atomic_breaker::{Breaker, CallError, Config, static_breaker};
use code_size::{Ticks, operation_that_waits, run, wait};

static_breaker! {
    struct Radio: Breaker<Ticks, AtomicU32> =
        Breaker::builder(Config::new(), Ticks).word(AtomicU32::new(0));
}

async fn report() -> u32 {
    match Radio
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

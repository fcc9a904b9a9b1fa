// SPDX-License-Identifier: MIT OR Apache-2.0
//! A closure, with rules that the compiler does not see, so that every possible rule takes code.
#![no_std]
#![no_main]

use atomic_breaker::Breaker;
use atomic_breaker::word::AtomicU32;
use code_size::{Ticks, answer, operation};

#[unsafe(no_mangle)]
extern "C" fn entry(device: &Breaker<Ticks, AtomicU32>) -> u32 {
    answer(device.call(operation))
}

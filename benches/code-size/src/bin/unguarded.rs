// SPDX-License-Identifier: MIT OR Apache-2.0
//! No breaker.
#![no_std]
#![no_main]

#[unsafe(no_mangle)]
extern "C" fn entry() -> u32 {
    code_size::operation().unwrap_or(0)
}

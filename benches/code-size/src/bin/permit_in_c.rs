// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts that a program in C links for `ab_acquire` and `ab_report`: rules made at run time,
//! 32-bit word.
#![no_std]
#![no_main]

use atomic_breaker::Clock;
use atomic_breaker::word::AtomicU32;
use atomic_breaker_c::by_rules::narrow::{acquire, report};
use atomic_breaker_c::types::CRules;
use code_size::{Ticks, operation};

static WORD: AtomicU32 = AtomicU32::new(0);

#[unsafe(no_mangle)]
extern "C" fn entry(rules: *const CRules<u32>) -> u32 {
    // SAFETY: never run, only measured.
    let mut permit = unsafe { acquire(&raw const WORD, rules, Ticks.now_ms()) };
    if !permit.admitted {
        return permit.wait_ms;
    }
    let result = operation();
    // SAFETY: never run, only measured.
    unsafe {
        report(
            &raw const WORD,
            rules,
            &raw mut permit.token,
            result.is_ok(),
            Ticks.now_ms(),
        )
    };
    result.unwrap_or(0)
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The closed path, compiled on its own so that `.ci/hot-path` can look at it.

use atomic_breaker::word::AtomicU32;
use atomic_breaker::{Breaker, CallError, Clock, Config};

/// A clock that cannot be optimized away.
#[derive(Debug)]
struct Ticks;

impl Clock for Ticks {
    #[inline(never)]
    fn now_ms(&self) -> u32 {
        std::hint::black_box(0)
    }
}

/// Acquires and succeeds.
#[unsafe(no_mangle)]
#[inline(never)]
#[expect(
    clippy::no_mangle_with_rust_abi,
    reason = "found by its name, never called from Rust"
)]
fn closed_success_by_permit(breaker: &Breaker<Ticks>) -> bool {
    match breaker.acquire() {
        Ok(permit) => {
            permit.success();
            true
        }
        Err(_) => false,
    }
}

/// Guards a closure that cannot fail.
#[unsafe(no_mangle)]
#[inline(never)]
#[expect(
    clippy::no_mangle_with_rust_abi,
    reason = "found by its name, never called from Rust"
)]
fn closed_success_by_call(breaker: &Breaker<Ticks>, x: u32) -> Result<u32, CallError<()>> {
    breaker.call(|| Ok(x.wrapping_add(1)))
}

static WORD: AtomicU32 = AtomicU32::new(0);
static IN_FLASH: Breaker<Ticks, &AtomicU32> = Breaker::over(&WORD, Config::new(), Ticks);

/// A breaker whose rules are known at compile time, over a word of its own.
#[unsafe(no_mangle)]
#[inline(never)]
#[expect(
    clippy::no_mangle_with_rust_abi,
    reason = "found by its name, never called from Rust"
)]
fn closed_success_in_flash() -> bool {
    match IN_FLASH.acquire() {
        Ok(permit) => {
            permit.success();
            true
        }
        Err(_) => false,
    }
}

fn main() {
    let breaker = Breaker::new(Config::new(), Ticks);
    assert!(closed_success_by_permit(&breaker));
    assert_eq!(closed_success_by_call(&breaker, 1), Ok(2));
    assert!(closed_success_in_flash());
}

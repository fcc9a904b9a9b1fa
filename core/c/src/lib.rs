// SPDX-License-Identifier: MIT OR Apache-2.0
//! The circuit breaker of [`atomic_breaker`] for C: the functions that `include/atomic_breaker.h` declares.
//!
//! The header is the documentation of the C interface, and the page `docs/c.md` of the repository shows how to build
//! and use it. Here are only thin functions around the one breaker: nothing of the word is known here, so what is
//! proven of the core holds for C.
//!
//! | module | what |
//! |---|---|
//! | [`at`] | the clock of one call: the time that C passed |
//! | [`types`] | what both sides exchange |
//! | [`steps`] | each function of the interface, for any word and rules |
//! | [`by_rules`] | the functions of the header, whose word and rules come by pointer |
//! | [`table`] | breakers that are known when the library is built |
//! | `generate` | what the command `atomic-breaker-c` makes of `breakers.toml` |

#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "command")]
extern crate std;

pub mod at;
pub mod by_rules;
pub mod common;
#[cfg(feature = "command")]
pub mod generate;
pub mod steps;
pub mod table;
pub mod texts;
pub mod types;

/// What the command made, of the file that `ATOMIC_BREAKER_RS` names.
#[cfg(breakers)]
mod breakers {
    include!(env!("ATOMIC_BREAKER_RS"));
}

/// The critical section of the C side.
#[cfg(all(feature = "critical-section", target_os = "none"))]
mod critical {
    use critical_section::{Impl, RawRestoreState};

    unsafe extern "C" {
        fn ab_enter_critical() -> u32;
        fn ab_leave_critical(state: u32);
    }

    struct FromC;
    critical_section::set_impl!(FromC);

    // SAFETY: the header asks the C side for exactly this.
    unsafe impl Impl for FromC {
        unsafe fn acquire() -> RawRestoreState {
            // SAFETY: the C side provides it.
            unsafe { ab_enter_critical() }
        }

        unsafe fn release(state: RawRestoreState) {
            // SAFETY: the C side provides it, and `state` is what it returned.
            unsafe { ab_leave_critical(state) }
        }
    }
}

/// Nothing here panics: programs that are linked with `--gc-sections` do not contain this, which `tests/c/run` checks.
/// If something did, it would end here, for a debugger to find.
#[cfg(not(any(feature = "command", feature = "host", test, doc)))]
#[unsafe(no_mangle)]
extern "C" fn ab_panicked() -> ! {
    loop {
        core::hint::spin_loop();
    }
}

#[cfg(not(any(feature = "command", feature = "host", test, doc)))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    ab_panicked()
}

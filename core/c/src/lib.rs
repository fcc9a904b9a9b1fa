// SPDX-License-Identifier: MIT OR Apache-2.0
//! The circuit breaker of [`atomic_breaker`] for C and C++: a static library, and a header of one page.
//!
//! ```c
//! #include "breakers.h"
//! #include <stddef.h> /* size_t, NULL */
//!
//! ab_t radio; /* zero is closed */
//!
//! /* 0, or how many milliseconds not to try. */
//! uint32_t radio_send(const uint8_t *packet, size_t length)
//! {
//!     ab_permit permit = radio_acquire(HAL_GetTick());
//!     if (!permit.admitted)
//!         return permit.wait_ms;
//!     bool ok = HAL_SPI_Transmit(&spi, packet, length, 100) == HAL_OK;
//!     radio_report(&permit.token, ok, HAL_GetTick());
//!     return 0;
//! }
//! ```
//!
//! Programs in Rust use [`atomic_breaker`] itself. Here are only thin functions around it: nothing of the word is known
//! here, so what is proven of the core holds for C.
//!
//! # What it has
//!
//! | module | what |
//! |---|---|
//! | [`by_rules`] | the functions of the header `include/atomic_breaker.h`, whose word and rules come by pointer |
//! | [`table`] | breakers that are known when the library is built, with rules in flash |
//! | [`types`] | what both sides exchange |
//! | [`steps`] | each function of the interface, for any word and rules |
//! | [`at`] | the clock of one call: the time that C passed |
//! | `generate` (feature `command`) | what the command `atomic-breaker-c` makes of `breakers.toml` |
//!
//! # Features
//!
//! | feature | what |
//! |---|---|
//! | `command`, on unless switched off | the command `atomic-breaker-c`, which makes C and Rust of `breakers.toml` |
//! | `host` | for programs with an operating system, which have a panic handler already |
//! | `single-core` | chips without compare-and-swap that have one core: interrupts are switched off |
//! | `critical-section` | the same chips with `ab_enter_critical` and `ab_leave_critical` of your program |
//!
//! # Where to read on
//!
//! The header explains each function and every misuse; the page [docs/c.md] has drivers, interrupts, clocks, resets and
//! sleep, `FreeRTOS`, Zephyr and `CMake`.
#![doc = ""]
#![doc = concat!("[docs/c.md]: ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/c.md")]
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "command")]
extern crate std;

// The modules, in the order in which to read them:
// - `at`, `texts`, `types`: the clock of one call; messages, short ones; what both sides exchange
// - `steps`: each function of the interface, for any word and rules
// - `by_rules`: the functions of the header, whose word and rules come by pointer
// - `common`, `table`: what the rules of several breakers share; breakers that are known when the library is built
// - `generate` (`command`): what the command makes of `breakers.toml`

pub mod at;
pub mod by_rules;
pub mod common;
#[cfg(feature = "command")]
pub mod generate;
pub mod steps;
pub mod table;
pub mod texts;
pub mod types;

/// The generated code, from the file that `ATOMIC_BREAKER_RS` names.
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

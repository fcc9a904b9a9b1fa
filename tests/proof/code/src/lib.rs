// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each operation of the core, through the public door, as a function of numbers.
//!
//! The word is a real atomic, behind a pointer. Time and chance are asked of functions in assembly (`environment`), which the
//! prover replaces by numbers that may be anything.

#![allow(missing_docs)]
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod bare;
mod environment;
mod layout;
mod reports;
mod watches;

use core::time::Duration;

use atomic_breaker::{Breaker, Rejected, Rules, Transition};
use environment::World;

#[cfg(not(feature = "narrow"))]
pub type Word = atomic_breaker::word::AtomicU64;
#[cfg(not(feature = "narrow"))]
pub type Bits = u64;
#[cfg(feature = "narrow")]
pub type Word = atomic_breaker::word::AtomicU32;
#[cfg(feature = "narrow")]
pub type Bits = u32;

pub type Guard<'a> = Breaker<World, &'a Word, (), (), &'a Rules<Bits>>;

/// The answer, field by field.
#[repr(C)]
pub struct Answer {
    granted: Bits,
    started_ms: u32,
    state: u32,
    wait_ms: u32,
    cause: u32,
    from: u32,
    to: u32,
    epoch: u32,
    trips: u32,
    open_for_ms: u32,
    at_ms: u32,
}

#[inline(always)]
pub fn guard<'a>(word: &'a Word, rules: &'a Rules<Bits>) -> Guard<'a> {
    if rules.config().needs_tally() {
        // Refused, with a panic: nothing to prove.
        loop {}
    }
    Breaker::from_parts(word, rules, World, (), ())
}

/// Returns 1 with a transition, 0 without one.
#[inline(always)]
pub fn tell(made: Option<Transition>, answer: &mut Answer) -> u32 {
    let Some(made) = made else { return 0 };
    answer.cause = made.cause as u32;
    answer.from = made.from as u32;
    answer.to = made.to as u32;
    answer.epoch = made.epoch.into();
    answer.trips = made.trips.into();
    answer.open_for_ms = made.open_for_ms;
    answer.at_ms = made.at_ms;
    1
}

#[inline(always)]
pub fn reject(rejected: Rejected, answer: &mut Answer) -> u32 {
    answer.state = rejected.state() as u32;
    answer.wait_ms = rejected.retry_in_ms().unwrap_or(u32::MAX);
    0
}

/// A duration: whole seconds, and nanoseconds below one.
#[inline(always)]
pub fn time(seconds: u32, nanos: u32) -> Duration {
    Duration::new(seconds.into(), nanos)
}

macro_rules! commands {
    ($($name:ident($($argument:ident),*) = |$guard:ident| $call:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(
            word: &Word, rules: &Rules<Bits>, answer: &mut Answer $(, $argument: u32)*
        ) -> u32 {
            let $guard = guard(word, rules);
            tell($call, answer)
        }
    )*};
}

commands! {
    p_trip() = |guard| guard.trip();
    p_trip_for(seconds, nanos) = |guard| guard.trip_for(time(seconds, nanos));
    p_force_open() = |guard| guard.force_open();
    p_release() = |guard| guard.release();
    p_reset() = |guard| guard.reset();
    p_disable() = |guard| guard.disable();
    p_enable() = |guard| guard.enable();
    p_probe_now() = |guard| guard.probe_now();
    p_probe_early() = |guard| guard.probe_early();
}

#[unsafe(no_mangle)]
pub extern "C" fn p_acquire(word: &Word, rules: &Rules<Bits>, answer: &mut Answer) -> u32 {
    match guard(word, rules).acquire() {
        Ok(permit) => {
            (answer.granted, answer.started_ms) = permit.into_token().into_raw();
            1
        }
        Err(rejected) => reject(rejected, answer),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn p_retire(word: &Word, rules: &Rules<Bits>) -> u32 {
    guard(word, rules).retire().into()
}

macro_rules! restores {
    ($($name:ident($($argument:ident),*) = |$guard:ident| $call:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(
            word: &Word, rules: &Rules<Bits>, answer: &mut Answer $(, $argument: u32)*
        ) -> u32 {
            let $guard = guard(word, rules);
            match $call {
                Ok(made) => tell(made, answer),
                Err(_) => 2,
            }
        }
    )*};
}

restores! {
    p_restore() = |guard| guard.restore();
    p_restore_after(seconds, nanos) = |guard| guard.restore_after(time(seconds, nanos));
    p_restore_running() = |guard| guard.restore_running();
}

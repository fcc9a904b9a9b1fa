// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clocks: milliseconds that go forward, as fast as time does.

use std::thread;
use std::time::{Duration, Instant};

use atomic_breaker_std::{Clock, StdClock};

/// A clock that stands still for this long is broken, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

fn never_goes_back_in_any_thread(clock: impl Clock + Copy + Send) {
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(move || {
                let mut last = clock.now_ms();
                for _ in 0..100_000 {
                    let now = clock.now_ms();
                    assert!(now.wrapping_sub(last) <= u32::MAX / 2, "{last} then {now}");
                    last = now;
                }
            });
        }
    });
}

/// The longest step of a kernel's tick.
#[cfg(feature = "coarse")]
const TICK_MS: u128 = 10;

/// Counts no more than the time that passes, except for the lag with which it may start, and keeps advancing: this
/// holds however late this thread runs.
fn counts_milliseconds(clock: impl Clock, lag_ms: u128) {
    // A clock may move in steps: begin with one, which came after `began` was taken.
    let (first, began) = step(&clock);
    loop {
        let counted = clock.now_ms().wrapping_sub(first);
        let passed = began.elapsed();
        // Two roundings: that of the clock's first reading, and that of `as_millis`.
        assert!(
            u128::from(counted) <= passed.as_millis() + 1 + lag_ms,
            "counted {counted} ms in {passed:?}"
        );
        if counted >= 100 {
            return;
        }
        assert!(passed < PATIENCE, "counted {counted} ms in {passed:?}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// The first reading after a step of the clock, and an instant before that step.
fn step(clock: &impl Clock) -> (u32, Instant) {
    let first = Instant::now();
    let mut began = first;
    let before = clock.now_ms();
    loop {
        let next_began = Instant::now();
        let reading = clock.now_ms();
        if reading != before {
            return (reading, began);
        }
        began = next_began;
        assert!(first.elapsed() < PATIENCE, "stands still at {reading}");
    }
}

fn draws_its_entropy_once(clock: impl Clock + Copy + Send) {
    let drawn = clock.entropy();
    let elsewhere = thread::scope(|scope| scope.spawn(move || clock.entropy()).join().unwrap());
    assert_eq!(drawn, elsewhere);
    assert_eq!(drawn, StdClock.entropy(), "one per process");
}

macro_rules! a_clock {
    ($name:ident, $clock:expr, $lag_ms:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn never_goes_back_in_any_thread() {
                super::never_goes_back_in_any_thread($clock);
            }

            #[test]
            fn counts_milliseconds() {
                super::counts_milliseconds($clock, $lag_ms);
            }

            #[test]
            fn draws_its_entropy_once_per_process() {
                draws_its_entropy_once($clock);
            }
        }
    };
}

a_clock!(std_clock, StdClock, 0);
#[cfg(feature = "coarse")]
// A kernel that comes late to a tick stores the time of that tick.
a_clock!(coarse_clock, atomic_breaker_std::CoarseClock, TICK_MS);
#[cfg(all(feature = "shared", unix))]
a_clock!(boot_clock, atomic_breaker_std::BootClock, 0);

#[test]
fn the_std_clock_has_one_origin_for_all_threads() {
    let here = StdClock.now_ms();
    let there = thread::spawn(|| StdClock.now_ms()).join().unwrap();
    let after = StdClock.now_ms();
    assert!((here..=after).contains(&there), "{here}, {there}, {after}");
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Well-known yardsticks: an atomic, a mutex, a clock.

use std::hint::black_box;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

#[cfg(unix)]
use atomic_breaker_http::{Clock, StdClock};
use atomic_breaker_std::{BootClock, CoarseClock};

use crate::rounds::Case;

/// Memory that threads share.
pub const SHARED: [fn() -> Case; 5] = [
    load,
    fetch_add,
    compare_and_swap,
    parking_lot_mutex,
    std_mutex,
];

/// Readings of clocks.
pub const CLOCKS: &[fn() -> Case] = &[
    instant,
    std_clock,
    #[cfg(unix)]
    boot_clock,
    coarse_clock,
];

/// A relaxed load of one shared word.
fn load() -> Case {
    on_a_word("relaxed load", |word| {
        black_box(word.load(Ordering::Relaxed));
    })
}

/// An increment of one shared word.
fn fetch_add() -> Case {
    on_a_word("`fetch_add`", |word| {
        word.fetch_add(1, Ordering::Relaxed);
    })
}

/// A compare-and-swap of one shared word, until it succeeds.
pub fn compare_and_swap() -> Case {
    on_a_word("compare-and-swap loop", |word| {
        let mut seen = word.load(Ordering::Acquire);
        while let Err(found) =
            word.compare_exchange_weak(seen, seen + 1, Ordering::AcqRel, Ordering::Acquire)
        {
            seen = found;
        }
    })
}

fn on_a_word(name: &str, step: impl Fn(&AtomicU64) + Copy + Send + Sync + 'static) -> Case {
    Case::new(name, move || {
        let word = AtomicU64::new(0);
        move |calls| (0..calls).for_each(|_| step(&word))
    })
}

/// A `std` mutex around a number.
fn std_mutex() -> Case {
    Case::new("`std` mutex", || {
        let number = Mutex::new(0_u64);
        move |calls| (0..calls).for_each(|_| *number.lock().expect("no panic") += 1)
    })
}

/// A `parking_lot` mutex around a number.
fn parking_lot_mutex() -> Case {
    Case::new("`parking_lot` mutex", || {
        let number = parking_lot::Mutex::new(0_u64);
        move |calls| (0..calls).for_each(|_| *number.lock() += 1)
    })
}

/// `Instant::now()`.
fn instant() -> Case {
    repeated("`Instant::now()`", Instant::now)
}

/// A reading of the breaker's own clock: an `Instant`, and the milliseconds since the first.
fn std_clock() -> Case {
    repeated("`StdClock`, in milliseconds", || StdClock.now_ms())
}

/// A reading of the clock that all processes share.
#[cfg(unix)]
fn boot_clock() -> Case {
    repeated("`BootClock`, in milliseconds", || BootClock.now_ms())
}

/// A reading of the kernel's coarse clock.
fn coarse_clock() -> Case {
    repeated("`CoarseClock`, in milliseconds", || CoarseClock.now_ms())
}

fn repeated<T>(name: &str, read: impl Fn() -> T + Copy + Send + Sync + 'static) -> Case {
    Case::new(name, move || {
        move |calls| {
            (0..calls).for_each(|_| {
                black_box(read());
            });
        }
    })
}

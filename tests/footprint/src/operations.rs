// SPDX-License-Identifier: MIT OR Apache-2.0
//! The counted operations, on a breaker whose rules are in flash, over a 32-bit word in RAM.

use core::hint::black_box;
use core::mem::forget;
use core::time::Duration;

use atomic_breaker::word::AtomicU32;
use atomic_breaker::{Breaker, Clock, Config};
use portable_atomic::Ordering::Relaxed;

/// Milliseconds, moved by hand.
struct Ticks;

static NOW: AtomicU32 = AtomicU32::new(0);

impl Clock for Ticks {
    #[inline]
    fn now_ms(&self) -> u32 {
        NOW.load(Relaxed)
    }
}

static WORD: AtomicU32 = AtomicU32::new(0);
static DEVICE: Breaker<Ticks, &AtomicU32> = Breaker::over(
    &WORD,
    Config::new()
        .consecutive_failures(3)
        .open_for(Duration::from_secs(1)),
    Ticks,
);

type Entry = (&'static str, fn(), fn());

pub(crate) const ALL: [Entry; 8] = [
    ("acquire and success, closed", closed, success),
    ("acquire and failure, closed", closed, failure),
    ("acquire and success after a failure", failed_once, success),
    ("acquire and the failure that trips", failed_twice, failure),
    ("rejection", open, rejection),
    ("admission of the first probe", at_the_deadline, admission),
    (
        "a probe in, and its success closes",
        at_the_deadline,
        success,
    ),
    (
        "a probe in, and its failure reopens",
        at_the_deadline,
        failure,
    ),
];

#[inline(never)]
pub(crate) fn nothing() {
    black_box(());
}

#[inline(never)]
fn success() {
    if let Ok(permit) = DEVICE.acquire() {
        permit.success();
    }
}

#[inline(never)]
fn failure() {
    if let Ok(permit) = DEVICE.acquire() {
        permit.failure();
    }
}

#[inline(never)]
fn rejection() {
    black_box(DEVICE.acquire().is_err());
}

#[inline(never)]
fn admission() {
    if let Ok(permit) = DEVICE.acquire() {
        forget(permit);
    }
}

fn closed() {
    DEVICE.reset();
}

fn failed_once() {
    closed();
    failure();
}

fn failed_twice() {
    failed_once();
    failure();
}

fn open() {
    closed();
    DEVICE.trip();
}

fn at_the_deadline() {
    open();
    NOW.fetch_add(10_000, Relaxed);
}

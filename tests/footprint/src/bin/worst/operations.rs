// SPDX-License-Identifier: MIT OR Apache-2.0
//! The operations, on one of several breakers over one word.

use core::hint::black_box;
use core::mem::forget;
use core::time::Duration;

use atomic_breaker::word::AtomicU32;
use atomic_breaker::{Breaker, Clock, Failure, Permit, Snapshot, Token};
use portable_atomic::Ordering::Relaxed;

use crate::raced::Raced;
use crate::rules::{COUNT, LONGEST, config};

/// Milliseconds, set by hand.
pub(crate) struct Ticks;

impl Clock for Ticks {
    #[inline]
    fn now_ms(&self) -> u32 {
        NOW.load(Relaxed)
    }

    /// Like the random number of a clock that brings none, so that a count can be repeated.
    #[inline]
    fn random(&self) -> u32 {
        let mut x = DICE.fetch_add(1, Relaxed);
        x ^= x >> 16;
        x = x.wrapping_mul(0x85EB_CA6B);
        x ^= x >> 13;
        x = x.wrapping_mul(0xC2B2_AE35);
        x ^ x >> 16
    }
}

pub(crate) static NOW: AtomicU32 = AtomicU32::new(0);
pub(crate) static DICE: AtomicU32 = AtomicU32::new(0);
pub(crate) static WORD: Raced = Raced::new();
/// The set of rules.
pub(crate) static CHOSEN: AtomicU32 = AtomicU32::new(0);
/// The permit: the word when it was granted, and the start.
pub(crate) static GRANTED: AtomicU32 = AtomicU32::new(0);
pub(crate) static STARTED: AtomicU32 = AtomicU32::new(0);

type Device = Breaker<Ticks, &'static Raced>;

static DEVICES: [Device; COUNT] = {
    let mut all = [const { Breaker::over(&WORD, config(0), Ticks) }; COUNT];
    let mut set = 0;
    while set < COUNT {
        all[set] = Breaker::over(&WORD, config(set), Ticks);
        set += 1;
    }
    all
};

/// Their addresses, so that the compiler cannot look the rules up.
static ADDRESSES: [&Device; COUNT] = {
    let mut all = [&DEVICES[0]; COUNT];
    let mut set = 0;
    while set < COUNT {
        all[set] = &DEVICES[set];
        set += 1;
    }
    all
};

fn device() -> &'static Device {
    ADDRESSES[CHOSEN.load(Relaxed) as usize % COUNT]
}

fn permit() -> Permit<&'static Device> {
    let token = Token::from_raw(GRANTED.load(Relaxed), STARTED.load(Relaxed));
    device().resume(token)
}

pub(crate) struct Operation {
    pub(crate) name: &'static str,
    /// `true` if it ends a permit, or takes up a time.
    pub(crate) needs_permit: bool,
    pub(crate) run: fn(),
}

const fn of_permit(name: &'static str, run: fn()) -> Operation {
    Operation {
        name,
        needs_permit: true,
        run,
    }
}

const fn of_breaker(name: &'static str, run: fn()) -> Operation {
    Operation {
        name,
        needs_permit: false,
        run,
    }
}

pub(crate) const ALL: [Operation; 14] = [
    of_breaker("acquire", acquire),
    of_permit("success", success),
    of_permit("failure", failure),
    of_permit("failure_with_retry_after", failure_with_retry_after),
    of_permit("cancel", cancel),
    of_breaker("state", state),
    of_breaker("snapshot", snapshot),
    of_breaker("trip", trip),
    of_breaker("trip_for", trip_for),
    of_breaker("force_open", force_open),
    of_breaker("release", release),
    of_breaker("reset", reset),
    of_breaker("restore", restore),
    of_permit("restore_after", restore_after),
];

#[inline(never)]
pub(crate) fn nothing() {
    black_box(());
}

#[inline(never)]
fn acquire() {
    if let Ok(permit) = black_box(device().acquire()) {
        forget(permit);
    }
}

#[inline(never)]
fn success() {
    permit().success();
}

#[inline(never)]
fn failure() {
    permit().failure();
}

#[inline(never)]
fn failure_with_retry_after() {
    permit().report(Failure::tripping_for(LONGEST));
}

/// Does as the drop of a permit does.
#[inline(never)]
fn cancel() {
    drop(permit());
}

#[inline(never)]
fn state() {
    black_box(device().state());
}

#[inline(never)]
fn snapshot() {
    black_box(look());
}

/// Also for the names of the cases.
#[inline(never)]
pub(crate) fn look() -> Snapshot {
    device().snapshot()
}

#[inline(never)]
fn trip() {
    device().trip();
}

#[inline(never)]
fn trip_for() {
    device().trip_for(LONGEST);
}

#[inline(never)]
fn force_open() {
    device().force_open();
}

#[inline(never)]
fn release() {
    device().release();
}

#[inline(never)]
fn reset() {
    device().reset();
}

#[inline(never)]
fn restore() {
    let _ = black_box(device().restore().is_ok());
}

#[inline(never)]
fn restore_after() {
    let asleep = Duration::from_secs(STARTED.load(Relaxed).into());
    let _ = black_box(device().restore_after(asleep).is_ok());
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shows why the exchange acquires, too, and not only the load before it: between the two, the word can change
//! and change back. Then the exchange meets the loaded bits, but another report wrote them, and writes before
//! that report must be visible as well. The model is bounded, as the four calls have too many orders.

use std::sync::Arc as Plain;
use std::sync::atomic::{AtomicU32 as Unmodelled, Ordering as Any};

use atomic_breaker::word::Word;
use atomic_breaker::{Breaker, Config, ManualClock, Observer, Transition};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use super::bounded;
use super::memory::{Deaf, LoomWord};

/// Keeps the last error at the time of the trip. The error is relaxed itself, so that loom
/// shows every value that the orderings of the word allow.
#[derive(Clone)]
struct Looks {
    last_error: Plain<AtomicU32>,
    seen: Plain<Unmodelled>,
}

impl Observer for Looks {
    fn transition(&self, _transition: &Transition) {
        let error = self.last_error.load(Ordering::Relaxed);
        self.seen.store(error, Any::Relaxed);
    }
}

/// One caller fails, succeeds and fails again, each failure with an error of its own; another caller
/// fails once. If that one trips because of the second error, it sees the second error. Returns the error it saw then.
fn the_other_fails_between<W: Word + Send + Sync + 'static>(word: W) -> Option<u32> {
    let looks = Looks {
        last_error: Plain::new(AtomicU32::new(0)),
        seen: Plain::new(Unmodelled::new(0)),
    };
    let config = Config::new().consecutive_failures(2);
    let breaker = Breaker::builder(config, ManualClock::new())
        .word(word)
        .observer(looks.clone())
        .build();
    let breaker = Arc::new(breaker);

    let other = breaker.clone();
    let three_calls = thread::spawn(move || {
        let looks = other.observer().clone();
        let first = other.acquire().unwrap();
        looks.last_error.store(1, Ordering::Relaxed);
        first.failure();
        other.acquire().ok()?.success();
        let second = other.acquire().ok()?;
        looks.last_error.store(2, Ordering::Relaxed);
        second.failure();
        // Still closed: this second failure was counted as the first of a row.
        Some(other.acquire().is_ok())
    });
    if let Ok(permit) = breaker.acquire() {
        permit.failure();
    }
    match three_calls.join().unwrap() {
        Some(true) => Some(looks.seen.load(Any::Relaxed)).filter(|seen| *seen != 0),
        _ => None,
    }
}

#[test]
fn a_report_that_trips_sees_the_error_behind_the_very_count_it_met() {
    let seen = bounded("changed and changed back", Some(3), || {
        the_other_fails_between(LoomWord::new())
    });
    assert_eq!(seen, [None, Some(2)].into());
}

#[test]
fn an_exchange_that_does_not_acquire_would_see_the_error_before() {
    let seen = bounded("control", Some(3), || {
        let deaf = Deaf::with(Ordering::Acquire, Ordering::Release, Ordering::Acquire);
        the_other_fails_between(deaf)
    });
    assert!(seen.contains(&Some(1)), "{seen:?}");
}

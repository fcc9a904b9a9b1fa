// SPDX-License-Identifier: MIT OR Apache-2.0
//! Epochs alias at exactly the documented limit.

use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Word};
use atomic_breaker::{Breaker, Config, Failure, ManualClock, State, Token};

/// Reports a closed permit as a failure after each number of transitions up to `most`.
fn transitions_after_which_a_closed_permit_counts(word: &impl Word, most: u32) -> Vec<u32> {
    let clock = ManualClock::new();
    let breaker = Breaker::over(word, Config::new(), &clock);
    let (granted, started) = breaker.acquire().unwrap().into_token().into_raw();
    let mut counts = Vec::new();
    for transitions in 1..=most {
        breaker.reset();
        breaker
            .resume(Token::from_raw(granted, started))
            .report(Failure::with_weight(1));
        if breaker.snapshot().failures() != 0 {
            counts.push(transitions);
            breaker.acquire().unwrap().success();
        }
    }
    counts
}

#[test]
fn a_closed_permit_is_mistaken_for_a_current_one_after_exactly_the_documented_transitions() {
    let narrow = transitions_after_which_a_closed_permit_counts(&AtomicU32::new(0), 40);
    assert_eq!(narrow, [16, 32]);
    let wide = transitions_after_which_a_closed_permit_counts(&AtomicU64::new(0), 1_100);
    assert_eq!(wide, [512, 1_024]);
}

/// The way in which a breaker became half-open when the probe that hangs was admitted.
#[derive(Clone, Copy)]
enum By {
    /// By a release: there are no trips in a row, neither now nor later.
    Release,
    /// By a trip: there is one trip in a row now, and none later.
    Trip,
}

/// A probe hangs during `transitions`, the last of which makes the breaker half-open again; after `pause`
/// another probe is admitted. Returns whether the late success closes.
fn a_late_probe_closes(word: &impl Word, by: By, transitions: u32, pause: Duration) -> bool {
    let clock = ManualClock::starting_at(1_024);
    let config = Config::new().open_for(Duration::ZERO);
    let breaker = Breaker::over(word, config, &clock);
    match by {
        By::Release => {
            breaker.force_open();
            breaker.release();
        }
        By::Trip => {
            breaker.trip();
        }
    }
    let hanging = breaker.acquire().unwrap().into_token();
    for _ in 0..transitions - 2 {
        breaker.reset();
    }
    breaker.force_open();
    breaker.release();
    clock.advance(pause);
    let current = breaker.acquire().unwrap();
    breaker.resume(hanging).success();
    let closed = breaker.state() == State::Closed;
    current.cancel();
    closed
}

#[test]
fn a_probe_is_mistaken_for_a_current_one_only_if_epoch_trips_and_time_match() {
    let wrap = Duration::from_millis(64 << 15);
    let tick = Duration::from_millis(64);
    let narrow =
        |by, transitions, pause| a_late_probe_closes(&AtomicU32::new(0), by, transitions, pause);
    assert!(narrow(By::Release, 16, wrap), "the documented alias");
    assert!(!narrow(By::Release, 16, wrap + tick));
    assert!(!narrow(By::Release, 16, tick));
    assert!(!narrow(By::Trip, 16, wrap));
    for transitions in (2..16).chain(17..32) {
        assert!(!narrow(By::Release, transitions, wrap), "{transitions}");
    }

    let wrap = Duration::from_millis(1 << 32);
    let tick = Duration::from_millis(1);
    let wide =
        |by, transitions, pause| a_late_probe_closes(&AtomicU64::new(0), by, transitions, pause);
    assert!(wide(By::Release, 512, wrap), "the documented alias");
    assert!(!wide(By::Release, 512, wrap + tick));
    assert!(!wide(By::Release, 512, tick));
    assert!(!wide(By::Trip, 512, wrap));
    for transitions in (2..512).chain(513..1_024) {
        assert!(!wide(By::Release, transitions, wrap), "{transitions}");
    }
}

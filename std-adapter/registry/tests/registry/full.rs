//! A registry without room: the breaker that its callers share, and when it looks for room again.

use std::time::Duration;

use atomic_breaker_registry::{AnyPermit, Failure, ManualClock, Outcome, WhenFull};

use super::{MS, SECOND, build, fail, full, succeed};

#[test]
fn a_late_failure_does_not_free_the_slot_of_a_probe_of_the_shared_breaker() {
    let clock = ManualClock::new();
    let keys = build(&clock)
        .capacity(1)
        .when_full(WhenFull::Share)
        .build()
        .unwrap();
    // Begins before the registry is full.
    let late = keys.acquire(1).unwrap();
    keys.command(&0, |breaker| breaker.force_open()).unwrap();
    fail(&keys, 2);
    fail(&keys, 2);
    assert!(keys.acquire(2).is_err(), "the shared breaker is open");
    clock.advance(10 * SECOND + 101 * MS);
    let probe = keys.acquire(2).unwrap();
    assert!(probe.is_probe());
    assert!(keys.acquire(3).is_err(), "one probe at a time");
    late.report(Failure::new().into());
    assert!(keys.acquire(3).is_err(), "the probe is still under way");
    probe.report(Outcome::Success);
    assert!(keys.acquire(3).is_ok());
}

#[test]
fn a_registry_that_was_full_and_then_idle_for_long_looks_for_room_again() {
    for idle_ms in [101, 1 << 30, 1 << 31, (1 << 31) + 1_000, 3 << 30] {
        let clock = ManualClock::new();
        let keys = full(&clock, WhenFull::Reject);
        fail(&keys, 1);
        assert!(!succeed(&keys, 1), "full");
        keys.command(&0, |breaker| breaker.reset()).unwrap();
        clock.advance(Duration::from_millis(idle_ms));
        assert!(succeed(&keys, 1), "after {idle_ms} ms");
    }
}

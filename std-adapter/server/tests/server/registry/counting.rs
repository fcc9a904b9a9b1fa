// SPDX-License-Identifier: MIT OR Apache-2.0
//! The answers of a permit about its report before it is made.

use atomic_breaker_server::{
    AnyPermit, Config, Failure, Guard, ManualClock, Outcome, Registry, State, WhenFull,
};

use super::{MS, SECOND, build, fail, full, succeed};

#[test]
fn a_permit_counts_until_the_state_of_its_key_changes() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    // The key has no slot until it fails.
    let [before, other] = [(); 2].map(|()| keys.of(1).acquire().unwrap());
    assert!(before.still_counts());
    other.report(Failure::new().into());
    let after = keys.of(1).acquire().unwrap();
    assert!(before.still_counts() && after.still_counts());
    fail(&keys, 1);
    assert!(!before.still_counts() && !after.still_counts());
    clock.advance(10 * SECOND);
    let probe = keys.of(1).acquire().unwrap();
    assert!(probe.is_probe() && probe.still_counts() && !after.still_counts());
    clock.advance(30 * SECOND);
    let next = keys.of(1).acquire().unwrap();
    assert!(
        next.still_counts() && !probe.still_counts(),
        "it lost its slot"
    );
}

#[test]
fn a_permit_does_not_count_for_the_next_key_of_its_slot() {
    let clock = ManualClock::new();
    let keys = build(&clock).capacity(1).build().unwrap();
    fail(&keys, 1);
    let late = keys.of(1).acquire().unwrap();
    assert!(late.still_counts());
    succeed(&keys, 1);
    fail(&keys, 2);
    assert!(keys.entry(&1).is_none() && !late.still_counts());
}

/// The time that a call waited for something else, such as an upload of its caller or a repair, does not count as time
/// of the host.
#[test]
fn a_call_of_a_key_that_is_started_again_is_not_slow() {
    let clock = ManualClock::new();
    let rules = Config::new()
        .consecutive_failures(2)
        .open_for(10 * SECOND)
        .slow_call(2 * SECOND);
    let keys: Registry<u32, _> = Registry::builder(rules).clock(&clock).build().unwrap();
    let slow = |is_renewed: bool| {
        let mut permit = keys.of(1).acquire().unwrap();
        clock.advance(3 * SECOND);
        assert!(!is_renewed || permit.renew());
        clock.advance(SECOND);
        permit.report(Outcome::Success);
    };
    // Without a slot, and with one.
    for _ in 0..5 {
        slow(true);
    }
    assert!(keys.entry(&1).is_none());
    slow(false);
    assert_eq!(keys.entry(&1).unwrap().snapshot.failures(), 1);
    slow(true);
    assert_eq!(keys.entry(&1).unwrap().snapshot.failures(), 0);
    // The probe of one that is open.
    slow(false);
    slow(false);
    assert_eq!(keys.state(&1), State::Open);
    clock.advance(10 * SECOND);
    slow(true);
    assert_eq!(keys.state(&1), State::Closed);
}

#[test]
fn a_call_whose_report_would_not_count_is_not_started_again() {
    let clock = ManualClock::new();
    let keys = build(&clock).capacity(1).build().unwrap();
    fail(&keys, 1);
    let mut late = keys.of(1).acquire().unwrap();
    succeed(&keys, 1);
    fail(&keys, 2);
    assert!(
        !late.renew(),
        "the slot has changed hands to a key that fails"
    );
    let mut before = keys.of(2).acquire().unwrap();
    fail(&keys, 2);
    assert!(!before.renew(), "it has opened");
}

#[test]
fn a_call_that_passes_in_shadow_mode_does_not_count() {
    let clock = ManualClock::new();
    let keys = full(&clock, WhenFull::Reject);
    keys.enforcement().set_percent(0).unwrap();
    let shadowed = keys.of(0).acquire().unwrap();
    assert!(!shadowed.still_counts());
}

/// A failure that trips at once changes the state whenever it counts.
#[test]
fn what_permits_say_is_what_their_reports_do() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let (mut counted, mut stale) = (0, 0);
    for _ in 0..200 {
        let clock = ManualClock::new();
        let keys = build(&clock).capacity(2).build().unwrap();
        let mut permits = Vec::new();
        for _ in 0..200 {
            let key = dice.u32(0..4);
            match dice.u32(0..10) {
                0..4 => permits.extend(keys.of(key).acquire()),
                4 => clock.advance(MS * dice.u32(0..20_000)),
                5 => drop(keys.command(&key, |breaker| match dice.u32(0..4) {
                    0 => breaker.trip(),
                    1 => breaker.disable(),
                    2 => breaker.enable(),
                    _ => breaker.reset(),
                })),
                6 => {
                    succeed(&keys, key);
                }
                _ if permits.is_empty() => {}
                7 => permits.swap_remove(dice.usize(0..permits.len())).cancel(),
                8 => {
                    let permit = permits.swap_remove(dice.usize(0..permits.len()));
                    permit.report(Outcome::Success);
                }
                _ => {
                    let permit = permits.swap_remove(dice.usize(0..permits.len()));
                    let (counts, unguarded) = (permit.still_counts(), keys.stats().unguarded);
                    let made = permit.report(Failure::tripping().into());
                    let found_room = keys.stats().unguarded == unguarded;
                    assert_eq!(made.is_some(), counts && found_room, "{made:?}");
                    counted += u32::from(counts);
                    stale += u32::from(!counts);
                }
            }
        }
    }
    println!("{counted} counted, {stale} did not");
    assert!(counted > 100 && stale > 100);
}

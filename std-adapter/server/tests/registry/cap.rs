// SPDX-License-Identifier: MIT OR Apache-2.0
//! So many keys are shut out at a time.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use atomic_breaker_server::{
    AnyPermit, Clock, Guard, KeyedObserver, ManualClock, Outcome, RegistryError, Rejected, State,
    WhenFull,
};

use super::threads::{Random, seed};
use super::{Keys, MS, RULES, SECOND, build, fail, succeed};

/// So many keys are open, from 0 on, and it is noticed.
fn down(keys: &Keys<'_, impl KeyedObserver<u32>>, clock: &ManualClock, hosts: u32) {
    for host in 0..hosts {
        fail(keys, host);
        fail(keys, host);
        assert_eq!(keys.state(&host), State::Open);
    }
    clock.advance(100 * MS);
}

const CALLS: u32 = 20_000;

/// How many of so many calls pass, to keys below that; none of them is reported.
fn passed(keys: &Keys<'_, impl KeyedObserver<u32>>, random: &mut Random, hosts: u32) -> u32 {
    passing(|| {
        let permit = keys.of(random.below(hosts.into()) as u32).acquire();
        permit.is_ok_and(|permit| {
            assert!(!permit.is_admitted());
            permit.report(Outcome::Success);
            true
        })
    })
}

/// How many of so many calls of a key pass.
fn passed_of(keys: &Keys<'_>, key: u32) -> u32 {
    passing(|| keys.of(key).acquire().is_ok())
}

fn passing(mut passes: impl FnMut() -> bool) -> u32 {
    (0..CALLS).map(|_| u32::from(passes())).sum()
}

fn random() -> Random {
    let seed = seed();
    println!("BREAKER_SEED={seed}");
    Random(seed | 1)
}

#[track_caller]
fn about(passed: u32, expected: f64) {
    let share = f64::from(passed) / f64::from(CALLS);
    // Seven standard deviations.
    assert!((share - expected).abs() < 0.025, "{share}, not {expected}");
}

#[test]
fn above_the_cap_the_share_of_calls_rejected_matches_the_cap() {
    let mut random = random();
    for (hosts, most, share) in [
        (10, 5, 0.5),
        (20, 5, 0.75),
        (6, 5, 1.0 / 6.0),
        (40, 1, 0.975),
    ] {
        let clock = ManualClock::new();
        let keys = build(&clock).max_shut_out(most).build().unwrap();
        down(&keys, &clock, hosts);
        about(passed(&keys, &mut random, hosts), share);
        for host in 0..hosts {
            about(passed_of(&keys, host), share);
            assert_eq!(keys.state(&host), State::Open, "nothing is reported");
        }
    }
}

#[test]
fn up_to_the_cap_every_rejection_is_enforced() {
    let mut random = random();
    for (hosts, most) in [(5, 5), (1, 1), (10, usize::MAX)] {
        let clock = ManualClock::new();
        let keys = build(&clock).max_shut_out(most).build().unwrap();
        down(&keys, &clock, hosts);
        assert_eq!(passed(&keys, &mut random, hosts), 0);
    }
}

#[test]
fn a_key_that_is_forced_open_rejects_every_call_and_does_not_count() {
    let clock = ManualClock::new();
    let keys = build(&clock).max_shut_out(5).build().unwrap();
    for key in 100..120 {
        keys.command(&key, |breaker| breaker.force_open()).unwrap();
    }
    down(&keys, &clock, 5);
    assert!((0..5).all(|host| passed_of(&keys, host) == 0), "five");
    for host in 5..10 {
        fail(&keys, host);
        fail(&keys, host);
    }
    clock.advance(100 * MS);
    about(passed_of(&keys, 7), 0.5);
    assert!((100..120).all(|key| passed_of(&keys, key) == 0));
}

#[test]
fn hosts_recover_through_probes_and_the_others_are_shut_out_again() {
    let clock = ManualClock::new();
    let keys = build(&clock).max_shut_out(5).build().unwrap();
    down(&keys, &clock, 10);
    clock.advance(10 * SECOND);
    for host in 0..4 {
        let probe = keys.of(host).acquire().unwrap();
        assert!(probe.is_probe());
        probe.report(Outcome::Success);
        assert_eq!(keys.state(&host), State::Closed);
    }
    // Six of which the next call is a probe, which fails; then too many again, until one more is well.
    for host in 4..10 {
        fail(&keys, host);
        assert_eq!(keys.state(&host), State::Open);
    }
    clock.advance(100 * MS);
    about(passed_of(&keys, 9), 1.0 / 6.0);
    keys.command(&4, |breaker| breaker.reset()).unwrap();
    clock.advance(100 * MS);
    assert!((5..10).all(|host| passed_of(&keys, host) == 0));
    assert!((0..5).all(|host| succeed(&keys, host)));
}

#[test]
fn keys_that_are_no_longer_called_do_not_count_once_they_are_due() {
    let clock = ManualClock::new();
    let keys = build(&clock).max_shut_out(5).build().unwrap();
    down(&keys, &clock, 50);
    clock.advance(10 * SECOND);
    for host in 100..105 {
        fail(&keys, host);
        fail(&keys, host);
    }
    clock.advance(100 * MS);
    assert!((100..105).all(|host| passed_of(&keys, host) == 0));
}

#[test]
fn half_open_keys_count_while_their_probes_are_under_way() {
    let clock = ManualClock::new();
    let keys = build(&clock).max_shut_out(5).build().unwrap();
    down(&keys, &clock, 10);
    clock.advance(10 * SECOND);
    let probes: Vec<_> = (0..10)
        .map(|host| keys.of(host).acquire().unwrap())
        .collect();
    assert!(probes.iter().all(AnyPermit::is_probe));
    about(passed_of(&keys, 3), 0.5);
}

#[test]
fn a_key_that_returns_gradually_counts_by_the_share_that_it_rejects() {
    let clock = ManualClock::new();
    let keys = build(&clock).max_shut_out(1).build().unwrap();
    keys.set_config(RULES.gradual_return(10, 10 * SECOND))
        .unwrap();
    down(&keys, &clock, 10);
    clock.advance(10 * SECOND);
    for host in 0..10 {
        assert!(succeed(&keys, host));
        assert_eq!(keys.state(&host), State::Returning);
    }
    clock.advance(5 * SECOND);
    let returning = keys
        .entry(&0)
        .unwrap()
        .snapshot
        .returning_percent()
        .unwrap();
    let rejected = 1.0 - f64::from(returning) / 100.0;
    assert!((0.2..0.8).contains(&rejected), "{rejected}");
    // As many as if one of ten were shut out.
    about(passed_of(&keys, 3), 0.9);
}

/// How many rejections were enforced, and how many were not.
#[derive(Default)]
struct Counts([AtomicU32; 2]);

impl KeyedObserver<u32> for Counts {
    fn rejected(&self, _: &u32, _: Rejected) {
        self.0[0].fetch_add(1, Ordering::Relaxed);
    }
    fn would_reject(&self, _: &u32, _: Rejected) {
        self.0[1].fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn observers_are_notified_of_calls_that_pass_as_in_shadow_mode() {
    let mut random = random();
    let clock = ManualClock::new();
    let keys = build(&clock).max_shut_out(5).observer(Counts::default());
    let keys = keys.build().unwrap();
    down(&keys, &clock, 10);
    let passed = passed(&keys, &mut random, 10);
    let [enforced, shadowed] = keys
        .observer()
        .0
        .each_ref()
        .map(|count| count.load(Ordering::Relaxed));
    assert_eq!((enforced, shadowed), (CALLS - passed, passed));
}

#[test]
fn with_a_share_enforced_as_well_the_smaller_one_applies() {
    let mut random = random();
    let clock = ManualClock::new();
    let keys = build(&clock).max_shut_out(5).build().unwrap();
    down(&keys, &clock, 10);
    for (percent, share) in [(100, 0.5), (60, 0.5), (50, 0.5), (20, 0.8), (0, 1.0)] {
        keys.enforcement().set_percent(percent).unwrap();
        about(passed(&keys, &mut random, 10), share);
    }
}

#[test]
fn many_slots_are_counted_one_block_after_another() {
    const HOSTS: u32 = 20_000;
    let mut random = random();
    let clock = ManualClock::new();
    let keys = build(&clock)
        .capacity(HOSTS as usize)
        .max_shut_out(HOSTS as usize / 4);
    let keys = keys.build().unwrap();
    down(&keys, &clock, HOSTS);
    // Within a second, of the ten that they are open.
    for _ in 0..20 {
        let _ = keys.of(random.below(HOSTS.into()) as u32).acquire();
        clock.advance(51 * MS);
    }
    about(passed(&keys, &mut random, HOSTS), 0.75);
    // And again when they are well.
    for host in 0..HOSTS {
        if host % 4 != 0 {
            keys.command(&host, |breaker| breaker.reset()).unwrap();
        }
    }
    for _ in 0..20 {
        let _ = keys
            .of(4 * random.below(u64::from(HOSTS) / 4) as u32)
            .acquire();
        clock.advance(51 * MS);
    }
    assert!(passed_of(&keys, 4) == 0);
}

#[test]
fn what_threads_count_at_the_same_time_adds_up() {
    const HOSTS: u32 = 8_000;
    let clock = ManualClock::new();
    let keys = build(&clock).capacity(HOSTS as usize).max_shut_out(2);
    let keys = keys.build().unwrap();
    let seed = seed();
    println!("BREAKER_SEED={seed}");
    thread::scope(|scope| {
        for number in 1..=4 {
            let (keys, clock) = (&keys, &clock);
            scope.spawn(move || {
                let mut random = Random((seed ^ number) | 1);
                for _ in 0..30_000 {
                    let host = random.below(HOSTS.into()) as u32;
                    match random.below(20) {
                        0 => {
                            let _ = keys.command(&host, |breaker| breaker.reset());
                        }
                        1 => clock.advance(50 * MS),
                        _ => fail(keys, host),
                    }
                }
            });
        }
    });
    for host in 0..HOSTS {
        let _ = keys.command(&host, |breaker| breaker.reset());
    }
    for host in [1, 2] {
        keys.command(&host, |breaker| breaker.trip()).unwrap();
    }
    // A rejection in each of these steps counts one of eight blocks, enforced or not.
    for _ in 0..8 {
        clock.advance(SECOND);
        let _ = keys.of(1).acquire();
    }
    assert!(passed_of(&keys, 1) == 0, "two are open");
    keys.command(&3, |breaker| breaker.trip()).unwrap();
    for _ in 0..8 {
        clock.advance(100 * MS);
        let _ = keys.of(3).acquire();
    }
    about(passed_of(&keys, 3), 1.0 / 3.0);
}

#[test]
fn counting_continues_after_the_clock_wraps_or_stands_still() {
    for start in [0, u32::MAX - 50, u32::MAX - 10_150, 1 << 31] {
        let clock = ManualClock::starting_at(start);
        let keys = build(&clock).max_shut_out(1).build().unwrap();
        for idle in [
            100 * MS,
            20 * SECOND,
            SECOND * (1 << 20),
            SECOND * (1 << 21),
        ] {
            clock.advance(idle);
            down(&keys, &clock, 4);
            about(passed_of(&keys, 2), 0.75);
            for host in 0..4 {
                keys.command(&host, |breaker| breaker.reset()).unwrap();
            }
            assert!(clock.now_ms() != start);
        }
    }
}

#[test]
fn calls_of_keys_without_a_slot_are_capped_as_well() {
    let clock = ManualClock::new();
    let keys = build(&clock)
        .capacity(10)
        .when_full(WhenFull::Reject)
        .max_shut_out(5);
    let keys = keys.build().unwrap();
    down(&keys, &clock, 10);
    fail(&keys, 50);
    about(passed_of(&keys, 50), 0.5);
}

#[test]
fn a_cap_of_no_key_is_an_error_that_says_what_to_do() {
    let clock = ManualClock::new();
    let error = build(&clock).max_shut_out(0).build().unwrap_err();
    assert_eq!(error, RegistryError::NoneShutOut);
    assert!(error.to_string().contains("at least 1"), "{error}");
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! So many keys are shut out at a time: those that went down first.

use std::sync::atomic::{AtomicU32, Ordering};

use atomic_breaker_server::{
    AnyPermit, Guard, KeyedObserver, ManualClock, Outcome, RegistryError, Rejected, State,
};

use super::threads::{Random, seed};
use super::{Keys, MS, RULES, SECOND, build, fail, succeed};

/// These keys go down, one after the other.
pub(super) fn down(
    keys: &Keys<'_, impl KeyedObserver<u32>>,
    hosts: impl IntoIterator<Item = u32>,
) -> Vec<u32> {
    let open = |host: &u32| {
        fail(keys, *host);
        fail(keys, *host);
        assert_eq!(keys.state(host), State::Open);
    };
    hosts.into_iter().inspect(open).collect()
}

fn is_shut_out(keys: &Keys<'_, impl KeyedObserver<u32>>, key: u32) -> bool {
    let permit = keys.of(key).acquire();
    permit.map_or(true, |permit| {
        assert!(!permit.is_admitted());
        permit.report(Outcome::Success);
        false
    })
}

/// All calls of the first so many are rejected, and all of the others pass.
#[track_caller]
pub(super) fn first_are_shut_out(
    keys: &Keys<'_, impl KeyedObserver<u32>>,
    order: &[u32],
    most: usize,
) {
    let mut random = random();
    for _ in 0..100 {
        let at = random.below(order.len() as u64) as usize;
        assert_eq!(is_shut_out(keys, order[at]), at < most, "{at} of {order:?}");
    }
    assert!(order.iter().all(|key| keys.state(key) == State::Open));
}

fn random() -> Random {
    let seed = seed();
    println!("BREAKER_SEED={seed}");
    Random(seed | 1)
}

fn shuffled(random: &mut Random, hosts: u32) -> Vec<u32> {
    let mut order: Vec<u32> = (0..hosts).collect();
    for end in (1..order.len()).rev() {
        order.swap(end, random.below(end as u64 + 1) as usize);
    }
    order
}

#[test]
fn all_calls_of_those_that_went_down_last_pass() {
    let mut random = random();
    for (hosts, most) in [(10, 5), (20, 5), (6, 5), (40, 1), (5, 5), (1, 1), (10, 99)] {
        let clock = ManualClock::new();
        let keys = build(&clock).max_shut_out(most).build().unwrap();
        let order = down(&keys, shuffled(&mut random, hosts));
        first_are_shut_out(&keys, &order, most);
    }
}

/// With a lot for each rejection a quarter was rejected by both.
#[test]
fn no_caller_that_tries_both_replicas_is_rejected_by_both() {
    let mut random = random();
    let clock = ManualClock::new();
    let keys = build(&clock).max_shut_out(1).build().unwrap();
    down(&keys, [1, 2]);
    for _ in 0..10_000 {
        let first = 1 + random.below(2) as u32;
        let served = [first, 3 - first].map(|replica| keys.of(replica).acquire().is_ok());
        assert_ne!(served, [false; 2]);
        clock.advance(MS);
    }
}

#[test]
fn a_key_that_is_forced_open_rejects_every_call_and_does_not_count() {
    let clock = ManualClock::new();
    let keys = build(&clock).max_shut_out(5).build().unwrap();
    for key in 100..120 {
        keys.command(&key, |breaker| breaker.force_open()).unwrap();
    }
    let order = down(&keys, 0..10);
    first_are_shut_out(&keys, &order, 5);
    assert!((100..120).all(|key| keys.of(key).acquire().is_err()));
    // One that has been shut out so far.
    keys.command(&3, |breaker| breaker.force_open()).unwrap();
    first_are_shut_out(&keys, &[0, 1, 2, 4, 5, 6, 7, 8, 9], 5);
    assert!(keys.of(3).acquire().is_err());
}

#[test]
fn the_next_one_is_shut_out_when_another_is_closed() {
    let clock = ManualClock::new();
    let keys = build(&clock).max_shut_out(5).build().unwrap();
    down(&keys, 0..10);
    clock.advance(10 * SECOND);
    for host in 0..4 {
        let probe = keys.of(host).acquire().unwrap();
        assert!(probe.is_probe());
        probe.report(Outcome::Success);
        assert_eq!(keys.state(&host), State::Closed);
    }
    // Six of which the next call is a probe, which fails, whatever the order.
    for host in (4..10).rev() {
        fail(&keys, host);
        assert_eq!(keys.state(&host), State::Open);
    }
    first_are_shut_out(&keys, &[4, 5, 6, 7, 8, 9], 5);
    keys.command(&4, |breaker| breaker.reset()).unwrap();
    first_are_shut_out(&keys, &[5, 6, 7, 8, 9], 5);
    assert!((0..5).all(|host| succeed(&keys, host)));
}

/// Otherwise the dead replica would get all calls each time it has failed its probe, and the other one none.
#[test]
fn a_probe_that_fails_does_not_change_the_order() {
    let clock = ManualClock::new();
    let keys = build(&clock).max_shut_out(1).build().unwrap();
    down(&keys, [1]);
    clock.advance(5 * SECOND);
    down(&keys, [2]);
    for _ in 0..20 {
        clock.advance(5 * SECOND);
        let probe = keys.of(1).acquire().unwrap();
        assert!(probe.is_probe());
        assert!(keys.of(1).acquire().is_err(), "while it is under way");
        assert!(!is_shut_out(&keys, 2));
        probe.report(atomic_breaker_server::Failure::new().into());
        first_are_shut_out(&keys, &[1, 2], 1);
        clock.advance(5 * SECOND);
        fail(&keys, 2);
    }
}

#[test]
fn keys_that_are_no_longer_called_do_not_count() {
    let clock = ManualClock::new();
    let keys = build(&clock).max_shut_out(5).build().unwrap();
    let gone = down(&keys, 0..50);
    clock.advance(15 * SECOND);
    let order = down(&keys, 100..103);
    assert!(!order.iter().any(|&host| is_shut_out(&keys, host)), "yet");
    // As long again as they were open.
    clock.advance(5 * SECOND);
    first_are_shut_out(&keys, &order, 5);
    // They are called again.
    for host in gone {
        fail(&keys, host);
    }
    assert!((0..5).all(|host| is_shut_out(&keys, host)));
    assert!(!order.iter().any(|&host| is_shut_out(&keys, host)));
}

#[test]
fn half_open_keys_count_while_their_probes_are_under_way() {
    let clock = ManualClock::new();
    let keys = build(&clock).max_shut_out(5).build().unwrap();
    down(&keys, 0..10);
    clock.advance(10 * SECOND);
    let mut probes: Vec<_> = (0..10)
        .map(|host| keys.of(host).acquire().unwrap())
        .collect();
    assert!(probes.iter().all(AnyPermit::is_probe));
    assert!((0..10).all(|host| is_shut_out(&keys, host) == (host < 5)));
    // A probe that leaves no report, and no other one follows.
    drop(probes.remove(0));
    clock.advance(100 * MS);
    assert!((1..10).all(|host| is_shut_out(&keys, host) == (host < 6)));
}

#[test]
fn a_key_that_returns_gradually_counts_until_all_its_calls_pass() {
    let clock = ManualClock::new();
    let keys = build(&clock).max_shut_out(1).build().unwrap();
    keys.set_config(RULES.gradual_return(10, 10 * SECOND))
        .unwrap();
    down(&keys, [1]);
    clock.advance(10 * SECOND);
    assert!(succeed(&keys, 1));
    assert_eq!(keys.state(&1), State::Returning);
    down(&keys, [2]);
    clock.advance(SECOND);
    let rejected = (0..1_000).filter(|_| keys.of(1).acquire().is_err());
    assert!((500..950).contains(&rejected.count()));
    assert!(!is_shut_out(&keys, 2));
    clock.advance(8 * SECOND + 990 * MS);
    assert_eq!(keys.state(&1), State::Returning);
    clock.advance(10 * MS);
    fail(&keys, 2);
    fail(&keys, 2);
    assert!(is_shut_out(&keys, 2));
}

/// The number of rejections that were enforced, and of those that were not.
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
    let clock = ManualClock::new();
    let keys = build(&clock).max_shut_out(5).observer(Counts::default());
    let keys = keys.build().unwrap();
    down(&keys, 0..10);
    let passed = (0..1_000).filter(|call| !is_shut_out(&keys, call % 10));
    assert_eq!(passed.count(), 500);
    let counts = keys.observer().0.each_ref();
    let counts = counts.map(|count| count.load(Ordering::Relaxed));
    assert_eq!(counts, [500, 500]);
}

#[test]
fn with_a_share_enforced_as_well_it_is_that_of_the_keys_that_are_shut_out() {
    let clock = ManualClock::new();
    let keys = build(&clock).max_shut_out(5).build().unwrap();
    down(&keys, 0..10);
    for percent in [100_u8, 60, 0] {
        keys.enforcement().set_percent(percent).unwrap();
        let calls = |hosts: fn(u32) -> bool| {
            (0..40_000)
                .map(|call| call % 10)
                .filter(move |&it| hosts(it))
        };
        assert!(!calls(|host| host >= 5).any(|host| is_shut_out(&keys, host)));
        let shut_out = calls(|host| host < 5).filter(|&host| is_shut_out(&keys, host));
        // Of 20,000: seven standard deviations.
        let expected = 200 * usize::from(percent);
        let shut_out = shut_out.count();
        assert!(
            shut_out.abs_diff(expected) < 500,
            "{shut_out}, not {expected}"
        );
    }
}

#[test]
fn a_cap_of_no_key_is_an_error_that_says_what_to_do() {
    let clock = ManualClock::new();
    let error = build(&clock).max_shut_out(0).build().unwrap_err();
    assert_eq!(error, RegistryError::NoneShutOut);
    assert!(error.to_string().contains("at least 1"), "{error}");
    for percent in [0, 101] {
        let error = build(&clock).max_shut_out_percent(percent).build();
        let error = error.unwrap_err();
        assert_eq!(error, RegistryError::ShutOutPercent);
        assert!(error.to_string().contains("1 to 100 percent"), "{error}");
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! A share of the keys that are called is shut out at a time.

use std::sync::Arc;
use std::thread;

use atomic_breaker_server::{
    AnyPermit, Control, Guard, KeyedObserver, LastCalls, ManualClock, Outcome, Ratio, Registry,
    State,
};

use super::threads::{Random, seed};
use super::{Keys, RULES, SECOND, build, fail, succeed};

/// The number of these keys that are shut out when all of them go down: the first ones.
fn shut_out(keys: &Keys<'_, impl KeyedObserver<u32>>, hosts: std::ops::Range<u32>) -> usize {
    for host in hosts.clone() {
        keys.command(&host, |breaker| breaker.trip()).unwrap();
    }
    let shut_out: Vec<_> = hosts
        .clone()
        .map(|host| keys.of(host).acquire().is_err())
        .collect();
    for host in hosts {
        keys.command(&host, |breaker| breaker.reset()).unwrap();
    }
    let first = shut_out.iter().take_while(|&&it| it).count();
    assert!(shut_out[first..].iter().all(|it| !it), "{shut_out:?}");
    first
}

#[test]
fn the_share_is_of_the_keys_that_are_called_and_rounded_down() {
    let clock = ManualClock::new();
    for (percent, hosts, most) in [
        (50, 10, 5),
        (50, 3, 1),
        (50, 2, 1),
        (50, 1, 1),
        (10, 30, 3),
        (10, 5, 1),
        (99, 10, 9),
        (100, 10, 10),
    ] {
        let keys = build(&clock).max_shut_out_percent(percent).build().unwrap();
        assert!((0..hosts).all(|host| succeed(&keys, host)));
        assert_eq!(keys.stats().keys, hosts as usize, "each has a slot");
        assert_eq!(shut_out(&keys, 0..hosts), most, "{percent} % of {hosts}");
    }
}

#[test]
fn a_number_and_a_share_replace_each_other() {
    let clock = ManualClock::new();
    let keys = build(&clock).max_shut_out(1).max_shut_out_percent(50);
    let keys = keys.build().unwrap();
    assert!((0..10).all(|host| succeed(&keys, host)));
    assert_eq!(shut_out(&keys, 0..10), 5);
    let keys = build(&clock).max_shut_out_percent(50).max_shut_out(1);
    let keys = keys.build().unwrap();
    assert!((0..10).all(|host| succeed(&keys, host)));
    assert_eq!((shut_out(&keys, 0..10), keys.stats().keys), (1, 10));
}

/// A pool whose hosts are replaced, twenty at a time, each under another key; one that is shut out is asked all the time.
#[test]
fn hosts_that_are_gone_no_longer_count() {
    const DEAD: u32 = u32::MAX;
    let clock = ManualClock::new();
    let keys = build(&clock).max_shut_out_percent(50).build().unwrap();
    let forever = |breaker: &dyn Control| breaker.trip_for(3_600 * SECOND);
    for generation in 0..30 {
        let hosts = 20 * generation..20 * (generation + 1);
        keys.command(&DEAD, |breaker| forever(breaker)).unwrap();
        for _ in 0..150 {
            assert!(hosts.clone().all(|host| succeed(&keys, host)));
            assert!(!succeed(&keys, DEAD));
            clock.advance(SECOND);
        }
        keys.command(&DEAD, |breaker| breaker.reset()).unwrap();
        assert_eq!(shut_out(&keys, hosts), 10, "of 21 in {generation}");
    }
}

#[test]
fn after_a_quiet_time_keys_count_from_their_next_call_on() {
    let clock = ManualClock::new();
    let keys = build(&clock).max_shut_out_percent(50).build().unwrap();
    assert!((0..40).all(|host| succeed(&keys, host)));
    for days in [1, 20] {
        clock.advance(SECOND * 86_400 * days);
        // The first rejection is that of the first one.
        let at_first = shut_out(&keys, 0..20);
        assert!((1..10).contains(&at_first), "{at_first}");
        assert!((0..20).all(|host| succeed(&keys, host)));
        assert_eq!(shut_out(&keys, 0..20), 10);
    }
}

#[test]
fn keys_that_are_shut_out_are_called() {
    let clock = ManualClock::new();
    let keys = build(&clock).max_shut_out_percent(50).build().unwrap();
    assert!((0..10).all(|host| succeed(&keys, host)));
    for host in 0..10 {
        keys.command(&host, |breaker| breaker.trip_for(3_600 * SECOND))
            .unwrap();
    }
    for _ in 0..600 {
        clock.advance(SECOND);
        assert!((0..10).all(|host| keys.of(host).acquire().is_err() == (host < 5)));
    }
}

#[test]
fn it_stays_so_under_rules_that_are_replaced() {
    let clock = ManualClock::new();
    let keys = build(&clock)
        .rules_by([(true, RULES)], |key: &u32| key.is_multiple_of(2))
        .max_shut_out_percent(50)
        .build()
        .unwrap();
    let other = RULES.consecutive_failures(1);
    keys.set_config(other).unwrap();
    keys.set_config_of_class(&true, other).unwrap();
    assert!((0..10).all(|host| succeed(&keys, host)));
    assert_eq!((keys.stats().keys, shut_out(&keys, 0..10)), (10, 5));
}

#[test]
fn a_closed_key_gives_way_to_others_although_it_is_known() {
    let clock = ManualClock::new();
    let keys = build(&clock).capacity(4).max_shut_out_percent(50);
    let keys = keys.build().unwrap();
    for host in 0..1_000 {
        assert!(succeed(&keys, host));
        if host.is_multiple_of(3) {
            fail(&keys, host);
            clock.advance(7 * SECOND);
        }
    }
    assert_eq!(keys.stats().keys, 4);
    assert_eq!(keys.stats().unguarded, 0);
    let names: Vec<u32> = keys.entries().map(|entry| *entry.key).collect();
    for &host in &names {
        keys.command(&host, |breaker| breaker.trip()).unwrap();
        let _ = keys.of(host).acquire();
    }
    let shut_out = names
        .iter()
        .filter(|&&host| keys.of(host).acquire().is_err());
    assert_eq!(shut_out.count(), 2);
}

/// A permit that is held while its key is not called keeps its place.
#[test]
fn reports_count_although_the_key_was_not_called_for_long() {
    let clock = ManualClock::new();
    let half = Ratio::percent(50).of_last(20).min_calls(2);
    let keys = Registry::<u32>::builder(RULES.failure_ratio(half).tally_only())
        .clock(&clock)
        .tally(LastCalls::new)
        .max_shut_out_percent(50)
        .build()
        .unwrap();
    let permits = [1, 1].map(|host| keys.of(host).acquire().unwrap());
    for other in 10..20 {
        clock.advance(70 * SECOND);
        drop(keys.of(other).acquire());
    }
    let made = permits.map(|permit| permit.report(atomic_breaker_server::Failure::new().into()));
    assert_eq!(made[1].map(|made| made.to), Some(State::Open));
    assert!(keys.entry(&1).is_some());
}

/// Keys come, go and are marked as not called, on eight threads, and no permit is lost.
#[test]
fn threads_call_keys_that_are_counted_meanwhile() {
    let clock = ManualClock::new();
    let keys = build(&clock).capacity(64).max_shut_out_percent(50);
    let keys = Arc::new(keys.build().unwrap());
    let seed = seed();
    println!("BREAKER_SEED={seed}");
    thread::scope(|scope| {
        for number in 1..=8_u64 {
            let (keys, clock) = (Arc::clone(&keys), &clock);
            scope.spawn(move || {
                let mut random = Random((seed ^ number) | 1);
                for _ in 0..20_000 {
                    // Those below 16 are called again and again, and succeed.
                    let hosts = [16, 200][random.below(2) as usize];
                    let host = random.below(hosts) as u32;
                    match random.below(40) {
                        0 => clock.advance(20 * SECOND),
                        1 => drop(keys.entry(&host)),
                        _ if host < 16 => assert!(succeed(&keys, host)),
                        _ => match keys.of(host).acquire() {
                            Ok(permit) => drop(permit.report(Outcome::Success)),
                            Err(rejection) => panic!("{rejection}"),
                        },
                    }
                }
            });
        }
    });
    assert!(keys.entries().all(|entry| entry.snapshot.failures() == 0));
}

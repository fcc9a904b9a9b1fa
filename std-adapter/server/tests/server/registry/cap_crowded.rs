// SPDX-License-Identifier: MIT OR Apache-2.0
//! So many keys are shut out at a time, where there are many slots, none left, several threads, or odd clocks.

use std::thread;

use atomic_breaker_server::{Clock, Guard, ManualClock, WhenFull};

use super::cap::{down, first_are_shut_out};
use super::threads::{Random, seed};
use super::{MS, SECOND, build, fail, succeed};

#[test]
fn many_slots_are_counted_in_steps() {
    const HOSTS: u32 = 20_000;
    let clock = ManualClock::new();
    let keys = build(&clock)
        .capacity(HOSTS as usize)
        .max_shut_out(HOSTS as usize / 4);
    let keys = keys.build().unwrap();
    let order = down(&keys, 0..HOSTS);
    // Of 4,096 slots each.
    let steps = || {
        for _ in 0..5 {
            let _ = keys.of(HOSTS - 1).acquire();
        }
    };
    steps();
    first_are_shut_out(&keys, &order, HOSTS as usize / 4);
    for host in 0..HOSTS / 2 {
        keys.command(&host, |breaker| breaker.reset()).unwrap();
    }
    steps();
    first_are_shut_out(&keys, &order[HOSTS as usize / 2..], HOSTS as usize / 4);
}

#[test]
fn what_threads_note_at_the_same_time_is_right_in_the_end() {
    const HOSTS: u32 = 64;
    let clock = ManualClock::new();
    let keys = build(&clock).max_shut_out(2).build().unwrap();
    let seed = seed();
    println!("BREAKER_SEED={seed}");
    for round in 0..20 {
        thread::scope(|scope| {
            for number in 1..=4 {
                let (keys, clock) = (&keys, &clock);
                scope.spawn(move || {
                    let mut random = Random((seed ^ (number + 4 * round)) | 1);
                    for _ in 0..2_000 {
                        let host = random.below(HOSTS.into()) as u32;
                        match random.below(20) {
                            0..3 => {
                                let _ = keys.command(&host, |breaker| breaker.reset());
                            }
                            3 => clock.advance(50 * MS),
                            4..7 => {
                                let _ = keys.of(host).acquire();
                            }
                            7..9 => drop(succeed(keys, host)),
                            _ => fail(keys, host),
                        }
                    }
                });
            }
        });
        for host in 0..HOSTS {
            keys.command(&host, |breaker| breaker.reset()).unwrap();
        }
        for host in [7, 3, 5] {
            keys.command(&host, |breaker| breaker.trip()).unwrap();
        }
        first_are_shut_out(&keys, &[7, 3, 5], 2);
    }
}

#[test]
fn it_holds_after_the_clock_wraps_or_stands_still() {
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
            let order = down(&keys, [2, 0, 1, 3]);
            first_are_shut_out(&keys, &order, 1);
            for host in 0..4 {
                keys.command(&host, |breaker| breaker.reset()).unwrap();
            }
            assert!(clock.now_ms() != start);
        }
    }
}

#[test]
fn keys_without_a_slot_are_the_last_ones() {
    let clock = ManualClock::new();
    for (most, passes) in [(5, true), (9, true), (10, false)] {
        let keys = build(&clock)
            .capacity(10)
            .when_full(WhenFull::Reject)
            .max_shut_out(most);
        let keys = keys.build().unwrap();
        down(&keys, 0..10);
        fail(&keys, 50);
        assert_eq!(keys.of(50).acquire().is_ok(), passes, "{most}");
    }
}

#[test]
fn a_key_that_loses_its_slot_does_not_count() {
    let clock = ManualClock::new();
    let keys = build(&clock).capacity(2).max_shut_out(1).build().unwrap();
    down(&keys, [1, 2]);
    clock.advance(20 * SECOND);
    // Both have been due for as long as they were open.
    let order = down(&keys, [3, 4]);
    first_are_shut_out(&keys, &order, 1);
    assert!(keys.entry(&1).is_none() && keys.entry(&2).is_none());
}

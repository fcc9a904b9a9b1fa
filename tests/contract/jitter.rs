// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jitter, so that a fleet that tripped together does not return in lockstep.

use std::collections::HashSet;
use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Word};
use atomic_breaker::{Breaker, Clock, Config, Failure, ManualClock, State};

use super::support::{AnyWord, breaker, ms, on_both_words, opened_for, rules};

fn jitter_lengthens_by_up_to_its_share_and_spreads<W: AnyWord>() {
    let clock = ManualClock::new();
    let open_for = 8_000_u64;
    let mut seen = HashSet::new();
    let mut upper_half = 0;
    for seed in 0..200 {
        let config = rules().open_for(ms(open_for)).jitter_percent(50).seed(seed);
        let breaker = breaker::<W>(config, &clock);
        breaker.trip();
        let drawn = opened_for(&breaker).as_millis() as u64;
        assert!((open_for..=open_for * 3 / 2).contains(&drawn), "{drawn}");
        upper_half += u32::from(drawn > open_for * 5 / 4);
        seen.insert(drawn);
    }
    assert!(seen.len() > 180, "{} of 200 differ", seen.len());
    assert!(
        (60..=140).contains(&upper_half),
        "{upper_half} of 200 in the upper half"
    );
}

/// Of a clock that only tells the time, and of one that also tells devices apart.
#[test]
fn numbers_that_a_clock_draws_by_default_are_all_different_and_evenly_spread() {
    // So many that one which came twice would not be missed.
    const COUNT: usize = 20_000;

    struct Bare;

    impl Clock for Bare {
        fn now_ms(&self) -> u32 {
            7
        }
    }

    struct Device;

    impl Clock for Device {
        fn now_ms(&self) -> u32 {
            7
        }

        fn entropy(&self) -> u32 {
            0x1234_5678
        }
    }

    assert_eq!(Bare.entropy(), 0, "devices differ only if they say so");
    for clock in [&Bare as &dyn Clock, &Device] {
        let drawn: HashSet<_> = (0..COUNT).map(|_| clock.random()).collect();
        assert_eq!(drawn.len(), COUNT);
        for bit in 0..u32::BITS {
            let ones = drawn
                .iter()
                .filter(|number| **number >> bit & 1 == 1)
                .count();
            assert!(
                (COUNT * 2 / 5..COUNT * 3 / 5).contains(&ones),
                "bit {bit}: {ones} of {COUNT}"
            );
        }
    }
}

fn jitter_is_the_same_for_the_same_seed_and_differs_from_trip_to_trip<W: AnyWord>() {
    let history = |seed| {
        let clock = ManualClock::new();
        let config = rules().open_for(ms(4_000)).jitter_percent(100).seed(seed);
        let breaker = breaker::<W>(config, &clock);
        breaker.trip();

        [(); 8].map(|()| {
            let time = opened_for(&breaker);
            clock.advance(time);
            breaker.acquire().unwrap().failure();
            time
        })
    };
    assert_eq!(history(1), history(1));
    assert_ne!(history(1), history(2));
    let different: HashSet<_> = history(1).into_iter().collect();
    assert_eq!(different.len(), 8, "{different:?}");
}

/// Whatever the clock reads: also just before it wraps, when all its high bits are set.
fn trips_within_one_millisecond_are_open_for_different_times<W: AnyWord>() {
    for start in [0, u32::MAX] {
        let clock = ManualClock::starting_at(start);
        let config = rules().open_for(ms(4_000)).jitter_percent(100).seed(3);
        let breaker = breaker::<W>(config, &clock);
        let drawn = [(); 8].map(|()| {
            breaker.trip();
            let time = opened_for(&breaker);
            breaker.reset();
            time
        });
        let different: HashSet<_> = drawn.into_iter().collect();
        assert_eq!(different.len(), 8, "at {start}: {drawn:?}");
    }
}

#[test]
fn without_a_seed_the_entropy_of_the_clock_makes_the_jitter() {
    struct Device(u32);
    impl Clock for Device {
        fn now_ms(&self) -> u32 {
            0
        }
        fn entropy(&self) -> u32 {
            self.0
        }
        // Constant, so that only the entropy makes the difference.
        fn random(&self) -> u32 {
            7
        }
    }
    let opened = |device, config: Config| {
        let breaker = Breaker::new(config.jitter_percent(50), Device(device));
        breaker.trip();
        breaker.snapshot().retry_in()
    };
    assert_ne!(opened(1, rules()), opened(2, rules()));
    assert_eq!(opened(1, rules()), opened(1, rules()));
    assert_eq!(opened(1, rules().seed(9)), opened(2, rules().seed(9)));
}

/// Without a seed as well, so that a test that names its times holds in every run.
#[test]
fn a_new_manual_clock_repeats_its_jitter_and_which_calls_pass() {
    struct Other;
    impl Clock for Other {
        fn now_ms(&self) -> u32 {
            0
        }
    }
    let config = rules()
        .jitter_percent(50)
        .gradual_return(4, Duration::from_secs(8));
    let history = || {
        let clock = ManualClock::new();
        let breaker = Breaker::new(config, &clock);
        let opened = [(); 8].map(|()| {
            breaker.trip();
            let time = opened_for(&breaker);
            clock.advance(time);
            time
        });
        breaker.acquire().unwrap().success();
        let passed = [(); 32].map(|()| breaker.acquire().is_ok());
        (opened, passed)
    };
    let (opened, passed) = history();
    assert!(passed.contains(&true) && passed.contains(&false));
    assert_eq!(HashSet::from(opened).len(), 8, "{opened:?}");
    // Another test may draw at any time.
    Other.random();
    assert_eq!(history(), (opened, passed));
}

fn jitter_lengthens_a_minimum_open_time<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().open_for(ms(1)).jitter_percent(100);
    let opened: HashSet<_> = (0..20)
        .map(|seed| {
            let breaker = breaker::<W>(config.seed(seed), &clock);
            breaker
                .acquire()
                .unwrap()
                .report(Failure::tripping_for(ms(4_096)));
            assert!(opened_for(&breaker) >= ms(4_096), "asked for");
            opened_for(&breaker)
        })
        .collect();
    assert!(
        opened.len() > 5,
        "a fleet with the same time to wait does not return in lockstep"
    );
}

on_both_words!(
    jitter_lengthens_by_up_to_its_share_and_spreads,
    jitter_is_the_same_for_the_same_seed_and_differs_from_trip_to_trip,
    trips_within_one_millisecond_are_open_for_different_times,
    jitter_lengthens_a_minimum_open_time,
);

/// Open for a minute, and up to three seconds more.
fn a_minute() -> Config {
    Config::new()
        .open_for(Duration::from_secs(60))
        .jitter_percent(5)
}

/// The different open times of breakers that trip at the same time, each within its bounds.
fn different<C: Clock, W: Word>(
    breakers: impl IntoIterator<Item = Breaker<C, W>>,
    longest: u32,
) -> usize {
    let drawn: HashSet<_> = breakers
        .into_iter()
        .map(|breaker| {
            let open = breaker.trip().unwrap().open_for_ms;
            assert!((60_000..=longest).contains(&open), "{open}");
            open
        })
        .collect();
    drawn.len()
}

/// A device that has just been switched on.
#[derive(Default)]
struct Device {
    entropy: u32,
}

impl Clock for Device {
    fn now_ms(&self) -> u32 {
        100_000
    }

    fn entropy(&self) -> u32 {
        self.entropy
    }

    fn random(&self) -> u32 {
        7
    }
}

/// 60 s are 938 ticks of 64 ms, and 5 % of them 46: there are 47 different times. Rounding to the small
/// float of the word once left two of them.
#[test]
fn a_thousand_devices_draw_as_many_times_as_ticks_allow() {
    let by_seed = (0..1_000).map(|seed| {
        let config = a_minute().seed(seed);
        Breaker::over(AtomicU32::new(0), config, Device::default())
    });
    let seeded = different(by_seed, 984 * 64);
    assert!(seeded >= 45, "{seeded} of 47");
    let by_entropy =
        (0..1_000).map(|entropy| Breaker::over(AtomicU32::new(0), a_minute(), Device { entropy }));
    let drawn = different(by_entropy, 984 * 64);
    assert!(drawn >= 45, "{drawn} of 47");
}

/// The seeds of a fleet are not random: serial numbers, addresses, powers of two.
#[test]
fn seeds_of_any_kind_spread() {
    type Seed = fn(u32) -> u32;
    let kinds: [(&str, Seed); 4] = [
        ("numbers", |n| n),
        ("high bytes", |n| n << 22),
        ("addresses", |n| 0x2000_0000 + n * 64),
        ("inverted", |n| !n),
    ];
    for (kind, seed) in kinds {
        let narrow = (0..1_000).map(|n| {
            let config = a_minute().seed(seed(n));
            Breaker::over(AtomicU32::new(0), config, Device::default())
        });
        let drawn = different(narrow, 984 * 64);
        assert!(drawn >= 45, "{drawn} of 47 by {kind}");
        let wide = (0..1_000).map(|n| {
            let config = a_minute().seed(seed(n));
            Breaker::over(AtomicU64::new(0), config, Device::default())
        });
        // 850 different ones of the 3,001 times are expected.
        let drawn = different(wide, 63_000);
        assert!(drawn >= 780, "{drawn} of 1,000 by {kind}");
    }
}

/// All of them belong to one program, have one clock, and trip at one moment.
#[test]
fn a_hundred_breakers_of_a_process_that_trip_together_draw_different_times() {
    let clock = ManualClock::starting_at(100_000);
    let wide = (0..100).map(|_| Breaker::new(a_minute(), &clock));
    let drawn = different(wide, 63_000);
    assert!(drawn >= 90, "{drawn} of 100");
    let narrow = (0..100).map(|_| Breaker::over(AtomicU32::new(0), a_minute(), &clock));
    let drawn = different(narrow, 984 * 64);
    // About 41; one run in millions has fewer than 32.
    assert!(drawn >= 32, "{drawn} of 47");
}

/// Each of the times is about as likely as any other.
#[test]
fn the_times_are_drawn_evenly() {
    let mut counts = [0_u32; 47];
    for seed in 0..47_000 {
        let config = a_minute().seed(seed);
        let breaker = Breaker::over(AtomicU32::new(0), config, Device::default());
        let ticks = breaker.trip().unwrap().open_for_ms / 64;
        counts[ticks as usize - 938] += 1;
    }
    // Five percent of 938 ticks are 46.9, so that the last time gets nine tenths of its share.
    let last = counts[46];
    assert!((750..1_100).contains(&last), "{last}");
    for count in &counts[..46] {
        assert!((850..1_200).contains(count), "{counts:?}");
    }
}

#[test]
fn without_jitter_nothing_is_drawn() {
    struct NoDice;
    impl Clock for NoDice {
        fn now_ms(&self) -> u32 {
            0
        }
        fn entropy(&self) -> u32 {
            panic!("entropy")
        }
        fn random(&self) -> u32 {
            panic!("random")
        }
    }
    for config in [Config::new(), Config::new().jitter_percent(50).seed(3)] {
        let breaker = Breaker::new(config, NoDice);
        breaker.trip();
        breaker.reset();
        let demand = Failure::tripping_for(ms(9_000));
        breaker.acquire().unwrap().report(demand);
        assert_eq!(breaker.state(), State::Open);
    }
}

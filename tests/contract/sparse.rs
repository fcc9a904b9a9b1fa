// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words whose time wraps, and rare callers: most of it is right at any distance, and the documented limits
//! hold for the rest.

use atomic_breaker::word::{AtomicU32, AtomicU64, TickBits, Ticks, Word};
use atomic_breaker::{Breaker, Config, ManualClock, Permit, Rules, State};

use super::support::{fail, ms};

// All times are in milliseconds.
const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
/// The time of a 32-bit word with its default tick wraps after this long: 35 minutes.
const WRAP: u64 = 64 << 15;
const GUARD: u64 = 64 * 64;

fn narrow(config: Config, clock: &ManualClock) -> Breaker<&ManualClock, AtomicU32> {
    Breaker::over(AtomicU32::new(0), config, clock)
}

/// Five failures 35 minutes apart used to trip, although calls succeeded between them.
#[test]
fn failures_a_wrap_apart_with_successes_between_do_not_trip() {
    let config = Config::new().failures_within(5, ms(MINUTE));
    for period in (0..140).map(|second| WRAP - MINUTE + second * SECOND) {
        let clock = ManualClock::new();
        let breaker = narrow(config, &clock);
        for _ in 0..20 {
            fail(&breaker, 1);
            clock.advance(ms(period / 2));
            breaker.acquire().unwrap().success();
            assert_eq!(breaker.snapshot().failures(), 0, "{period:?}");
            clock.advance(ms(period - period / 2));
        }
        assert_eq!(breaker.state(), State::Closed, "{period:?}");
    }
}

/// A success anywhere between the end of the window and the wrap is enough.
#[test]
fn a_success_at_any_time_after_the_window_clears_it() {
    let config = Config::new().failures_within(2, ms(MINUTE));
    let window = MINUTE + 2 * 64;
    for at in [
        window,
        2 * MINUTE,
        10 * MINUTE,
        30 * MINUTE,
        WRAP - GUARD - 64,
    ] {
        let clock = ManualClock::starting_at(12_345);
        let breaker = narrow(config, &clock);
        fail(&breaker, 1);
        clock.advance(ms(at));
        breaker.acquire().unwrap().success();
        clock.advance(ms(WRAP - at));
        fail(&breaker, 1);
        assert_eq!(breaker.snapshot().failures(), 1, "{at:?}");
    }
}

/// The documented limit: the successes come when the window looks as if it had just begun, so they clear nothing.
#[test]
fn failures_a_wrap_apart_trip_if_all_calls_come_at_once() {
    let clock = ManualClock::starting_at(12_345);
    let breaker = narrow(Config::new().failures_within(5, ms(MINUTE)), &clock);
    for failures in 1..=5 {
        breaker.acquire().unwrap().success();
        breaker.acquire().unwrap().failure();
        let expected = if failures < 5 {
            State::Closed
        } else {
            State::Open
        };
        assert_eq!(breaker.state(), expected, "{failures}");
        clock.advance(ms(WRAP));
    }
}

/// Returns how often a caller that calls only once every `period` after a trip is rejected before it passes,
/// at most `limit`.
fn rejected_in_a_row<W: Word>(word: W, config: Config, period: u64, limit: u32) -> u32 {
    let clock = ManualClock::starting_at(777);
    let breaker = Breaker::over(word, config, &clock);
    breaker.trip();
    for rejected in 0..limit {
        clock.advance(ms(period));
        if breaker.acquire().is_ok() {
            return rejected;
        }
    }
    limit
}

/// It is rejected at most `(guard + open_for) / d` times, `d` being the distance of the period from the wrap.
/// The documentation once promised one time; it was 21.
#[test]
fn a_caller_with_a_period_near_the_wrap_is_rejected_as_often_as_documented() {
    let config = Config::new().open_for(ms(20 * SECOND));
    for distance in [100, 200, 500, 1_000, 3_000, 10_000, 30_000] {
        for period in [WRAP - distance, WRAP + distance, 2 * WRAP + distance] {
            let rejected = rejected_in_a_row(AtomicU32::new(0), config, period, 1_000);
            // Rounded to ticks, at both ends.
            let blind = GUARD + 20 * SECOND + 3 * 64;
            let most = blind.div_ceil(distance);
            assert!(
                u64::from(rejected) <= most,
                "{distance} ms: {rejected} of {most}"
            );
        }
    }
    let exactly = rejected_in_a_row(AtomicU32::new(0), config, WRAP, 1_000);
    assert_eq!(exactly, 1_000, "forever, as documented");
}

/// There are two remedies: retry after the wait, or choose a word that is not blind there.
#[test]
fn a_caller_that_waits_is_rejected_at_most_once_more() {
    let config = Config::new().open_for(ms(20 * SECOND));
    for late in (0..4_000).map(|step| WRAP - 2 * GUARD + 10 * step) {
        let clock = ManualClock::starting_at(777);
        let breaker = narrow(config, &clock);
        breaker.trip();
        // What the word stores is a little longer.
        let stored = breaker.snapshot().open_for().unwrap();
        clock.advance(ms(late));
        if let Err(rejected) = breaker.acquire() {
            let wait = rejected.retry_in().unwrap();
            assert!(wait <= ms(GUARD) + stored, "{late:?} {wait:?}");
            clock.advance(wait);
            assert!(breaker.acquire().is_ok(), "{late:?}");
        }
    }
    let wide = rejected_in_a_row(AtomicU64::new(0), config, WRAP, 1_000);
    let longer = rejected_in_a_row(Ticks::<_, 10>(AtomicU32::new(0)), config, WRAP, 1_000);
    assert_eq!((wide, longer), (0, 0));
}

/// A sensor is read once an hour, and the ticks are chosen for that.
#[test]
fn hourly_calls_are_right_with_ticks_of_a_second() {
    for open_hours in [0, 1, 2, 3] {
        let open = open_hours * HOUR + MINUTE;
        let config = Config::new()
            .open_for(ms(open))
            .failures_within(3, ms(3 * HOUR));
        let clock = ManualClock::new();
        let word = Ticks::<_, 10>(AtomicU32::new(0));
        let breaker = Breaker::over(&word, config, &clock);
        // For a month: three failures within three hours trip, then rejected until it is due.
        for _ in 0..60 {
            for _ in 0..3 {
                breaker.acquire().unwrap().failure();
                clock.advance(ms(HOUR - MINUTE));
            }
            assert_eq!(breaker.snapshot().entered(), State::Open);
            let mut rejected = 0;
            while breaker.acquire().map(Permit::success).is_err() {
                rejected += 1;
                clock.advance(ms(HOUR));
            }
            assert_eq!(rejected, open_hours, "rejected while it is open");
            assert_eq!(breaker.state(), State::Closed);
            // Rare failures do not add up.
            for _ in 0..4 {
                breaker.acquire().unwrap().failure();
                clock.advance(ms(4 * HOUR));
                breaker.acquire().unwrap().success();
                clock.advance(ms(HOUR));
            }
            assert_eq!(breaker.state(), State::Closed);
        }
    }
}

#[test]
fn any_silence_that_the_ticks_reach_is_followed_by_a_probe() {
    let config = Config::new().open_for(ms(30 * MINUTE));
    let guard = 64 << 10;
    let last = (1 << 25) - guard - (2 << 10);
    for step in 0..=200 {
        let silence = 30 * MINUTE + (2 << 10) + (last - 31 * MINUTE) * step / 200;
        let word = Ticks::<_, 10>(AtomicU32::new(0));
        assert_eq!(
            rejected_in_a_row(word, config, silence, 1),
            0,
            "{silence:?}"
        );
    }
}

/// Each tick reaches twice as far as the one before it.
#[test]
fn each_tick_holds_and_wraps_where_its_table_says() {
    fn check<const N: u32>()
    where
        Ticks<AtomicU32, N>: Word,
    {
        let longest = 1 << (14 + N);
        let word = || Ticks::<_, N>(AtomicU32::new(0));
        let clock = ManualClock::new();
        let config = |open| Config::new().open_for(ms(open)).probe_lease(ms(1));
        assert!(Rules::<TickBits<N>>::try_new(config(longest + 1)).is_err());
        let breaker = Breaker::over(word(), config(longest), &clock);
        breaker.trip();
        assert_eq!(breaker.snapshot().retry_in(), Some(ms(longest)), "{N}");
        clock.advance(ms(longest - 1));
        assert!(breaker.acquire().is_err(), "{N}");
        clock.advance(ms(1));
        assert!(breaker.acquire().is_ok(), "{N}");
        let wrap = 1 << (15 + N);
        let tick = 1 << N;
        let brief = config(0);
        assert_eq!(
            rejected_in_a_row(word(), brief, wrap - 65 * tick, 1),
            0,
            "{N}"
        );
        assert_eq!(
            rejected_in_a_row(word(), brief, wrap - 2 * tick, 1),
            1,
            "{N}"
        );
    }
    check::<0>();
    check::<1>();
    check::<3>();
    check::<6>();
    check::<8>();
    check::<10>();
    check::<12>();
    check::<16>();
}

/// `opened_at` is right for as long as the time does not wrap, and off by a wrap after that, as
/// documented.
#[test]
fn when_it_opened_is_right_until_the_wrap() {
    let clock = ManualClock::starting_at(1_000_000);
    let breaker = narrow(Config::new().open_for(ms(64 * 12)), &clock);
    breaker.trip();
    let opened_at = breaker.snapshot().opened_at_ms();
    assert_eq!(opened_at, Some(1_000_000_u32.next_multiple_of(64)));
    for _ in 0..30 {
        clock.advance(ms(MINUTE));
        assert_eq!(breaker.snapshot().opened_at_ms(), opened_at);
    }
    clock.advance(ms(WRAP - 30 * MINUTE - GUARD - 64));
    assert_eq!(breaker.snapshot().opened_at_ms(), opened_at);
    clock.advance(ms(GUARD + 2 * 64));
    let moved = breaker.snapshot().opened_at_ms().unwrap();
    assert_eq!(
        moved - opened_at.unwrap(),
        64 << 15,
        "by a wrap, as documented"
    );
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clocks that wrap, step back, and are not read for a long time.

use atomic_breaker::wait::WithTimer;
use atomic_breaker::word::{AtomicU32, Ticks};
use atomic_breaker::{Breaker, Clock, Config, ManualClock, State};

use super::support::{AnyWord, breaker, fail, ms, on_both_words, rules};

/// Clock readings from which the next few milliseconds cross the wrap of the word, or of the clock.
fn starts<W: AnyWord>() -> impl Iterator<Item = u32> {
    let wraps = [W::WRAP, 3 * W::WRAP, 1 << 32];
    wraps
        .into_iter()
        .flat_map(|wrap| (0..70).map(move |before| (wrap - before) as u32))
}

fn an_open_time_across_the_wrap_is_exact<W: AnyWord>() {
    for start in starts::<W>() {
        let clock = ManualClock::starting_at(start);
        let breaker = breaker::<W>(rules().open_for(ms(62)), &clock);
        breaker.trip();
        for left in (1..=62).rev() {
            assert_eq!(
                breaker.acquire().unwrap_err().retry_in(),
                Some(ms(left)),
                "{start}"
            );
            clock.advance(ms(1));
        }
        assert!(breaker.acquire().is_ok(), "{start}");
    }
}

fn a_lease_across_the_wrap_is_exact<W: AnyWord>() {
    for start in starts::<W>() {
        let clock = ManualClock::starting_at(start);
        let breaker = breaker::<W>(rules().open_for(ms(0)).probe_lease(ms(50)), &clock);
        breaker.trip();
        let _lost = breaker.acquire().unwrap().into_token();
        clock.advance(ms(49));
        assert!(breaker.acquire().is_err(), "{start}");
        clock.advance(ms(1));
        assert!(breaker.acquire().is_ok(), "{start}");
    }
}

fn a_window_across_the_wrap_is_exact<W: AnyWord>() {
    for start in starts::<W>() {
        let clock = ManualClock::starting_at(start);
        let breaker = breaker::<W>(rules().failures_within(9, ms(50)), &clock);
        fail(&breaker, 1);
        clock.advance(ms(49));
        fail(&breaker, 1);
        assert_eq!(breaker.snapshot().failures(), 2, "{start}");
        clock.advance(ms(1));
        fail(&breaker, 1);
        assert_eq!(breaker.snapshot().failures(), 1, "{start}");
    }
}

fn a_slow_call_across_the_wrap_of_the_clock_is_measured<W: AnyWord>() {
    let clock = ManualClock::starting_at(u32::MAX - 3);
    let config = rules().consecutive_failures(1).slow_call(ms(10));
    let breaker = breaker::<W>(config, &clock);
    let permit = breaker.acquire().unwrap();
    clock.advance(ms(9));
    permit.success();
    clock.set_ms(u32::MAX - 3);
    let permit = breaker.acquire().unwrap();
    clock.advance(ms(10));
    assert_eq!(breaker.state(), State::Closed);
    permit.success();
    assert_eq!(breaker.state(), State::Open);
}

fn a_step_back_within_the_guard_never_admits_and_delays_by_as_much<W: AnyWord>() {
    for start in [W::GUARD + 5, 3, u32::MAX - 1] {
        for back in [1, 2, W::GUARD / 2, W::GUARD] {
            let clock = ManualClock::starting_at(start);
            let breaker = breaker::<W>(rules().open_for(ms(20)), &clock);
            breaker.trip();
            clock.step_back(ms(back.into()));
            let rejected = breaker.acquire().unwrap_err();
            assert_eq!(rejected.retry_in_ms(), Some(20 + back), "{start} {back}");
            clock.advance(ms(u64::from(back) + 19));
            assert!(breaker.acquire().is_err());
            clock.advance(ms(1));
            assert!(breaker.acquire().is_ok());
        }
    }
}

fn a_step_back_takes_no_fresh_probe_away_and_ends_no_window<W: AnyWord>() {
    let clock = ManualClock::starting_at(100);
    let config = rules()
        .open_for(ms(0))
        .failures_within(9, ms(10))
        .probe_lease(ms(10));
    let breaker = breaker::<W>(config, &clock);
    fail(&breaker, 1);
    clock.step_back(ms(W::GUARD.into()));
    fail(&breaker, 1);
    assert_eq!(breaker.snapshot().failures(), 2);

    clock.set_ms(100);
    breaker.trip();
    let _probe = breaker.acquire().unwrap();
    clock.step_back(ms(W::GUARD.into()));
    assert!(breaker.acquire().is_err());
}

fn long_idling_admits_all_along_until_the_guard<W: AnyWord>() {
    let open_for = 20;
    // Times between the deadline and the guard band: both ends and some in between.
    let last = W::WRAP - u64::from(W::GUARD) - 1;
    for idle in [
        open_for,
        open_for + 1,
        W::WRAP / 3,
        W::WRAP / 2 + 1,
        last - 1,
        last,
    ] {
        let clock = ManualClock::starting_at(777);
        let breaker = breaker::<W>(rules().open_for(ms(open_for)), &clock);
        breaker.trip();
        clock.advance(ms(idle));
        assert!(breaker.acquire().is_ok(), "after {idle}");
    }
}

fn a_window_is_over_all_along_until_the_guard<W: AnyWord>() {
    let last = W::WRAP - u64::from(W::GUARD) - 1;
    for idle in [50, W::WRAP / 2 + 1, last - 1, last] {
        let clock = ManualClock::starting_at(777);
        let breaker = breaker::<W>(rules().failures_within(9, ms(50)), &clock);
        fail(&breaker, 1);
        clock.advance(ms(idle));
        fail(&breaker, 1);
        assert_eq!(breaker.snapshot().failures(), 1, "after {idle}");
    }
}

fn a_call_just_around_the_wrap_waits_no_longer_than_documented<W: AnyWord>() {
    let open_for = 20;
    let guard = u64::from(W::GUARD);
    for round in 1..3 {
        let wrap = round * W::WRAP;
        for idle in [wrap - guard, wrap - 1, wrap, wrap + 1, wrap + open_for - 1] {
            let clock = ManualClock::starting_at(777);
            let breaker = breaker::<W>(rules().open_for(ms(open_for)), &clock);
            breaker.trip();
            clock.advance(ms(idle));
            let wait = breaker.acquire().unwrap_err().retry_in().unwrap();
            assert!(wait <= ms(guard + open_for), "after {idle}: {wait:?}");
            clock.advance(wait);
            assert!(breaker.acquire().is_ok(), "after {idle} and {wait:?}");
        }
        for idle in [wrap + open_for, wrap + W::WRAP - guard - 1] {
            let clock = ManualClock::starting_at(777);
            let breaker = breaker::<W>(rules().open_for(ms(open_for)), &clock);
            breaker.trip();
            clock.advance(ms(idle));
            assert!(breaker.acquire().is_ok(), "after {idle}");
        }
    }
}

#[test]
fn the_longest_tick_reaches_twelve_days() {
    let clock = ManualClock::new();
    let reach = ms(65_536 << 14);
    let config = Config::new().open_for(reach);
    let word = Ticks::<_, 16>(AtomicU32::new(0));
    let breaker = Breaker::over(word, config, &clock);
    breaker.trip();
    clock.advance(reach.checked_sub(ms(1)).unwrap());
    assert_eq!(breaker.acquire().unwrap_err().retry_in(), Some(ms(1)));
    clock.advance(ms(1));
    assert!(breaker.acquire().is_ok());
}

#[test]
fn with_a_coarse_tick_a_lease_and_a_window_last_at_least_as_long_as_configured() {
    for phase in 0..64 {
        let clock = ManualClock::starting_at(640 + phase);
        let config = Config::new()
            .open_for(ms(0))
            .failures_within(9, ms(130))
            .probe_lease(ms(130));
        let breaker = Breaker::over(AtomicU32::new(0), config, &clock);
        fail(&breaker, 1);
        clock.advance(ms(129));
        fail(&breaker, 1);
        assert_eq!(breaker.snapshot().failures(), 2, "{phase}");
        clock.advance(ms(130 + 128));
        fail(&breaker, 1);
        assert_eq!(breaker.snapshot().failures(), 1, "at most two ticks longer");

        breaker.trip();
        clock.advance(ms(64));
        let _lost = breaker.acquire().unwrap().into_token();
        clock.advance(ms(129));
        assert!(breaker.acquire().is_err(), "{phase}");
        clock.advance(ms(1 + 128));
        assert!(breaker.acquire().is_ok(), "at most two ticks longer");
    }
}

on_both_words!(
    an_open_time_across_the_wrap_is_exact,
    a_lease_across_the_wrap_is_exact,
    a_window_across_the_wrap_is_exact,
    a_slow_call_across_the_wrap_of_the_clock_is_measured,
    a_step_back_within_the_guard_never_admits_and_delays_by_as_much,
    a_step_back_takes_no_fresh_probe_away_and_ends_no_window,
    long_idling_admits_all_along_until_the_guard,
    a_window_is_over_all_along_until_the_guard,
    a_call_just_around_the_wrap_waits_no_longer_than_documented,
);

/// A timer changes nothing about the clock that it stands beside.
#[test]
fn a_clock_with_a_timer_tells_and_draws_what_the_clock_does() {
    struct Device;

    impl Clock for Device {
        fn now_ms(&self) -> u32 {
            7
        }

        fn entropy(&self) -> u32 {
            8
        }

        fn random(&self) -> u32 {
            9
        }
    }

    let clock = WithTimer {
        clock: Device,
        timer: (),
    };
    assert_eq!((clock.now_ms(), clock.entropy(), clock.random()), (7, 8, 9));
}

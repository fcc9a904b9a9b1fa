// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices that sleep for minutes to days and wake by reset, over days of virtual time: how late the answer is, with
//! each way of taking up the word.

use atomic_breaker::word::{AtomicU32, AtomicU64, Word};
use atomic_breaker::{Breaker, Config, ManualClock};

use tests::random::Random;

use super::support::ms;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const NEVER: [u64; 0] = [];

fn open_for(time: u64) -> Config {
    Config::new().open_for(ms(time))
}

/// A word that was tripped while its device was awake.
fn tripped<W: Word + Default>(config: Config, trips: u32) -> W {
    let word = W::default();
    let clock = ManualClock::starting_at(900);
    let breaker = Breaker::over(&word, config, &clock);
    breaker.trip();
    for _ in 1..trips {
        breaker.probe_now();
        breaker.acquire().unwrap().failure();
    }
    word
}

/// Returns whether the first call after a sleep is admitted, if it is known how long that took.
fn is_served_after<W: Word>(word: &W, config: Config, asleep: u64) -> bool {
    let clock = ManualClock::starting_at(30);
    let breaker = Breaker::over(word, config, &clock);
    breaker.restore_after(ms(asleep)).unwrap();
    breaker.acquire().is_ok()
}

/// The word rounds up by as much as an eighth; the rules are exact.
fn one_sleep<W: Word + Default>(tick: u64) {
    assert!(
        is_served_after(
            &tripped::<W>(open_for(300 * SECOND), 1),
            open_for(300 * SECOND),
            320 * SECOND
        ),
        "open for 300 s, asleep for 320 s"
    );
    let mut random = Random::stream(0x51EE);
    for _ in 0..3_000 {
        let lasts = tick + random.below(1_000 * SECOND);
        let config = open_for(lasts);
        let ends = lasts.next_multiple_of(tick);
        let word = || tripped::<W>(config, 1);
        assert!(is_served_after(&word(), config, ends), "{lasts}");
        assert!(
            ends < 8 * tick || !is_served_after(&word(), config, ends - tick),
            "early: {lasts}"
        );
    }
    let config = open_for(20 * SECOND).exponential(2, ms(5 * MINUTE));
    for (trips, lasts) in [(1, 20), (2, 40), (3, 80), (4, 160), (5, 300), (6, 300)] {
        let ends = (lasts * SECOND).next_multiple_of(tick);
        let word = || tripped::<W>(config, trips);
        assert!(is_served_after(&word(), config, ends), "trip {trips}");
        assert!(
            !is_served_after(&word(), config, ends - tick),
            "trip {trips}"
        );
    }
}

#[test]
fn an_open_time_is_over_if_one_known_sleep_was_longer() {
    one_sleep::<AtomicU64>(1);
    one_sleep::<AtomicU32>(64);
}

/// Jitter is drawn, and a demand came from elsewhere: neither is known after a reset.
#[test]
fn a_drawn_or_demanded_open_time_is_over_an_eighth_later_at_most_and_never_early() {
    let mut random = Random::stream(0xD0A5);
    for _ in 0..3_000 {
        let lasts = SECOND + random.below(800 * SECOND);
        let clock = ManualClock::starting_at(64);
        let word = AtomicU32::default();
        let config = if random.below(2) == 0 {
            let config = open_for(lasts).jitter_percent(20).seed(random.next_u32());
            Breaker::over(&word, config, &clock).trip();
            config
        } else {
            let config = open_for(1).max_retry_after(ms(1_000 * SECOND));
            Breaker::over(&word, config, &clock).trip_for(ms(lasts));
            config
        };
        let breaker = Breaker::over(&word, config, &clock);
        let left = breaker.snapshot().retry_in().unwrap().as_millis() as u64;
        let copy = || AtomicU32::new(breaker.to_bits());
        assert!(is_served_after(&copy(), config, left + left / 7 + 64));
        assert!(!is_served_after(&copy(), config, left - 64), "early");
    }
}

/// The boots until a call 100 ms after each is admitted.
fn boots<W: Word>(word: &W, config: Config, asleep: Option<u64>) -> u32 {
    for boot in 1..100_000 {
        let clock = ManualClock::starting_at(20);
        let breaker = Breaker::over(word, config, &clock);
        match asleep {
            Some(asleep) => breaker.restore_after(ms(asleep)).unwrap(),
            None => breaker.restore().unwrap(),
        };
        clock.advance(ms(100));
        if breaker.acquire().is_ok() {
            return boot;
        }
    }
    unreachable!("never")
}

fn nothing_known<W: Word + Default>() {
    for lasts in [100, SECOND, 5 * SECOND, 17 * MINUTE] {
        let config = open_for(lasts);
        let boots = |asleep| boots(&tripped::<W>(config, 1), config, asleep);
        assert_eq!(boots(Some(0)), boots(None), "{lasts}");
    }
    let config = open_for(5 * SECOND);
    let boots = boots(&tripped::<W>(config, 1), config, Some(0));
    assert!(boots <= 7, "{boots}; it was 22 or more");
}

/// A real-time clock counts seconds, so that a sleep of one second can be one of none.
#[test]
fn a_sleep_of_at_least_nothing_is_as_good_as_an_unknown_one() {
    nothing_known::<AtomicU64>();
    nothing_known::<AtomicU32>();
}

/// Days of a device that is awake for 300 ms after each sleep, with a dead radio, on a clock that runs on.
struct Days {
    /// From one boot to the next.
    period: u64,
    config: Config,
}

/// The way that a device takes up the word.
#[derive(Clone, Copy)]
enum Wakes {
    Running,
    /// With the time asleep.
    After,
}

impl Days {
    /// The wake-ups that were rejected although the open time was over, of so many.
    fn late<W: Word + Default>(&self, wakes: Wakes, boots: u64) -> Vec<u64> {
        let word = W::default();
        let mut late = Vec::new();
        let mut open_until = 0;
        for boot in 0..boots {
            let now = 777 + boot * self.period;
            // A clock that starts again says nothing of the day.
            let reading = match wakes {
                Wakes::Running => now as u32,
                Wakes::After => 30,
            };
            let clock = ManualClock::starting_at(reading);
            let breaker = Breaker::over(&word, self.config, &clock);
            match wakes {
                _ if boot == 0 => None,
                Wakes::Running => breaker.restore_running().unwrap(),
                Wakes::After => breaker.restore_after(ms(self.period - 300)).unwrap(),
            };
            clock.advance(ms(200));
            let now = now + 200;
            match breaker.acquire() {
                Ok(permit) => {
                    assert!(now >= open_until, "early at wake-up {boot}");
                    permit.failure();
                    if breaker.snapshot().rejection().is_some() {
                        open_until = now + u64::from(self.config.open_for_ms);
                    }
                }
                // A tick for the reading, and one for the time stored.
                Err(_) if now >= open_until + 128 => late.push(boot),
                Err(_) => {}
            }
        }
        late
    }
}

/// Periods from seconds to 17 minutes, which is where the page draws the line for words of 32 bits.
#[test]
fn a_clock_that_runs_on_is_exact_for_sleeps_of_up_to_17_minutes() {
    for open in [30 * SECOND, 5 * MINUTE, 17 * MINUTE] {
        for period in [
            7 * SECOND,
            MINUTE,
            10 * MINUTE + 1,
            16 * MINUTE + 59 * SECOND,
            17 * MINUTE,
        ] {
            let days = Days {
                period,
                config: open_for(open).consecutive_failures(1),
            };
            let boots = 10 * 24 * HOUR / period;
            assert_eq!(
                days.late::<AtomicU32>(Wakes::Running, boots),
                NEVER,
                "{open}, {period}"
            );
        }
    }
    for period in [HOUR, 24 * HOUR, 7 * 24 * HOUR, 24 * 24 * HOUR] {
        let days = Days {
            period,
            config: open_for(24 * 24 * HOUR).consecutive_failures(1),
        };
        assert_eq!(
            days.late::<AtomicU64>(Wakes::Running, 300),
            NEVER,
            "{period}"
        );
    }
}

/// Beyond, the wake-up meets the wrap of the word sooner or later, and then for many sleeps in a row; the time asleep does not.
#[test]
fn longer_sleeps_are_told_by_their_length() {
    let mut most = 0;
    for period in [
        35 * MINUTE,
        HOUR,
        105 * MINUTE,
        6 * HOUR,
        24 * HOUR,
        40 * 24 * HOUR,
    ] {
        for open in [30 * SECOND, 5 * MINUTE, 17 * MINUTE] {
            let days = Days {
                period,
                config: open_for(open).consecutive_failures(1),
            };
            let boots = 600;
            most = most.max(days.late::<AtomicU32>(Wakes::Running, boots).len());
            assert_eq!(
                days.late::<AtomicU32>(Wakes::After, boots),
                NEVER,
                "{open}, {period}"
            );
            assert_eq!(
                days.late::<AtomicU64>(Wakes::After, boots),
                NEVER,
                "{open}, {period}"
            );
        }
    }
    assert!(most > 100, "why the page says so: {most} of 600 wake-ups");
}

/// The time that an open time of so many sleeps lasts in all for a device that is asleep and awake in turn, in percent
/// of what it should: least and most.
fn lasted<W: Word + Default>(sleeps: (u64, u64), asleep: u64, awake: u64) -> (u64, u64) {
    let mut random = Random::stream(0x5EE9);
    let (mut least, mut most) = (u64::MAX, 0);
    for _ in 0..300 {
        let period = asleep + awake;
        let open = sleeps.0 * period + random.below((sleeps.1 - sleeps.0) * period);
        let config = open_for(open);
        let word = tripped::<W>(config, 1);
        let mut passed = 0;
        loop {
            passed += asleep;
            let clock = ManualClock::starting_at(10 + random.next_u32() % 100);
            let breaker = Breaker::over(&word, config, &clock);
            breaker.restore_after(ms(asleep)).unwrap();
            let left = breaker.snapshot().retry_in().unwrap_or_default();
            if left <= ms(awake) {
                passed += left.as_millis() as u64;
                break;
            }
            passed += awake;
        }
        least = least.min(passed * 100 / open);
        most = most.max(passed * 100 / open);
    }
    (least, most)
}

/// Each sleep rounds what is left up once more, counts as an eighth of it at least in a word of 32 bits, and the time awake
/// is not known. Nor does it end before the next wake-up.
#[test]
fn several_sleeps_are_late_by_what_the_page_says() {
    let woken_each_minute = (MINUTE, 100);
    for (sleeps, wide, narrow) in [
        ((4, 8), 125, 150),
        ((8, 16), 113, 150),
        ((15, 17), 107, 140),
    ] {
        let (least, most) = lasted::<AtomicU64>(sleeps, woken_each_minute.0, woken_each_minute.1);
        assert!(least >= 100 && most <= wide, "{least} to {most} %");
        let (least, most) = lasted::<AtomicU32>(sleeps, woken_each_minute.0, woken_each_minute.1);
        assert!(least >= 100 && most <= narrow, "{least} to {most} %");
    }
    // Of 32 bits, with many short sleeps.
    let (least, most) = lasted::<AtomicU32>((16, 100), 10 * SECOND, 100);
    assert!(least >= 33 && most <= 125, "{least} to {most} %");
    // As long awake as asleep.
    let (least, most) = lasted::<AtomicU64>((4, 100), 5 * SECOND, 5 * SECOND);
    assert!(least >= 170 && most <= 210, "{least} to {most} %");
}

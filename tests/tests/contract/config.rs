//! What does not fit is refused when it is built, with a message that says the limit and what to do.

use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Layout, NativeWord};
use atomic_breaker::{Breaker, Config, LastCalls, ManualClock};

use super::support::ms;

const DAY: Duration = Duration::from_secs(86_400);

fn wide(config: Config) -> String {
    config.check(Layout::WIDE).unwrap_err().to_string()
}

fn narrow(config: Config) -> String {
    config.check(Layout::NARROW).unwrap_err().to_string()
}

/// Refused on both layouts for the same reason.
fn both(config: Config) -> String {
    assert_eq!(wide(config), narrow(config));
    wide(config)
}

#[test]
fn the_defaults_fit_both_words() {
    assert_eq!(Config::new().check(Layout::WIDE), Ok(()));
    assert_eq!(Config::default().check(Layout::NARROW), Ok(()));
}

#[test]
fn limits_of_failures() {
    let none = "a limit of 0 failures would trip before the first call: set at least 1";
    assert_eq!(both(Config::new().consecutive_failures(0)), none);
    assert_eq!(both(Config::new().failures_within(0, ms(1_000))), none);
    assert_eq!(
        wide(Config::new().consecutive_failures(65_536)),
        "a 64-bit word counts at most 65535 failures: lower the limit"
    );
    assert_eq!(
        narrow(Config::new().failures_within(256, ms(1_000))),
        "a 32-bit word counts at most 255 failures: lower the limit or take a 64-bit word"
    );
    assert!(
        Config::new()
            .consecutive_failures(65_535)
            .check(Layout::WIDE)
            .is_ok()
    );
    assert!(
        Config::new()
            .consecutive_failures(255)
            .check(Layout::NARROW)
            .is_ok()
    );
}

#[test]
fn limits_of_the_window() {
    assert_eq!(
        both(Config::new().failures_within(2, Duration::ZERO)),
        "a window of 0 holds no two failures: lengthen it or use consecutive_failures"
    );
    let long = "the window is longer than 2^31 ms (2^14 ticks in a 32-bit word): shorten it, raise \
                tick_log2_ms or take a 64-bit word";
    assert_eq!(
        wide(Config::new().failures_within(2, ms((1 << 31) + 1))),
        long
    );
    assert_eq!(
        narrow(Config::new().failures_within(2, ms((64 << 14) + 1))),
        long
    );
    assert_eq!(wide(Config::new().failures_within(2, Duration::MAX)), long);
    assert!(
        Config::new()
            .failures_within(2, ms(1 << 31))
            .check(Layout::WIDE)
            .is_ok()
    );
    assert!(
        Config::new()
            .failures_within(2, ms(64 << 14))
            .check(Layout::NARROW)
            .is_ok()
    );
}

#[test]
fn limits_of_the_open_time() {
    let long = "open_for is longer than 2^31 ms (2^14 ticks in a 32-bit word): shorten it, raise \
                tick_log2_ms or take a 64-bit word";
    assert_eq!(wide(Config::new().open_for(25 * DAY)), long);
    assert_eq!(narrow(Config::new().open_for(ms((64 << 14) + 1))), long);
    assert_eq!(wide(Config::new().open_for(Duration::MAX)), long);
    assert!(
        Config::new()
            .open_for(ms(1 << 31))
            .check(Layout::WIDE)
            .is_ok()
    );
    assert!(
        Config::new()
            .open_for(ms(64 << 14))
            .check(Layout::NARROW)
            .is_ok()
    );
    assert!(
        Config::new()
            .tick_log2_ms(16)
            .open_for(12 * DAY)
            .check(Layout::NARROW)
            .is_ok()
    );
}

#[test]
fn limits_of_growth() {
    let grow = |factor, max| {
        Config::new()
            .open_for(ms(1_000))
            .exponential(factor, ms(max))
    };
    assert_eq!(
        both(grow(1, 2_000)),
        "an open time that grows needs a factor of at least 2: raise it or leave out exponential"
    );
    assert_eq!(
        both(grow(2, 999)),
        "the maximum of exponential lies below open_for: raise it or lower open_for"
    );
    let out_of_reach = "the maximum of exponential is never reached, growth ends with the 31st \
                        trip in a row (the 7th in a 32-bit word): lower it, raise open_for or \
                        raise the factor";
    assert_eq!(narrow(grow(2, 64_001)), out_of_reach);
    assert!(grow(2, 64_000).check(Layout::NARROW).is_ok());
    assert!(grow(2, 64_001).check(Layout::WIDE).is_ok());
    assert!(grow(3, 64_001).check(Layout::NARROW).is_ok());
    assert_eq!(
        both(Config::new().open_for(Duration::ZERO).exponential(2, ms(1))),
        out_of_reach
    );
    let long = "the longest open time, maximum and jitter included, is longer than 2^31 ms (2^14 \
                ticks in a 32-bit word): lower one of them, raise tick_log2_ms or take a 64-bit \
                word";
    assert_eq!(wide(grow(2, (1 << 31) + 1)), long);
    let longest = Config::new().open_for(ms(64 << 14));
    assert_eq!(narrow(longest.jitter_percent(1)), long);
    assert_eq!(
        wide(Config::new().open_for(20 * DAY).jitter_percent(30)),
        long
    );
}

#[test]
fn limits_of_jitter_and_hints() {
    assert_eq!(
        both(Config::new().jitter_percent(101)),
        "jitter is at most 100 percent: lower it"
    );
    assert!(
        Config::new()
            .jitter_percent(100)
            .check(Layout::NARROW)
            .is_ok()
    );
    let long = "max_retry_after, jitter included, is longer than 2^31 ms (2^14 ticks in a 32-bit \
                word): lower it, raise tick_log2_ms or take a 64-bit word";
    assert_eq!(
        narrow(Config::new().max_retry_after(ms((64 << 14) + 1))),
        long
    );
    assert_eq!(wide(Config::new().max_retry_after(25 * DAY)), long);
    assert_eq!(
        wide(Config::new().max_retry_after(20 * DAY).jitter_percent(50)),
        long
    );
    assert!(
        Config::new()
            .max_retry_after(ms(64 << 14))
            .check(Layout::NARROW)
            .is_ok()
    );
}

#[test]
fn limits_of_probes() {
    assert_eq!(
        both(Config::new().probes(0)),
        "with 0 probes an open breaker never closes: set at least 1"
    );
    assert_eq!(
        wide(Config::new().probes(256)),
        "a 64-bit word holds at most 255 probes: lower probes"
    );
    assert_eq!(
        narrow(Config::new().probes(16)),
        "a 32-bit word holds at most 15 probes: lower probes or take a 64-bit word"
    );
    assert_eq!(
        both(Config::new().probes(3).close_after(2)),
        "close_after lies below probes, but a half-open breaker admits no more probes than it \
         still needs: lower probes or raise close_after"
    );
    assert_eq!(
        wide(Config::new().close_after(256)),
        "a 64-bit word counts at most 255 successes of probes: lower close_after"
    );
    assert_eq!(
        narrow(Config::new().close_after(16)),
        "a 32-bit word counts at most 15 successes of probes: lower close_after or take a 64-bit \
         word"
    );
    assert!(Config::new().probes(255).check(Layout::WIDE).is_ok());
    assert!(
        Config::new()
            .probes(15)
            .close_after(15)
            .check(Layout::NARROW)
            .is_ok()
    );
}

#[test]
fn limits_of_the_lease() {
    assert_eq!(
        both(Config::new().probe_lease(Duration::ZERO)),
        "with a probe_lease of 0 every call would take the slot of the probe before: set it longer \
         than the longest call"
    );
    let long = "probe_lease is longer than 2^31 ms (2^14 ticks in a 32-bit word): shorten it, \
                raise tick_log2_ms or take a 64-bit word";
    assert_eq!(wide(Config::new().probe_lease(25 * DAY)), long);
    assert_eq!(narrow(Config::new().probe_lease(ms((64 << 14) + 1))), long);
}

#[test]
fn limits_of_slow_calls_and_ticks() {
    assert_eq!(
        both(Config::new().slow_call(Duration::ZERO)),
        "with a slow_call of 0 every call is slow: lengthen it or leave it out"
    );
    assert_eq!(
        both(Config::new().slow_call(ms(1 << 31))),
        "slow_call is 2^31 ms or longer: shorten it"
    );
    assert!(
        Config::new()
            .slow_call(ms((1 << 31) - 1))
            .check(Layout::NARROW)
            .is_ok()
    );
    assert_eq!(
        both(Config::new().tick_log2_ms(17)),
        "tick_log2_ms is at most 16 (65.5 s): lower it"
    );
}

#[test]
fn something_must_be_able_to_trip() {
    let clock = ManualClock::new();
    let error = Breaker::try_new(Config::new().tally_only(), &clock).unwrap_err();
    assert_eq!(
        error.to_string(),
        "tally_only without a tally never trips: give Breaker::from_parts a tally or set a limit \
         of failures"
    );
    let tally = LastCalls::new(10, 5, 50);
    let word = NativeWord::new(0);
    let config = Config::new().tally_only();
    assert!(Breaker::try_from_parts(word, config, &clock, tally, ()).is_ok());
}

#[test]
fn limits_of_the_history() {
    let wide = |calls, min_calls, percent| {
        LastCalls::try_over(AtomicU64::new(0), calls, min_calls, percent)
            .unwrap_err()
            .to_string()
    };
    let calls = "a 64-bit word remembers 1 to 59 calls: change calls";
    assert_eq!(
        (wide(0, 1, 50), wide(60, 1, 50)),
        (calls.into(), calls.into())
    );
    let narrow = LastCalls::try_over(AtomicU32::new(0), 28, 1, 50).unwrap_err();
    assert_eq!(
        narrow.to_string(),
        "a 32-bit word remembers 1 to 27 calls: change calls or take a 64-bit word"
    );
    let min = "min_calls must lie within 1 and calls: change one of them";
    assert_eq!(
        (wide(10, 0, 50), wide(10, 11, 50)),
        (min.into(), min.into())
    );
    let percent = "the share of failures must lie within 1 and 100 percent: change it";
    assert_eq!(
        (wide(10, 5, 0), wide(10, 5, 101)),
        (percent.into(), percent.into())
    );
    assert!(LastCalls::try_over(AtomicU64::new(0), 59, 59, 100).is_ok());
    assert!(LastCalls::try_over(AtomicU32::new(0), 27, 1, 1).is_ok());
}

#[test]
fn each_maker_checks_for_its_own_word() {
    let clock = ManualClock::new();
    let config = Config::new().consecutive_failures(300);
    assert!(Breaker::try_over(AtomicU64::new(0), config, &clock).is_ok());
    assert!(Breaker::try_over(AtomicU32::new(0), config, &clock).is_err());
    assert!(Breaker::try_over(&AtomicU32::new(0), config, &clock).is_err());
}

#[test]
#[should_panic(expected = "a 32-bit word counts at most 255 failures")]
fn outside_a_const_the_unchecked_maker_panics_with_the_same_message() {
    let clock = ManualClock::new();
    let config = Config::new().consecutive_failures(300);
    let _ = Breaker::over(AtomicU32::new(0), config, &clock);
}

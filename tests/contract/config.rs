// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings that do not fit are rejected when the breaker is built, with a message that names the limit and the fix.

use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Layout, TickBits, Ticks};
use atomic_breaker::{Breaker, Config, ManualClock, Rules};

use super::support::ms;

const DAY: Duration = Duration::from_secs(86_400);

fn wide(config: Config) -> String {
    config.check(Layout::WIDE).unwrap_err().to_string()
}

fn narrow(config: Config) -> String {
    config.check(Layout::NARROW).unwrap_err().to_string()
}

/// Both layouts must reject it for the same reason.
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
    let most = "a word counts at most 65535 failures (255 in a 32-bit word): lower the limit or use a 64-bit word";
    assert_eq!(wide(Config::new().consecutive_failures(65_536)), most);
    assert_eq!(narrow(Config::new().failures_within(256, ms(1_000))), most);
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
        "a window of 0 cannot hold two failures: lengthen it or use consecutive_failures"
    );
    let long = "the window is longer than 2^31 ms (2^14 ticks in a 32-bit word): shorten it, use \
                longer ticks or a 64-bit word";
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
    let long = "open_for is longer than 2^31 ms (2^14 ticks in a 32-bit word): shorten it, use \
                longer ticks or a 64-bit word";
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
    let days = Config::new().open_for(12 * DAY);
    assert!(Rules::<TickBits<16>>::try_new(days).is_ok());
    assert!(Rules::<TickBits<15>>::try_new(days).is_err());
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
        "an open time that grows needs a factor of at least 2 (more than 100 percent) or a step: \
         raise it or leave out the growth"
    );
    assert_eq!(
        both(grow(2, 999)),
        "the maximum of the growing open time is below open_for: raise it or lower open_for"
    );
    let out_of_reach = "the maximum of the growing open time is never reached, because growth ends with \
                        the 31st trip in a row (the 7th in a 32-bit word): lower it, raise \
                        open_for or grow faster";
    assert_eq!(narrow(grow(2, 64_001)), out_of_reach);
    assert!(grow(2, 64_000).check(Layout::NARROW).is_ok());
    assert!(grow(2, 64_001).check(Layout::WIDE).is_ok());
    assert!(grow(3, 64_001).check(Layout::NARROW).is_ok());
    assert_eq!(
        both(Config::new().open_for(Duration::ZERO).exponential(2, ms(1))),
        out_of_reach
    );
    let long = "the longest open time, maximum and jitter included, is longer than 2^31 ms (2^14 \
                ticks in a 32-bit word): lower one of them, use longer ticks or a 64-bit \
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
                word): lower it, use longer ticks or a 64-bit word";
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
    let most =
        "a word holds at most 255 probes (15 in a 32-bit word): lower probes or use a 64-bit word";
    assert_eq!(wide(Config::new().probes(256)), most);
    assert_eq!(narrow(Config::new().probes(16)), most);
    assert_eq!(
        both(Config::new().probes(3).close_after(2)),
        "close_after is below probes, but a half-open breaker admits no more probes than it \
         still needs: lower probes or raise close_after"
    );
    let most = "a word counts at most 255 successes of probes (15 in a 32-bit word): lower close_after or use a \
                64-bit word";
    assert_eq!(wide(Config::new().close_after(256)), most);
    assert_eq!(narrow(Config::new().close_after(16)), most);
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
        "with a probe_lease of 0 every call would take the previous probe's slot: set it longer \
         than the longest call"
    );
    let long = "probe_lease is longer than 2^31 ms (2^14 ticks in a 32-bit word): shorten it, \
                use longer ticks or a 64-bit word";
    assert_eq!(wide(Config::new().probe_lease(25 * DAY)), long);
    assert_eq!(narrow(Config::new().probe_lease(ms((64 << 14) + 1))), long);
}

/// The finest tick holds 16.4 s: longer defaults are cut to that.
#[test]
fn defaults_fit_every_tick() {
    fn longest_wait<const N: u32>() -> Duration {
        let clock = ManualClock::new();
        let word = Ticks::<_, N>(AtomicU32::new(0));
        let breaker = Breaker::over(&word, Config::new(), &clock);
        breaker.trip();
        clock.advance(Duration::from_secs(6));
        let probe = breaker.acquire().unwrap().into_token();
        // Lost: its slot is taken until the lease is over.
        let mut waited = Duration::ZERO;
        while breaker.acquire().is_err() {
            clock.advance(ms(1 << N));
            waited += ms(1 << N);
        }
        drop(probe);
        waited
    }
    assert_eq!(longest_wait::<0>(), ms(1 << 14));
    assert_eq!(longest_wait::<1>(), ms(30_000));
    assert_eq!(
        longest_wait::<6>(),
        ms(30_080),
        "in ticks, from the next one on"
    );
}

#[test]
fn limits_of_slow_calls() {
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
}

#[test]
fn limits_of_cancelling() {
    let long = "cancel_limit is longer than 2^31 ms (2^14 ticks in a 32-bit word): shorten it, \
                use longer ticks or a 64-bit word";
    assert_eq!(wide(Config::new().cancel_limit(25 * DAY)), long);
    assert_eq!(narrow(Config::new().cancel_limit(ms((64 << 14) + 1))), long);
    assert!(
        Config::new()
            .cancel_limit(ms(1 << 31))
            .check(Layout::WIDE)
            .is_ok()
    );
    assert!(
        Config::new()
            .cancel_limit(Duration::ZERO)
            .check(Layout::NARROW)
            .is_ok()
    );
}

#[test]
fn limits_of_a_gradual_return() {
    let back = |percent, over| Config::new().gradual_return(percent, ms(over));
    let share = "the first share of a gradual_return must be between 1 and 100 percent: change it";
    assert_eq!(
        (both(back(0, 1_000)), both(back(101, 1_000))),
        (share.into(), share.into())
    );
    assert_eq!(
        both(back(10, 0)),
        "a gradual_return over a time of 0 is not gradual: lengthen it or leave it out"
    );
    let long = "the time of gradual_return is longer than 2^31 ms (2^14 ticks in a 32-bit word): \
                shorten it, use longer ticks or a 64-bit word";
    assert_eq!(wide(back(10, (1 << 31) + 1)), long);
    assert_eq!(narrow(back(10, (64 << 14) + 1)), long);
    assert!(back(1, 64 << 14).check(Layout::NARROW).is_ok());
    assert!(back(100, 1 << 31).check(Layout::WIDE).is_ok());
}

#[test]
fn each_maker_checks_for_its_own_word() {
    let clock = ManualClock::new();
    let config = Config::new().consecutive_failures(300);
    let builder = || Breaker::builder(config, &clock);
    assert!(builder().word(AtomicU64::new(0)).try_build().is_ok());
    assert!(builder().word(AtomicU32::new(0)).try_build().is_err());
    assert!(builder().word(&AtomicU32::new(0)).try_build().is_err());
}

#[test]
#[should_panic(expected = "(255 in a 32-bit word)")]
fn outside_a_const_the_unchecked_maker_panics_with_the_same_message() {
    let clock = ManualClock::new();
    let config = Config::new().consecutive_failures(300);
    let _ = Breaker::over(AtomicU32::new(0), config, &clock);
}
